"""A broker, three producers, three table topics, a check and a report.

    python run.py --records 20000

Ends with 0 if every record is in the lake exactly once: in its table, or parked with a reason.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from lake import TABLES, LakeTable, connect
from report import write_report

HERE = Path(__file__).parent
HEADRACE = (sys.executable, "-m", "headrace")
BROKER_LOG = "broker.log"
READY_PREFIX = "listening kafka://"
PARTITIONS = 2
RECORDS_MIN = 1_000
LAKE_SECONDS_MAX = 600.0
STOP_SECONDS_MAX = 60.0
POLL_SECONDS = 2.0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Three producers, one lake, a report.")
    parser.add_argument("--records", type=int, default=20_000, help="of each producer")
    parser.add_argument("--out", type=Path, default=HERE / "out")
    given = parser.parse_args()
    if given.records < RECORDS_MIN:
        parser.error(f"--records: expected {RECORDS_MIN} or more, so that there is all to report")
    return given


def make_room(out: Path) -> None:
    """An empty directory; what an earlier run left there is removed, and nothing else."""
    if out.exists() and any(out.iterdir()) and not (out / BROKER_LOG).exists():
        raise SystemExit(f"{out} is not empty, and not of this example; choose another with --out")
    if out.exists():
        shutil.rmtree(out)
    out.mkdir(parents=True)


def start_broker(out: Path) -> tuple[subprocess.Popen[str], str]:
    """The process, and its address."""
    command = [*HEADRACE, "serve", "--data", str(out / "broker"), "--listen", "kafka://127.0.0.1:0"]
    environment = {**os.environ, "HEADRACE_STATE": str(out / "state")}
    with (out / BROKER_LOG).open("w") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
        )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(READY_PREFIX):
            return process, line.removeprefix(READY_PREFIX).strip()
    raise SystemExit(f"the broker did not start; see {out / BROKER_LOG}")


def headrace(bootstrap: str, *arguments: str) -> str:
    command = [*HEADRACE, *arguments, "--bootstrap", bootstrap]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def make_table_topic(bootstrap: str, table: LakeTable, lake: Path) -> None:
    """Two commands, as a person would type them."""
    headrace(bootstrap, "topic", "create", table.topic, "--partitions", str(PARTITIONS))
    place = ("--table", table.format, "--to", str(lake / table.topic), "--schema", table.schema)
    headrace(bootstrap, "topic", "alter", table.topic, *place)


def run_producers(bootstrap: str, records: int) -> None:
    """All three at once; one that fails ends the example."""
    arguments = ["--bootstrap", bootstrap, "--records", str(records)]
    names = [f"{table.view}.py" for table in TABLES]
    running = [subprocess.Popen([sys.executable, str(HERE / n), *arguments]) for n in names]
    failed = [name for name, each in zip(names, running, strict=True) if each.wait()]
    if failed:
        raise SystemExit(f"a producer failed: {', '.join(failed)}")


def lag_of(bootstrap: str, table: LakeTable, records: int) -> int:
    """By what ``headrace group describe`` shows; there is no group before the first commit."""
    listed = json.loads(headrace(bootstrap, "group", "list", "--json"))
    group = f"headrace-table-{table.topic}"
    if group not in {each["group"] for each in listed}:
        return records
    described: dict[str, Any] = json.loads(
        headrace(bootstrap, "group", "describe", group, "--json")
    )
    return records - sum(each["committed"] for each in described["offsets"])


def wait_for_the_lake(bootstrap: str, records: int) -> None:
    deadline = time.monotonic() + LAKE_SECONDS_MAX
    while time.monotonic() < deadline:
        lags = {table.topic: lag_of(bootstrap, table, records) for table in TABLES}
        print("lag:", ", ".join(f"{topic} {lag}" for topic, lag in lags.items()), flush=True)
        if all(lag == 0 for lag in lags.values()):
            return
        time.sleep(POLL_SECONDS)
    raise SystemExit("the lake did not catch up; see: headrace pipeline list --state out/state")


def violations(lake: Path, records: int) -> list[str]:
    """What is missing, or there twice, by counting offsets."""
    connection = connect(lake)
    found = []
    for table in TABLES:
        places = 'SELECT "partition", "offset" FROM'
        parked = f"{places} parked WHERE topic = '{table.topic}'"
        query = (
            'SELECT count(*), count(DISTINCT ("partition", "offset")) FROM '
            f"({places} {table.view} UNION ALL {parked})"
        )
        row = connection.execute(query).fetchone()
        if row != (records, records):
            found.append(f"{table.topic}: {row} rows and offsets, not {records}")
    return found


def main() -> int:
    given = parse()
    out = given.out.absolute()
    make_room(out)
    os.chdir(HERE)
    lake = out / "lake"
    broker, bootstrap = start_broker(out)
    try:
        for table in TABLES:
            make_table_topic(bootstrap, table, lake)
        run_producers(bootstrap, given.records)
        wait_for_the_lake(bootstrap, given.records)
    finally:
        broker.terminate()
        broker.wait(STOP_SECONDS_MAX)
    print(f"report: {write_report(lake, out / 'report')}")
    wrong = violations(lake, given.records)
    print("\n".join(wrong) or "every record is in the lake once")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
