"""Declarations: one field is a typed default and a catalogue entry."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.config import declare
from headrace.config.option import Kind, Synonym


@dataclass(frozen=True, kw_only=True)
class Sample:
    plain: int = 3
    b_ms: int = declare.long("b.ms", 7, "B.", unit=declare.MILLISECONDS, minimum=0)
    a_list: tuple[str, ...] = declare.items("a.list", "x,y", "A.")
    nothing: int | None = declare.optional_integer("nothing", "N.")
    ratio: float = declare.double("ratio", 0.5, "R.")
    small: int = declare.short("small", 2, "S.")
    switch: bool = declare.boolean("switch", True, "W.")
    word: str = declare.text("word", "w", "D.")
    rack: str | None = declare.optional_text("rack", "K.")
    bag: frozenset[str] = declare.item_set("bag", "q", "G.")


def test_fields_have_parsed_defaults() -> None:
    sample = Sample()
    assert (sample.b_ms, sample.a_list, sample.nothing) == (7, ("x", "y"), None)
    assert (sample.ratio, sample.small, sample.switch) == (0.5, 2, True)
    assert (sample.word, sample.rack, sample.bag) == ("w", None, frozenset({"q"}))


def test_catalogue_has_all_declared_options_sorted() -> None:
    options = declare.catalogue(Sample)
    assert list(options) == sorted(options)
    assert "plain" not in options
    assert options["b.ms"].kind is Kind.LONG
    assert options["b.ms"].default == "7"
    assert options["nothing"].default is None


def test_attributes_map_names_to_fields() -> None:
    assert declare.attributes(Sample)["b.ms"] == "b_ms"


def test_synonyms_take_names_with_and_without_factor() -> None:
    assert declare.synonyms("a", ("b", 60)) == (Synonym("a"), Synonym("b", 60))
