"""Plans that are tampered with, and a false certificate."""

import json
import random
import subprocess
import sys
import unittest
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory

from flint import arb

import check
import robot as robots
import tube
from samples import HERE, PLANS, ROBOTS, State, load


class Refusals(unittest.TestCase):
    """Plans that are tampered with are refused, by name."""

    def plan(self, name, change):
        """The plan with a change of its JSON."""
        toml, file = PLANS[name]
        data = json.loads((HERE / "tests/plans" / file).read_text())
        change(data)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "plan.json"
            path.write_text(json.dumps(data))
            return check.Plan(path, load(name).robot)

    def test_constants_of_the_tube_that_are_too_small_where_they_bind(self):
        for name in ("gen3", "z1", "tree"):
            good, k = load(name), 11
            end, joint = float(good.curve.duration), good.robot.joints[1].name
            span = (end * k / 32, end * (k + 1) / 32)
            before = {where: float(m) for family, where, m in tube.evaluate(good, *span) if family == "tube"}
            for field, where in (
                ("hold_power_w", "hold_power_w"),
                ("energy_slack_j", "energy_slack_j"),
                ("drift_nm", f"drift_nm of {joint}"),
                ("acceleration_bound", f"acceleration_bound of {joint}"),
                ("inertia_floor", "inertia_floor"),
            ):
                self.assertGreaterEqual(before[where], 0, (name, where))

                def change(data):
                    stored, factor = data["tube"], (1 - before[where]) / 1.2
                    if field == "inertia_floor":
                        # Higher than it is proven: the floor of all joints, as the form is one.
                        stored[field] = [x / (1 - before[where]) * 1.2 for x in stored[field]]
                    elif isinstance(stored[field], list):
                        stored[field][1] *= factor
                    else:
                        stored[field] *= factor

                after = {w: m for family, w, m in tube.evaluate(self.plan(name, change), *span) if family == "tube"}
                self.assertFalse(after[where] >= 0, (name, where))

    def test_what_the_robot_files_say_otherwise(self):
        def capsule(data):
            data["robot"]["shapes"][3]["capsule"]["radius"] = 0.001

        def limit(data):
            data["robot"]["joints"][2]["limits"]["torque"] *= 2

        def sensor(data):
            data["robot"]["sensors"]["position_rad"] = 0.0

        def link(data):
            data["robot"]["joints"][1]["placement"]["translation"][2] += 1e-6

        def gravity(data):
            data["robot"]["gravity"][2] = 0.0

        def parent(data):
            data["robot"]["joints"][3]["parent"] = 1

        def shape(data):
            del data["robot"]["shapes"][2]

        def shrunk(data):
            data["set"]["lower"][11], data["set"]["upper"][11] = [sum(data["set"][k][11] for k in ("lower", "upper")) / 2] * 2

        def friction(data):
            data["set"]["upper"][-4] *= 0.98

        changes = {
            capsule: "capsule 'upper_arm_2'", limit: "torque limit of joint 'joint_3'", sensor: "position_rad", link: "placement",
            gravity: "gravity", parent: "parent", shape: "capsule 'upper_arm_1'", shrunk: "the set knows more", friction: "coulomb",
        }
        for change, words in changes.items():
            with self.assertRaisesRegex(check.Refused, words):
                check.admit(self.plan("gen3", change))
        check.admit(load("gen3"))

    def test_readings_and_commands_that_may_be_late(self):
        """The proof is of readings and commands of their tick: neither the robot's file nor the plan's copy of it may say otherwise."""
        with TemporaryDirectory() as folder:
            for key in ("reading_age_max_s", "command_delay_max_s", "jitter_max_s"):
                late = Path(folder) / f"{key}.toml"
                late.write_text(f'extends = "{ROBOTS["gen3"]}"\n[timing]\n{key} = 1e-6\n')
                with self.assertRaisesRegex(robots.Unreadable, f"timing.{key}"):
                    robots.Robot(late)
                late.write_text(f'extends = "{ROBOTS["gen3"]}"\n[timing]\n{key} = 0.0\n')
                robots.Robot(late)
                with self.assertRaisesRegex(check.Refused, "timing"):
                    check.admit(self.plan("gen3", lambda data: data["robot"].update(timing={key: 1e-6})))

    def test_joints_on_springs(self):
        """The proof is of rigid joints: neither the robot's file nor the plan's copy of it may say otherwise."""
        spring = {"stiffness_nm_rad": 1e4, "encoders": "motor", "unmodelled_nm": 0.0, "velocity_rad_s": 0.0, "position_rad": 0.0}
        text = "\n".join(f"{k} = {v!r}" for k, v in spring.items()).replace("'", '"')
        with TemporaryDirectory() as folder:
            for section in ("drives.spring", "joints.joint_2.drive.spring"):
                elastic = Path(folder) / "elastic.toml"
                elastic.write_text(f'extends = "{ROBOTS["gen3"]}"\n[{section}]\n{text}\n')
                with self.assertRaisesRegex(robots.Unreadable, "drives.spring"):
                    robots.Robot(elastic)
        ideal = dict.fromkeys(("error_nm", "error_ratio", "unmodelled_nm"), 0.0)
        drives = [dict(ideal, spring=spring) for _ in range(7)]
        with self.assertRaisesRegex(check.Refused, "drives.spring"):
            check.admit(self.plan("gen3", lambda data: data["robot"].update(drives=drives)))

    def test_absolute_uncertainties_beside_the_ratios(self):
        """A set that forgets what the robot's file states beside its ratios is refused; one that has it is not."""
        moments = ({"1", "2", "3"}, {"4", "5", "6", "7", "8", "9"}, {"offset"})
        for key, words in zip(("first_moment_kg_m", "inertia_kg_m2", "offset_nm"), moments):

            def wider(data):
                for i in range(14 * 7):
                    data["set"]["lower"][i] -= 0.011
                    data["set"]["upper"][i] += 0.011

            for change, good in ((lambda data: None, False), (wider, True)):
                plan = self.plan("gen3", change)
                plan.robot = copy(plan.robot)
                plan.robot.ratios = plan.robot.ratios | {key: arb(0.01)}
                found = list(check.narrower(plan))
                self.assertEqual({text.split(" of ")[0].split()[-1] for text in found}, set() if good else words, (key, found))

    def test_curves_and_gains_that_the_proof_does_not_cover(self):
        def restless(data):
            data["curve"]["points"][2][4] += 1e-6

        def moving(data):
            data["curve"]["points"][2][1] += 1e-6

        def period(data):
            data["tube"]["gains"]["period_s"] = 1e-4

        def stiction(data):
            data["tube"]["gains"]["stiction_speed_rad_s"] = 1e-4

        def ticks(data):
            data["tube"]["layer_ticks"] = 0.9

        def lag(data):
            data["tube"]["lag_floor"][0] *= 1.01

        def held(data):
            data["robot"]["shapes"][-1]["joint"] = 2

        def loops(data):
            data["tube"]["motor_loops"] = {"limit_nm": [1.0] * 7, "gain_nms_rad": [1.0] * 7, "rate_rad_s2": [1.0] * 7}

        changes = {
            restless: "does not come to rest", moving: "does not start at rest", period: "period_s", stiction: "stiction",
            ticks: "layer_ticks", lag: "lag_floor", held: "neither", loops: "motor_loops",
        }
        for change, words in changes.items():
            with self.assertRaisesRegex(check.Refused, words):
                check.admit(self.plan("gen3", change))

    def test_plans_that_do_not_follow(self):
        first = load("z1")
        second = lambda change: check.Plan(self.written(change), first.robot)
        check.admit(second(lambda data: None), first)

        def away(data):
            data["curve"]["points"][0] = [x + 0.05 for x in data["curve"]["points"][0]]

        def faster(data):
            data["curve"]["points"][0][1] += 1e-3

        def accelerating(data):
            data["curve"]["points"][0][2] += 1e-4

        def late(data):
            data["t_start_s"] += 0.25

        def between(data):
            data["t_start_s"] += 0.0003

        def level(data):
            data["tube"]["gains"]["v_max"] *= 0.99

        def gain(data):
            data["tube"]["gains"]["k_r"] *= 1.01

        def floor(data):
            data["tube"]["lag_floor"] = data["tube"]["inertia_floor"] = [1.3 * x for x in data["tube"]["inertia_floor"]]

        # Plans that say at which tick of the one before they start.
        def ticks(number):
            return lambda data: data.update(start={"after_ticks": number})

        check.admit(second(ticks(1500)), first)
        for number in (1499, 0, 3000):
            with self.assertRaisesRegex(check.Refused, "jumps"):
                check.admit(second(ticks(number)), first)
        with self.assertRaisesRegex(check.Refused, "does not start at rest"):
            check.admit(second(lambda data: data.update(start="rest")), first)

        changes = {
            away: "position", faster: "velocity", accelerating: "acceleration", late: "jumps", between: "whole number",
            level: "V_max", gain: "k_r", floor: "position errors",
        }
        for change, words in changes.items():
            with self.assertRaisesRegex(check.Refused, words):
                check.admit(second(change), first)

    def written(self, change):
        data = json.loads((HERE / "tests/plans/z1_1.json").read_text())
        change(data)
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "plan.json"
        path.write_text(json.dumps(data))
        return path

    def test_obstacles_that_move(self):
        """Kept clear of wherever they may be by the end of a cell: the distance is less by the speed times all time since the sighting."""
        good = load("gen3")
        end, h = float(good.curve.duration), good.tube["h"]
        name = good.obstacles[1].name

        def moving(speed, age):
            def change(data):
                data["scene"]["obstacles"][1] |= {"speed_m_s": speed, "age_s": age}

            return self.plan("gen3", change)

        def distances(plan, t0, t1):
            margins = tube.evaluate(plan, t0, t1)
            return {where: m for family, where, m in margins if family == "collision" and where.endswith(f"'{name}'")}

        for t0, t1 in ((0.0, 0.1), (0.5, 0.6)):
            still = distances(good, t0, t1)
            for speed, age in ((0.3, 0.0), (0.3, 1.5), (1.6, 0.5)):
                come = arb(speed) * (arb(age) + arb(t1) + h)
                for where, gap in distances(moving(speed, age), t0, t1).items():
                    left = still[where] - come
                    self.assertLess(abs(float((gap - left).mid())), 1e-9 * (1 + float(come.mid())), where)
                    self.assertLessEqual(float(gap), float(left.upper()))
        # At rest nothing is claimed of one that moves, and all of one that does not.
        self.assertTrue(distances(good, None, None))
        self.assertFalse(distances(moving(0.3, 0.5), None, None))
        for speed, age, words in ((-1.0, 0.0, "speed_m_s"), (1.0, -0.5, "age_s")):
            with self.assertRaisesRegex(check.Refused, words):
                moving(speed, age)
        for change in (lambda o: o.update(speed_m_s=float("inf")), lambda o: o.update(speed_m=1.0)):
            with self.assertRaises(robots.Unreadable):
                self.plan("gen3", lambda data: change(data["scene"]["obstacles"][1]))

    def test_obstacles_that_jump_from_plan_to_plan(self):
        first, second = load("z1"), json.loads((HERE / "tests/plans/z1_1.json").read_text())
        elapsed = second["t_start_s"] - float(first.start)

        def moved(by, age=0.5, speed=1.0):
            def change(data):
                obstacle = data["scene"]["obstacles"][1]
                obstacle["center"][1] += by
                obstacle |= {"speed_m_s": speed, "age_s": age}

            return change

        before = copy(first)
        before.obstacles = [copy(o) for o in first.obstacles]
        before.obstacles[1].speed, before.obstacles[1].age = arb(1.0), arb(0.5)
        found = lambda change: list(check.too_fast(check.Plan(self.written(change), first.robot), before))
        self.assertFalse(found(moved(0.0)) or found(moved(elapsed)) or found(moved(elapsed - 0.2, age=0.7)))
        self.assertRegex(found(moved(elapsed + 1e-3))[0], "moved by")
        self.assertRegex(found(moved(elapsed - 0.1, age=0.7))[0], "moved by")
        self.assertRegex(found(moved(0.0, speed=2.0))[0], "not those of the plan before")
        with self.assertRaisesRegex(check.Refused, "moved by"):
            check.admit(check.Plan(self.written(moved(9.0)), first.robot), before)

    def test_an_obstacle_in_the_way_and_a_larger_object(self):
        good = load("gen3")
        end = float(good.curve.duration)
        q = [good.curve.at(j, 0, arb(end / 2)) for j in range(good.n)]
        frames = robots.place(good.robot, [x.sin_cos() for x in q], q)
        where = [float(arb(x).mid()) for x in robots.ends_of(good.capsules[-1], frames)[0]]

        def block(data):
            data["scene"]["obstacles"][1]["center"] = where

        def larger(data):
            data["robot"]["shapes"][-1]["capsule"]["radius"] = 0.5

        for change in (lambda data: None, block, larger):
            margins = tube.evaluate(self.plan("gen3", change), 0.49 * end, 0.51 * end)
            least = min(float(m) for family, _, m in margins if family == "collision")
            self.assertEqual(least < 0, change in (block, larger))


