"""Sizes and habits of the sources, held by a machine."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
TEST_FUNCTION_LINES_MAX = 60
CONFTEST_LINES_MAX = 300

MACHINE_PATH = re.compile(r"(^|[^A-Za-z0-9_.])/(work|farm|root|home)/")


def sources(*folders: str) -> list[Path]:
    return [
        path
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "generated" not in path.parts and "node_modules" not in path.parts
    ]


class Found(NamedTuple):
    """What the tests below want to know of one module."""

    has_docstring: bool
    functions: list[tuple[str, int]]
    swallowing_lines: list[int]


@cache
def look_into(path: Path) -> Found:
    """Parsed and walked once for all tests; trees are too large to be kept."""
    tree = ast.parse(path.read_text())
    functions, swallowing = [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.append((node.name, length(node)))
        elif isinstance(node, ast.ExceptHandler) and (
            node.type is None or all(isinstance(each, ast.Pass) for each in node.body)
        ):
            swallowing.append(node.lineno)
    return Found(ast.get_docstring(tree) is not None, functions, swallowing)


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines without the docstring."""
    lines = (function.end_lineno or 0) - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        lines -= (first.end_lineno or 0) - first.lineno + 1
    return lines


def test_no_file_is_too_long():
    long = {
        str(path.relative_to(ROOT)): count
        for path in sources("src", "tests", "tools", "bench", "soak")
        if (count := len(path.read_text().splitlines())) > FILE_LINES_MAX
        or (path.name == "conftest.py" and count > CONFTEST_LINES_MAX)
    }
    assert long == {}


def test_no_function_is_too_long():
    long = {
        f"{path.relative_to(ROOT)}:{name}": lines
        for path in sources("src", "tools", "bench", "soak")
        for name, lines in look_into(path).functions
        if lines > FUNCTION_LINES_MAX
    }
    assert long == {}


def test_no_test_function_is_too_long():
    long = {
        f"{path.relative_to(ROOT)}:{name}": lines
        for path in sources("tests")
        for name, lines in look_into(path).functions
        if lines > TEST_FUNCTION_LINES_MAX
    }
    assert long == {}


def test_every_module_says_what_it_is_for():
    silent = [
        str(path.relative_to(ROOT)) for path in sources("src") if not look_into(path).has_docstring
    ]
    assert silent == []


def test_no_error_is_swallowed():
    swallowed = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sources("src")
        for line in look_into(path).swallowing_lines
    ]
    assert swallowed == []


def test_no_machine_path_is_in_the_tree():
    texts = [*sources("src", "tests", "tools", "bench", "soak"), *ROOT.glob("*.md")]
    for folder in ("docs", "bench/results", "soak/results"):
        texts += [p for p in (ROOT / folder).rglob("*") if p.suffix in (".md", ".json")]
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in texts
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if MACHINE_PATH.search(line) and path != Path(__file__)
    ]
    assert found == []


def test_unit_tests_mirror_the_sources():
    """A folder of unit tests names a package; a test file names a module or a behaviour of it."""
    for path in (ROOT / "tests" / "unit").rglob("test_*.py"):
        folder = path.parent.relative_to(ROOT / "tests" / "unit")
        assert (ROOT / "src" / "headrace" / folder).is_dir(), f"{path} mirrors no package"
