"""Writes the decoder of one message in one version.

Fixed-size fields, length prefixes and the count of tagged fields that follow each other are read
by one `unpack_from`; a run therefore ends where the next position depends on a value just read.

Bounds: `unpack_from` and indexing raise by themselves past the end, and a slice past the end is
merely short. So only array lengths are compared with what is left, before anything is built, and
the final position with the size of the buffer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_codecs.schema import Field, Shape, Struct, element_size_min

if TYPE_CHECKING:
    from kafka_codecs.source import Source

PREFIX_SIZES = {"B": 1, "b": 1, "h": 2, "i": 4}


class DecoderWriter:
    """Writes statements that fill an object from `buffer` at `position`."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._run: list[tuple[str, int, str]] = []
        self._names: set[str] = set()
        self._absent: dict[str, list[Field]] = {}

    def message(self, root: Struct, absent: dict[str, list[Field]]) -> None:
        """The body of a decoder; `absent` names the fields that this version does not have."""
        self._absent = absent
        source = self._source
        source.line(f"message = new({root.name})")
        if not root.plain_fields and not root.is_flexible:
            self._struct(root, "message")
            source.line("return message, position")
            return
        source.line("size = len(buffer)")
        if root.has_records:
            source.line("view = memoryview(buffer)")
        with source.block("try:"):
            self._struct(root, "message")
            self._flush()
        with source.block("except DECODING_ERRORS as error:"):
            source.line("raise MalformedMessage(str(error)) from error")
        with source.block("if position > size:"):
            source.line('raise MalformedMessage("the message ends too early")')
        source.line("return message, position")

    def _struct(self, struct: Struct, target: str) -> None:
        for item in struct.plain_fields:
            self._field(item, f"{target}.{item.name}", struct.is_flexible)
        constant = [*self._absent.get(struct.name, ()), *struct.tagged_fields]
        for item in constant:
            default = item.default or f"{item.annotation}()"
            self._source.line(f"{target}.{item.name} = {default}")
        if struct.is_flexible:
            self._tagged(struct, target)

    def _field(self, item: Field, target: str, is_flexible: bool) -> None:
        if item.is_array:
            self._array(item, target, is_flexible)
        elif item.struct is not None:
            self._nested(item, item.struct, target)
        elif item.is_fixed:
            self._run.append((item.kind.code, item.kind.size, target))
        else:
            self._sized(item, target, is_flexible)

    def _flush(self) -> None:
        """Reads the pending run with one call."""
        if not self._run:
            return
        run, self._run = self._run, []
        targets = [target for _, _, target in run]
        codes = "".join(code for code, _, _ in run)
        if codes == "B":
            self._source.line(f"{targets[0]} = buffer[position]")
        else:
            left = ", ".join(targets) if len(targets) > 1 else f"({targets[0]},)"
            self._source.line(f"{left} = {self._source.unpacker(codes)}(buffer, position)")
        self._source.line(f"position += {sum(size for _, size, _ in run)}")

    def _prefix(self, item: Field, name: str, is_flexible: bool) -> None:
        """Reads a length into `name`; compact lengths are one more than the value, 0 is null."""
        if is_flexible:
            code = "B"
        else:
            code = "h" if item.shape is Shape.STRING and not item.is_array else "i"
        self._run.append((code, PREFIX_SIZES[code], name))
        self._flush()
        if is_flexible:
            with self._source.block(f"if {name} > 127:"):
                self._uvarint_rest(name, is_inline=item.shape is Shape.RECORDS)

    def _uvarint_rest(self, name: str, is_inline: bool) -> None:
        """Reads on after the first byte; lengths of records mostly take two or three bytes."""
        source = self._source
        call = f"{name}, position = read_uvarint_rest(buffer, position, {name})"
        if not is_inline:
            source.line(call)
            return
        source.line("second = buffer[position]")
        with source.block("if second < 128:"):
            source.line(f"{name} = {name} & 127 | second << 7")
            source.line("position += 1")
        with source.block("elif (third := buffer[position + 1]) < 128:"):
            source.line(f"{name} = {name} & 127 | (second & 127) << 7 | third << 14")
            source.line("position += 2")
        with source.block("else:"):
            source.line(call)

    def _sized(self, item: Field, target: str, is_flexible: bool) -> None:
        source = self._source
        self._prefix(item, "length", is_flexible)
        absent = "length == 0" if is_flexible else "length < 0"
        with source.block(f"if {absent}:"):
            self._null(item, target)
        if item.is_nullable or item.shape is Shape.RECORDS:
            with source.block("else:"):
                self._slice(item, target, is_flexible)
        else:
            self._slice(item, target, is_flexible)

    def _null(self, item: Field, target: str) -> None:
        if item.is_nullable:
            self._source.line(f"{target} = None")
        else:
            self._source.line(f'raise MalformedMessage("{item.name} must not be null")')

    def _slice(self, item: Field, target: str, is_flexible: bool) -> None:
        source = self._source
        source.line("end = position + length" + (" - 1" if is_flexible else ""))
        if item.shape is Shape.STRING:
            source.line(f'{target} = str(buffer[position:end], "utf-8")')
        elif item.shape is Shape.RECORDS:
            source.line(f"{target} = view[position:end]")
        else:
            source.line(f"{target} = bytes(buffer[position:end])")
        source.line("position = end")

    def _nested(self, item: Field, struct: Struct, target: str) -> None:
        source = self._source
        name = self._local(item.name)
        if not item.is_nullable:
            source.line(f"{name} = {target} = new({struct.name})")
            self._struct(struct, name)
            return
        self._run.append(("b", 1, "marker"))
        self._flush()
        with source.block("if marker < 0:"):
            source.line(f"{target} = None")
        with source.block("else:"):
            source.line(f"{name} = {target} = new({struct.name})")
            self._struct(struct, name)
            self._flush()

    def _array(self, item: Field, target: str, is_flexible: bool) -> None:
        source = self._source
        self._prefix(item, "count", is_flexible)
        with source.block("if count == 0:" if is_flexible else "if count < 0:"):
            self._null(item, target)
        if item.is_nullable:
            with source.block("else:"):
                self._elements(item, target, is_flexible)
        else:
            self._elements(item, target, is_flexible)

    def _elements(self, item: Field, target: str, is_flexible: bool) -> None:
        source = self._source
        if is_flexible:
            source.line("count -= 1")
        smallest = element_size_min(item, is_flexible)
        claimed = "count" if smallest == 1 else f"count * {smallest}"
        with source.block(f"if {claimed} > size - position:"):
            source.line(f'raise MalformedMessage("{item.name} claims more than there is")')
        if item.struct is None and item.shape is Shape.FIXED:
            unpacked = f'unpack_from(f">{{count}}{item.kind.code}", buffer, position)'
            source.line(f"{target} = list({unpacked})")
            source.line(f"position += count * {smallest}" if smallest > 1 else "position += count")
            return
        elements = self._local(item.name)
        source.line(f"{elements} = {target} = []")
        with source.block("for _ in range(count):"):
            if item.struct is None:
                self._string_element(item, elements, is_flexible)
            else:
                element = self._local(f"{item.name}_item")
                source.line(f"{element} = new({item.struct.name})")
                source.line(f"{elements}.append({element})")
                self._struct(item.struct, element)
                self._flush()

    def _string_element(self, item: Field, elements: str, is_flexible: bool) -> None:
        source = self._source
        if is_flexible:
            self._prefix(item, "length", is_flexible)
        else:
            self._run.append(("h", 2, "length"))
            self._flush()
        with source.block("if length == 0:" if is_flexible else "if length < 0:"):
            source.line(f'raise MalformedMessage("{item.name} must not hold null")')
        source.line("end = position + length" + (" - 1" if is_flexible else ""))
        source.line(f'{elements}.append(str(buffer[position:end], "utf-8"))')
        source.line("position = end")

    def _tagged(self, struct: Struct, target: str) -> None:
        """Reads the tagged fields: known ones by their layout, unknown ones are skipped."""
        source = self._source
        counter = self._local("tags")
        self._run.append(("B", 1, counter))
        self._flush()
        with source.block(f"if {counter}:"):
            if not struct.tagged_fields:
                source.line(f"position = skip_tagged_fields(buffer, position, {counter})")
                return
            source.line(f"{counter}, position = read_tag_count(buffer, position, {counter})")
            with source.block(f"for _ in range({counter}):"):
                tag, stop = self._local("tag"), self._local("stop")
                source.line(f"{tag}, {stop}, position = read_tag(buffer, position)")
                keyword = "if"
                for item in struct.tagged_fields:
                    with source.block(f"{keyword} {tag} == {item.tag}:"):
                        self._field(item, f"{target}.{item.name}", is_flexible=True)
                        self._flush()
                    keyword = "elif"
                with source.block("else:"):
                    source.line(f"position = {stop}")
                with source.block(f"if position != {stop}:"):
                    source.line('raise MalformedMessage("a tagged field has the wrong size")')

    def _local(self, name: str) -> str:
        """A variable name that no enclosing struct uses."""
        unique, number = f"{name}_", 2
        if name not in ("message", "size", "view", "position", "length", "count", "end", "tag"):
            unique = name
        while unique in self._names:
            unique, number = f"{name}_{number}", number + 1
        self._names.add(unique)
        return unique
