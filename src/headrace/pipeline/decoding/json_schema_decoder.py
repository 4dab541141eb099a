"""JSON held against a JSON Schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headrace.model.errors import InvalidConfig, PackageNotInstalled
from headrace.pipeline.decoding.json_decoder import JsonDecoder
from headrace.pipeline.decoding.json_exact import ExactJsonDecoder
from headrace.pipeline.decoding.json_query import can_query
from headrace.pipeline.decoding.json_schema_types import shape_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.pipeline.decoding.model import ValueDecoder


def json_schema_decoder(
    text: str, references: Mapping[str, str] | None = None, *, is_validated: bool = False
) -> ValueDecoder:
    """``is_validated``: every record against the whole schema, not only against its types."""
    shape = shape_of(text, references)
    if is_validated:
        return ExactJsonDecoder(shape, _validator(text, references or {}))
    if all(can_query(field.type, field.name) for field in shape.fields):
        return JsonDecoder(shape)
    return ExactJsonDecoder(shape)


def _validator(text: str, references: Mapping[str, str]) -> Callable[[Any], str | None]:
    try:
        import jsonschema
        import referencing
        import referencing.jsonschema
    except ImportError as error:
        raise PackageNotInstalled("validation of JSON", "jsonschema", "registry") from error
    schema = json.loads(text)
    kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise InvalidConfig(f"no usable JSON Schema: {error.message}") from error
    resources = [
        (
            name,
            referencing.Resource.from_contents(json.loads(one), referencing.jsonschema.DRAFT202012),
        )
        for name, one in references.items()
    ]
    validator = kind(schema, registry=referencing.Registry().with_resources(resources))

    def problem_of(content: Any) -> str | None:
        error = next(validator.iter_errors(content), None)
        return None if error is None else f"{error.json_path}: {error.message}"

    return problem_of
