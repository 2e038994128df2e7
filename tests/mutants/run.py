#!/usr/bin/env python3
"""Checks that the tests notice wrong bounds: applies one small change (a *mutant*) to the source at a time, runs the
test that must fail, and restores the source.

    tests/mutants/run.py                       all lists, all mutants
    tests/mutants/run.py identify reach        these lists: tests/mutants/identify.toml, tests/mutants/reach.toml
    tests/mutants/run.py --only "quadrature"   those whose name contains this; may be given more than once
    tests/mutants/run.py --together            one build for all mutants that are expressions, instead of one for each
    tests/mutants/run.py --check               only that every change still applies; nothing is built

A list is a TOML file of entries

    [[mutant]]
    name = "quadrature dropped"                # what is wrong; unique in its list
    file = "src/identify/window/integrals.rs"  # from the repository's root
    old = '''...'''                            # text that occurs in the file exactly once
    new = '''...'''                            # what replaces it
    test = "window::rows::swing"               # filter of the unit tests that must fail (cargo test --lib -- FILTER)
    target = "--lib"                           # optional: other arguments that choose the tests, say "--test soundness"
    expression = true                          # optional: old and new are both expressions of one type
    also = [{ file = "...", old = "...", new = "..." }]   # optional: further replacements of the same mutant

With --together an `expression` becomes `(if <chosen> { new } else { old })`, chosen when the test runs. Such mutants of one file must
not overlap, unless they replace the same text; all others are built one by one as ever.

A mutant that does not build, or whose filter matches no test, is an error, not a success. The tests are run on the
untouched source first and must pass there; with --together, in the one build with no mutant chosen. Results go to the table in docs/mutations.md, which keeps what earlier runs
found of mutants that this run leaves out.

The environment may set CARGO (default "cargo"; several words are well) and whatever cargo itself listens to.
CARGO_INCREMENTAL=1 makes each mutant a matter of seconds. Needs Python 3.11 and nothing else.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CHOICE = "SURELIFT_MUTANT"
TABLE = ROOT / "docs" / "mutations.md"
HEAD = """# Mutations

Each row is a wrong bound that the tests have to notice. `tests/mutants/run.py` applies it, runs the named test, which must
fail, and restores the source. It also writes this page; a result is that of the row's last run.

- The rows are kept in `tests/mutants/`, one file for each list.
- With `--together` one build holds all of them, and the environment chooses one when the tests run.
- The tests must pass with none of them applied.
- The independent checker has its own list, `check/mutants.py`.

{counts}

| list | mutant | file | test | result |
|---|---|---|---|---|
"""


class Failure(Exception):
    """Why the run ends; told to the user without a trace."""


def lists(names):
    """(list, mutant) in order of the files."""
    folder = Path(__file__).resolve().parent
    paths = [folder / f"{name}.toml" for name in names] or sorted(folder.glob("*.toml"))
    found = []
    for path in paths:
        if not path.exists():
            raise Failure(f"{path}: there is no such list")
        with path.open("rb") as file:
            mutants = tomllib.load(file).get("mutant", [])
        for mutant in mutants:
            missing = [key for key in ("name", "file", "old", "new", "test") if key not in mutant]
            if missing:
                raise Failure(f"{path}: mutant {mutant.get('name', '?')!r} lacks {', '.join(missing)}")
            found.append((path.stem, mutant))
    return found


def mutated(mutant):
    """New texts by path."""
    texts = {}
    for change in [mutant, *mutant.get("also", [])]:
        path = ROOT / change["file"]
        text = texts.get(path) or path.read_text()
        count = text.count(change["old"])
        if count != 1:
            raise Failure(f"{mutant['name']!r}: {change['file']} holds the old text {count} times, expected once")
        texts[path] = text.replace(change["old"], change["new"])
    return texts


def woven(mutants):
    """New texts by path in which each of the mutants can be chosen by its index; see `CHOICE`."""
    places = {}
    for index, mutant in enumerate(mutants):
        path = ROOT / mutant["file"]
        start = path.read_text().index(mutant["old"])
        places.setdefault(path, {}).setdefault((start, start + len(mutant["old"])), []).append((index, mutant))
    texts = {}
    for path, spans in places.items():
        text, limit = path.read_text(), None
        for start, end in sorted(spans, reverse=True):
            if limit is not None and end > limit:
                raise Failure(f"{spans[start, end][0][1]['name']!r} overlaps another mutant: leave --together away")
            branches = ""
            for index, mutant in spans[start, end]:
                asked = f'std::env::var_os("{CHOICE}").is_some_and(|chosen| chosen == "{index}")'
                chosen = f"static CHOSEN: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| {asked}); *CHOSEN"
                branches += f"if {{ {chosen} }} {{ {mutant['new']} }} else "
            text, limit = f"{text[:start]}({branches}{{ {text[start:end]} }}){text[end:]}", start
        texts[path] = text
    return texts


class Changed:
    """The source with these texts in place of its own, for as long as a `with` lasts."""

    def __init__(self, texts):
        self.texts, self.before = texts, {path: path.read_text() for path in texts}

    def __enter__(self):
        for path, text in self.texts.items():
            path.write_text(text)

    def __exit__(self, *_):
        for path, text in self.before.items():
            path.write_text(text)


def cargo(mutant, *more):
    """Runs cargo test for the mutant's target; (exit code, output)."""
    target = shlex.split(mutant.get("target", "--lib"))
    command = [*shlex.split(os.environ.get("CARGO", "cargo")), "test", "--release", *target, *more]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def run(mutant):
    """Whether the mutant's test passes on the source as it is now."""
    code, output = cargo(mutant, "--no-run")
    if code != 0:
        raise Failure(f"{mutant['name']!r} does not build:\n{output[-4000:]}")
    # With those that take long: some mutants only they notice.
    code, output = cargo(mutant, "--", "--include-ignored", mutant["test"])
    counts = [int(count) for count in re.findall(r"^running (\d+) test", output, re.MULTILINE)]
    if sum(counts) == 0:
        raise Failure(f"{mutant['name']!r}: no test matches {mutant['test']!r}")
    return code == 0


