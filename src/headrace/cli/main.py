"""The ``headrace`` command: puts the verbs together, and turns errors into one line and a status.

No traceback reaches a user: what Headrace raises on purpose says what was wrong and what to do.
Only a fault of Headrace itself is shown in full, with ``HEADRACE_TRACEBACK=1``.

A verb is a module of this package, with either an ``app`` of further verbs or a function of its own
name. Only the one that is asked for is imported: a broker that starts needs none of the others.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import typer

from headrace.cli.exit_codes import MEANINGS, ExitCode, Failure
from headrace.model.errors import HeadraceError, InvalidConfig, PackageNotInstalled

if TYPE_CHECKING:
    from collections.abc import Sequence

TRACEBACK_VARIABLE = "HEADRACE_TRACEBACK"
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""Of the click that typer uses, be it its own copy or the package."""

VERBS = (
    "serve",
    "topic",
    "group",
    "cluster",
    "produce",
    "consume",
    "config",
    "quota",
    "schema",
    "acl",
    "user",
    "log",
    "pipeline",
    "tls",
    "doctor",
)
"""In the order in which the help lists them."""

_EPILOG = "Exit status: " + "; ".join(f"{code.value} {text}" for code, text in MEANINGS.items())


def app_of(verbs: Sequence[str]) -> typer.Typer:
    """The command, as far as it consists of these verbs."""
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
    app.callback()(_headrace)
    for verb in verbs:
        module = import_module(f"headrace.cli.{verb}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=verb)
        else:
            app.command(verb)(getattr(module, verb))
    return app


def _print_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        print(f"headrace {version('headrace')}")
        raise typer.Exit


def _headrace(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_print_version, is_eager=True
    ),
) -> None:
    """Options before the verb."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; the exit status is the answer."""
    try:
        given = sys.argv[1:] if arguments is None else list(arguments)
        asked_for = [verb for verb in given[:1] if verb in VERBS]
        status = app_of(asked_for or VERBS)(args=given, prog_name="headrace", standalone_mode=False)
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