class FalseCertificate(unittest.TestCase):
    """A flap and an arm on one base: `certify` once gave this plan a certificate out of storage that it had used before."""

    def test_the_flap_is_not_held(self):
        robot = robots.Robot(ROBOTS["flap"])
        plan = check.Plan(HERE / "tests/plans/flap_and_arm.json", robot)
        check.admit(plan)
        self.assertGreater(plan.data["certificate"]["torque"]["value"], 0)
        torque = {where: float(m) for family, where, m in tube.evaluate(plan, 0.0, 0.05) if family == "torque"}
        # Gravity alone asks for 39 N m of a motor that has 30.
        nominal, _, v, _ = State(plan, random.Random(1), 0.01).law()
        self.assertLess(float(robot.joints[0].torque) - abs(nominal[0]), -5)
        self.assertLess(torque["hinge"], -5)
        self.assertGreater(min(m for where, m in torque.items() if where != "hinge"), 0)

    def test_the_command_line_says_so(self):
        run = lambda *arguments: subprocess.run([sys.executable, HERE / "check.py", *map(str, arguments)], capture_output=True, text=True)
        told = run("--robot", ROBOTS["flap"], "--depth", 0, HERE / "tests/plans/flap_and_arm.json")
        self.assertEqual(told.returncode, 1, told.stderr)
        self.assertRegex(told.stdout, "NOT PROVEN: torque of hinge")
        told = run("--robot", ROBOTS["gantry"], "--cells", 8, HERE / "tests/plans/gantry.json")
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        self.assertRegex(told.stdout, "PROVEN in")
        self.assertEqual(run("--robot", ROBOTS["gantry"], HERE / "README.md").returncode, 2)
        self.assertEqual(run("--robot", HERE / "none.toml", HERE / "tests/plans/gantry.json").returncode, 2)
        self.assertRegex(run("--help").stdout, "docs/proof.md")


if __name__ == "__main__":
    unittest.main()
