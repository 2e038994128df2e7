"""The promise: crate and wheel have one version; stubs and `help` say what there is, with shapes and units."""

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator, Optional, Union

import surelift
from surelift import _native

HERE = Path(__file__).parents[1]
STUBS = HERE / "package/surelift/_native.pyi"
Documented = Union[ast.ClassDef, ast.FunctionDef]


def version(path: Path) -> str:
    found = re.search(r'^version = "(.*)"', path.read_text(), re.MULTILINE)
    assert found
    return found[1]


def test_versions_agree() -> None:
    assert version(HERE / "Cargo.toml") == version(HERE.parent / "Cargo.toml") == surelift.__version__


def test_stubs_name_all_that_there_is_and_no_more() -> None:
    tree = ast.parse(STUBS.read_text())
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name not in ("Driver",):
            real = getattr(surelift, node.name)
            names = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            public = {name for name in vars(real) if not name.startswith("_")}
            assert names - {"__new__", "__len__", "__enter__", "__exit__"} == public, node.name
        if isinstance(node, ast.FunctionDef):
            assert callable(getattr(surelift, node.name))
    stubs = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert stubs - {"Driver"} == set(surelift.__all__) - {"__version__", "get_include"}


# Types that stubs alone have, and what is for the package and its tests.
NOT_COMPARED = "surelift._native.(Array|Driver|Path|Progress|__all__|_panic)"


def test_stubs_have_the_signatures_and_defaults_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "allowed").write_text(NOT_COMPARED)
    call = [sys.executable, "-m", "mypy.stubtest", "surelift", "--allowlist", "allowed"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def members() -> Iterator[tuple[str, Any]]:
    """All that is public, by name."""
    for name in surelift.__all__:
        real = getattr(surelift, name)
        if isinstance(real, str):
            continue
        yield name, real
        if inspect.isclass(real) and not issubclass(real, Exception):
            yield from ((f"{name}.{key}", getattr(real, key)) for key in vars(real) if not key.startswith("_"))


# What neither takes nor gives numbers or arrays.
WORDS = ["Arm.name", "Arm.model", "Controller.stopped", "Job.release", "Model.frame_names", "Model.joint_names", "Model.name", "NativeArm", "Scene.names", "get_include"]
UNIT_OR_SHAPE = re.compile(r"\bs\b|\brad\b|\bus\b|\bm\b|\bkg\b|\bJ\b|SI units|\([nNp]|\(any|\(\d,|\(pieces|\bn\b|\bp parameters|from 0")


def test_everything_public_says_what_it_is_with_shapes_and_units() -> None:
    seen = dict(members())
    assert len(seen) > 70 and set(WORDS) <= set(seen)
    for name, real in seen.items():
        text = real.__doc__ or ""
        assert len(text) > 15 and "see `surelift" not in text, name
        error = inspect.isclass(real) and issubclass(real, Exception)
        if not error and name not in WORDS:
            assert UNIT_OR_SHAPE.search(text), f"{name}: {text}"


def runtime_text(owner: Any, node: Documented) -> Optional[str]:
    real = getattr(owner, node.name, None)
    if node.name.startswith("__") or real is None:
        return None
    return inspect.cleandoc(real.__doc__ or "")


def documented(tree: ast.Module) -> Iterator[tuple[Documented, str]]:
    """Parts of the stubs, with the texts that `help` has for them."""
    for node in tree.body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            continue
        text = runtime_text(_native, node)
        if text is None:
            continue
        yield node, text
        for part in node.body:
            if isinstance(part, ast.FunctionDef):
                inner = runtime_text(getattr(_native, node.name), part)
                if inner is not None:
                    yield part, inner


def rewritten(source: str) -> str:
    """The stubs with the texts of `help`."""
    lines = source.split("\n")
    for node, text in sorted(documented(ast.parse(source)), key=lambda pair: -pair[0].lineno):
        body = node.body[0]
        indent = " " * (node.col_offset + 4)
        block = [f'{indent}"""{text}"""'.replace("\n", "\n" + indent).replace(indent + "\n", "\n")]
        if ast.get_docstring(node) is not None:
            assert body.end_lineno is not None
            lines[body.lineno - 1 : body.end_lineno] = block
        elif isinstance(node, ast.FunctionDef):
            at = body.lineno - 1
            lines[at : at + 1] = [lines[at].removesuffix(" ...")] + block if lines[at].strip() != "..." else block
        else:
            lines.insert(body.lineno - 1, block[0])
    return "\n".join(lines)


def test_stubs_have_the_texts_of_help() -> None:
    source = STUBS.read_text()
    if os.environ.get("SURELIFT_WRITE"):
        STUBS.write_text(rewritten(source))
    for node, text in documented(ast.parse(STUBS.read_text())):
        assert ast.get_docstring(node) == text, f"{node.name}: SURELIFT_WRITE=1 rewrites the stubs"
