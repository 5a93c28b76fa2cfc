"""What the code base promises about itself: sizes, floors, start-up imports, no left-overs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = sorted((ROOT / "tuner").rglob("*.py"))
SOURCES = PACKAGE + [
    path for name in ("tests", "scripts", "benchmarks") for path in (ROOT / name).rglob("*.py")
]
MOST_LINES = 400
MOST_FUNCTION_LINES = 60
HEAVY = ("scipy", "matplotlib", "pandas", "gguf", "jsonschema", "pydantic", "numpy.ma")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_files_are_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("path", PACKAGE, ids=name_of)
def test_functions_are_small_and_public_ones_are_explained(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree) or not tree.body, "a module says which question it answers"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            # The signature of a command is its table of options; the body is what must be small.
            length = (node.end_lineno or 0) - node.body[0].lineno + 1
            assert length <= MOST_FUNCTION_LINES, node.name


MATHS = ("acceptance", "trees", "cost", "optimize", "simulate")


@pytest.mark.parametrize(
    "path",
    [p for p in PACKAGE if p.parent.name in MATHS or p.name == "speedup.py"],
    ids=name_of,
)
def test_public_functions_of_the_maths_have_docstrings(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert not bare


def test_nothing_is_left_over() -> None:
    words = re.compile(
        "|".join(["NotImplemented" + "Error", "TO" + "DO", "FIX" + "ME", "XX" + "X"])
    )
    found = [name_of(path) for path in SOURCES if words.search(path.read_text(encoding="utf-8"))]
    assert not found


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["recommend", "chat-llama-3.3-70b"]]
)
def test_start_up_loads_no_heavy_module(arguments: list[str]) -> None:
    code = (
        "import sys; from tuner.cli.app import run; run(sys.argv[1:]);"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().endswith("LOADED []")


def test_import_floors_hold() -> None:
    """The contracts of pyproject.toml; they also fail when a floor is renamed away."""
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
