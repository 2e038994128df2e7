"""surelift: robot arms that pick up unknown things, with a proof that nothing is overloaded or hit.

Arrays are numpy arrays of floats; lists will do, too. Units are SI: rad (m for joints that slide), s, N m (N), kg.
Everything that the library says no to is a `SureliftError`; its kinds are `InputError`, `NotProvenError`,
`BrokenError`, `StoppedError`, `BusyError` and `FaultError`.

>>> import surelift
>>> arm = surelift.load("kinova_gen3_2f85")
>>> arm.model.rnea([0.0] * 7, [0.0] * 7, [0.0] * 7).shape
(7,)
"""

from pathlib import Path as _Path

from ._native import (
    Arm,
    BrokenError,
    BusyError,
    Controller,
    FaultError,
    Identifier,
    InputError,
    Job,
    Model,
    NativeArm,
    NotProvenError,
    ParameterSet,
    Plan,
    Scene,
    SimulatedArm,
    StoppedError,
    SureliftError,
    __version__,
    certify,
    certify_curve,
    estimate,
    identify,
    load,
    load_model,
    propose,
    run,
)

__all__ = [
    "Arm",
    "BrokenError",
    "BusyError",
    "Controller",
    "FaultError",
    "Identifier",
    "InputError",
    "Job",
    "Model",
    "NativeArm",
    "NotProvenError",
    "ParameterSet",
    "Plan",
    "Scene",
    "SimulatedArm",
    "StoppedError",
    "SureliftError",
    "__version__",
    "certify",
    "certify_curve",
    "estimate",
    "get_include",
    "identify",
    "load",
    "load_model",
    "propose",
    "run",
]


def get_include() -> str:
    """The folder of `surelift_driver.h`, for drivers in C or C++ that a `NativeArm` loads."""
    return str(_Path(__file__).parent / "include")
