"""Which decoder: made in the driver from a job's options, sent to the tasks, and widened when
records have fields that the table lacks.

The libraries of a format are imported only where that format is used.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.model.errors import InvalidConfig
from headrace.pipeline.decoding.aligned_decoder import AlignedDecoder
from headrace.pipeline.decoding.alignment import merge_fields
from headrace.pipeline.decoding.json_inference import merge_guesses
from headrace.pipeline.decoding.model import NO_FIELDS
from headrace.pipeline.decoding.raw_decoder import RawDecoder
from headrace.pipeline.decoding.registry_client import AVRO, RegistryClient, RegistrySettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from headrace.pipeline.decoding.model import ValueDecoder

RAW, INFERRED, JSON_SCHEMA, AVRO_FILE, PROTOBUF_FILE, REGISTRY = FORMATS = (
    "raw",
    "json",
    "json-schema",
    "avro",
    "protobuf",
    "registry",
)
OPTIONS = (
    *("format", "schema", "schema_file", "message", "validate"),
    *("registry_url", "registry_user", "registry_password"),
)
SCHEMA_BYTES_MAX = 4 * 1024 * 1024


@dataclass(frozen=True)
class DecoderSpec:
    """Plain values: it is pickled."""

    format: str = RAW
    text: str = ""
    """The schema; of Protobuf a descriptor in base64."""
    message: str | None = None
    is_validated: bool = False
    registry: RegistrySettings | None = field(default=None, repr=False)
    fields: pa.Schema = NO_FIELDS
    """Fields of values that the table has columns for."""
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_discovering(self) -> bool:
        """Whether records can have fields that nobody knew of."""
        return self.format in (INFERRED, REGISTRY)

    def with_fields(self, found: Sequence[pa.Schema]) -> DecoderSpec:
        """The same for more fields; those that are known keep their types, whatever was found:
        the records that do not fit are parked then.
        """
        if self.format == INFERRED:
            return replace(self, fields=merge_guesses(self.fields, found))
        merged = merge_fields([self.fields, *found], keep_first=True)
        return replace(self, fields=merged)

    def combined(self, found: Sequence[pa.Schema]) -> pa.Schema:
        """Fields that were found here and there, as one schema."""
        if self.format == INFERRED:
            return merge_guesses(NO_FIELDS, found)
        return merge_fields(found, keep_first=True)


def spec_from_options(options: Mapping[str, str]) -> DecoderSpec:
    """InvalidConfig names what is wrong. Reads the file of the schema, if one is named."""
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise InvalidConfig(f"decoding has no option {unknown[0]} (it has {', '.join(OPTIONS)})")
    format_ = options.get("format", RAW)
    if format_ not in FORMATS:
        raise InvalidConfig(f"the format of values is {', '.join(FORMATS)}, not {format_!r}")
    if format_ in (RAW, INFERRED):
        return DecoderSpec(format_)
    if format_ == REGISTRY:
        return DecoderSpec(format_, registry=_registry(options))
    if format_ == PROTOBUF_FILE:
        return DecoderSpec(format_, _descriptor(options), options.get("message"))
    return DecoderSpec(format_, _schema(options), is_validated=_truth(options, "validate"))


def make_decoder(spec: DecoderSpec) -> ValueDecoder:
    if spec.format == RAW:
        return RawDecoder()
    if spec.format == INFERRED:
        from headrace.pipeline.decoding.json_decoder import JsonDecoder
        from headrace.pipeline.decoding.json_shape import open_shape

        return JsonDecoder(open_shape(spec.fields))
    if spec.registry is not None:
        from headrace.pipeline.decoding.registry_decoder import RegistryDecoder

        return RegistryDecoder(RegistryClient(spec.registry), spec.fields, spec.defaults)
    return AlignedDecoder(_declared(spec), spec.fields)


def with_reader_defaults(spec: DecoderSpec, topics: Sequence[str]) -> DecoderSpec:
    """What the newest schemas of the topics say of fields that older records lack."""
    if spec.registry is None:
        return spec
    from headrace.pipeline.decoding.avro_decoder import defaults_of

    client = RegistryClient(spec.registry)
    defaults: dict[str, Any] = {}
    for topic in topics:
        latest = client.latest(f"{topic}-value")
        if latest is not None and latest.kind == AVRO:
            defaults.update(defaults_of(latest.text))
    return replace(spec, defaults=defaults)


def _declared(spec: DecoderSpec) -> ValueDecoder:
    if spec.format == AVRO_FILE:
        from headrace.pipeline.decoding.avro_decoder import AvroDecoder

        return AvroDecoder(spec.text)
    if spec.format == JSON_SCHEMA:
        from headrace.pipeline.decoding.json_schema_decoder import json_schema_decoder

        return json_schema_decoder(spec.text, is_validated=spec.is_validated)
    from headrace.pipeline.decoding.protobuf_decoder import ProtobufDecoder, link, message_by_name

    file = link(base64.b64decode(spec.text))
    return ProtobufDecoder(message_by_name(file, spec.message))


def _truth(options: Mapping[str, str], name: str) -> bool:
    text = str(options.get(name, "false")).lower()
    if text not in ("true", "false"):
        raise InvalidConfig(f"{name} is true or false, not {text!r}")
    return text == "true"


def _registry(options: Mapping[str, str]) -> RegistrySettings:
    url = options.get("registry_url")
    if not url:
        raise InvalidConfig("decoding by the registry needs registry_url")
    return RegistrySettings(url, options.get("registry_user"), options.get("registry_password"))


def _schema(options: Mapping[str, str]) -> str:
    if "schema" in options:
        return options["schema"]
    name = options.get("schema_file")
    if not name:
        raise InvalidConfig(f"format {options['format']} needs schema_file or schema")
    try:
        with Path(name).open("rb") as file:
            content = file.read(SCHEMA_BYTES_MAX + 1)
    except OSError as error:
        raise InvalidConfig(f"schema_file {name}: {error.strerror}") from error
    if len(content) > SCHEMA_BYTES_MAX:
        raise InvalidConfig(f"schema_file {name} is larger than {SCHEMA_BYTES_MAX} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidConfig(f"schema_file {name} is no text: {error.reason}") from error


def _descriptor(options: Mapping[str, str]) -> str:
    """Of the text of a ``.proto`` file; its parser is needed only here, not where tasks run."""
    from headrace.schemas.protobuf_schema import parse_protobuf

    return parse_protobuf(_schema(options), ()).serialized
