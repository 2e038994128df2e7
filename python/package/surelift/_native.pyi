"""Signatures of the compiled part, with shapes and units. Texts are those of `help`; `SURELIFT_WRITE=1 pytest python/tests/test_package.py` rewrites them.

n is the number of joints, p that of parameters, N any number of states. A call that takes states takes one, as (n,), or
many, as (N, n): then it works on all cores and lets go of Python's lock.
"""

from os import PathLike
from typing import Any, Callable, Optional, Protocol, Sequence, Union, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Path = Union[str, PathLike[str]]
Progress = Callable[[str], object]

__version__: str

class SureliftError(Exception):
    """Everything that surelift says no to."""

class InputError(SureliftError):
    """What was given makes no sense; nothing has happened. The message names what, and what was expected."""

class NotProvenError(SureliftError):
    """What was asked for could not be proven, so it was not done. The message names the constraint that fails."""

class BrokenError(SureliftError):
    """An assumption does not hold: nothing that was proven counts any more. An arm that moved was stopped."""

class StoppedError(SureliftError):
    """Somebody asked for the end. The arm rests."""

class BusyError(SureliftError):
    """The object is at work in another call, or belongs to another thread. Nothing has happened."""

class FaultError(SureliftError):
    """A fault of the library: please report it. The object that was called is not to be used any more."""

@final
class Model:
    """What dynamics need of a robot: its tree of joints and bodies. `load_model` makes one; `Arm.model` is one.

    `q` has nq numbers, `v`, `a` and `tau` have nv: rad (m for joints that slide), and per s, per s^2; N m (N). For a floating base, `q` begins with
    position and quaternion (7), `v` with linear and angular velocity in the body's own frame (6). A call takes one state, as (nq,) and (nv,), or N of
    them, as (N, nq) and (N, nv): then it works on all cores, and other threads of Python go on. `theta`, (p,), replaces the nominal parameters."""

    @property
    def name(self) -> str:
        """Name of the robot."""
    @property
    def nq(self) -> int:
        """How many numbers a configuration `q` has: one a joint in rad (m), and seven for a floating base."""
    @property
    def nv(self) -> int:
        """How many numbers a velocity `v` has: one a joint in rad/s (m/s), and six for a floating base."""
    @property
    def joint_names(self) -> list[str]:
        """Names of the joints, in the order of `v`."""
    @property
    def frame_names(self) -> list[str]:
        """Frames that the robot TOML names, then the URDF's links."""
    def nominal_parameters(self) -> Array:
        """The parameters in the robot's files, (p,): ten a body, then four a joint.

        Of each body m (kg), h (x, y, z; kg m) and I (xx, xy, yy, xz, yz, zz; kg m^2) about and in its joint's frame; then of each joint F_c (N m),
        F_v (N m s/rad), I_a (kg m^2) and beta (N m)."""
    def rnea(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, theta: Optional[ArrayLike] = None) -> Array:
        """Torques, (nv,) or (N, nv), N m (N), that a motion needs: inverse dynamics, transmission inertia with them, friction not."""
    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, theta: Optional[ArrayLike] = None) -> Array:
        """Accelerations, (nv,) or (N, nv), rad/s^2 (m/s^2), that torques `tau`, N m (N), cause without friction."""
    def mass_matrix(self, q: ArrayLike, theta: Optional[ArrayLike] = None) -> Array:
        """The mass matrix, (nv, nv) or (N, nv, nv), kg m^2 (kg m, kg), with transmission inertia on its diagonal."""
    def gravity(self, q: ArrayLike, theta: Optional[ArrayLike] = None) -> Array:
        """Torques, (nv,) or (N, nv), N m (N), that hold the robot where it is."""
    def energy(self, q: ArrayLike, v: ArrayLike, theta: Optional[ArrayLike] = None) -> Array:
        """Kinetic and potential energy, J: (2,) or (N, 2)."""
    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """The torque regressor Y, (n, 10 bodies) or (N, n, 10 bodies), of a robot on a fixed base: `Y @ theta[:10 * bodies]` are the torques of its links, N m (N).

        Transmission inertia and friction are not in them."""
    def frame_placement(self, frame: str, q: ArrayLike) -> Array:
        """Placement of a named frame, or of a link of the URDF, in the base frame: homogeneous matrices, (4, 4) or (N, 4, 4), m."""
    def frame_jacobian(self, frame: str, q: ArrayLike) -> Array:
        """The Jacobian of a frame, (6, nv) or (N, 6, nv): velocity of its origin (m/s), then angular velocity (rad/s), along the base frame's axes, for each
        number of `v`."""

