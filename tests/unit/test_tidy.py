"""Sizes and habits of the sources, held by a machine."""

from __future__ import annotations

import ast
import re
from pathlib import Path

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


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text())
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


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
        f"{path.relative_to(ROOT)}:{function.name}": length(function)
        for path in sources("src", "tools", "bench", "soak")
        for function in functions(path)
        if length(function) > FUNCTION_LINES_MAX
    }
    assert long == {}


def test_no_test_function_is_too_long():
    long = {
        f"{path.relative_to(ROOT)}:{function.name}": length(function)
        for path in sources("tests")
        for function in functions(path)
        if length(function) > TEST_FUNCTION_LINES_MAX
    }
    assert long == {}


def test_every_module_says_what_it_is_for():
    silent = [
        str(path.relative_to(ROOT))
        for path in sources("src")
        if ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert silent == []


def test_no_error_is_swallowed():
    swallowed = [
        f"{path.relative_to(ROOT)}:{handler.lineno}"
        for path in sources("src")
        for handler in ast.walk(ast.parse(path.read_text()))
        if isinstance(handler, ast.ExceptHandler)
        and (handler.type is None or all(isinstance(s, ast.Pass) for s in handler.body))
    ]
    assert swallowed == []


def test_no_machine_path_is_in_the_tree():
    texts = [*sources("src", "tests", "tools", "bench", "soak"), *ROOT.glob("*.md")]
    texts += [p for p in (ROOT / "docs").rglob("*") if p.suffix in (".md", ".json")]
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
