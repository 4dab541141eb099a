"""Options that several verbs share, declared once. (Typer reads these annotations.)"""

from typing import Annotated

import typer

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap",
        "-b",
        metavar="HOST:PORT",
        envvar="HEADRACE_BOOTSTRAP",
        show_envvar=True,
        help="The broker to talk to: Headrace or Kafka.",
    ),
]

ClientSettings = Annotated[
    list[str],
    typer.Option(
        "-X",
        metavar="NAME=VALUE",
        help="A librdkafka setting, such as security.protocol=SSL; may be repeated.",
    ),
]

Timeout = Annotated[
    float, typer.Option("--timeout", min=0.1, help="Seconds to wait for the broker's answer.")
]

DEFAULT_TIMEOUT_SECONDS = 10.0
