"""What goes over the wire for a reply model: the strict JSON schema out, the object that came back in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ValidationError

# What every strict server takes; limits such as `minLength` are checked here instead.
_KEPT = ("type", "enum", "const", "description")


def strict_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a reply model as strict servers want it.

    All properties are required and may be null where the model has a default, objects are closed, references
    are resolved and defaults are left out. The order of the properties is the model's. Models that contain
    themselves are not supported.
    """
    schema = _json_schema(model)
    return {"title": model.__name__, **_strict(schema, schema.get("$defs", {}))}


def required_keys(model: type[BaseModel]) -> frozenset[str]:
    """The keys an object must have to be read as this model: those without a default that may not be null."""
    schema = _json_schema(model)
    return frozenset(key for key in schema.get("required", ()) if not _nullable(schema["properties"][key]))


def parse(model: type[BaseModel], found: Mapping[str, Any]) -> BaseModel:
    """A reply model from an object: null where there is a default means the default, missing means null.

    Raises:
        ValueError: if a value makes no sense; the message names it in one line.
    """
    schema = _json_schema(model)
    required = set(schema.get("required", ()))
    values = {key: value for key, value in found.items() if key in schema["properties"]}
    values = {key: value for key, value in values.items() if value is not None or key in required}
    try:
        return model.model_validate({key: None for key in required - values.keys()} | values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the object"
        raise ValueError(f'"{place}" is wrong: {first["msg"][:120]}') from None


@lru_cache(maxsize=64)
def _json_schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def _strict(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return _strict(definitions[schema["$ref"].rsplit("/", 1)[-1]], definitions)
    found = {key: schema[key] for key in _KEPT if key in schema}
    if "anyOf" in schema:
        found["anyOf"] = [_strict(option, definitions) for option in schema["anyOf"]]
    if "items" in schema:
        found["items"] = _strict(schema["items"], definitions)
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        found["properties"] = {
            key: _or_null(_strict(inner, definitions), key in schema.get("required", ()))
            for key, inner in properties.items()
        }
        found |= {"required": list(properties), "additionalProperties": False}
    return found


def _or_null(schema: dict[str, Any], required: bool) -> dict[str, Any]:
    return schema if required or _nullable(schema) else {"anyOf": [schema, {"type": "null"}]}


def _nullable(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "null" or any(_nullable(option) for option in schema.get("anyOf", ()))
