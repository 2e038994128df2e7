"""The promise: crate and wheel have one version, stubs say what there is."""

import ast
import re
from pathlib import Path

import surelift

HERE = Path(__file__).parents[1]


def version(path: Path) -> str:
    found = re.search(r'^version = "(.*)"', path.read_text(), re.MULTILINE)
    assert found
    return found[1]


def test_versions_agree() -> None:
    assert version(HERE / "Cargo.toml") == version(HERE.parent / "Cargo.toml") == surelift.__version__


def test_stubs_name_all_that_there_is_and_no_more() -> None:
    tree = ast.parse((HERE / "package/surelift/_native.pyi").read_text())
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name not in ("Driver",):
            real = getattr(surelift, node.name)
            names = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            public = {name for name in vars(real) if not name.startswith("_")}
            assert names - {"__init__", "__len__"} == public, node.name
        if isinstance(node, ast.FunctionDef):
            assert callable(getattr(surelift, node.name))
    stubs = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert stubs - {"Driver"} == set(surelift.__all__) - {"__version__"}
