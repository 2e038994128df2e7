"""The promise: an arm that time does not wait for is held by a thread of its own, with a driver in Python or in a shared library; a tick that comes too late ends the proof."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surelift

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import pick  # noqa: E402

ROOT = Path(__file__).parents[2]
START = np.array([0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5])
GOAL = START + np.array([0.3, 0.1, 0.0, 0.2, 0.0, 0.0, 0.2])


@pytest.fixture(scope="module")
def arm() -> surelift.Arm:
    return surelift.load("kinova_gen3_2f85")


class OnTheClock(pick.SimulatedArm):
    """An arm whose control periods last as long as they would; it counts them."""

    ticks = 0
    next_s = 0.0

    def wait(self) -> None:
        self.ticks += 1
        self.next_s = max(self.next_s + self.arm.period_s, time.perf_counter())
        time.sleep(max(0.0, self.next_s - time.perf_counter()))

    def command(self, tau: pick.Array) -> pick.Array:
        # The simulation of one period takes Python nearly that long.
        self.wait()
        return super().command(tau)

    def hold(self) -> pick.Array:
        self.wait()
        return super().hold()


def test_a_driver_in_python_is_called_while_nobody_calls_the_job(arm: surelift.Arm) -> None:
    driver = OnTheClock(arm, START, np.zeros(10))
    with surelift.Job(arm, driver, realtime=True) as job:
        before = driver.ticks
        time.sleep(0.3)
        assert driver.ticks > before + 20
        job.move_to(GOAL)
        np.testing.assert_allclose(driver.q, GOAL, atol=0.02)
        report = job.finish()
    assert "move_to" in report and "ticks, " in report
    # The thread has ended.
    after = driver.ticks
    time.sleep(0.05)
    assert driver.ticks == after
    for call in (job.report, job.finish, lambda: job.move_to(START)):
        with pytest.raises(surelift.InputError, match="the job is over"):
            call()


def test_the_simulated_arm_keeps_time(arm: surelift.Arm) -> None:
    driver = surelift.SimulatedArm(arm, START, [(0.9, [0.0, 0.0, 0.12], [0.04, 0.08, 0.04])])
    begun = time.perf_counter()
    with surelift.Job(arm, driver, realtime=True) as job:
        job.grasp(1.5, [0.0, 0.0, 0.12], [0.06, 0.12, 0.06])
        low, high = job.weigh(0.5)["mass_kg"]
    assert low <= 0.9 <= high
    assert driver.time_s <= time.perf_counter() - begun + 0.1


class Failing(OnTheClock):
    def command(self, tau: pick.Array) -> pick.Array:
        raise RuntimeError("the bus is gone")


def test_exceptions_of_a_driver_in_its_thread_are_raised(arm: surelift.Arm) -> None:
    job = surelift.Job(arm, Failing(arm, START, np.zeros(10)), realtime=True)
    with pytest.raises(RuntimeError, match="the bus is gone"):
        job.move_to(GOAL)
    with pytest.raises(surelift.InputError, match="object has no method `read`"):
        surelift.Job(arm, object())  # type: ignore[arg-type]


class Late(pick.SimulatedArm):
    """An arm with a clock, whose reading behind the 50th command comes later by `late_s`."""

    now_s, late_s, commands = 1000.0, 0.0, 0

    def time(self) -> float:
        self.now_s += self.arm.period_s + (self.late_s if self.commands == 50 else 0.0)
        return self.now_s

    def command(self, tau: pick.Array) -> pick.Array:
        self.commands += 1
        return super().command(tau)


@pytest.mark.parametrize("late_s, stops", [(0.9e-4, False), (1.1e-4, True), (-0.1, True), (float("nan"), True)])
def test_a_tick_that_comes_too_late_ends_the_proof(late_s: float, stops: bool) -> None:
    # Its file allows 0.1 ms.
    arm = surelift.load("kinova_gen3_2f85_late")
    driver = Late(arm, START, np.zeros(10))
    driver.late_s = late_s
    job = surelift.Job(arm, driver)
    if stops:
        with pytest.raises(surelift.BrokenError, match="comes .* s after the one before"):
            job.move_to(GOAL)
    else:
        job.move_to(GOAL)
        np.testing.assert_allclose(driver.q, GOAL, atol=0.02)


COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
LIBRARIES = os.environ.get("SURELIFT_C_LIBRARIES")


def compiled(folder: Path, source: Path, *more: str) -> Path:
    """The source as a shared library."""
    if COMPILER is None:
        pytest.skip("needs a C++ compiler")
    made = folder / f"{source.stem}.so"
    command = [COMPILER, "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{surelift.get_include()}"]
    subprocess.run([*command, str(source), "-o", str(made), *more], check=True)
    return made


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's driver, whose arm the C library simulates."""
    if LIBRARIES is None:
        pytest.skip("needs the C library: SURELIFT_C_LIBRARIES=target/release after `cargo build --release --package surelift-c`")
    source = ROOT / "python/examples/native_arm/driver.cpp"
    link = [f"-I{ROOT / 'c/include'}", f"-L{LIBRARIES}", "-lsurelift_c", f"-Wl,-rpath,{LIBRARIES}", "-pthread"]
    return compiled(tmp_path_factory.mktemp("native"), source, *link)


