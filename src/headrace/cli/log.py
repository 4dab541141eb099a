"""``headrace log``: dump and verify segments, ours and Kafka's. (Typer reads these annotations.)"""

import typer

app = typer.Typer(
    help="Look into the files of a log; needs no broker.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _log() -> None:
    """Options before the verb."""
