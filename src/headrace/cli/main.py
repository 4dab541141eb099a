"""The ``headrace`` command: puts the verbs together, and turns errors into one line and a status.

No traceback reaches a user: what Headrace raises on purpose says what was wrong and what to do.
Only a fault of Headrace itself is shown in full, with ``HEADRACE_TRACEBACK=1``.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import typer

from headrace.cli import (
    acl,
    cluster,
    config,
    consume,
    doctor,
    group,
    log,
    pipeline,
    produce,
    quota,
    schema,
    serve,
    tls,
    topic,
    user,
)
from headrace.cli.exit_codes import MEANINGS, ExitCode, Failure
from headrace.model.errors import HeadraceError, InvalidConfig, PackageNotInstalled

if TYPE_CHECKING:
    from collections.abc import Sequence

TRACEBACK_VARIABLE = "HEADRACE_TRACEBACK"
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""Of the click that typer uses, be it its own copy or the package."""

_EPILOG = "Exit status: " + "; ".join(f"{code.value} {text}" for code, text in MEANINGS.items())

app = typer.Typer(
    name="headrace",
    help="A message queue that Kafka clients take for Kafka. Start one: headrace serve",
    epilog=_EPILOG + ".",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command("serve")(serve.serve)
app.add_typer(topic.app, name="topic")
app.add_typer(group.app, name="group")
app.add_typer(cluster.app, name="cluster")
app.command("produce")(produce.produce)
app.command("consume")(consume.consume)
app.add_typer(config.app, name="config")
app.add_typer(quota.app, name="quota")
app.add_typer(schema.app, name="schema")
app.add_typer(acl.app, name="acl")
app.add_typer(user.app, name="user")
app.add_typer(log.app, name="log")
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(tls.app, name="tls")
app.command("doctor")(doctor.doctor)


def _print_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        print(f"headrace {version('headrace')}")
        raise typer.Exit


@app.callback()
def _headrace(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_print_version, is_eager=True
    ),
) -> None:
    """Options before the verb."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; the exit status is the answer."""
    try:
        given = None if arguments is None else list(arguments)
        status = app(args=given, prog_name="headrace", standalone_mode=False)
    except Failure as failure:
        return _end(failure.message, failure.code)
    except UsageError as error:
        return _end(_usage_message(error), ExitCode.USAGE)
    except InvalidConfig as error:
        return _end(error.message, ExitCode.USAGE)
    except PackageNotInstalled as error:
        return _end(error.message, ExitCode.MISSING_DEPENDENCY)
    except HeadraceError as error:
        return _end(error.message, ExitCode.FAILED)
    except (KeyboardInterrupt, typer.Abort):
        return int(ExitCode.INTERRUPTED)
    except SystemExit as ended:
        # A closed pipe: click has taken care of it.
        return ended.code if isinstance(ended.code, int) else int(ExitCode.FAILED)
    except Exception as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        reason = f"{type(error).__name__}: {error}"
        return _end(f"{reason} (set {TRACEBACK_VARIABLE}=1 to see where)", ExitCode.FAILED)
    return status if isinstance(status, int) else int(ExitCode.OK)


def _usage_message(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "headrace")
    message = getattr(error, "format_message", lambda: str(error))()
    return f"{message.rstrip('.')}; see: {command} --help"


def _end(message: str, code: ExitCode) -> int:
    one_line = " ".join(message.split())
    print(f"headrace: {one_line}", file=sys.stderr)
    return int(code)
