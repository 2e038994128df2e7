"""Proves a motion of one's own, and follows it with the law that it was proven for."""

import numpy as np

import surelift


def main() -> None:
    arm = surelift.load("kinova_gen3_2f85")
    everything = surelift.ParameterSet.around_nominal(arm)
    table = surelift.Scene().with_box("table", [0.35, 0.0, -0.17], [1.5, 1.8, 0.04])
    start = np.array([0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5])
    end = np.array([0.3, 0.2, 3.0, -1.6, 0.3, 0.7, 1.2])

    plan = surelift.certify(arm, everything, start, end, 3.0, table)
    torque = plan.certificate["torque"]
    print(f"{torque['value']:.1f} N m to spare at {torque['at']}")

    # An arm that follows exactly, in place of yours.
    controller = surelift.Controller(plan)
    for tick in range(int(plan.duration_s / arm.period_s)):
        t = tick * arm.period_s
        q, dq, _ = plan.desired(t)
        controller.tick(t, q, dq)
    assert controller.stopped is None


if __name__ == "__main__":
    main()