@final
class Arm:
    """A robot arm from its files: a model with limits, shapes, sensors and gains. `load` makes one. It has n joints, whose numbers are in rad, or in m where they slide."""

    @property
    def name(self) -> str:
        """Name of the robot."""
    @property
    def model(self) -> Model:
        """Its dynamics, in SI units."""
    @property
    def dof(self) -> int:
        """How many joints it has, n."""
    @property
    def joint_names(self) -> list[str]:
        """Names of the n joints, from the base on."""
    @property
    def end_effector(self) -> int:
        """Index of the body that holds things, from 0."""
    def tool_frame(self, link: Optional[str] = None) -> tuple[str, Array]:
        """Name and placement, (4, 4), m, of the tool frame, or of another link that moves with the last body, in that body's frame.

        The ten parameters of a body are about and in that body's frame."""
    @property
    def period_s(self) -> float:
        """Control period, s."""
    @property
    def lower_position_limits(self) -> Array:
        """Least positions, (n,), rad (m); minus infinity for joints without limits."""
    @property
    def upper_position_limits(self) -> Array:
        """Largest positions, (n,), rad (m); infinity for joints without limits."""
    @property
    def velocity_limits(self) -> Array:
        """Largest speeds, (n,), rad/s (m/s)."""
    @property
    def torque_limits(self) -> Array:
        """Largest torques of the drives, (n,), N m (N)."""

@final
class ParameterSet:
    """What p parameters may be: a box, and what else is known of them.

    `lower` and `upper`, (p,) each, are its bounds, in the order and the units of `Model.nominal_parameters`."""

    def __new__(cls, lower: ArrayLike, upper: ArrayLike) -> ParameterSet: ...
    @staticmethod
    def around_nominal(arm: Arm) -> ParameterSet:
        """What the arm's file says may be true of its p parameters, with nothing in its hand."""
    def with_prior(self, path: Path, arm: Arm) -> ParameterSet:
        """This set of p parameters, narrowed or replaced by a prior's file (`docs/reference/prior.md`)."""
    @property
    def lower(self) -> Array:
        """Lower bounds, (p,), in the units of `Model.nominal_parameters`."""
    @property
    def upper(self) -> Array:
        """Upper bounds, (p,), in the units of `Model.nominal_parameters`."""
    def mass(self, body: int) -> tuple[float, float]:
        """Lower and upper bound of the mass of a body, kg. `body` is its index, from 0."""
    def payload(self, arm: Arm, frame: Optional[str] = None) -> dict[str, Any]:
        """What the set says of the payload alone, without the hand that holds it, in the frame of the link `frame`, or in the tool frame.

        Gives `frame`, `mass_kg`, `center_m` (three intervals, m; None where nothing bounds it, as the mass may be 0) and `inertia_kg_m2` (I_xx, I_xy, I_yy,
        I_xz, I_yz, I_zz about the centre, along the axes of the frame). Each interval is [lower, upper], and holds the truth if the set does."""
    def contains(self, theta: ArrayLike) -> bool:
        """Whether parameters `theta`, (p,), in the units of `Model.nominal_parameters`, lie in the set."""
    def __len__(self) -> int: ...

@final
class Scene:
    """Obstacles that stand still, in the base frame, m. A new one is empty; it never changes."""

    def __new__(cls) -> Scene: ...
    def with_box(self, name: str, center_m: ArrayLike, size_m: ArrayLike) -> Scene:
        """A scene with this box beside the others: its centre `center_m` (3,) and its full side lengths `size_m` (3,), m."""
    @property
    def names(self) -> list[str]:
        """Names of the obstacles."""
    def __len__(self) -> int: ...

