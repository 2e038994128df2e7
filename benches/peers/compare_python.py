#!/usr/bin/env python3
"""Calls from Python: this crate's package against Pinocchio's, on this machine, in one run: `benches/peers/compare_python.py`.

Makes a virtual environment with the PyPI wheels `pin` and `maturin`, builds and installs this repository's Python package, and
prints three tables: what one call takes, how much of a call of RNEA is the way through Python, and what 10,000 states take.
README.md says what exactly is measured. Needs python3 with venv and pip's access to PyPI.
"""

import argparse
import os
import pathlib
import sys
import timeit

from compare import AGREEMENT, HERE, ROOT, compile_example, environment, figures, run

ROBOTS = ["kinova_gen3", "z1"]
STATES = 10_000


def install(folder):
    """The Python in which both packages can be imported; ours is built anew where sources changed."""
    python = environment(folder, "maturin", "maturin", "pin")
    wheels = folder / "wheels"
    print("building the package ...", flush=True)
    run(python, "-m", "maturin", "build", "--quiet", "--release", "--locked", "--interpreter", python, "--out", wheels,
        cwd=ROOT, env=surroundings())
    newest = max(wheels.glob("surelift-*.whl"), key=lambda wheel: wheel.stat().st_mtime)
    run(python, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", newest)
    return python


def surroundings(**more):
    """The variables of the environment, with the crate's target directory for the package, too."""
    return {"CARGO_TARGET_DIR": str(ROOT / "target"), **os.environ, **more}


def fastest(call, seconds):
    """Seconds that one call takes: the fastest of the batches that fit into `seconds`."""
    timer = timeit.Timer(call)
    count, taken = timer.autorange()
    count = max(1, round(count * 0.02 / taken))
    return min(timer.repeat(max(5, round(seconds / 0.02)), count)) / count


def one_robot(name, seconds, threads):
    """The lines `ROBOT WHAT OURS THEIRS` of one robot, in seconds. Runs where both packages are installed."""
    import numpy as np
    import pinocchio as pin
    import surelift

    urdf = ROOT / "robots" / f"{name}.urdf"
    ours = surelift.load_model(str(urdf))
    # Angles on both sides: a continuous joint would be a cosine and a sine there.
    text = urdf.read_text().replace('type="continuous"', 'type="revolute"')
    theirs = pin.buildModelFromXML(text)
    data, pool = theirs.createData(), pin.ModelPool(theirs, threads)
    draw = np.random.default_rng(1)
    many = [draw.uniform(-scale, scale, (STATES, ours.nv)) for scale in (2.0, 2.0, 5.0)]
    columns = [np.asfortranarray(x.T) for x in many]
    q, v, a = (x[0].copy() for x in many)

    def agree(one, other):
        if not np.allclose(one, other, rtol=AGREEMENT, atol=AGREEMENT):
            sys.exit(f"{name}: the two did not compute the same: {one} here, {other} there")

    agree(ours.rnea(q, v, a), pin.rnea(theirs, data, q, v, a))
    agree(ours.rnea(*many)[-1], pin.rneaInParallel(threads, pool, *columns)[:, -1])
    agree(ours.forward_dynamics(q, v, a), pin.aba(theirs, data, q, v, a))
    agree(ours.mass_matrix(q), np.triu(pin.crba(theirs, data, q)) + np.triu(pin.crba(theirs, data, q), 1).T)

    pairs = {
        "rnea": (lambda: ours.rnea(q, v, a), lambda: pin.rnea(theirs, data, q, v, a)),
        "crba": (lambda: ours.mass_matrix(q), lambda: pin.crba(theirs, data, q)),
        "aba": (lambda: ours.forward_dynamics(q, v, a), lambda: pin.aba(theirs, data, q, v, a)),
        "torque_regressor": (
            lambda: ours.regressor(q, v, a),
            lambda: pin.computeJointTorqueRegressor(theirs, data, q, v, a),
        ),
        "many_loop": (
            lambda: ours.rnea(*many),
            lambda: [pin.rnea(theirs, data, *state) for state in zip(*many)],
        ),
        "many_parallel": (lambda: ours.rnea(*many), lambda: pin.rneaInParallel(threads, pool, *columns)),
    }
    for what, (own, peer) in pairs.items():
        print(name, what, fastest(own, seconds), fastest(peer, seconds))


def native(python, folder, seconds):
    """RNEA called from Rust, in seconds, by robot."""
    program = compile_example("peers")
    run(python, HERE / "workload.py", folder, *(f"{ROOT / 'robots' / name}.urdf:fixed" for name in ROBOTS))
    best = {}
    figures(run(program, seconds, *(folder / f"{name}.txt" for name in ROBOTS), cwd=ROOT), best, {})
    return {name: best[name, "rnea"] * 1e-9 for name in ROBOTS}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "target/peers", help="where everything is put")
    parser.add_argument("--seconds", type=float, default=0.5, help="per call and round")
    parser.add_argument("--rounds", type=int, default=3, help="the fastest of all rounds counts")
    parser.add_argument("--threads", type=int, default=2, help="of both sides, for many states")
    parser.add_argument("--robot", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.robot:
        return one_robot(options.robot, options.seconds, options.threads)
    options.folder.mkdir(parents=True, exist_ok=True)
    python = install(options.folder)
    best, from_rust = {}, {}
    for _ in range(options.rounds):
        for name in ROBOTS:
            words = [python, __file__, "--robot", name, "--seconds", options.seconds, "--threads", options.threads]
            for line in run(*words, env=surroundings(RAYON_NUM_THREADS=str(options.threads))).splitlines():
                robot, what, *times = line.split()
                key, times = (robot, what), [float(t) for t in times]
                best[key] = [min(pair) for pair in zip(best.get(key, times), times)]
        for name, seconds in native(python, options.folder, options.seconds).items():
            from_rust[name] = min(seconds, from_rust.get(name, seconds))
    show(best, from_rust, run(python, "-c", "import pinocchio; print(pinocchio.__version__)").strip(), options.threads)


def show(best, from_rust, version, threads):
    print(f"| robot | one call | ours / Pinocchio {version} | ours, us | Pinocchio, us |\n|---|---|---|---|---|")
    for (robot, what), (own, peer) in best.items():
        if not what.startswith("many"):
            print(f"| {robot} | {what} | {own / peer:.2f} | {own * 1e6:.2f} | {peer * 1e6:.2f} |")
    print("\n| robot | RNEA from Python, us | from Rust, us | way through Python, us |\n|---|---|---|---|")
    for robot, seconds in from_rust.items():
        call = best[robot, "rnea"][0]
        print(f"| {robot} | {call * 1e6:.2f} | {seconds * 1e6:.2f} | {(call - seconds) * 1e6:.2f} |")
    print(f"\n| robot | RNEA of {STATES} states, {threads} threads: against | ours / theirs | ours, us a state |\n|---|---|---|---|")
    for (robot, what), (own, peer) in best.items():
        if what.startswith("many"):
            other = "a loop over `pin.rnea`" if what == "many_loop" else "`pin.rneaInParallel`"
            print(f"| {robot} | {other} | {own / peer:.3f} | {own / STATES * 1e6:.3f} |")


if __name__ == "__main__":
    main()
