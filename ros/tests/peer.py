"""A ROS 2 peer of the node on Cyclone DDS: topics, services and the action, with the names and QoS of ROS 2."""

import itertools
import os
import time

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter, Publisher
from cyclonedds.sub import DataReader, Subscriber
from cyclonedds.topic import Topic
from cyclonedds.util import duration

import messages

# Loopback alone, peers found without multicast.
CONFIGURATION = """
<CycloneDDS><Domain Id="any">
  <General><Interfaces><NetworkInterface address="127.0.0.1"/></Interfaces><AllowMulticast>false</AllowMulticast></General>
  <Discovery>
    <ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>20</MaxAutoParticipantIndex>
    <Peers><Peer address="127.0.0.1"/></Peers>
  </Discovery>
</Domain></CycloneDDS>
"""

STREAMED = Qos(
    Policy.Reliability.Reliable(duration(seconds=10)),
    Policy.History.KeepLast(1000),
    Policy.DataRepresentation(use_cdrv0_representation=True),
)
LATCHED = Qos(Policy.Durability.TransientLocal, base=STREAMED)


class Silence(AssertionError):
    """Nothing came in time."""


class Peer:
    def __init__(self, domain_id, name="surelift"):
        self.domain = Domain(domain_id, CONFIGURATION)
        self.participant = DomainParticipant(domain_id)
        self.publisher, self.subscriber = Publisher(self.participant), Subscriber(self.participant)
        self.name = name
        self.sequence = itertools.count(1)
        self.client = list(os.urandom(8))
        self.identity = itertools.count(1)
        trigger = (messages.TriggerRequest, messages.TriggerResponse)
        self.services = {call: self.service(call, *trigger) for call in ("identify", "plan", "plan_learning", "reset")}
        self.send_goal = self.service("execute/_action/send_goal", messages.SendGoalRequest, messages.SendGoalResponse)
        self.get_result = self.service("execute/_action/get_result", messages.GetResultRequest, messages.GetResultResponse)
        self.feedback = self.reader(f"rt/{name}/execute/_action/feedback", messages.Feedback)
        self.joint_states = self.writer("rt/joint_states", messages.JointState)
        self.goal = self.writer(f"rt/{name}/goal", messages.JointState)
        self.commands = self.reader(f"rt/{name}/joint_commands", messages.JointState)
        self.payload = self.reader(f"rt/{name}/payload", messages.InertiaStamped, LATCHED)
        self.payload_bounds = self.reader(f"rt/{name}/payload_bounds", messages.DiagnosticArray, LATCHED)
        self.trajectory = self.reader(f"rt/{name}/trajectory", messages.JointTrajectory, LATCHED)
        self.certificate = self.reader(f"rt/{name}/certificate", messages.DiagnosticArray, LATCHED)
        self.plan_file = self.reader(f"rt/{name}/plan_file", messages.Text, LATCHED)
        self.diagnostics = self.reader("rt/diagnostics", messages.DiagnosticArray)

    def writer(self, name, kind, qos=STREAMED):
        return DataWriter(self.publisher, Topic(self.participant, name, kind, qos=qos), qos=qos)

    def reader(self, name, kind, qos=STREAMED):
        return DataReader(self.subscriber, Topic(self.participant, name, kind, qos=qos), qos=qos)

    def service(self, call, request, response):
        return self.writer(f"rq/{self.name}/{call}Request", request), self.reader(f"rr/{self.name}/{call}Reply", response)

    def meets(self, seconds=20.0):
        """Waits until the node's ends of all topics are known."""
        writers = [pair[0] for pair in self.services.values()] + [self.send_goal[0], self.get_result[0], self.joint_states, self.goal]
        readers = [pair[1] for pair in self.services.values()] + [self.send_goal[1], self.get_result[1], self.commands, self.payload_bounds]
        readers += [self.trajectory, self.certificate, self.plan_file, self.payload, self.diagnostics]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if all(w.get_matched_subscriptions() for w in writers) and all(r.get_matched_publications() for r in readers):
                return
            time.sleep(0.05)
        missing = [w.topic.name for w in writers if not w.get_matched_subscriptions()]
        missing += [r.topic.name for r in readers if not r.get_matched_publications()]
        raise Silence(f"no node on {missing}")

    @staticmethod
    def next(reader, seconds=20.0, accept=lambda _: True):
        """The next message that is accepted."""
        end = time.monotonic() + seconds
        while True:
            for message in reader.take(N=1):
                if accept(message):
                    return message
                break
            else:
                if time.monotonic() > end:
                    raise Silence("no message in time")
                time.sleep(0.0001)

    @staticmethod
    def latest(reader, seconds=20.0):
        message = Peer.next(reader, seconds)
        for newer in reader.take(N=1000):
            message = newer
        return message

    def ask(self, service, request, seconds=120.0):
        """The reply to this very request."""
        writer, reader = service
        request.client, request.sequence_low = self.client, next(self.sequence)
        writer.write(request)
        own = lambda reply: list(reply.client) == self.client and reply.sequence_low == request.sequence_low
        return self.next(reader, seconds, own)

    def call(self, name):
        return self.ask(self.services[name], messages.TriggerRequest())

    def follow(self, trajectory):
        """Sends a goal; its identity, and whether it was accepted."""
        identity = [next(self.identity)] + [7] * 15
        reply = self.ask(self.send_goal, messages.SendGoalRequest(goal_id=identity, goal=messages.FollowGoal(trajectory=trajectory)))
        return identity, reply.accepted

    def result(self, identity):
        return self.ask(self.get_result, messages.GetResultRequest(goal_id=identity))