@final
class Plan:
    """A motion that was proven safe, with all that its proof needs: arm, set, obstacles, constants of the controller. `certify`, `certify_curve` and `propose` make one; it has n joints,
    and its numbers are in rad (m) and s."""

    @staticmethod
    def load(path: Path) -> Plan:
        """A plan from a file, as `to_json` and the program write them, in SI units. Reading proves nothing: call `verify`."""
    def to_json(self) -> str:
        """The text of a file, JSON in SI units, which `Plan.load`, `surelift verify` and `check/check.py` read."""
    def verify(self) -> None:
        """Proves the plan again, from what it holds alone. `NotProvenError` names what fails, with its margin in rad, rad/s, N m or m.

        A plan that starts in motion needs the one before it, and is refused here. Ctrl-C is heard when it ends."""
    @property
    def duration_s(self) -> float:
        """How long the motion takes, s."""
    @property
    def certificate(self) -> dict[str, Any]:
        """What is proven: of "position" (rad), "velocity" (rad/s), "torque" (N m), "collision" (m) and "tube" (a share) the least margin, as "value", and where it is, as "at"."""
    @property
    def tracking_error_rad(self) -> Array:
        """How far each joint may be from where it is desired, (n,), rad (m)."""
    @property
    def acceleration_bound(self) -> Array:
        """The largest acceleration of each joint that the proof promises, (n,), rad/s^2 (m/s^2): what `Identifier` needs."""
    @property
    def points(self) -> Array:
        """Control points of its quintic Bezier curves, (pieces, n, 6), rad (m), as `certify_curve` takes them."""
    @property
    def durations_s(self) -> Array:
        """Durations of its pieces, (pieces,), s, as `certify_curve` takes them."""
    def desired(self, t: float) -> list[Array]:
        """Desired positions, rad (m), velocities, rad/s (m/s), and accelerations, rad/s^2 (m/s^2), (n,) each, `t` seconds after the start; before and after the motion, those of its ends."""

@final
class Controller:
    """The law under which a plan is proven, as long as its tube can be believed; the gentle stop from then on.

    Call `tick` once a control period (`Arm.period_s`, s), in one thread at a time."""

    def __new__(cls, plan: Plan) -> Controller: ...
    def tick(self, t: float, q: ArrayLike, dq: ArrayLike) -> Array:
        """Torques, (n,), N m (N), for one control period, `t` seconds after the plan's start, from positions `q` (n,), rad (m), and velocities `dq` (n,), rad/s (m/s).

        The first tick is at 0. A time that goes back, or leaves a tick out, stops the arm, as readings that are no numbers do."""
    @property
    def stopped(self) -> Optional[str]:
        """Why the arm is stopped, in words; None while it is not."""

