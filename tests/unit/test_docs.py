"""The documentation is true where a machine can tell: links, options, metrics, APIs, limits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from headrace.cli.main import VERBS, app_of
from headrace.config.load import from_toml
from headrace.config.serve import SERVE_OPTIONS, ServeSettings
from headrace.config.topic import TOPIC_OPTIONS
from headrace.frontends.kafka.served_apis import HANDLERS
from headrace.metrics.catalogue import CATALOGUE
from headrace.patterns.deliveries import DELIVERIES_TABLE_NAME
from headrace.patterns.outbox import OUTBOX_TABLE_NAME
from headrace.patterns.record_and_check import HANDLED_TABLE_NAME
from headrace.pipeline.jobs.definition import parse_definition
from headrace.storage import file_names, write_ahead_log
from headrace.testing import pytest_plugin

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
ARCHITECTURE_LINES_MAX = 150
STYLE_LINES_MAX = 60

LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^|\| |bin/|\w=\S+ )headrace ([^|#\n]+)", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
DOTTED = re.compile(r"[a-z][a-z0-9]*(\.[a-z0-9]+)+")
SETTING = re.compile(r"(?:--set|--config|-c|config set (?:--\w+ \S+)) ([a-z][a-z.]+)=")
METRIC = re.compile(r"\bheadrace_[a-z_]+")
SOURCE = re.compile(r"\b((?:\w+/)+\w+\.py)\b")
API_ROW = re.compile(r"^\| (\d+) \| (\w+) \| (\d+) - (\d+) \|$", re.MULTILINE)

OPTIONS = {*SERVE_OPTIONS, *TOPIC_OPTIONS}
OPTION_STEMS = {name.partition(".")[0] for name in OPTIONS}
CLIENT_SETTINGS = {
    "auto.offset.reset",
    "bootstrap.servers",
    "group.id",
    "group.instance.id",
    "group.protocol",
    "session.timeout.ms",
    "transactional.id",
}
"""Options of clients that pages speak of; they begin like ours."""
PIPELINE_OPTIONS = {
    name
    for end in ("source", "sink")
    for name in re.findall(
        r'"(headrace\.[a-z.]*[a-z])"',
        (ROOT / "src" / "headrace" / "pipeline" / end / "options.py").read_text("utf-8"),
    )
}
"""Of Spark's source and sink; read, not imported, since that takes Spark."""
NOT_OPTIONS = {"group.version", "transaction.version", "headrace.testing", "headrace.patterns"}
NOT_OPTIONS |= {"headrace.pipeline", *PIPELINE_OPTIONS}
"""Features and packages: they look like options."""
TABLES = {OUTBOX_TABLE_NAME, DELIVERIES_TABLE_NAME, HANDLED_TABLE_NAME}
"""Of a service's database: they look like metrics."""
JOB_TABLE = "[job]"
"""Tells the definition of a pipeline job from a broker's settings."""
TWO_WAYS = "# or "
"""Marks a block that says one thing in two ways; a file may say it once."""
FILE_SUFFIXES = ("py", "md", "toml", "txt", "json", "log", "cut")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as they are made on the web."""
    headings = HEADING.findall(FENCE.sub("", page.read_text("utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


def prose_codes(page: Path) -> list[str]:
    """What stands between single back quotes, outside of fenced blocks."""
    return CODE.findall(FENCE.sub("", page.read_text("utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text("utf-8"))
    for link in LINK.findall(text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{link} leads nowhere"
        if anchor:
            assert anchor in anchors(target), f"{link}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_options_that_are_named_exist(page: Path) -> None:
    named = {
        code
        for code in prose_codes(page)
        if DOTTED.fullmatch(code)
        and code.partition(".")[0] in OPTION_STEMS
        and code.rpartition(".")[2] not in FILE_SUFFIXES
    }
    named |= set(SETTING.findall(page.read_text("utf-8")))
    unknown = {name for name in named if name not in OPTIONS and f"headrace.{name}" not in OPTIONS}
    assert unknown - CLIENT_SETTINGS - NOT_OPTIONS == set()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_metrics_that_are_named_exist(page: Path) -> None:
    named = set(METRIC.findall(page.read_text("utf-8")))
    fixtures = {name for name in vars(pytest_plugin) if name.startswith("headrace_")}
    assert named - set(CATALOGUE) - fixtures - TABLES <= {"headrace_"}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_sources_that_are_named_exist(page: Path) -> None:
    """A path in prose is relative to the root, to the package, or to the front ends."""
    package = ROOT / "src" / "headrace"
    roots = [ROOT, package, package / "frontends", package / "frontends" / "kafka"]
    for code in prose_codes(page):
        for path in SOURCE.findall(code):
            if "NN" not in path:
                assert any((root / path).exists() for root in roots), f"{path} is not there"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_that_are_shown_exist(page: Path) -> None:
    """Each verb in a block of shell, and each flag that follows it."""
    for language, text in BLOCK.findall(page.read_text("utf-8")):
        if language in ("bash", "console", "sh"):
            for command in COMMAND.findall(text):
                raise_if_unknown_command(command.split())


def raise_if_unknown_command(words: list[str]) -> None:
    command: Any = typer.main.get_command(app_of(VERBS))
    rest = list(words)
    while getattr(command, "commands", None) and rest and not rest[0].startswith("-"):
        assert rest[0] in command.commands, f"headrace has no verb {' '.join(words)}"
        command = command.commands[rest.pop(0)]
    known = {flag for parameter in command.params for flag in parameter.opts} | {"--help"}
    flags = {word.partition("=")[0] for word in rest if re.match(r"--\w", word)}
    assert flags <= known, f"{flags - known} of: headrace {' '.join(words)}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_settings_files_that_are_shown_are_accepted(page: Path) -> None:
    for language, text in BLOCK.findall(page.read_text("utf-8")):
        if language == "toml" and TWO_WAYS not in text:
            if JOB_TABLE in text:
                parse_definition(text)
            else:
                ServeSettings.resolve(from_toml(text))


def test_table_of_apis_is_what_is_served() -> None:
    rows = API_ROW.findall((DOCS / "compatibility.md").read_text("utf-8"))
    documented = {int(key): (name, int(low), int(high)) for key, name, low, high in rows}
    assert documented == {
        key: (api_name(handler.module), handler.version_min, handler.version_max)
        for key, handler in HANDLERS.items()
    }


def api_name(module: str) -> str:
    words = module.rpartition(".")[2].split("_")[2:]
    return "".join(word.capitalize() for word in words)


def test_every_file_that_is_written_is_described() -> None:
    text = (DOCS / "formats" / "segment_files.md").read_text("utf-8")
    text += (DOCS / "formats" / "write_ahead_log.md").read_text("utf-8")
    names = {
        value
        for name, value in vars(file_names).items()
        if name.isupper() and not name.startswith("_") and isinstance(value, str)
    }
    assert len(names) > 10
    assert {name for name in {*names, *write_ahead_log.FILE_NAMES} if name not in text} == set()


def test_every_decision_has_context_choice_and_price() -> None:
    pages = sorted((DOCS / "decisions").glob("0*.md"))
    index = (DOCS / "decisions" / "README.md").read_text("utf-8")
    assert pages
    for number, page in enumerate(pages, 1):
        text = page.read_text("utf-8")
        assert page.name.startswith(f"{number:04d}-"), f"{page.name} is out of sequence"
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Choice", "Price"]
        assert page.name in index


def test_pages_that_should_be_short_are() -> None:
    limits = {"ARCHITECTURE.md": ARCHITECTURE_LINES_MAX, "STYLE.md": STYLE_LINES_MAX}
    for name, limit in limits.items():
        assert len((ROOT / name).read_text("utf-8").splitlines()) <= limit
