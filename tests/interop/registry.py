"""The clients under test: how each driver is started, and what its library cannot do.

`cannot` maps a capability to the reason it is missing; the summary at the end of a run prints these
reasons, so that what was not tried is said and not hidden.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .builds import franz_go_program, java_class_path, kafkajs_directory
from .cache import HERE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NO_ADMIN = "has no admin calls"
CLASSIC_ONLY = "knows the classic group protocol only"
SMOKE_ONLY = "smoke test only"
SMOKE_LACKS = (
    "admin",
    "cooperative",
    "consumer-protocol",
    "crash",
    "delete-group",
    "explicit-commit",
    "fencing-error",
    "idempotent",
    "join-leave",
    "offset-reset-none",
    "seek",
    "send-error",
    "session-timeout-error",
    "static",
)


@dataclass(frozen=True)
class ClientSpec:
    """One client library."""

    name: str
    command: Callable[[], list[str]]
    directory: Path
    tools: tuple[str, ...] = ()
    marker: str | None = None
    cannot: dict[str, str] = field(default_factory=dict)

    def missing_tool(self) -> str | None:
        missing = [tool for tool in self.tools if shutil.which(tool) is None]
        return f"{', '.join(missing)} not on this machine" if missing else None

    def obstacle(self, needs: tuple[str, ...]) -> str | None:
        """Why a scenario with these needs does not apply to this client; None if it does."""
        return next((self.cannot[need] for need in needs if need in self.cannot), None)


def _python(module: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, "-m", f"interop.clients.{module}"]


def _java() -> list[str]:
    options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return ["java", *options, "-cp", java_class_path(), "ClientDriver"]


def _kafka_python_lacks() -> dict[str, str]:
    lacks = {
        "consumer-protocol": CLASSIC_ONLY,
        "fencing-error": "reports a taken instance id in its log only",
    }
    for codec, module in (("snappy", "snappy"), ("zstd", "zstandard"), ("lz4", "lz4")):
        if importlib.util.find_spec(module) is None:
            lacks[f"codec-{codec}"] = f"needs the Python package {module}, not installed"
    return lacks


TESTS = HERE.parent

FULL_CLIENTS = (
    ClientSpec("confluent-kafka", _python("confluent"), TESTS),
    ClientSpec("kafka-python", _python("kafka_python"), TESTS, cannot=_kafka_python_lacks()),
    ClientSpec(
        "aiokafka",
        _python("aiokafka"),
        TESTS,
        cannot={
            "consumer-protocol": CLASSIC_ONLY,
            "cooperative": "has no cooperative assignor",
            "delete-group": "has no call to delete a group",
            "fencing-error": "joins again for ever when its instance id is taken",
        },
    ),
    ClientSpec(
        "kcat",
        _python("kcat"),
        TESTS,
        tools=("kcat",),
        marker="kcat",
        cannot={
            "admin": NO_ADMIN,
            "create-topic": NO_ADMIN,
            "consumer-protocol": "its librdkafka 2.0 knows the classic group protocol only",
            "delete-group": NO_ADMIN,
            "explicit-commit": "commits by itself only",
            "set-timestamp": "cannot set a record's timestamp",
        },
    ),
    ClientSpec("java", _java, TESTS, tools=("mvn", "javac", "java"), marker="maven"),
)

SMOKE_CLIENTS = (
    ClientSpec(
        "franz-go",
        lambda: [str(franz_go_program())],
        TESTS,
        tools=("go",),
        marker="go",
        cannot=dict.fromkeys(SMOKE_LACKS, SMOKE_ONLY),
    ),
    ClientSpec(
        "kafkajs",
        lambda: ["node", str(kafkajs_directory() / "driver.js")],
        TESTS,
        tools=("node", "npm"),
        marker="node",
        cannot=dict.fromkeys(SMOKE_LACKS, SMOKE_ONLY)
        | {f"codec-{codec}": "needs a plug-in for it" for codec in ("snappy", "lz4", "zstd")},
    ),
)

CLIENTS = FULL_CLIENTS + SMOKE_CLIENTS
