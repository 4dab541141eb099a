"""Writes the encoder of one message in one version.

Small values are packed run by run into `parts` and joined into one chunk; the `records` of a
message become a chunk of their own, untouched, whatever object they are. Values that are usually
empty (`QUIET_APIS`) get a short cut: one pack for the whole struct when they all are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_codecs.schema import Field, Shape, Struct

if TYPE_CHECKING:
    from kafka_codecs.source import Source

QUIET_APIS = frozenset({"produce", "fetch"})


class EncoderWriter:
    """Writes statements that append the bytes of an object to `parts` and `out`."""

    def __init__(self, source: Source, is_quiet_expected: bool) -> None:
        self._source = source
        self._is_quiet_expected = is_quiet_expected
        self._run: list[tuple[str, str]] = []
        self._names: set[str] = set()
        self._sink = "append"

    def message(self, root: Struct) -> None:
        source = self._source
        if all(item.is_fixed for item in root.fields) and not root.tagged_fields:
            self._sink = "out.append"
            self._struct(root, "message")
            self._flush()
            if not source.lines:
                source.line('"""This version has no fields."""')
            return
        source.line("parts: list[bytes] = []")
        source.line("append = parts.append")
        self._struct(root, "message")
        self._flush()
        source.line('out.append(b"".join(parts))')

    def _struct(self, struct: Struct, origin: str) -> None:
        fields = struct.plain_fields
        quiet = self._quiet_count(struct) if self._is_quiet_expected and not self._run else 0
        if quiet:
            self._quiet(struct, origin, quiet)
            fields = fields[quiet:]
            if not fields and struct.is_flexible:
                return
        self._fields(fields, struct, origin)
        if struct.is_flexible:
            self._tagged(struct, origin)

    def _fields(self, fields: list[Field], struct: Struct, origin: str) -> None:
        for item in fields:
            self._field(item, f"{origin}.{item.name}", struct.is_flexible)

    def _field(self, item: Field, origin: str, is_flexible: bool) -> None:
        if item.is_array:
            self._array(item, origin, is_flexible)
        elif item.struct is not None:
            self._nested(item, item.struct, origin)
        elif item.is_fixed:
            self._run.append((item.kind.code, origin))
        elif item.shape is Shape.RECORDS:
            self._records(origin, item.is_nullable, is_flexible)
        else:
            self._sized(item, origin, is_flexible)

    def _flush(self) -> None:
        if not self._run:
            return
        run, self._run = self._run, []
        codes = "".join(code for code, _ in run)
        values = ", ".join(value for _, value in run if value)
        if not codes.strip("x"):
            self._source.line(f'{self._sink}(b"' + "\\x00" * len(codes) + '")')
        else:
            self._source.line(f"{self._sink}({self._source.packer(codes)}({values}))")

    def _length(self, name: str, code: str, is_flexible: bool) -> None:
        """Writes a length together with the run before it; varints below 128 are one byte."""
        source = self._source
        if not is_flexible:
            self._run.append((code, name))
            self._flush()
            return
        if not self._run:
            source.line(
                f"{self._sink}(UVARINTS[{name}] if {name} < 128 else encode_uvarint({name}))"
            )
            return
        run = list(self._run)
        with source.block(f"if {name} < 128:"):
            self._run.append(("B", name))
            self._flush()
        self._run = run
        with source.block("else:"):
            self._flush()
            source.line(f"{self._sink}(encode_uvarint({name}))")

    def _sized(self, item: Field, origin: str, is_flexible: bool) -> None:
        source = self._source
        surplus = " + 1" if is_flexible else ""
        encode = ".encode()" if item.shape is Shape.STRING else ""
        code = "h" if item.shape is Shape.STRING else "i"
        if not item.is_nullable:
            source.line(f"raw = {origin}{encode}")
            source.line(f"length = len(raw){surplus}")
        else:
            source.line(f"value = {origin}")
            with source.block("if value is None:"):
                source.line('raw = b""')
                source.line("length = 0" if is_flexible else "length = -1")
            with source.block("else:"):
                source.line(f"raw = value{encode}")
                source.line(f"length = len(raw){surplus}")
        self._length("length", code, is_flexible)
        source.line(f"{self._sink}(raw)")

    def _records(self, origin: str, is_nullable: bool, is_flexible: bool) -> None:
        source = self._source
        surplus = " + 1" if is_flexible else ""
        source.line(f"records = {origin}")
        if is_nullable:
            null = "0" if is_flexible else "-1"
            source.line(f"length = {null} if records is None else len(records){surplus}")
        else:
            source.line(f"length = len(records){surplus}")
        self._length("length", "i", is_flexible)
        with source.block("if records:"):
            source.line('out.append(b"".join(parts))')
            source.line("parts.clear()")
            source.line("out.append(records)")

    def _nested(self, item: Field, struct: Struct, origin: str) -> None:
        source = self._source
        name = self._local(item.name)
        source.line(f"{name} = {origin}")
        if not item.is_nullable:
            self._struct(struct, name)
            return
        run = list(self._run)
        with source.block(f"if {name} is None:"):
            self._run.append(("b", "-1"))
            self._flush()
        self._run = run
        with source.block("else:"):
            self._run.append(("b", "1"))
            self._struct(struct, name)
            self._flush()

    def _array(self, item: Field, origin: str, is_flexible: bool) -> None:
        source = self._source
        elements = self._local(item.name)
        source.line(f"{elements} = {origin}")
        length = f"len({elements}) + 1" if is_flexible else f"len({elements})"
        null = "0" if is_flexible else "-1"
        if item.is_nullable:
            source.line(f"length = {null} if {elements} is None else {length}")
        else:
            source.line(f"length = {length}")
        self._length("length", "i", is_flexible)
        if item.is_nullable or (item.struct is None and item.shape is Shape.FIXED):
            with source.block(f"if {elements}:"):
                self._elements(item, elements, is_flexible)
        else:
            self._elements(item, elements, is_flexible)

    def _elements(self, item: Field, elements: str, is_flexible: bool) -> None:
        source = self._source
        if item.struct is None and item.shape is Shape.FIXED:
            source.line(f'{self._sink}(pack(f">{{len({elements})}}{item.kind.code}", *{elements}))')
            return
        element = self._local(f"{item.name}_item")
        with source.block(f"for {element} in {elements}:"):
            if item.struct is None:
                source.line(f"raw = {element}.encode()")
                source.line("length = len(raw)" + (" + 1" if is_flexible else ""))
                self._length("length", "h", is_flexible)
                source.line(f"{self._sink}(raw)")
            else:
                self._struct(item.struct, element)
                self._flush()

    def _tagged(self, struct: Struct, origin: str) -> None:
        """Writes the tagged fields that differ from their default, lowest tag first."""
        if not struct.tagged_fields:
            self._run.append(("x", ""))
            return
        source = self._source
        conditions = [differs(item, f"{origin}.{item.name}") for item in struct.tagged_fields]
        run = list(self._run)
        with source.block(f"if not ({' or '.join(conditions)}):"):
            self._run.append(("x", ""))
            self._flush()
        self._run = run
        with source.block("else:"):
            self._flush()
            tagged, payload = self._local("tagged"), self._local("payload")
            source.line(f"{tagged}: list[bytes] = []")
            sink = self._sink
            for item, condition in zip(struct.tagged_fields, conditions, strict=True):
                with source.block(f"if {condition}:"):
                    source.line(f"{payload} = []")
                    self._sink = f"{payload}.append"
                    self._field(item, f"{origin}.{item.name}", is_flexible=True)
                    self._flush()
                    source.line(f'{tagged}.append(encode_tag({item.tag}, b"".join({payload})))')
            self._sink = sink
            source.line(f"{self._sink}(encode_tagged_fields({tagged}))")

    def _quiet_count(self, struct: Struct) -> int:
        """How many leading fields are fixed or usually empty; 0 when none is usually empty."""
        count, quiet = 0, 0
        for item in struct.plain_fields:
            if is_quiet(item):
                quiet += 1
            elif not item.is_fixed:
                break
            count += 1
        return count if quiet and count > 1 else 0

    def _quiet(self, struct: Struct, origin: str, count: int) -> None:
        """One pack for the leading fields when all that may be empty are."""
        source = self._source
        leading = struct.plain_fields[:count]
        is_whole = count == len(struct.plain_fields) and struct.is_flexible
        noisy = [noise(item, f"{origin}.{item.name}") for item in leading if is_quiet(item)]
        if is_whole:
            noisy += [differs(item, f"{origin}.{item.name}") for item in struct.tagged_fields]
        with source.block(f"if not ({' or '.join(noisy)}):"):
            for item in leading:
                self._run += quiet_run(item, f"{origin}.{item.name}", struct.is_flexible)
            if is_whole:
                self._run.append(("x", ""))
            self._flush()
        with source.block("else:"):
            self._fields(leading, struct, origin)
            if is_whole:
                self._tagged(struct, origin)
            self._flush()

    def _local(self, name: str) -> str:
        """A variable name that no enclosing struct uses."""
        unique, number = name, 2
        if name in ("message", "out", "parts", "append", "raw", "value", "length", "records"):
            unique = f"{name}_"
        while unique in self._names:
            unique, number = f"{name}_{number}", number + 1
        self._names.add(unique)
        return unique


def is_quiet(item: Field) -> bool:
    """Whether a field is empty in almost every message: null texts and nullable or error lists."""
    if item.is_array:
        return item.is_nullable or item.name.endswith("errors")
    return item.shape is Shape.STRING and item.is_nullable


def noise(item: Field, origin: str) -> str:
    return f"{origin} is not None" if item.is_nullable else origin


def quiet_run(item: Field, origin: str, is_flexible: bool) -> list[tuple[str, str]]:
    """What the field adds to a run when it is empty: null if it may be null, else no elements."""
    if item.is_fixed:
        return [(item.kind.code, origin)]
    if is_flexible:
        return [("x", "")] if item.is_nullable else [("B", "1")]
    code = "i" if item.is_array or item.shape is not Shape.STRING else "h"
    return [(code, "-1")] if item.is_nullable else [("xxxx", "")]


def differs(item: Field, origin: str) -> str:
    """The condition under which a tagged field must be written."""
    if item.struct is not None and not item.is_array:
        parts = [differs(nested, f"{origin}.{nested.name}") for nested in item.struct.fields]
        return f"({origin} is not None and ({' or '.join(parts)}))"
    if item.default == "None":
        return f"{origin} is not None"
    if item.default == "()":
        return f"len({origin}) > 0"
    if item.default in ("False", "True"):
        return origin if item.default == "False" else f"not {origin}"
    return f"{origin} != {item.default}"
