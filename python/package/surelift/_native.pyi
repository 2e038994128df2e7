"""Signatures of the compiled part, with shapes and units.

n is the number of joints, p that of parameters, N any number of states. A call that takes states takes one, as (n,), or
many, as (N, n): then it works on all cores and lets go of Python's lock.
"""

from os import PathLike
from typing import Any, Callable, Optional, Protocol, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Path = Union[str, PathLike[str]]

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

class Model:
    """What dynamics need of a robot: its tree of joints and bodies.

    q has nq numbers, v, a and tau nv: rad (m), and per s, per s^2; N m (N). For a floating base, q begins with position and
    quaternion (7), v with linear and angular velocity in the body's own frame (6). `theta`, (p,), replaces the nominal
    parameters: ten a body, then four a joint.
    """

    @property
    def name(self) -> str: ...
    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...
    @property
    def joint_names(self) -> list[str]: ...
    @property
    def frame_names(self) -> list[str]:
        """Frames that the robot TOML names, then the URDF's links."""
    def nominal_parameters(self) -> Array:
        """(p,): m, h, I (xx, xy, yy, xz, yz, zz) of each body about and in its joint's frame; then F_c, F_v, I_a, beta of
        each joint."""
    def rnea(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, theta: Optional[ArrayLike] = None) -> Array:
        """Torques (nv,) or (N, nv) that a motion needs, transmission inertia with them, friction not."""
    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, theta: Optional[ArrayLike] = None) -> Array:
        """Accelerations (nv,) or (N, nv) that torques cause, without friction."""
    def mass_matrix(self, q: ArrayLike, theta: Optional[ArrayLike] = None) -> Array:
        """(nv, nv) or (N, nv, nv), transmission inertia on its diagonal."""
    def gravity(self, q: ArrayLike, theta: Optional[ArrayLike] = None) -> Array:
        """Torques (nv,) or (N, nv) that hold the robot where it is."""
    def energy(self, q: ArrayLike, v: ArrayLike, theta: Optional[ArrayLike] = None) -> Array:
        """Kinetic and potential energy, J: (2,) or (N, 2)."""
    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Y with Y @ theta[:10 * bodies] = torques of the links: (n, 10 bodies) or (N, n, 10 bodies). Fixed bases only."""
    def frame_placement(self, frame: str, q: ArrayLike) -> Array:
        """Placement of a named frame, or of a link of the URDF, in the base frame: (4, 4) or (N, 4, 4)."""
    def frame_jacobian(self, frame: str, q: ArrayLike) -> Array:
        """(6, nv) or (N, 6, nv): velocity of the frame's origin, then angular velocity, along the base frame's axes."""

class Arm:
    """A robot arm from its files: a model with limits, shapes, sensors and gains."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> Model: ...
    @property
    def dof(self) -> int: ...
    @property
    def joint_names(self) -> list[str]: ...
    @property
    def end_effector(self) -> int:
        """Index of the body that holds things."""
    def tool_frame(self, link: Optional[str] = None) -> tuple[str, Array]:
        """Name and placement (4, 4) of the tool frame, or of another link that moves with the last body, in that body's
        frame. The ten parameters of a body are about and in that body's frame."""
    @property
    def period_s(self) -> float:
        """Control period, s."""
    @property
    def lower_position_limits(self) -> Array:
        """(n,), rad (m); minus infinity for joints without limits."""
    @property
    def upper_position_limits(self) -> Array:
        """(n,), rad (m); infinity for joints without limits."""
    @property
    def velocity_limits(self) -> Array:
        """(n,), rad/s (m/s)."""
    @property
    def torque_limits(self) -> Array:
        """(n,), N m (N)."""

