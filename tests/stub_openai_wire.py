"""What the stub server says: refusals as real servers word them, completions and streams."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

_NOT_PERMITTED = {"default", "minLength", "maxLength", "pattern", "minimum", "maximum", "allOf", "oneOf"}


@dataclass(frozen=True)
class Reply:
    """What the server answers.

    Attributes:
        content: The text of the message; None is sent as null. If `value` is given, that is sent instead.
        value: An object, sent the way it was asked for: as the arguments of a tool call, else as JSON text.
        arguments: Raw arguments of a tool call, whatever the request says.
        calls: Tool calls by name; arguments that are a text are sent raw.
        extra: More fields of the message, such as `refusal` or `reasoning_content`.
        usage: Tokens of prompt and completion; None leaves `usage` out.
        status, error, headers: An HTTP error and its body.
        wait_s: Silence before the answer. The server's end cuts it short.
        trickle_s: Silence after each byte.
        reset: Whether the connection is reset in the middle of the answer.
        body, content_type: A raw body instead of a chat completion.
    """

    content: str | None = ""
    value: Any = None
    arguments: str | None = None
    calls: tuple[tuple[str, dict[str, Any] | str], ...] = ()
    finish_reason: str = "stop"
    extra: dict[str, Any] = field(default_factory=dict)
    usage: tuple[int, int] | None = (100, 20)
    status: int = 200
    error: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    trickle_s: float = 0.0
    reset: bool = False
    body: str | None = None
    content_type: str = "application/json"


def message_of(reply: Reply, tools: list[dict[str, Any]], wrap: Callable[[str], str]) -> dict[str, Any]:
    """The message of a reply; a `value` calls the first of the tools, if there are any."""
    message = {"role": "assistant", "content": reply.content, **reply.extra}
    arguments = reply.arguments
    if reply.value is not None:
        text = json.dumps(reply.value, ensure_ascii=False)
        if tools:
            arguments = text
        else:
            message["content"] = wrap(text)
    if arguments is not None:
        name = tools[0]["function"]["name"] if tools else "reply"
        function = {"name": name, "arguments": arguments}
        message["content"] = None
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    if reply.calls:
        message["tool_calls"] = [
            {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": _raw(given)}}
            for number, (name, given) in enumerate(reply.calls, 1)
        ]
    return message


def _raw(arguments: dict[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _usage(reply: Reply) -> dict[str, Any]:
    if reply.usage is None:
        return {}
    prompt, written = reply.usage
    tokens = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
    return {"usage": tokens}


def completion(name: str, message: dict[str, Any], reply: Reply) -> dict[str, Any]:
    called = "tool_calls" in message and reply.finish_reason == "stop"
    reason = "tool_calls" if called else reply.finish_reason
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": reason}
    frame: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_780_000_000,
        "model": name,
    }
    return frame | {"choices": [choice]} | _usage(reply)


def events(name: str, message: dict[str, Any], reply: Reply, usage: bool) -> Iterator[str]:
    """The server-sent events of a message: its words one by one, or its tool call."""
    frame: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_780_000_000,
        "model": name,
    }
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": part} for part in re.findall(r"\S*\s*", message["content"] or "") if part]
    deltas += [{"tool_calls": [{"index": i, **call}]} for i, call in enumerate(message.get("tool_calls", ()))]
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": reply.finish_reason})
    for choice in choices:
        yield f"data: {json.dumps(frame | {'choices': [choice]})}\n\n"
    if usage:
        yield f"data: {json.dumps(frame | {'choices': []} | _usage(reply))}\n\n"
    yield "data: [DONE]\n\n"


def refusal_of(body: dict[str, Any], refuse: set[str]) -> dict[str, Any] | None:
    """An error body as the servers of that kind word it, or None."""
    kind, choice = (body.get("response_format") or {}).get("type"), body.get("tool_choice")
    if kind == "json_schema" and kind in refuse:
        return {"message": "This response_format type is unavailable now", "type": "invalid_request_error"}
    if kind == "json_object" and kind in refuse:
        return {"message": "'response_format.type' must be 'json_schema' or 'text'"}
    if body.get("tools") and "tools" in refuse:
        return {"message": "registry/model:latest does not support tools", "type": "api_error", "param": None}
    if isinstance(choice, dict) and "named_tool_choice" in refuse:
        return {"message": "Invalid tool_choice type: 'object'. Supported values: none, auto, required"}
    if choice == "required" and "required_tool_choice" in refuse:
        return {"message": "Thinking mode does not support this tool_choice; only auto and none are allowed"}
    if "temperature" in body and "temperature" in refuse:
        message = "Unsupported value: 'temperature' does not support 0.0 with this model."
        return {"message": message, "param": "temperature", "code": "unsupported_value"}
    for name, other in (("max_tokens", "max_completion_tokens"), ("max_completion_tokens", "max_tokens")):
        if name in body and name in refuse:
            message = (
                f"Unsupported parameter: '{name}' is not supported with this model. Use '{other}' instead."
            )
            return {"message": message, "code": "unsupported_parameter"}
    if kind == "json_object" and "json" not in json.dumps(body["messages"]).lower():
        return {"message": "'messages' must contain the word 'json' in some form", "param": "messages"}
    return _schema_error(body)


def _schema_error(body: dict[str, Any]) -> dict[str, Any] | None:
    """What a strict server says of the schema sent; None if it is in order or not strict."""
    spec = (body.get("response_format") or {}).get("json_schema") or {}
    wrong = list(_not_strict(spec.get("schema", {}), "()")) if spec.get("strict") else []
    for tool in body.get("tools") or ():
        if tool["function"].get("strict"):
            wrong += _not_strict(tool["function"]["parameters"], "()")
    if not wrong:
        return None
    message = f"Invalid schema for response_format '{spec.get('name')}': In context={wrong[0]}"
    return {"message": message, "param": "response_format", "code": "invalid_json_schema"}


def _not_strict(schema: dict[str, Any], place: str) -> Iterator[str]:
    for word in _NOT_PERMITTED & schema.keys():
        yield f"{place}, '{word}' is not permitted."
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            yield f"{place}, 'additionalProperties' is required to be supplied and to be false."
        if set(schema.get("required", ())) != set(properties):
            yield f"{place}, 'required' has to include every key in properties."
        for name, inner in properties.items():
            yield from _not_strict(inner, f"('properties', '{name}')")
    elif not {"type", "anyOf", "enum", "const"} & schema.keys():
        yield f"{place}, schema must have a 'type' key."
    for option in schema.get("anyOf", ()):
        yield from _not_strict(option, place)
    if isinstance(schema.get("items"), dict):
        yield from _not_strict(schema["items"], place)
