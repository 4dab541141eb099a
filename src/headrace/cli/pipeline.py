"""``headrace pipeline``: topics into tables and other topics, on Spark. (Typer reads annotations.)

Nothing of Spark is loaded here: verbs that run a job start a process which does.
"""

import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli import output
from headrace.cli.assignments import parse_assignments
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.job_view import COLUMNS, live_view, status_row
from headrace.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, ClientSettings, Json
from headrace.cli.table_options import absolute, with_absolute_file
from headrace.model.errors import PackageNotInstalled

if TYPE_CHECKING:
    from headrace.pipeline.jobs.definition import JobDefinition
    from headrace.pipeline.jobs.state import JobDirectory, StateDirectory

app = typer.Typer(
    help="Turn topics into tables and other topics, on Spark.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

State = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="DIR",
        envvar="HEADRACE_STATE",
        help="Where jobs keep their state [~/.local/state/headrace].",
    ),
]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="A Spark master [the cores of this machine]."),
]
Detach = Annotated[
    bool, typer.Option("--detach", "-d", help="Let it run on; see: headrace pipeline status.")
]
Name = Annotated[str, typer.Argument(help="The job.")]
WATCH_SECONDS = 0.5
LINES_DEFAULT = 100
_DIGEST_LENGTH = 6
_TOPICS_LENGTH_MAX = 150


@app.command("run")
def run(
    file: Annotated[Path, typer.Argument(metavar="JOB.toml", help="The job's definition.")],
    detach: Detach = False,
    once: Annotated[
        bool, typer.Option("--once", help="Take what is there, then end, whatever the file says.")
    ] = False,
    master: Master = None,
    state: State = None,
    as_json: Json = False,
) -> int:
    """Run a job and keep it running: it is started again after a fault.

    \b
    headrace pipeline run orders.toml
    headrace pipeline run orders.toml --detach
    headrace pipeline run orders.toml --once --master 'local[2,4]'
    headrace pipeline run orders.toml --master spark://head:7077
    """
    from headrace.pipeline.jobs.definition import AVAILABLE_NOW, load_definition

    definition = load_definition(file)
    if once:
        definition = definition.with_trigger(AVAILABLE_NOW)
    return _run(definition, state, master, detach=detach, as_json=as_json)


@app.command("parquet")
def parquet(
    topic: Annotated[list[str], typer.Option("--topic", "-t", help="The topic; may be repeated.")],
    to: Annotated[str, typer.Option("--to", metavar="PATH", help="A directory or a URL.")],
    table: Annotated[
        str, typer.Option("--format", metavar="plain|delta|iceberg", help="The kind of table.")
    ] = "plain",
    schema: Annotated[
        str,
        typer.Option(
            "--schema",
            metavar="SCHEMA",
            help="What the values are: raw, json, json-schema:FILE, avro:FILE, "
            "protobuf:FILE:MESSAGE, registry or registry:URL.",
        ),
    ] = "raw",
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with records that come later.")
    ] = False,
    every: Annotated[
        str, typer.Option("--every", metavar="TIME", help="With --follow: time between commits.")
    ] = "5 seconds",
    starting: Annotated[
        str,
        typer.Option("--starting", metavar="WHERE", help="earliest, latest, a time, or JSON."),
    ] = "earliest",
    partition_by: Annotated[
        str, typer.Option("--partition-by", metavar="hour|date|none", help="Directories by time.")
    ] = "hour",
    name: Annotated[
        str | None, typer.Option("--name", help="The job's name [made of topic and place].")
    ] = None,
    show: Annotated[
        bool, typer.Option("--show-definition", help="Print the job as TOML, and run nothing.")
    ] = False,
    detach: Detach = False,
    master: Master = None,
    state: State = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006 - typer copies it
    as_json: Json = False,
) -> int:
    """Write topics as Parquet files: once, or --follow them. Each record once, whatever happens.

    \b
    headrace pipeline parquet --topic orders --to /lake/orders
    headrace pipeline parquet --topic orders --to /lake/orders --format delta --schema json --follow
    headrace pipeline parquet --topic orders --to s3://lake/orders --format iceberg --detach -f
    headrace pipeline parquet --topic orders --to /lake/orders --show-definition > orders.toml
    """
    from headrace.pipeline.jobs.definition import AVAILABLE_NOW, definition_text, parse_definition
    from headrace.pipeline.jobs.toml_text import to_toml

    options = {f"kafka.{each}": value for each, value in parse_assignments(client, "-X").items()}
    sink = {
        "format": table,
        "path": absolute(to),
        "schema": with_absolute_file(schema),
        "partition_by": partition_by,
    }
    text = to_toml(
        {
            "job": {"name": name or _default_name(topic, sink["path"]), "kind": "parquet"},
            "source": {"topic": topic, "bootstrap": bootstrap, "starting": starting},
            "source.options": options,
            "sink": {**sink, "trigger": every if follow else AVAILABLE_NOW},
        }
    )
    definition = parse_definition(text)
    if show:
        print(definition_text(definition), end="")
        return int(ExitCode.OK)
    return _run(definition, state, master, detach=detach, as_json=as_json)