class ParameterSet:
    """What the parameters may be: a box, and what else is known."""

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None: ...
    @staticmethod
    def around_nominal(arm: Arm) -> ParameterSet:
        """What the arm's file says may be true of it, with nothing in its hand."""
    def with_prior(self, path: Path, arm: Arm) -> ParameterSet:
        """This set, narrowed or replaced by a prior's file (`docs/reference/prior.md`)."""
    @property
    def lower(self) -> Array:
        """(p,)"""
    @property
    def upper(self) -> Array:
        """(p,)"""
    def mass(self, body: int) -> tuple[float, float]:
        """Lower and upper bound of a body's mass, kg."""
    def contains(self, theta: ArrayLike) -> bool: ...
    def __len__(self) -> int: ...

class Scene:
    """Obstacles that stand still, in the base frame."""

    def __init__(self) -> None: ...
    def with_box(self, name: str, center_m: ArrayLike, size_m: ArrayLike) -> Scene:
        """A scene with this box beside the others: its centre and its full side lengths, m."""
    @property
    def names(self) -> list[str]: ...
    def __len__(self) -> int: ...

class Plan:
    """A motion that was proven safe, with all that its proof needs."""

    @staticmethod
    def load(path: Path) -> Plan:
        """A plan from a file. Reading proves nothing: call `verify`."""
    def to_json(self) -> str:
        """The file's text, which `surelift verify` and `check/check.py` read."""
    def verify(self) -> None:
        """Proves the plan again, from what it holds alone. `NotProvenError` names what fails."""
    @property
    def duration_s(self) -> float: ...
    @property
    def certificate(self) -> dict[str, Any]:
        """The least margin of each family, when and where."""
    @property
    def tracking_error_rad(self) -> Array:
        """(n,): how far each joint may be from where it is desired, rad."""
    def desired(self, t: float) -> list[Array]:
        """Position, velocity and acceleration at a time, s; (n,) each."""

class Controller:
    """The law under which a plan is proven, as long as its tube can be believed; the gentle stop from then on."""

    def __init__(self, plan: Plan) -> None: ...
    def tick(self, t: float, q: ArrayLike, dq: ArrayLike) -> Array:
        """Torques (n,), N m, for one control period, `t` seconds after the plan's start. The first tick is at 0; a time that goes
        back, or leaves a tick out, stops the arm, as readings that are no numbers do."""
    @property
    def stopped(self) -> Optional[str]:
        """Why the arm is stopped, if it is."""

