#!/usr/bin/env python3
"""Rigid-body dynamics of this crate against Pinocchio, on this machine, in one run: `benches/peers/compare.py`.

Makes a virtual environment, installs the PyPI wheel `pin`, compiles pinocchio.cpp against its headers and the `peers`
example, lets both work on the same models and states by turns, and prints the ratios of the fastest times. README.md
says what exactly is measured. Needs python3 with venv, pip's access to PyPI, g++ and Eigen (Debian: libeigen3-dev).
"""

import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ROBOTS = {"kinova_gen3_2f85": "fixed", "z1": "fixed", "go1": "floating", "b1_z1": "floating"}
# What Pinocchio's build sets for whoever uses it: Boost's type lists are too short for its joints otherwise.
DEFINES = ["BOOST_MPL_LIMIT_LIST_SIZE=30", "BOOST_MPL_LIMIT_VECTOR_SIZE=30", "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
           "BOOST_FUSION_INVOKE_MAX_ARITY=12", "NDEBUG"]
# Both sides must have computed the same; their checksums are sums of some thousand terms.
AGREEMENT = 1e-9


def run(*command, **options):
    """Runs a command; ends the program with its message if it fails."""
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nfailed:\n{(done.stderr or done.stdout)[-4000:]}")
    return done.stdout


def environment(folder, module, *wheels):
    """The Python of a virtual environment of its own in which `module`, from these wheels, can be imported."""
    python = folder / f"venv-{module}/bin/python"
    if not python.exists():
        run(sys.executable, "-m", "venv", folder / f"venv-{module}")
    if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode != 0:
        print(f"installing {' and '.join(wheels)} ...", flush=True)
        run(python, "-m", "pip", "install", "--quiet", *wheels)
    return python


def compile_peer(folder, python, eigen):
    """pinocchio.cpp as a program."""
    program, source = folder / "pinocchio", HERE / "pinocchio.cpp"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    if not (eigen / "Eigen/Core").exists():
        sys.exit(f"no Eigen in {eigen}; install libeigen3-dev or give --eigen FOLDER")
    prefix = run(python, "-c", "import pathlib, cmeel; print(pathlib.Path(cmeel.__file__).parent.parent)").strip()
    print("compiling pinocchio.cpp (minutes, and some gigabytes of memory) ...", flush=True)
    run("g++", "-std=c++17", "-O3", "-march=native", *(f"-D{name}" for name in DEFINES),
        "-I", pathlib.Path(prefix) / "cmeel.prefix/include", "-I", eigen, source, "-o", program)
    return program


def compile_example(name):
    """An example of this crate as a program, in the release profile."""
    run("cargo", "build", "--release", "--example", name, cwd=ROOT)
    metadata = run("cargo", "metadata", "--format-version", "1", "--no-deps", cwd=ROOT)
    target = metadata.split('"target_directory":"')[1].split('"')[0]
    return pathlib.Path(target) / "release/examples" / name


def figures(output, best, checks):
    """Takes the times of one round into `best` where they are the fastest so far."""
    for line in output.splitlines():
        robot, algorithm, ns, check = line.split()
        key = robot, algorithm
        best[key] = min(best.get(key, float("inf")), float(ns))
        checks[key] = float(check)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "target/peers", help="where everything is put")
    parser.add_argument("--eigen", type=pathlib.Path, default=pathlib.Path("/usr/include/eigen3"))
    parser.add_argument("--rounds", type=int, default=5, help="times that both sides take turns")
    parser.add_argument("--seconds", type=float, default=0.1, help="per algorithm, robot and round")
    parser.add_argument("--before", default="", help="a command to put before each timed program, such as `taskset -c 1`")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)

    python = environment(options.folder, "pinocchio", "pin")
    peer, ours = compile_peer(options.folder, python, options.eigen), compile_example("peers")
    models = [f"{ROOT / 'robots' / name}.urdf:{base}" for name, base in ROBOTS.items()]
    run(python, HERE / "workload.py", options.folder, *models)
    files = [options.folder / f"{name}.txt" for name in ROBOTS]

    sides = {"peer": ({}, {}), "ours": ({}, {})}
    for _ in range(options.rounds):
        for name, program in (("peer", peer), ("ours", ours)):
            output = run(*options.before.split(), program, options.seconds, *files, cwd=ROOT)
            figures(output, *sides[name])

    (theirs, their_checks), (own, own_checks) = sides["peer"], sides["ours"]
    version = run(python, "-c", "import pinocchio; print(pinocchio.__version__)").strip()
    print(f"| robot | algorithm | ours / Pinocchio {version} | ours, ns | Pinocchio, ns |")
    print("|---|---|---|---|---|")
    apart = []
    for key, ns in theirs.items():
        if key not in own:
            print(f"| {key[0]} | {key[1]} | not there | | {ns:.0f} |")
            continue
        print(f"| {key[0]} | {key[1]} | {own[key] / ns:.2f} | {own[key]:.0f} | {ns:.0f} |")
        if abs(own_checks[key] - their_checks[key]) > AGREEMENT * max(1.0, abs(their_checks[key])):
            apart.append(f"{key[0]} {key[1]}: {own_checks[key]} here, {their_checks[key]} there")
    if apart:
        sys.exit("the two did not compute the same:\n" + "\n".join(apart))


if __name__ == "__main__":
    main()
