"""What the values of a topic are, in one word or two: ``json``, ``avro:order.avsc``, ``registry``.

The same text is taken by ``--schema``, by ``sink.schema`` and by the topic's
``headrace.table.schema``; here it becomes the options of the decoder.
"""

from __future__ import annotations

from headrace.pipeline.jobs.errors import InvalidDefinition

FORMS = (
    "raw",
    "json",
    "json-schema:FILE",
    "avro:FILE",
    "protobuf:FILE:MESSAGE",
    "registry",
    "registry:URL",
)
_PLAIN = ("raw", "json")
DEFAULT_REGISTRY = "http://127.0.0.1:8080"
"""Where a broker has its own, unless it is told otherwise."""
_OF_A_FILE = ("json-schema", "avro")


def decoding_of(schema: str) -> dict[str, str]:
    """Options of the decoder; InvalidDefinition lists the forms."""
    kind, _, rest = schema.partition(":")
    if schema in _PLAIN:
        return {"format": schema}
    if schema == "registry":
        return {"format": schema, "registry_url": DEFAULT_REGISTRY}
    if kind in _OF_A_FILE and rest:
        return {"format": kind, "schema_file": rest}
    if kind == "registry" and "://" in rest:
        return {"format": kind, "registry_url": rest}
    if kind == "protobuf":
        file, _, message = rest.rpartition(":")
        if file and message:
            return {"format": kind, "schema_file": file, "message": message}
    raise InvalidDefinition(f"{schema!r}: expected one of {', '.join(FORMS)}")
