"""Times an iteration of Crocoddyl's FDDP; the counterpart of estimate.rs, started by compare_estimate.py.

`estimate_peer.py ROBOTS THREADS REPEATS` prints lines like those of estimate.rs. All time is spent inside the compiled
solver: Python calls `SolverFDDP.solve` once for one or four iterations.
"""

import pathlib
import sys
import time

import crocoddyl
import numpy as np
import pinocchio as pin

STAGES = 100
STEP = 0.005
# One over the variances of encoders, velocities and torques.
WEIGHTS = 1e4, 1e2, 1.0


def arm(robots):
    """The problem of estimate.rs: the measured torque is the reference of the control, their difference the noise."""
    model = pin.buildModelFromUrdf(str(robots / "z1.urdf"))
    n = model.nv
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)
    weights = np.repeat(WEIGHTS[:2], n)

    def state_at(k):
        phase = 0.02 * k + np.arange(n)
        return np.concatenate([0.3 * np.sin(phase), 1.2 * np.cos(phase)])

    def torque_at(k):
        return 0.3 * np.sin(0.02 * k + np.arange(n) + 2)

    def stage(k):
        last = k + 1 == STAGES
        # The integrated model multiplies the costs of all stages but the last by the step.
        scale = 1.0 if last else 1.0 / STEP
        costs = crocoddyl.CostModelSum(state, n)
        seen = crocoddyl.ResidualModelState(state, state_at(k), n)
        activation = crocoddyl.ActivationModelWeightedQuad(weights)
        costs.addCost("state", crocoddyl.CostModelResidual(state, activation, seen), scale)
        if not last:
            noise = crocoddyl.ResidualModelControl(state, torque_at(k))
            costs.addCost("torque", crocoddyl.CostModelResidual(state, noise), WEIGHTS[2] * scale)
        dynamics = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
        return crocoddyl.IntegratedActionModelEuler(dynamics, 0.0 if last else STEP)

    stages = [stage(k) for k in range(STAGES)]
    states = [state_at(k) for k in range(STAGES)]
    controls = [torque_at(k) for k in range(STAGES - 1)]
    return crocoddyl.ShootingProblem(states[0], stages[:-1], stages[-1]), states, controls


def quadruped(robots):
    """Go1 standing on four point feet; noise is a generalised force on all 18 degrees of freedom."""
    model = pin.buildModelFromUrdf(str(robots / "go1.urdf"), pin.JointModelFreeFlyer())
    n = model.nv
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)
    weights = np.repeat(WEIGHTS[:2], n)
    stance = np.concatenate([[0, 0, 0.3, 0, 0, 0, 1], np.tile([0.0, 0.8, -1.6], 4), np.zeros(n)])

    def torque_at(k):
        return np.concatenate([np.zeros(6), 0.3 * np.sin(0.02 * k + np.arange(n - 6))])

    def stage(k):
        last = k + 1 == STAGES
        scale = 1.0 if last else 1.0 / STEP
        contacts = crocoddyl.ContactModelMultiple(state, n)
        for foot in ("FL_foot", "FR_foot", "RL_foot", "RR_foot"):
            axes = pin.LOCAL_WORLD_ALIGNED
            contact = crocoddyl.ContactModel3D(state, model.getFrameId(foot), np.zeros(3), axes, n, np.zeros(2))
            contacts.addContact(foot, contact)
        costs = crocoddyl.CostModelSum(state, n)
        seen = crocoddyl.ResidualModelState(state, stance, n)
        activation = crocoddyl.ActivationModelWeightedQuad(weights)
        costs.addCost("state", crocoddyl.CostModelResidual(state, activation, seen), scale)
        if not last:
            noise = crocoddyl.ResidualModelControl(state, torque_at(k))
            costs.addCost("torque", crocoddyl.CostModelResidual(state, noise), WEIGHTS[2] * scale)
        dynamics = crocoddyl.DifferentialActionModelContactFwdDynamics(state, actuation, contacts, costs, 0.0, True)
        return crocoddyl.IntegratedActionModelEuler(dynamics, 0.0 if last else STEP)

    stages = [stage(k) for k in range(STAGES)]
    problem = crocoddyl.ShootingProblem(stance, stages[:-1], stages[-1])
    return problem, [stance] * STAGES, [torque_at(k) for k in range(STAGES - 1)]


def report(name, problem, states, controls, threads, repeats):
    problem.nthreads = threads
    if problem.nthreads != threads:
        sys.exit(f"the wheel runs {problem.nthreads} threads, not {threads}")
    solver = crocoddyl.SolverFDDP(problem)
    solver.th_stop = 1e-300
    best = {1: float("inf"), 4: float("inf")}
    for iterations in best:
        for _ in range(repeats):
            begin = time.perf_counter()
            solver.solve(states, controls, iterations, False)
            best[iterations] = min(best[iterations], time.perf_counter() - begin)
        if solver.iter != iterations:
            sys.exit(f"{solver.iter} iterations instead of {iterations}")
    # Three steps are three trials if each had its full length.
    trials = 3 if solver.stepLength == 1.0 else "more"
    print(name, 1e3 * (best[4] - best[1]) / 3, solver.cost, trials)


def main():
    robots, threads, repeats = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    report("z1", *arm(robots), threads, repeats)
    report("go1", *quadruped(robots), threads, repeats)


if __name__ == "__main__":
    main()
