"""The promise: other threads of Python go on while the library works; progress is told; Ctrl-C and a callback that raises end a call."""

import signal
import sys
import threading
from pathlib import Path
from typing import Callable, Iterator

import numpy as np
import pytest

import surelift

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import pick  # noqa: E402

ROOT = Path(__file__).parents[2]
START = np.array([0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5])
GOAL = START + 0.5
PROBLEM = ROOT / "scenarios/estimation/gen3_payload.toml"


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """Ctrl-C raises, also where the tests were started in the background: shells have it ignored there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def arm() -> surelift.Arm:
    return surelift.load("kinova_gen3_2f85")


def counted_during(work: Callable[[], object]) -> int:
    """How often another thread of Python gets its turn while `work` is done. With a switch interval without end it gets one only where Python's lock is let go of."""
    turns, ended, interval = [0], threading.Event(), sys.getswitchinterval()
    ready = threading.Event()

    def count() -> None:
        while not ended.is_set():
            turns[0] += 1
            ready.set()
            # Gives the lock away; it comes back if whoever has it lets go of it.
            ended.wait(1e-4)

    thread = threading.Thread(target=count)
    thread.start()
    ready.wait()
    sys.setswitchinterval(1000.0)
    try:
        before = turns[0]
        work()
        found = turns[0] - before
    finally:
        sys.setswitchinterval(interval)
        ended.set()
        thread.join()
    return found


def test_a_thread_that_computes_in_python_gives_no_turn() -> None:
    assert counted_during(lambda: sum(range(300_000))) <= 1


def test_other_threads_go_on_meanwhile(arm: surelift.Arm) -> None:
    everything = surelift.ParameterSet.around_nominal(arm)
    native = surelift.Job(arm, surelift.SimulatedArm(arm, START))
    driven = surelift.Job(arm, pick.SimulatedArm(arm, START, np.zeros(10)))
    for work in (
        lambda: native.move_to(GOAL),
        lambda: driven.move_to(GOAL),
        lambda: surelift.propose(arm, everything, START, GOAL, 3.0, seconds=20.0),
        lambda: surelift.certify(arm, everything, START, START + 0.1, 3.0),
        lambda: surelift.estimate(PROBLEM),
        lambda: surelift.load("kinova_gen3_2f85"),
    ):
        assert counted_during(work) > 3


def test_a_job_tells_and_is_ended_by_who_is_told(arm: surelift.Arm) -> None:
    told: list[str] = []
    surelift.Job(arm, surelift.SimulatedArm(arm, START), progress=told.append).move_to(GOAL)
    assert len(told) > 3 and any("proven" in words or "certified" in words for words in told), told

    enough = [False]

    def stop(_: str) -> None:
        if enough[0]:
            raise KeyError("enough")

    for driver in (surelift.SimulatedArm(arm, START), pick.SimulatedArm(arm, START, np.zeros(10))):
        enough[0] = False
        job = surelift.Job(arm, driver, progress=stop)
        enough[0] = True
        with pytest.raises(KeyError, match="enough"):
            job.move_to(GOAL)
        # The arm rests, and the job goes on.
        enough[0] = False
        job.move_to(GOAL)


def test_control_c_ends_a_job_of_a_simulated_arm(arm: surelift.Arm) -> None:
    """The signal comes from another thread as the arm moves, and nobody is told of anything. The motions left are not begun."""
    thing = (0.9, [0.0, 0.0, 0.12], [0.04, 0.08, 0.04])
    whole, driver = surelift.SimulatedArm(arm, START, [thing]), surelift.SimulatedArm(arm, START, [thing])
    jobs = [surelift.Job(arm, whole), surelift.Job(arm, driver)]
    for job in jobs:
        job.grasp(1.5, [0.0, 0.0, 0.12], [0.06, 0.12, 0.06])
    begun = driver.time_s
    jobs[0].learn(motions=6)

    def interrupt() -> None:
        while driver.time_s <= begun + 0.1:
            pass
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        jobs[1].learn(motions=6)
    thread.join()
    assert driver.time_s < whole.time_s
    # The job goes on.
    jobs[1].carry_to(START)


def test_studies_and_searches_tell_and_are_ended_by_who_is_told(arm: surelift.Arm, tmp_path: Path) -> None:
    everything = surelift.ParameterSet.around_nominal(arm)

    def stop(_: str) -> None:
        raise KeyError("enough")

    calls: list[Callable[[Callable[[str], object]], object]] = [
        lambda progress: surelift.propose(arm, everything, START, START + 0.3, 3.0, seconds=20.0, progress=progress),
        lambda progress: surelift.estimate(PROBLEM, progress=progress),
    ]
    for call, last in zip(calls, ("proven", "estimated")):
        told: list[str] = []
        call(told.append)
        assert len(told) >= 2 and told[-1].startswith(last), told
        with pytest.raises(KeyError, match="enough"):
            call(stop)
        with pytest.raises(KeyboardInterrupt):
            call(lambda _: signal.raise_signal(signal.SIGINT))
