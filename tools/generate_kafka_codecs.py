"""Writes src/headrace/codecs/kafka/generated from the schemas in the `kio` package.

Run it after changing the generator or the schema package; `--check` writes nothing and fails if
the committed files differ from what would be written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kafka_codecs.kio_source import load_apis, load_stored_messages
from kafka_codecs.modules import (
    NOTICE,
    client_module,
    index_module,
    server_module,
    stored_module,
)

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src" / "headrace" / "codecs" / "kafka" / "generated"


def render() -> dict[str, str]:
    """The text of every generated file by its path below the target."""
    apis = load_apis()
    files = {
        "__init__.py": f'"""Kafka messages, the server\'s side.\n\n{NOTICE}\n"""\n',
        "client/__init__.py": f'"""Kafka messages, the client\'s side.\n\n{NOTICE}\n"""\n',
        "index.py": index_module(apis),
    }
    for api in apis:
        files[f"{api.name}.py"] = server_module(api)
        files[f"client/{api.name}.py"] = client_module(api)
    for name, message in load_stored_messages().items():
        files[f"{name}.py"] = stored_module(name, message)
    return files


def differences(files: dict[str, str]) -> list[str]:
    present = {path.relative_to(TARGET).as_posix() for path in TARGET.rglob("*.py")}
    changed = [
        name
        for name, text in files.items()
        if name not in present or (TARGET / name).read_text(encoding="utf-8") != text
    ]
    return sorted({*changed, *(present - files.keys())})


def write(files: dict[str, str]) -> None:
    for path in TARGET.rglob("*.py"):
        if path.relative_to(TARGET).as_posix() not in files:
            path.unlink()
    for name, text in files.items():
        path = TARGET / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if files are out of date")
    is_check = parser.parse_args().check
    files = render()
    if not is_check:
        write(files)
        print(f"wrote {len(files)} files")
        return 0
    changed = differences(files)
    for name in changed:
        print(f"out of date: {name}", file=sys.stderr)
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
