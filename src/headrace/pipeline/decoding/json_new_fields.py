"""Fields that a schema of JSON objects lacks: which they are, and of which type.

Every record that has one is looked at, not a sample: a field that was passed over here would be
lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.decoding.json_inference import TEXT, type_of_lists, type_of_words
from headrace.pipeline.decoding.json_query import TABLE, VALUE, elements_path, pointer, quoted
from headrace.pipeline.decoding.model import FIELDS_MAX
from headrace.pipeline.decoding.names import is_column_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.pipeline.decoding.json_check import Findings

    Run = Callable[[str, pa.StringArray], dict[str, pa.Array]]

NAME_CHARACTERS_SHOWN = 100


class NewFields:
    """Looks for what is not among ``known``."""

    def __init__(self, known: Sequence[str]) -> None:
        self._known = frozenset(known)
        self._spellings = {name.casefold(): name for name in known}

    def find(
        self, keys: pa.ListArray, texts: pa.StringArray, findings: Findings, run: Run
    ) -> pa.Schema:
        """The new fields; a record with a field that cannot become one is found bad.

        ``run`` runs a query over texts.
        """
        names = keys.flatten()
        unknown = [name for name in pc.unique(names).to_pylist() if name not in self._known]
        if not unknown:
            return pa.schema([])
        rows = pc.list_parent_indices(keys)
        usable = self._usable(unknown, names, rows, findings)
        is_good = pa.array(~findings.mask[rows.to_numpy()])
        names, rows = names.filter(is_good), rows.filter(is_good)
        present = frozenset(pc.unique(names).to_pylist())
        wanted = [name for name in usable if name in present]
        holders = pc.unique(rows.filter(pc.is_in(names, pa.array(wanted, pa.string()))))
        return _typed(wanted, texts.take(holders), run)

    def _usable(
        self, unknown: Sequence[str], names: pa.Array, rows: pa.Array, findings: Findings
    ) -> list[str]:
        spellings = dict(self._spellings)
        wanted: list[str] = []
        refused: dict[str, str] = {}
        for name in unknown:
            reason = _refusal(name, spellings)
            if reason is None:
                spellings[name.casefold()] = name
                wanted.append(name)
            else:
                refused[name] = reason
        if refused:
            is_refused = pc.is_in(names, pa.array(list(refused), pa.string()))
            indices, bad = rows.filter(is_refused).to_pylist(), names.filter(is_refused).to_pylist()
            for index, name in zip(indices, bad, strict=True):
                findings.add(index, refused[name])
        return wanted


def _typed(names: Sequence[str], texts: pa.StringArray, run: Run) -> pa.Schema:
    if not names or not len(texts):
        return pa.schema([])
    query = ", ".join(
        f"list(distinct json_type({VALUE}, {quoted(pointer((name,)))})) as words_{number}"
        for number, name in enumerate(names)
    )
    found = run(f"select {query} from {TABLE}", texts)
    fields = []
    for number, name in enumerate(names):
        kind = _type(name, set(found[f"words_{number}"][0].as_py() or ()), texts, run)
        if kind is not None:
            fields.append(pa.field(name, kind))
    return pa.schema(fields)


def _type(name: str, words: set[str | None], texts: pa.StringArray, run: Run) -> pa.DataType | None:
    words -= {None, "NULL"}
    if words != {"ARRAY"}:
        return type_of_words(words)
    if '"' in name:
        return TEXT
    query = f"unnest(json_type({VALUE}, {quoted(elements_path((name,)))})) as word"
    found = run(f"select distinct word from (select {query} from {TABLE})", texts)
    return type_of_lists(found["word"].to_pylist())


def _refusal(name: str, spellings: dict[str, str]) -> str | None:
    """Why a field cannot become a column."""
    if not is_column_name(name):
        return f"field {name[:NAME_CHARACTERS_SHOWN]!r} cannot be a column"
    other = spellings.get(name.casefold())
    if other is not None:
        return f"fields {other!r} and {name!r} differ only in case"
    if len(spellings) >= FIELDS_MAX:
        return f"field {name!r} is new, and there are {FIELDS_MAX} fields already"
    return None