class Identifier:
    """Narrows what the last body may be from what a control loop measures. The truth stays inside, by proof."""

    def __init__(self, arm: Arm, prior: ParameterSet, acceleration_bound: ArrayLike, window_s: float = 0.1) -> None:
        """`acceleration_bound`, (n,), rad/s^2: no joint accelerates faster."""
    def push(self, t: ArrayLike, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> None:
        """Consecutive ticks: times (N,), s; positions, velocities and torques (N, n)."""
    def update(self) -> ParameterSet:
        """Learns from all that was pushed. `BrokenError` is a proof that an assumption does not hold."""
    @property
    def set(self) -> ParameterSet: ...
    @property
    def nominal(self) -> Array:
        """(10,): a body that can exist, in the set."""

class Driver(Protocol):
    """What `Job` needs of an arm. Each method but `gripper` is called once a control period."""

    def read(self) -> Sequence[ArrayLike]:
        """Positions and velocities, (n,) each."""
    def command(self, tau: Array) -> ArrayLike:
        """Applies torques for one control period; what the torque sensors say, (n,)."""
    def hold(self) -> ArrayLike:
        """Lets the arm's own drives hold it for one control period; what the torque sensors say, (n,)."""
    def gripper(self, closes: bool) -> None:
        """The hand is to close, or to open. Returns at once."""

class SimulatedArm:
    """An arm that the library simulates, for `Job`: no call of Python slows its control cycle down. Its true parameters and the noise of its sensors are drawn
    by `seed` from everything that the arm's files leave open."""

    def __init__(
        self,
        arm: Arm,
        start: ArrayLike,
        objects: Sequence[tuple[float, Sequence[float], Sequence[float]]] = ...,
        scene: Optional[Scene] = None,
        seed: int = 0,
    ) -> None:
        """At rest at `start` (n,). `objects`: what the hand takes, one after the other, each as its mass (kg), and its centre and full side lengths (m) in the
        tool frame once it is held."""
    @property
    def time_s(self) -> float:
        """Time since it was made."""

class Job:
    """An arm and what is done with it, one call after the other. Every motion is proven before it begins.

    An exception of the driver, and Ctrl-C, end the call that was under way and are raised by it. The loop takes the arm for
    lost then: its own drives have to hold it.
    """

    def __init__(
        self, arm: Arm, driver: Union[Driver, SimulatedArm], scene: Optional[Scene] = None, seed: int = 0
    ) -> None: ...
    def move_to(self, goal: ArrayLike) -> None:
        """Goes to a configuration (n,) with an empty hand, and rests there."""
    def grasp(
        self,
        mass_kg: float,
        center_m: ArrayLike,
        size_m: ArrayLike,
        least_kg: float = 0.0,
        frame: Optional[str] = None,
        name: str = "thing",
    ) -> None:
        """Takes anything of at most `mass_kg` that lies in this box, in the tool frame or that of the link `frame`."""
    def weigh(self, seconds: float = 1.0) -> dict[str, Any]:
        """Weighs what is held while the arm stands; proven bounds, as `payload` has them."""
    def learn(self, motions: Optional[int] = None, mass_within_kg: Optional[float] = None) -> dict[str, Any]:
        """Moves so as to learn what is held: so many motions, or until the mass is known to within so many kg."""
    def payload(self) -> dict[str, Any]:
        """`mass_kg`, `center_m` (None where nothing bounds it) and `inertia_kg_m2` about the centre, each as intervals, in
        the frame of the link `frame`."""
    def carry_to(self, goal: ArrayLike) -> None:
        """Carries it to a configuration (n,), and rests there."""
    def release(self) -> None:
        """Lets go of it."""
    def report(self) -> str:
        """What was done so far, in words."""

def load(path: str) -> Arm:
    """Loads an arm: the name of one that ships, a robot TOML, or a plain URDF."""

def load_model(path: str) -> Model:
    """Loads a robot for its dynamics alone: arms and legged robots."""

def certify(
    arm: Arm,
    set: ParameterSet,
    start: ArrayLike,
    end: ArrayLike,
    duration_s: float,
    scene: Optional[Scene] = None,
) -> Plan:
    """Proves a motion from rest to rest, for all parameters of the set. `NotProvenError` names what fails."""

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
) -> Plan:
    """Searches a motion from rest towards a configuration, as near as `reach` (n,) and obstacles allow, and proves it."""

def run(
    scenario: Path,
    method: str = "ours",
    seed: int = 0,
    timed: bool = False,
    progress: Optional[Callable[[str], object]] = None,
) -> dict[str, Any]:
    """Runs a scenario in simulation. `progress` is told what happens, in words; if it raises, the arm is brought to rest
    and the exception is raised. Gives what `summary.json` holds (`docs/reference/summary.md`)."""

def estimate(problem: Path, validate: Optional[Path] = None) -> dict[str, Any]:
    """Most probable states and parameters of a problem's file, with deviations (`docs/howto/estimate.md`)."""

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
) -> dict[str, Any]:
    """Learns from recordings in files (CSV or MCAP; `docs/tutorial/own_logs.md`), as `surelift identify` does.

    `unknown` is "friction", "payload" or "all"; the last two need the file of a `prior`. `validate` is a recording that is
    predicted, not learnt from. `acceleration`, (n,), rad/s^2, bounds the joints' accelerations (1.5 times the largest seen
    unless stated); `torque_abs_nm`, (n,), N m, is added to the arm's own bounds. Gives what `summary.json` holds: `verdict["kind"]`
    is "consistent" where the stated bounds explain the data, and only then is `parameters[i]["set"]` guaranteed.
    `InputError` names file, line and column of what cannot be used.
    """
