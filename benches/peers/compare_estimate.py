#!/usr/bin/env python3
"""An iteration of the estimator against Crocoddyl, on this machine, in one run: `benches/peers/compare_estimate.py`.

Makes a virtual environment with the PyPI wheel `crocoddyl`, compiles the `peers_estimate` example, lets both work on the
same problems by turns with one and with two threads, and prints the ratios of the fastest times. README.md says what
exactly is measured.
"""

import argparse
import pathlib
import sys

from compare import HERE, ROOT, compile_example, environment, run

# With Pinocchio 4.1, which pip would take, the wheel of Crocoddyl 3.2.1 computes nonsense: it was built against 4.0.
WHEELS = "crocoddyl==3.2.1", "pin==4.0.0"
# The two integrate differently (semi-implicit Euler there, mid-interval here), so their minima differ by a little.
AGREEMENT = 0.01


def figures(output, best, checks):
    """Takes the times of one round into `best` where they are the fastest so far."""
    for line in output.splitlines():
        name, milliseconds, cost, trials = line.split()
        best[name] = min(best.get(name, float("inf")), float(milliseconds))
        checks[name] = float(cost), trials


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "target/peers", help="where everything is put")
    parser.add_argument("--rounds", type=int, default=5, help="times that both sides take turns")
    parser.add_argument("--repeats", type=int, default=100, help="solutions of each kind in a round")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)

    python = environment(options.folder, "crocoddyl", *WHEELS)
    ours = compile_example("peers_estimate")
    peer = [python, HERE / "estimate_peer.py", ROOT / "robots"]
    version = run(python, "-c", "import crocoddyl; print(crocoddyl.__version__)").strip()
    print(f"| problem | threads | ours / Crocoddyl {version} | ours, ms | Crocoddyl, ms |")
    print("|---|---|---|---|---|")
    apart = []
    for threads in options.threads:
        sides = {"peer": ({}, {}), "ours": ({}, {})}
        for _ in range(options.rounds):
            for name, program in (("peer", peer), ("ours", [ours])):
                figures(run(*program, threads, options.repeats, cwd=ROOT), *sides[name])
        (theirs, their_checks), (own, own_checks) = sides["peer"], sides["ours"]
        for name, ms in theirs.items():
            print(f"| {name} | {threads} | {own[name] / ms:.2f} | {own[name]:.3f} | {ms:.3f} |")
            (cost, trials), (their_cost, their_trials) = own_checks[name], their_checks[name]
            if abs(cost - their_cost) > AGREEMENT * their_cost or trials != "3" or their_trials != "3":
                apart.append(f"{name}: cost {cost} in {trials} trials here, {their_cost} in {their_trials} there")
    if apart:
        sys.exit("the two did not do the same:\n" + "\n".join(apart))


if __name__ == "__main__":
    main()
