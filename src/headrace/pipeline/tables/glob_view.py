"""The part of a plain table for people who know no manifests: ``table/**/*.parquet``.

It is derived: hard links to the files of the newest manifest, below their Hive directories, made
after the commit. Files that are not committed have other names in another place, so no pattern for
``*.parquet`` meets them. ``refresh`` brings a directory from any state to the wanted one and may be
cut off anywhere. Links are added one by one, since they hold different records; but where links
have to go, because their records are in a compacted file now, the directory is built anew and
swapped in one step.
"""

from __future__ import annotations

import os
import uuid
from collections import defaultdict
from typing import TYPE_CHECKING

from headrace.pipeline.tables.errors import CompactionNotPossible, DamagedTable, refusals_named
from headrace.pipeline.tables.exchange import exchange
from headrace.pipeline.tables.file_names import with_token, without_token

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.pipeline.tables.manifest import Manifest

WITHOUT_PARTITION = "all"
"""Directory of the files of a table without partitions: the root itself cannot be swapped."""
ASIDE_SUFFIX = ".headrace-swap"
"""Beside the table, not in it: there the new directory would be found as well as the old one."""


class GlobView:
    """The links of one table."""

    def __init__(self, root: str, data_directory: str) -> None:
        self._root = root
        self._data_directory = data_directory
        parent, name = os.path.split(root)
        self._aside = os.path.join(parent, f".{name}{ASIDE_SUFFIX}")

    def place_of(self, path: str) -> tuple[str, str]:
        """Directory and name in the view of a data file."""
        directory, _, name = path.removeprefix(f"{self._data_directory}/").rpartition("/")
        return directory or WITHOUT_PARTITION, without_token(name)

    def refresh(self, manifest: Manifest, touched: Iterable[str] | None = None) -> None:
        """Make the directories of the touched files (None: all) show the manifest's files."""
        paths = manifest.files if touched is None else touched
        folders = {os.path.dirname(path) for path in paths}
        wanted: dict[str, dict[str, str]] = defaultdict(dict)
        for path in manifest.files:
            if os.path.dirname(path) in folders:
                directory, name = self.place_of(path)
                links = wanted[directory]
                links[with_token(path) if name in links else name] = path
        with refusals_named(self._root):
            for directory, links in sorted(wanted.items()):
                self._refresh_directory(directory, links)

    def raise_if_cannot_swap(self) -> None:
        """Asked before a compaction is committed: the view could not follow it otherwise."""
        inside = os.path.join(self._root, "_headrace", f"swap-{uuid.uuid4().hex}")
        outside = os.path.join(self._aside, uuid.uuid4().hex)
        with refusals_named(self._root):
            os.makedirs(inside)
            try:
                os.makedirs(outside)
                exchange(inside, outside)
            except PermissionError as error:
                raise CompactionNotPossible(f"{error}: that is beside the table") from error
            finally:
                os.rmdir(inside)
                self.remove_leftovers()

    def remove_leftovers(self) -> None:
        """What a crash during a swap has left."""
        with refusals_named(self._root):
            _clear(self._aside)

    def _refresh_directory(self, directory: str, wanted: Mapping[str, str]) -> None:
        place = os.path.join(self._root, directory)
        os.makedirs(place, exist_ok=True)
        present = set(os.listdir(place))
        if all(name in wanted for name in present if _is_ours(name)):
            self._link(place, {name: wanted[name] for name in wanted if name not in present})
            return
        aside = os.path.join(self._aside, uuid.uuid4().hex)
        os.makedirs(aside)
        self._link(aside, wanted)
        for name in present:
            if not _is_ours(name):
                _carry_over(os.path.join(place, name), os.path.join(aside, name))
        exchange(place, aside)
        _clear(self._aside)

    def _link(self, place: str, wanted: Mapping[str, str]) -> None:
        for name, path in wanted.items():
            try:
                os.link(os.path.join(self._root, path), os.path.join(place, name))
            except FileExistsError:
                continue  # a refresh before us got this far
            except FileNotFoundError as error:
                raise DamagedTable(f"{path} is part of {self._root}, and is gone") from error


def _is_ours(name: str) -> bool:
    return name.startswith("records-") and name.endswith(".parquet")


def _carry_over(path: str, to: str) -> None:
    """Somebody else put it there: it is not for us to remove."""
    if os.path.isdir(path):
        os.rename(path, to)
    else:
        os.link(path, to)


def _clear(directory: str) -> None:
    """Remove our links, those that are not the last ones, and directories that are empty then.

    After a crash in the middle of a swap, something that somebody else made may be among them.
    """
    for folder, _, names in os.walk(directory, topdown=False):
        for name in names:
            path = os.path.join(folder, name)
            if _is_ours(name) or os.stat(path).st_nlink > 1:
                os.unlink(path)
        if not os.listdir(folder):
            os.rmdir(folder)