@final
class Identifier:
    """Narrows what the last body may be from what a control loop measures. The truth stays inside, by proof.

    `arm` is what is measured, `prior` what its parameters may be. `acceleration_bound`, (n,), rad/s^2 (m/s^2): no joint accelerates
    faster; `Plan.acceleration_bound` is such a bound. `window_s`: how long a window of measurements is, s.

    One thread may push while another updates. Of two threads that push, or two that update, the second gets a `BusyError`."""

    def __new__(cls, arm: Arm, prior: ParameterSet, acceleration_bound: ArrayLike, window_s: float = 0.1) -> Identifier:
        """`acceleration_bound`, (n,), rad/s^2: no joint accelerates faster."""
    def push(self, t: ArrayLike, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> None:
        """Takes the measurements of consecutive ticks: times `t` (N,), s; positions `q` (N, n), rad (m); velocities `dq` (N, n), rad/s (m/s);
        torques `tau` (N, n), N m (N).

        Ticks follow one another by the control period. If one of them is refused, none is taken: the identifier is as it was.
        `InputError` says what does not fit, `BrokenError` that a joint moved farther than its bounds allow."""
    def set_acceleration_bound(self, acceleration_bound: ArrayLike) -> None:
        """Replaces the largest accelerations, (n,), rad/s^2 (m/s^2), for the ticks from now on: call it when the plan changes."""
    def payload(self, frame: Optional[str] = None) -> dict[str, Any]:
        """What is known of the payload alone after the last update, in the frame of the link `frame`, or in the tool frame: see `ParameterSet.payload`.
        Besides, `estimate` has the same of one body that fits: `mass_kg`, kg, `center_m`, (3,), m, and `inertia_kg_m2`, (6,); None where its mass is not above 0."""
    def update(self) -> ParameterSet:
        """Learns from all that was pushed, which takes up to a second or so, and gives the new set of p parameters; it lies in the one before.

        `BrokenError` is a proof that an assumption does not hold: the set is as it was. Ctrl-C is heard when it ends."""
    @property
    def set(self) -> ParameterSet:
        """What the p parameters may be after the last update. It waits for none that is under way."""
    @property
    def nominal(self) -> Array:
        """A body that can exist, in the set: (10,): m (kg), h (kg m), I (xx, xy, yy, xz, yz, zz, kg m^2) about and in the frame of the last joint."""

class Driver(Protocol):
    """What `Job` needs of an arm. Each method but `gripper` is called once a control period."""

    def read(self) -> Sequence[ArrayLike]:
        """Positions and velocities, (n,) each."""
    def command(self, tau: Array) -> ArrayLike:
        """Applies torques for one control period; what the torque sensors say, (n,)."""
    def hold(self) -> ArrayLike:
        """Lets the arm's own drives hold it for one control period; what the torque sensors say, (n,)."""
    def gripper(self, closes: bool) -> None:
        """The hand is to close, or to open. Returns at once.

        There may be a method `time`, too: when the newest reading was there, s, on a clock that never goes back. Under the momentum law a tick that comes later than the robot's file allows
        (`jitter_max_s`) ends the proof, and the arm is stopped. Without a clock nobody can tell."""

@final
class SimulatedArm:
    """An arm that the library simulates, for `Job`: no call of Python slows its control cycle down, and other threads of Python go on.

    It stands at `start`, (n,), rad (m). `objects`: what the hand takes, one after the other, each as its mass (kg), its centre (3,) and its full side lengths (3,), m, in the tool frame
    once it is held. Its true parameters and the noise of its sensors are drawn by `seed` from everything that the arm's files leave open."""

    def __new__(cls,
        arm: Arm,
        start: ArrayLike,
        objects: Sequence[tuple[float, ArrayLike, ArrayLike]] = (),
        scene: Optional[Scene] = None,
        seed: int = 0,
    ) -> SimulatedArm:
        """At rest at `start` (n,). `objects`: what the hand takes, one after the other, each as its mass (kg), and its centre and full side lengths (m) in the
        tool frame once it is held."""
    @property
    def time_s(self) -> float:
        """Simulated time since it was made, s."""

@final
class NativeArm:
    """An arm whose driver is a shared library in C or C++, for `Job`: no call of Python, and no lock of its, is in the control cycle.

    `path`: the library, which exports `surelift_driver_open` as `surelift_driver.h` in the folder `get_include()` says; `config`: any text for it, such as an address.
    `InputError` says what is missing, or why the driver refuses. One job can be had with it. It is code of your own in this process: a fault of it ends Python."""

    def __new__(cls, arm: Arm, path: Path, config: str = "") -> NativeArm: ...

@final
class Job:
    """An arm and what is done with it, one call after the other. Every motion is proven before it begins.

    `driver` is a `SimulatedArm` or a `NativeArm` of the same `arm`, or any object with the methods of `Driver` in the stubs: `read`, `command`, `hold` and `gripper`. `seed` draws the planner's
    random numbers. `progress`, if given, is told what happens, in words. Other threads of Python go on during a call; a job belongs to the thread that made it, to which its calls are left.

    `realtime`: the control cycle has a thread of its own, which holds the arm between two calls, too; for arms that time does not wait for. Without it the cycle runs within calls, and the arm's
    time waits for the planner. Where nothing is said a `NativeArm` has such a thread, and no other. `finish`, or the end of a `with` block, ends the thread once the arm rests.

    If `progress` raises, or Ctrl-C is heard with a `SimulatedArm` or in `realtime`, the arm follows its plan to the end, where it rests, and the call raises; the job goes on.
    An exception of the driver, and else Ctrl-C while Python drives, end the call at once and are raised by it. The loop takes the arm for lost then: its own drives have to hold it.
    Configurations are (n,), rad (m)."""

    def __new__(cls, arm: Arm, driver: Union[Driver, NativeArm, SimulatedArm], scene: Optional[Scene] = None, seed: int = 0,
        progress: Optional[Progress] = None,
        realtime: Optional[bool] = None,
    ) -> Job: ...
    def move_to(self, goal: ArrayLike) -> None:
        """Goes to a configuration `goal`, (n,), rad (m), with an empty hand, and rests there.

        `NotProvenError` where no way there could be proven: the arm then rests where it got to, and the job goes on."""
    def grasp(
        self,
        mass_kg: float,
        center_m: ArrayLike,
        size_m: ArrayLike,
        least_kg: float = 0.0,
        frame: Optional[str] = None,
        name: str = "thing",
    ) -> None:
        """Takes anything of `least_kg` to `mass_kg`, kg, that lies in a box: its centre `center_m` (3,) and full side lengths `size_m` (3,), m, in the tool frame, or in that of the link `frame`.

        The hand closes while the arm's own drives hold it. From then on everything is proven for whatever may be held."""
    def weigh(self, seconds: float = 1.0) -> dict[str, Any]:
        """Weighs what is held while the arm stands for `seconds`, s; gives proven bounds, as `payload` does. Ctrl-C with a `SimulatedArm` is heard when it ends."""
    def learn(self, motions: Optional[int] = None, mass_within_kg: Optional[float] = None) -> dict[str, Any]:
        """Moves so as to learn what is held: so many `motions`, or until the mass is known to within `mass_within_kg`, kg, either way. Gives proven bounds, as `payload` does."""
    def payload(self) -> dict[str, Any]:
        """What is proven by now of what is held: `name`; `mass_kg`, kg; `center_m`, three intervals, m (None where nothing bounds it); `inertia_kg_m2`, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz
        about the centre, kg m^2. Each is an interval [lower, upper], in the frame of the link `frame`."""
    def carry_to(self, goal: ArrayLike) -> None:
        """Carries it to a configuration `goal`, (n,), rad (m), and rests there. `NotProvenError` as of `move_to`."""
    def release(self) -> None:
        """Lets go of it: the hand opens while the arm's own drives hold it. What was learnt stays in the report."""
    def report(self) -> str:
        """What was done so far, in words, with times in s and masses in kg."""
    def finish(self) -> str:
        """The end: waits until the arm rests. Its own drives have to hold it from then on. The report; in `realtime` it says how well the ticks kept time, us."""
    def __enter__(self) -> Job: ...
    def __exit__(self, *_what: object) -> None:
        """The end, as `finish`, unless that has been."""

def load(path: Path) -> Arm:
    """Loads an arm with all that its files say, in SI units: limits, shapes, sensors, gains.

    `path` is the name of one that ships, such as "kinova_gen3_2f85", or the path of a robot TOML or of a plain URDF, as text or as a `pathlib.Path`.
    `InputError` names the file and what is wrong with it."""

def load_model(path: Path) -> Model:
    """Loads a robot for its dynamics alone, in SI units: an arm or a legged robot.

    `path` is the name of one that ships, such as "go1", or the path of a robot TOML or of a plain URDF, as text or as a `pathlib.Path`.
    `InputError` names the file and what is wrong with it."""

def certify(
    arm: Arm,
    set: ParameterSet,
    start: ArrayLike,
    end: ArrayLike,
    duration_s: float,
    scene: Optional[Scene] = None,
) -> Plan:
    """Proves a motion from rest to rest, for an arm whose parameters lie in `set`, among the obstacles of `scene`.

    `start` and `end`: (n,) each, rad (m); `duration_s`: s. `certify_curve` takes motions of any other form. `NotProvenError` names the constraint that fails.
    It takes tens of milliseconds, on all cores; other threads of Python go on. Ctrl-C is heard when it ends."""

def certify_curve(
    arm: Arm,
    set: ParameterSet,
    points: ArrayLike,
    durations_s: ArrayLike,
    scene: Optional[Scene] = None,
) -> Plan:
    """Proves a motion of one's own, of any form, for an arm whose parameters lie in `set`, among the obstacles of `scene`.

    `points`: control points of quintic Bezier curves, (pieces, n, 6), rad (m): b_0 to b_5 of each joint on each piece. `durations_s`: (pieces,), s. Pieces join without a
    jump of position, velocity or acceleration. The first begins and the last one ends at rest: b_0 = b_1 = b_2, and b_3 = b_4 = b_5.
    `InputError` says where pieces do not join; `NotProvenError` names the constraint that fails. Ctrl-C is heard when it ends."""

def propose(
    arm: Arm,
    set: ParameterSet,
    start: ArrayLike,
    target: ArrayLike,
    duration_s: float,
    scene: Optional[Scene] = None,
    reach: Optional[ArrayLike] = None,
    seed: int = 0,
    seconds: float = 2.0,
    progress: Optional[Progress] = None,
) -> Plan:
    """Searches a motion from rest towards a configuration, as near as `reach` and obstacles allow, and proves it.

    `start`, `target` and `reach`, (n,) each, are in rad (m); no joint moves farther than its reach. `duration_s`: how long the motion takes, s. `seconds`: how long the search may
    take, s. `progress`, if given, is told what happens, in words; an exception of it, and Ctrl-C, end the call at the next of these. `NotProvenError` says what was in the way."""

def run(
    scenario: Path,
    method: str = "ours",
    seed: int = 0,
    timed: bool = False,
    progress: Optional[Progress] = None,
) -> dict[str, Any]:
    """Runs a scenario's file in simulation. Gives what `summary.json` holds, in SI units (`docs/reference/summary.md`).

    `method` is "ours" or "conservative"; `seed` draws truth and noise; `timed`: plans must be ready in time on the clock. `progress`, if given, is told what happens, in words. If it
    raises, or Ctrl-C is heard, the arm is brought to rest at the end of its plan, and the exception is raised."""

def estimate(problem: Path, validate: Optional[Path] = None, progress: Optional[Progress] = None) -> dict[str, Any]:
    """Solves an estimation problem's file: the most probable states and parameters, with deviations, in SI units (`docs/howto/estimate.md`). Gives what the program writes as JSON.

    `validate` is a recording that is predicted, not learnt from. `progress`, if given, is told in words when the files are read and when the estimate stands;
    an exception of it, and Ctrl-C, end the call then. Iterations are not told."""

def identify(
    arm: Arm,
    logs: Sequence[Path],
    unknown: str = "friction",
    prior: Optional[Path] = None,
    validate: Optional[Path] = None,
    degrees: bool = False,
    acceleration: Optional[ArrayLike] = None,
    torque_abs_nm: Optional[ArrayLike] = None,
    window_s: Optional[float] = None,
    progress: Optional[Progress] = None,
) -> dict[str, Any]:
    """Learns from recordings in files (CSV or MCAP; `docs/tutorial/own_logs.md`), as `surelift identify` does.

    `unknown` is "friction", "payload" or "all"; the last two need the file of a `prior`. `validate` is a recording that is predicted, not learnt from. `degrees`: angles in the
    files are in degrees, not rad. `acceleration`, (n,), rad/s^2, bounds the joints' accelerations (1.5 times the largest seen unless stated); `torque_abs_nm`, (n,), N m, is added to
    the arm's own bounds; `window_s`, s, is the length of a window of measurements (chosen by the noise unless stated).

    Gives what `summary.json` holds: `verdict["kind"]` is "consistent" where the stated bounds explain the data, and only then is `parameters[i]["set"]` guaranteed. `InputError` names
    file, line and column of what cannot be used. `progress`, if given, is told what happens, in words; an exception of it, and Ctrl-C, end the call at the next of these."""
