"""What a recording says of what the hand holds: a guaranteed interval for each inertial parameter.

    surelift run scenarios/dumbbell_c_8lb.toml
    python python/examples/identify_log.py runs/dumbbell_c_8lb-ours-0/log.csv scenarios/priors/gen3_hand.toml
"""

import sys
from typing import Any

import surelift


def identify(log: str, prior: str, robot: str = "kinova_gen3_2f85") -> dict[str, Any]:
    """The study of one recording of an arm; `prior` is the file that says what was believed before."""
    found = surelift.identify(surelift.load(robot), [log], "payload", prior=prior)
    print(f"{found['windows']} windows: {found['verdict']['kind']}")
    for parameter in found["parameters"]:
        print(f"  {parameter['name']:24} {parameter['set']} {parameter['unit']}")
    print(found["guarantee"])
    return found


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("expected LOG and PRIOR.toml")
    identify(*sys.argv[1:])