@app.command("list")
def list_jobs(state: State = None, as_json: Json = False) -> None:
    """List jobs, those of table topics too.

    \b
    headrace pipeline list
    headrace pipeline list --json
    """
    rows = [_row(job) for job in _state(state).jobs()]
    output.print_rows(rows, COLUMNS, as_json=as_json)


@app.command("status")
def status(
    name: Name,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Show it until it ends.")] = False,
    state: State = None,
    as_json: Json = False,
) -> None:
    """Show what a job does: rate, lag, files, restarts, the last error.

    \b
    headrace pipeline status orders
    headrace pipeline status orders --watch
    """
    job = _existing(_state(state), name)
    if watch:
        _watch(job)
    output.print_pairs(_row(job), as_json=as_json)


@app.command("stop")
def stop(
    names: Annotated[list[str], typer.Argument(help="The jobs.")],
    state: State = None,
    as_json: Json = False,
) -> None:
    """Stop jobs cleanly. Started again, each goes on where it was.

    \b
    headrace pipeline stop orders
    headrace pipeline stop orders payments
    """
    from headrace.pipeline.jobs.control import stop_job

    jobs = [_existing(_state(state), name) for name in names]
    for job in jobs:
        _raise_if_of_a_topic(job)
    running = [job for job in jobs if job.maybe_process() is not None]
    clean = {job.name: stop_job(job) for job in running}
    if as_json:
        output.print_json({"stopped": list(clean), "killed": [n for n in clean if not clean[n]]})
    else:
        for name, was_clean in clean.items():
            print(f"stopped {name}" if was_clean else f"killed {name}: it did not stop in time")
    others = [job.name for job in jobs if job not in running]
    if others:
        raise Failure(f"not running: {', '.join(others)}; see: headrace pipeline list")


@app.command("logs")
def logs(
    name: Name,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many.")] = LINES_DEFAULT,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="And those that come.")] = False,
    state: State = None,
) -> None:
    """Print the last lines of a job's log.

    \b
    headrace pipeline logs orders
    headrace pipeline logs orders --lines 20 --follow
    """
    from headrace.pipeline.jobs.limited_log import follow_lines, last_lines

    job = _existing(_state(state), name)
    for line in last_lines(job.log_path, lines):
        print(line)
    if not follow:
        return

    def wait() -> bool:
        sys.stdout.flush()
        time.sleep(WATCH_SECONDS)
        return job.maybe_process() is not None

    for line in follow_lines(job.log_path, wait):
        print(line)


