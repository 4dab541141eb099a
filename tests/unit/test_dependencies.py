"""What Headrace imports is what ``pyproject.toml`` declares; a base install runs a whole broker.

Read from the sources, not tried out: the environment of the tests has everything. Only imports that
happen when a module is loaded count against the base; one inside a function is there for somebody
who asked for it.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
REASONS = ROOT / "docs" / "decisions" / "0006-dependencies.md"
FOR_DEVELOPERS = {"dev", "fuzz"}

NEED_AN_EXTRA = {
    "headrace.frontends.common.key_set_refresh": {"security"},
    "headrace.records.column_arrays": {"spark"},
    "headrace.records.column_fallback": {"spark"},
    "headrace.records.column_kernel": {"spark"},
    "headrace.records.column_scan": {"spark"},
    "headrace.records.column_schema": {"spark"},
    "headrace.records.columns": {"spark"},
    "headrace.schemas.avro_schema": {"registry"},
    "headrace.schemas.json_schema": {"registry"},
    "headrace.schemas.protobuf_comparison": {"registry"},
    "headrace.schemas.protobuf_schema": {"registry"},
    "headrace.schemas.protobuf_text": {"registry"},
    "headrace.security.key_set_source": {"security"},
    "headrace.security.tls_certificates": {"security"},
    "headrace.security.token_validation": {"security"},
}
"""Modules that cannot be loaded without an extra: nobody may import them while being loaded.
Besides these, all of ``headrace.patterns`` and of ``headrace.pipeline``, which have tests of their
own below."""
OF_OTHERS = ("headrace.patterns", "headrace.pipeline")
IMPORTED_BY_OTHERS = {"pandas": "PySpark", "pyiceberg-core": "pyiceberg"}
"""Declared for whoever needs them: which version, or that they are there at all."""
LOADED_BY_ITS_HOST = {"headrace.testing.pytest_plugin": {"pytest"}}
"""pytest itself imports its plugins."""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names_of(requirements: list[str]) -> set[str]:
    """The distributions; an extra of Headrace itself stands for what is in it."""
    names = {normal(re.split(r"[\[<>=!~; ]", requirement)[0]) for requirement in requirements}
    return names - {"headrace"}


@cache
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@cache
def base() -> set[str]:
    return names_of(project()["dependencies"])


@cache
def extras() -> dict[str, set[str]]:
    declared = project()["optional-dependencies"].items()
    return {name: names_of(wanted) for name, wanted in declared if name not in FOR_DEVELOPERS}


@cache
def module_files() -> dict[str, Path]:
    """All modules but the generated codecs, which import nothing of others (see the last test)."""
    files = {}
    for file in sorted((SOURCES / "headrace").rglob("*.py")):
        parts = file.relative_to(SOURCES).with_suffix("").parts
        if "generated" not in parts:
            files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return files


def imported_names(tree: ast.AST, *, when_loaded: bool) -> set[str]:
    """Dotted names of modules, and of what is taken from them, which may be modules as well."""
    found: set[str] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are for tests"
            assert node.module is not None
            found.update({node.module, *(f"{node.module}.{alias.name}" for alias in node.names)})
        elif when_loaded and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        elif when_loaded and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
        else:
            waiting.extend(ast.iter_child_nodes(node))
    return found


@cache
def imports_of(module: str, *, when_loaded: bool) -> frozenset[str]:
    tree = ast.parse(module_files()[module].read_text())
    return frozenset(imported_names(tree, when_loaded=when_loaded))


def foreign(names: frozenset[str]) -> set[str]:
    """The top packages among ``names`` that are neither ours nor Python's."""
    tops = {name.partition(".")[0] for name in names}
    return {top for top in tops if top != "headrace" and top not in sys.stdlib_module_names}


@cache
def distributions_of(package: str) -> frozenset[str]:
    return frozenset(map(normal, _installed().get(package, ())))


@cache
def _installed() -> dict[str, list[str]]:
    return dict(packages_distributions())


def loaded_with(module: str) -> set[str]:
    """The module, the packages around it, and all of ours that come along when it is loaded."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in seen or name not in module_files():
            continue
        seen.add(name)
        parents = name.split(".")
        waiting.extend(".".join(parents[:length]) for length in range(1, len(parents)))
        waiting.extend(imports_of(name, when_loaded=True))
    return seen


def extras_needed(module: str) -> set[str]:
    packages = set()
    for name in loaded_with(module):
        packages |= foreign(imports_of(name, when_loaded=True))
    missing = {package for package in packages if not distributions_of(package) & base()}
    missing -= LOADED_BY_ITS_HOST.get(module, set())
    return {
        min(extra for extra, names in extras().items() if distributions_of(package) & names)
        for package in missing
    }


def test_every_package_that_is_imported_is_declared():
    declared = base().union(*extras().values())
    undeclared = {
        f"{module} imports {package}"
        for module in module_files()
        for package in foreign(imports_of(module, when_loaded=False))
        if not distributions_of(package) & declared
        and package not in LOADED_BY_ITS_HOST.get(module, ())
    }
    assert undeclared == set()


def test_base_modules_load_without_any_extra():
    needing = {module: found for module in module_files() if (found := extras_needed(module))}
    of_the_base = {
        module: found for module, found in needing.items() if not module.startswith(OF_OTHERS)
    }
    assert of_the_base == NEED_AN_EXTRA


def test_patterns_need_their_own_extra_and_the_client():
    assert extras_needed("headrace.patterns") == {"client", "patterns"}


def test_the_pipeline_needs_no_more_than_the_extra_for_spark_brings():
    brought = {"spark", "client", "registry"}
    modules = [module for module in module_files() if module.startswith("headrace.pipeline")]
    assert modules
    for module in modules:
        assert extras_needed(module) <= brought, module


def test_nothing_is_declared_that_nobody_imports():
    imported: set[str] = set()
    for module in module_files():
        for package in foreign(imports_of(module, when_loaded=False)):
            imported |= distributions_of(package)
    assert base().union(*extras().values()) - imported == set(IMPORTED_BY_OTHERS)


def test_every_dependency_has_its_reason():
    groups = [project()["dependencies"], *project()["optional-dependencies"].values()]
    named = set(map(normal, re.findall(r"[A-Za-z][\w.-]*\w", REASONS.read_text())))
    assert set().union(*map(names_of, groups)) - named == set()


def test_generated_codecs_import_only_ours():
    for file in sorted((SOURCES / "headrace/codecs/kafka/generated").rglob("*.py")):
        imports = re.findall(r"^\s*(?:from|import) (\w+)", file.read_text(), re.MULTILINE)
        assert foreign(frozenset(imports)) == set(), file