CENTER = np.array([0.0, 0.0, 0.12])


def config(arm: surelift.Arm, q: Any) -> str:
    """Of an arm at `q`, whose hand takes a ball at `CENTER` in the tool frame."""
    _, tool = arm.tool_frame()
    center = tool[:3, :3] @ CENTER + tool[:3, 3]
    return " ".join([arm.name, *(str(x) for x in q), *(str(x) for x in center)])


def test_a_shared_library_drives_an_arm_while_python_is_busy(arm: surelift.Arm, simulated: Path) -> None:
    driver = surelift.NativeArm(arm, simulated, config(arm, START))
    with surelift.Job(arm, driver) as job:
        job.grasp(1.0, CENTER, [0.06, 0.06, 0.06])
        # Python's lock is taken all the time: the control thread does not mind.
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1000.0)
        until = time.perf_counter() + 0.5
        while time.perf_counter() < until:
            pass
        sys.setswitchinterval(interval)
        low, high = job.weigh(0.5)["mass_kg"]
        assert low <= 0.5 <= high
        job.carry_to(GOAL)
        job.release()
        report = job.finish()
    ticks = int(report.split(" ticks, ")[0].split()[-1])
    assert ticks * arm.period_s > 1.5, report
    with pytest.raises(surelift.InputError, match="has had its job"):
        surelift.Job(arm, driver)


def test_a_driver_that_refuses_says_why(arm: surelift.Arm, simulated: Path) -> None:
    with pytest.raises(surelift.InputError, match=r"driver.so: the driver refuses \(1\): config '': expected a robot, 7 positions"):
        surelift.NativeArm(arm, simulated)
    with pytest.raises(surelift.InputError, match="config: a zero byte"):
        surelift.NativeArm(arm, simulated, "a\0b")
    driver = surelift.NativeArm(arm, simulated, config(arm, START))
    with pytest.raises(surelift.InputError, match="expected the job's own arm, 'z1'"):
        surelift.Job(surelift.load("z1"), driver)


# A driver whose functions do nothing, but for what `LEFT_OUT` says.
SOURCE = """
#include "surelift_driver.h"
static int closed = 0;
extern "C" int closes() { return closed; }
#ifndef NO_OPEN
extern "C" int surelift_driver_open(const char *, size_t joints, double, SureliftDriver *driver, char *, size_t) {
    static size_t n;
    n = joints;
    *driver = SureliftDriver{};
    driver->version = VERSION;
    driver->arm = &n;
    driver->read = [](void *arm, double *q, double *dq) {
        for (size_t j = 0; j < *static_cast<size_t *>(arm); ++j) { q[j] = dq[j] = 0.0; }
        return READS;
    };
    driver->command = [](void *, const double *, double *) { return false; };
    driver->hold = HOLD;
    driver->close = [](void *) { ++closed; };
    return 0;
}
#endif
"""
HOLD = "[](void *, double *) { return false; }"


def test_libraries_that_are_no_drivers_are_told(arm: surelift.Arm, tmp_path: Path) -> None:
    import ctypes

    source = tmp_path / "driver.cpp"
    with pytest.raises(surelift.InputError, match="nowhere.so: .*No such file"):
        surelift.NativeArm(arm, tmp_path / "nowhere.so")
    for k, (defined, message) in enumerate(
        [
            ({"NO_OPEN": "1"}, "no driver, as `surelift_driver_open` is missing"),
            ({"VERSION": "7"}, "driver of version 7, expected 1"),
            ({"HOLD": "nullptr"}, "function `hold` is NULL"),
        ]
    ):
        source.write_text(SOURCE)
        flags = {"VERSION": "SURELIFT_DRIVER_VERSION", "READS": "true", "HOLD": HOLD, **defined}
        (tmp_path / str(k)).mkdir()
        made = compiled(tmp_path / str(k), source, *(f"-D{name}={value}" for name, value in flags.items()))
        with pytest.raises(surelift.InputError, match=message):
            surelift.NativeArm(arm, made)
        # What was opened was closed, where there was anything to close.
        assert ctypes.CDLL(str(made)).closes() == 0
    source.write_text(SOURCE)
    made = compiled(tmp_path, source, "-DVERSION=1", "-DREADS=false", f"-DHOLD={HOLD}")
    with pytest.raises(surelift.SureliftError, match="reading|encoder|number"):
        surelift.Job(arm, surelift.NativeArm(arm, made))