@app.command("delete")
def delete(
    names: Annotated[list[str], typer.Argument(help="The jobs.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    state: State = None,
    as_json: Json = False,
) -> None:
    """Forget jobs that do not run: log, status, checkpoint. Tables stay. Asks, on a terminal.

    \b
    headrace pipeline delete orders
    headrace pipeline delete orders payments --yes
    """
    jobs = [_existing(_state(state), name) for name in names]
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Forget {', '.join(names)} and where they were?", abort=True, err=True)
    for job in jobs:
        job.remove()
    if as_json:
        output.print_json({"deleted": names})
    else:
        print(f"deleted {', '.join(names)}")


@app.command("submit")
def submit(
    file: Annotated[Path, typer.Argument(metavar="JOB.toml", help="The job's definition.")],
    master: Annotated[str, typer.Option("--master", metavar="URL", help="The Spark master.")],
    deploy_mode: Annotated[
        str, typer.Option("--deploy-mode", metavar="client|cluster", help="Where the driver runs.")
    ] = "client",
    files: Annotated[
        Path, typer.Option("--files", metavar="DIR", help="Where the files to send are put.")
    ] = Path("submission"),
    conf: Annotated[
        list[str], typer.Option("--conf", metavar="NAME=VALUE", help="A setting of Spark.")
    ] = [],  # noqa: B006
    show: Annotated[
        bool, typer.Option("--show-command", help="Print the command, and run nothing.")
    ] = False,
) -> int:
    """Run a job on a cluster with spark-submit.

    \b
    headrace pipeline submit orders.toml --master spark://head:7077
    headrace pipeline submit orders.toml --master yarn --deploy-mode cluster --show-command
    """
    import shlex

    from headrace.pipeline.jobs.definition import load_definition
    from headrace.pipeline.jobs.submit import make_submission

    _raise_if_not_installed()
    made = make_submission(
        load_definition(file),
        files.absolute(),
        master=master,
        deploy_mode=deploy_mode,
        spark_settings=parse_assignments(conf, "--conf"),
    )
    if show:
        variables = [f"{key}={shlex.quote(value)}" for key, value in made.environment.items()]
        print(" ".join([*variables, shlex.join(made.command)]))
        return int(ExitCode.OK)
    try:
        done = subprocess.run(made.command, env={**os.environ, **made.environment}, check=False)
    except OSError as error:
        raise Failure(
            f"{made.command[0]}: {error.strerror}; SPARK_HOME must be the directory of a Spark"
        ) from error
    return int(ExitCode.OK if done.returncode == 0 else ExitCode.FAILED)


@app.command("supervise", hidden=True)
def supervise(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client_config: Annotated[Path | None, typer.Option("--client-config", metavar="FILE")] = None,
    master: Master = None,
    state: State = None,
) -> int:
    """Keep the tables of topics. The broker starts this, and says on its input which topics."""
    _raise_if_not_installed()
    from headrace.pipeline.jobs import table_supervision
    from headrace.pipeline.jobs.priority import make_way

    chosen = make_way(master)
    settings = {} if client_config is None else table_supervision.read_client_config(client_config)
    connection = table_supervision.connection_to(bootstrap, settings)
    directory = _state(state)
    own = directory.root / f"tables-{connection.cluster_id}"
    log = own.with_suffix(".log")
    table_supervision.log_to_file(log)
    return table_supervision.supervise_tables(
        directory,
        connection,
        lambda: table_supervision.table_session(chosen, own),
        sys.stdin.fileno(),
        each_round=lambda: table_supervision.keep_short(log),
    )


def _run(
    definition: "JobDefinition",
    state: Path | None,
    master: str | None,
    *,
    detach: bool,
    as_json: bool,
) -> int:
    from headrace.pipeline.jobs.control import start_detached

    _raise_if_not_installed()
    definition.with_environment(os.environ)  # a variable that is not set is told here and now
    job = _state(state).job(definition.name)
    _raise_if_running(job)
    job.prepare(definition)
    if not detach:
        return _run_in_front(job, master, as_json=as_json)
    pid = start_detached(job, master)
    if as_json:
        output.print_json({"job": job.name, "pid": pid})
    else:
        print(f"job {job.name} runs; see: headrace pipeline status {job.name} --watch")
    return int(ExitCode.OK)


def _run_in_front(job: "JobDirectory", master: str | None, *, as_json: bool) -> int:
    import signal

    from headrace.pipeline.jobs.status import JobState
    from headrace.pipeline.jobs.supervise import Supervisor, worker_command

    with live_view(wanted=not as_json) as show:
        supervisor = Supervisor(
            job,
            command=worker_command(job, master),
            on_status=lambda status: show([status]),
        )
        before = {
            number: signal.signal(number, lambda *_: supervisor.stop())
            for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            ended = supervisor.run()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    output.print_pairs(status_row(ended, ended.updated_ms), as_json=as_json)
    if ended.state is not JobState.FAILED:
        return int(ExitCode.OK)
    raise Failure(
        f"job {job.name} failed: {ended.last_error}; see: headrace pipeline logs {job.name}"
    )


def _watch(job: "JobDirectory") -> None:
    with live_view(wanted=True) as show:
        while job.maybe_process() is not None:
            found = job.maybe_status(_now_ms())
            if found is not None:
                show([found])
            time.sleep(WATCH_SECONDS)


def _row(job: "JobDirectory") -> output.Row:
    found = job.maybe_status(_now_ms())
    if found is None:
        return {"job": job.name, "state": "new"}
    return status_row(found, _now_ms())


def _state(root: Path | None) -> "StateDirectory":
    from headrace.pipeline.jobs.state import StateDirectory

    return StateDirectory(root)


def _existing(state: "StateDirectory", name: str) -> "JobDirectory":
    from headrace.pipeline.jobs.errors import JobNotFound

    try:
        return state.existing_job(name)
    except JobNotFound as error:
        raise Failure(error.message, ExitCode.NOT_FOUND) from error


def _raise_if_running(job: "JobDirectory") -> None:
    if job.maybe_process() is not None:
        raise Failure(
            f"job {job.name} runs already; stop it with: headrace pipeline stop {job.name}",
            ExitCode.EXISTS,
        )


def _raise_if_of_a_topic(job: "JobDirectory") -> None:
    from headrace.pipeline.jobs.lag_group import TABLE_GROUP_PREFIX

    group = job.definition().group or ""
    if group.startswith(TABLE_GROUP_PREFIX):
        topic = group.removeprefix(TABLE_GROUP_PREFIX)
        raise Failure(
            f"job {job.name} is kept by the broker; end it with: "
            f"headrace topic alter {topic} --table none",
            ExitCode.USAGE,
        )


def _raise_if_not_installed() -> None:
    for package in ("pyspark", "pyarrow", "confluent_kafka"):
        if find_spec(package) is None:
            raise PackageNotInstalled("a pipeline job", package.replace("_", "-"), "spark")


def _default_name(topics: list[str], place: str) -> str:
    """The same topics to another place are another job, with positions of its own."""
    from hashlib import sha256

    digest = sha256(" ".join([*topics, place]).encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"parquet-{'-'.join(topics)[:_TOPICS_LENGTH_MAX]}-{digest}"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
