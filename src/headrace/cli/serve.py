"""``headrace serve``: settings in, launcher on. (No postponed annotations: typer reads them.)"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.options import DEFAULT_BOOTSTRAP

_EXAMPLES = """Examples:

\b
  headrace serve
  headrace serve --data /var/lib/headrace --listen kafka://127.0.0.1:9092
  headrace serve --set log.retention.hours=24 --set durability=fsync
  headrace serve --listen 'kafka://0.0.0.0:9092?advertise=broker.lan:9092' --allow-remote
  headrace serve --listen 'kafka+sasl_ssl://0.0.0.0:9095?advertise=broker.lan:9095' \\
    --set ssl.keystore.location=server.pem --set sasl.enabled.mechanisms=SCRAM-SHA-512

Settings come from --config, then HEADRACE_... variables, then --set; the later wins."""


def serve(
    data: Annotated[
        str | None, typer.Option("--data", metavar="DIR", help="The data directory [data].")
    ] = None,
    listen: Annotated[
        list[str] | None,
        typer.Option(
            "--listen",
            metavar="URL",
            help="Where to listen: kafka, kafka+ssl, kafka+sasl, kafka+sasl_ssl or http, then"
            " ://HOST:PORT; may be repeated.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="FILE", envvar="HEADRACE_CONFIG", help="Settings in a TOML file."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="One setting; may be repeated."),
    ] = None,
    allow_remote: Annotated[
        bool,
        typer.Option("--allow-remote", help="Listen where other machines can connect."),
    ] = False,
    log_format: Annotated[
        str | None, typer.Option("--log-format", metavar="text|json", help="Format of the log.")
    ] = None,
    log_level: Annotated[
        str | None,
        typer.Option("--log-level", metavar="debug|info|warning|error", help="What is logged."),
    ] = None,
) -> int:
    """Start a broker and run it until SIGTERM or Ctrl-C."""
    from headrace.config.load import load_settings
    from headrace.config.logging_setup import configure_logging
    from headrace.config.serve import ServeSettings

    loaded = load_settings(config, os.environ, settings or [])
    flags = {
        "data": data,
        "listen": ",".join(listen) if listen else None,
        "allow.remote": "true" if allow_remote else None,
        "log.format": log_format,
        "log.level": log_level,
    }
    loaded |= {name: value for name, value in flags.items() if value is not None}
    resolved = ServeSettings.resolve(loaded)
    configure_logging(resolved.log_format, resolved.log_level)

    from headrace.server.launcher import run

    return run(resolved, lambda urls: announce(urls, resolved.data_directory))


def announce(urls: list[str], data_directory: str) -> None:
    """Where it listens, in lines that a script can wait for; then what a person may type next."""
    for url in urls:
        typer.echo(f"listening {url}")
    address = next((url.removeprefix("kafka://") for url in urls if url.startswith("kafka:")), None)
    if address is None:
        return
    program = sys.argv[0] if sys.argv[0].endswith("headrace") else "headrace"
    bootstrap = "" if address == DEFAULT_BOOTSTRAP else f" --bootstrap {address}"
    typer.echo(
        f"data in {data_directory}; Ctrl-C stops. In another terminal:\n"
        f"  {program} produce greetings hello{bootstrap}\n"
        f"  {program} consume greetings --from-beginning --count 1{bootstrap}"
    )
    sys.stdout.flush()


serve.__doc__ = f"{serve.__doc__}\n\n{_EXAMPLES}"
