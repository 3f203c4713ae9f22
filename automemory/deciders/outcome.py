"""What came of one request: a reply, a refusal of the way it was asked, or a failure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from automemory.deciders.dialect import Mode

_INVALID = {400, 415, 422, 501}
_ABOUT_TEXT = re.compile(
    r"context[ _](?:length|window|size)|too many tokens|too long|content[ _](?:filter|management|policy)",
    re.IGNORECASE,
)
_CUT_OFF = {"length", "max_tokens", "MAX_TOKENS", "model_length"}


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered.

    Attributes:
        texts: Where the answer may be: the arguments of tool calls, else the text.
        problem: Why none of it can be used, whatever it says; empty if it can.
        called: Whether a tool was called.
        prompt_tokens, completion_tokens: As the server says; 0 if it does not.
    """

    texts: tuple[str, ...]
    problem: str = ""
    called: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def ignored(self, mode: Mode) -> bool:
        """Whether a reply that cannot be read shows that the server does not know the mode."""
        if self.problem or mode == "text":
            return False
        return not self.called if mode in {"tools", "free-tools"} else not any("{" in t for t in self.texts)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The server does not take requests like this.

    Attributes:
        reason: The parameter it refused, where it names one, else its words.
        sentence: What to tell people.
    """

    reason: str
    sentence: str


def reply_of(result: Any) -> Reply:
    """The reply in what a model, or its structured form, returned."""
    message = result["raw"] if isinstance(result, dict) else result
    usage = getattr(message, "usage_metadata", None) or {}
    calls = [json.dumps(call["args"], ensure_ascii=False) for call in getattr(message, "tool_calls", ())]
    calls += [str(call["args"] or "") for call in getattr(message, "invalid_tool_calls", ())]
    text = str(message.text)
    extra, about = message.additional_kwargs, message.response_metadata
    reason = about.get("finish_reason") or about.get("stop_reason") or about.get("done_reason")
    return Reply(
        tuple(calls) or (text,),
        _problem(text, bool(calls), reason, extra.get("refusal")),
        bool(calls),
        _count(usage.get("input_tokens")),
        _count(usage.get("output_tokens")),
    )


def failure_of(error: Exception) -> Reply | Refusal | str:
    """What an exception of a call means; a text says that the call failed, and why."""
    for cause in _chain(error):
        completion = getattr(cause, "completion", None)  # the SDK raises on a reply that was cut off
        if completion is not None:
            return _from_completion(completion)
        raw = getattr(cause, "raw_message", None)
        if raw is not None:
            return reply_of(raw)
        status = getattr(cause, "status_code", None)
        if isinstance(status, int):
            words, parameter = _words(cause)
            if status == 400 and _ABOUT_TEXT.search(words):
                return f"the server does not take this text ({words})"
            if status in _INVALID or (status == 404 and "support" in words):
                return Refusal(parameter or words, f"the server refused the request ({status}: {words})")
            return _status_sentence(status)
    name = type(error).__name__
    if "Timeout" in name:
        return "the model's server did not answer in time"
    if "Connect" in name:
        return "the model's server cannot be reached"
    return f"the call failed with {name}"


def _problem(text: str, called: bool, reason: Any, refusal: Any) -> str:
    if refusal:
        return "the model refused to answer"
    if reason == "content_filter":
        return "a content filter withheld it"
    if reason in _CUT_OFF:
        return "it was cut off at the token limit"
    return "" if called or text.strip() else "it is empty"


def _from_completion(completion: Any) -> Reply:
    choice = completion.choices[0]
    usage = completion.usage
    return Reply(
        (choice.message.content or "",),
        _problem(choice.message.content or "", False, choice.finish_reason, None),
        False,
        _count(usage and usage.prompt_tokens),
        _count(usage and usage.completion_tokens),
    )


def _status_sentence(status: int) -> str:
    if status in {401, 403}:
        return f"the server did not accept the key ({status})"
    if status == 404:
        return "the server does not know the model or the address (404)"
    if status == 429:
        return "the server has had too many requests, or the quota is used up (429)"
    return f"the model's server failed ({status})"


def _words(error: Any) -> tuple[str, str]:
    """What the server said, shortened, and the parameter it named."""
    body = getattr(error, "body", None)
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    found = body if isinstance(body, dict) else {}
    said = found.get("message") or found.get("detail") or found.get("error") or str(error)
    if isinstance(said, list):  # of pydantic's, which repeat the whole request
        items = [item for item in said if isinstance(item, dict)]
        said = "; ".join(f"{'.'.join(map(str, i.get('loc', ())))}: {i.get('msg', '')}" for i in items)
    parameter = found.get("param")
    return " ".join(str(said).split())[:300], parameter if isinstance(parameter, str) else ""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what led to it: with warnings as errors, LangChain's advice hides the server's answer."""
    for _ in range(6):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