def check_untouched(mutants):
    """The tests of these mutants pass on the source as it is now."""
    for target, test in {(mutant.get("target", "--lib"), mutant["test"]): None for mutant in mutants}:
        if not run({"name": "the untouched source", "target": target, "test": test}):
            raise Failure(f"{test!r} fails on the untouched source")


def known_results():
    """Results in the table, by (list, name)."""
    if not TABLE.exists():
        return {}
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in TABLE.read_text().splitlines()]
    return {(row[0], row[1]): row[4] for row in rows if len(row) == 5}


def write_table(results):
    """All mutants of all lists, with what is known of them."""
    lines, count = [], {}
    for stem, mutant in lists([]):
        result = results.get((stem, mutant["name"]), "not run yet")
        cells = [stem, mutant["name"], f"`{mutant['file']}`", f"`{mutant['test']}`", result]
        lines.append("| " + " | ".join(cells) + " |\n")
        count[result] = count.get(result, 0) + 1
    counts = ", ".join(f"{result}: {count[result]}" for result in sorted(count))
    TABLE.write_text(HEAD.format(counts=f"Of {len(lines)} rows, {counts}.") + "".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("lists", nargs="*", help="names of lists; all where none is given")
    parser.add_argument("--only", action="append", help="part of the name of the mutants to run")
    parser.add_argument("--check", action="store_true", help="only check that every change applies")
    parser.add_argument("--together", action="store_true", help="one build for all mutants that are expressions")
    parser.add_argument("--untouched", action="store_false", dest="baseline", help="do not run the tests as they are")
    options = parser.parse_args()
    parts = options.only or [""]
    chosen = [pair for pair in lists(options.lists) if any(part in pair[1]["name"] for part in parts)]
    if not chosen:
        raise Failure("no mutant is chosen")
    for _, mutant in chosen:
        mutated(mutant)
    if options.check:
        print(f"{len(chosen)} mutants apply")
        return 0
    results, survivors = known_results(), 0

    def record(stem, mutant, passes):
        nonlocal survivors
        survivors += passes
        results[(stem, mutant["name"])] = "**survives**" if passes else "caught"
        print(f"{'SURVIVES' if passes else 'caught  '} {stem}: {mutant['name']}", flush=True)
        write_table(results)

    together = [pair for pair in chosen if options.together and pair[1].get("expression")]
    alone = [pair for pair in chosen if pair not in together]
    if together:
        with Changed(woven([mutant for _, mutant in together])):
            if options.baseline:
                check_untouched(mutant for _, mutant in together)
            for index, (stem, mutant) in enumerate(together):
                os.environ[CHOICE] = str(index)
                record(stem, mutant, run(mutant))
        del os.environ[CHOICE]
    if alone and options.baseline:
        check_untouched(mutant for _, mutant in alone)
    for stem, mutant in alone:
        with Changed(mutated(mutant)):
            passes = run(mutant)
        record(stem, mutant, passes)
    print(f"{len(chosen) - survivors} of {len(chosen)} caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"error: {failure}")
