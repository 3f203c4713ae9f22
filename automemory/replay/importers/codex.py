"""Codex's rollouts: JSON lines, in which one message may stand twice or three times under different names.

What the person typed is told by events (`user_message`, or `item_completed` with a `UserMessage`); items of
the user's role also hold context that the program put in, so they count only where no event does. What the
agent said is taken from whatever kind of record tells it, once. Rollouts of the first versions, without
envelopes, and the events of `codex exec --json` are read too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from automemory.content import as_json, read_content
from automemory.replay.importers.conversation import Draft, Found, short_hash
from automemory.replay.importers.machine import is_placeholder, is_wrapped, spoken
from automemory.replay.importers.records import BadRecord, LeftOut, Sample, records, text

_ENVELOPES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "mcp_tool_call", "tool_search_call"}
_RESULTS = {"function_call_output", "custom_tool_call_output", "mcp_tool_call_output", "tool_search_output"}
_SILENT = {
    "session_meta", "turn_context", "compacted", "reasoning", "web_search_call", "image_generation_call",
    "ghost_snapshot", "compaction", "token_count", "agent_reasoning", "agent_reasoning_raw_content",
    "agent_reasoning_section_break", "agent_reasoning_delta", "agent_message_delta", "task_started",
    "turn_started", "turn_complete", "task_complete", "turn_aborted", "context_compacted", "turn_diff",
    "plan_update", "exec_command_begin", "exec_command_output_delta", "exec_command_end", "patch_apply_begin",
    "patch_apply_end", "mcp_tool_call_begin", "mcp_tool_call_end", "web_search_begin", "web_search_end",
    "exec_approval_request", "apply_patch_approval_request", "background_event", "stream_error", "error",
    "warning", "session_configured", "shutdown_complete", "view_image_tool_call", "thread_name_updated",
    "item_started", "item_updated", "entered_review_mode", "exited_review_mode",
    "image_generation_end", "undo_completed", "undo_started", "deprecation_notice", "world_state", "other",
    "thread.started", "turn.started", "turn.completed", "turn.failed", "item.started", "item.updated",
    "state",
}  # fmt: skip
_GIVEN = ("arguments", "input", "action", "summary")
_ITEM_CALLS = {"commandexecution", "mcptoolcall", "filechange", "websearch", "dynamictoolcall"}
_ITEM_SILENT = {"reasoning", "plan", "todolist", "contextcompaction", "hookprompt", "imageview", "error"}
_OLD = {"message", "reasoning"} | _CALLS | _RESULTS


class Codex:
    name = "codex"

    def detect(self, sample: Sample) -> bool:
        found = [record for record in sample.records if isinstance(record, dict)]
        kinds = {text(record.get("type")) for record in found}
        enveloped = any(
            text(r.get("type")) in _ENVELOPES and isinstance(r.get("payload"), Mapping) for r in found
        )
        headed = any("record_type" in r or ("instructions" in r and "timestamp" in r) for r in found)
        old = headed and not kinds.isdisjoint(_OLD)
        return enveloped or old or not kinds.isdisjoint({"thread.started", "item.completed"})

    def read(self, file: BinaryIO) -> Iterator[Found]:
        rollout = _Rollout()
        for position, record in records(file):
            if isinstance(record, BadRecord):
                yield record
            elif not isinstance(record, dict):
                yield BadRecord(position, "not a record of a rollout")
            else:
                yield from rollout.add(position, record)
        yield from rollout.finish()


class _Rollout:
    """A rollout that is being read.

    A user segment is what stands between two things the agent does. In it an event with the person's words
    makes its items superfluous; without one, those that are not machine-written are the person's.
    """

    def __init__(self) -> None:
        self._session: dict[str, None] = {}
        self._is_subagents = False
        self._draft: Draft | None = None
        self._at: Any = None
        self._items: list[tuple[str, str, Any]] = []
        self._told = False
        self._texts: dict[str, Counter[str]] = {}
        self._occurred: Counter[str] = Counter()
        self._called: set[str] = set()

    def add(self, position: str, record: Mapping[str, Any]) -> Iterator[Found]:
        """Take a record; yields what is wrong with it, or why it is no message."""
        envelope, payload = text(record.get("type")), record.get("payload")
        self._at = record.get("timestamp") or self._at
        if envelope == "session_meta" or (not envelope and "id" in record and "role" not in record):
            self._meta(payload if isinstance(payload, Mapping) else record)
        elif envelope and isinstance(payload, Mapping):
            kind = text(payload.get("type")) or ("message" if "role" in payload else envelope)
            yield from self._record(position, kind, payload, envelope)
        elif envelope == "item.completed":
            yield from self._record(position, envelope, record, "event_msg")
        elif envelope == "thread.started":
            self._meta({"id": record.get("thread_id")})
        else:
            kind = envelope or text(record.get("record_type"))
            yield from self._record(position, kind, record, "response_item")

    def finish(self) -> Iterator[Found]:
        yield from self._end_segment()
        if self._draft is None:
            yield LeftOut("conversations in which nobody says anything")
        else:
            yield from self._draft.finish()

    def _meta(self, payload: Mapping[str, Any]) -> None:
        source = payload.get("source")
        if not self._session and isinstance(source, Mapping):
            self._is_subagents = "subagent" in source
        if own := text(payload.get("id")):
            self._session.setdefault(own)

    def _record(self, position: str, kind: str, payload: Mapping[str, Any], envelope: str) -> Iterator[Found]:
        if kind == "message":
            yield from self._item(position, payload)
        elif kind in {"user_message", "agent_message"}:
            role = "user" if kind == "user_message" else "assistant"
            if text(payload.get("kind")) in {"", "plain"}:
                yield from self._event(position, role, kind, payload.get("message"), payload.get("images"))
            else:
                yield LeftOut("lines that the host wrote")
        elif kind in {"item_completed", "item.completed"} and isinstance(payload.get("item"), Mapping):
            yield from self._completed(position, payload["item"])
        elif kind in _CALLS or kind in _RESULTS:
            yield from self._tool(position, kind, payload)
        elif kind in {"task_complete", "turn_complete"} and isinstance(
            payload.get("last_agent_message"), str
        ):
            yield from self._said(position, kind, payload["last_agent_message"])
        elif kind == "thread_rolled_back":
            yield from self._roll_back(payload.get("num_turns"))
        elif kind not in _SILENT and envelope not in _SILENT:
            yield LeftOut.unknown(kind)

    def _item(self, position: str, payload: Mapping[str, Any]) -> Iterator[Found]:
        role, said = payload.get("role"), read_content(payload.get("content")).text
        if role == "assistant":
            yield from self._said(position, "message", said)
        elif role == "user" and not self._told:
            self._items.append((position, said, self._at))
        elif role == "user":
            yield LeftOut("second records of a message")

    def _event(self, position: str, role: str, kind: str, said: Any, images: Any = None) -> Iterator[Found]:
        parts = [said, *({"type": "image"} for _ in (images if isinstance(images, list) else ()))]
        words = read_content(parts).text
        if role == "assistant":
            yield from self._said(position, kind, words)
            return
        self._told = True
        if self._items:
            yield LeftOut("second records of a message", len(self._items))
            self._items.clear()
        if self._is_new("user", kind, words):
            yield from self._person(position, words, self._at)
        else:
            yield LeftOut("second records of a message")

    def _completed(self, position: str, item: Mapping[str, Any]) -> Iterator[Found]:
        kind = (text(item.get("type")) or text(item.get("item_type"))).replace("_", "").lower()
        said = item.get("content", item.get("text"))
        if kind in {"usermessage", "agentmessage", "assistantmessage"}:
            parts = [_lowered(part) for part in said] if isinstance(said, list) else said
            role = "user" if kind == "usermessage" else "assistant"
            yield from self._event(position, role, "item", parts)
        elif kind in _ITEM_CALLS:
            yield from self._completed_tool(position, kind, item)
        elif kind not in _ITEM_SILENT:
            yield LeftOut.unknown(f"item {text(item.get('type')) or kind}")

    def _said(self, position: str, kind: str, said: str) -> Iterator[Found]:
        """Something the agent said, unless another kind of record told it already."""
        yield from self._end_segment()
        if not said.strip() or is_placeholder(said):
            return
        if self._is_new("assistant", kind, said):
            yield from self._take(position, {"role": "assistant", "content": said, "timestamp": self._at})
        else:
            yield LeftOut("second records of a message")

    def _person(self, position: str, words: str, at: Any) -> Iterator[Found]:
        said = spoken(words)
        if not said.strip():
            yield LeftOut("lines that the host wrote")
            return
        self._texts.pop("assistant", None)
        yield from self._take(position, {"role": "user", "content": said, "timestamp": at})

    def _roll_back(self, turns: Any) -> Iterator[Found]:
        """The person takes back the last turns; a rollout is only added to, so they still stand there."""
        yield from self._end_segment()
        count = turns if isinstance(turns, int) else 0
        if self._draft and (dropped := self._draft.drop_turns(count)):
            yield LeftOut("messages that were rolled back", dropped)

    def _end_segment(self) -> Iterator[Found]:
        """The agent does something: what the person said before it is complete."""
        for position, words, at in self._items:
            if is_wrapped(words):
                yield LeftOut("lines that the host wrote")
            else:
                yield from self._person(position, words, at)
        self._items.clear()
        self._told = False
        self._texts.pop("user", None)

    def _is_new(self, role: str, kind: str, said: str) -> bool:
        """Whether no other kind of record told as many messages with these words in this segment."""
        told = self._texts.setdefault(role, Counter())
        words = short_hash(" ".join(said.split()))
        told[f"{kind} {words}"] += 1
        if told[f"{kind} {words}"] <= told[words]:
            return False
        told[words] += 1
        return True

    def _tool(self, position: str, kind: str, payload: Mapping[str, Any]) -> Iterator[Found]:
        yield from self._end_segment()
        called = text(payload.get("call_id")) or text(payload.get("id")) or None
        row: dict[str, Any] = {"timestamp": self._at}
        if kind in _RESULTS:
            output = payload.get("output", payload.get("result"))
            row |= {"role": "tool", "content": _output(output), "tool_call_id": called}
        else:
            given = next((payload[k] for k in _GIVEN if payload.get(k) is not None), None)
            name = text(payload.get("name")) or kind
            row |= {"role": "assistant", "tool_calls": [{"name": name, "args": given, "id": called}]}
            self._called.add(called or name)
        yield from self._take(position, row)

    def _completed_tool(self, position: str, kind: str, item: Mapping[str, Any]) -> Iterator[Found]:
        """A tool's run told as one item; left out where its call stands in a record of its own."""
        called = text(item.get("call_id")) or text(item.get("id")) or None
        if self._called:
            yield LeftOut("second records of a tool call")
            return
        yield from self._end_segment()
        name = text(item.get("tool")) or text(item.get("name")) or kind
        given = next((item[k] for k in ("command", "arguments", "changes", "query") if item.get(k)), None)
        call = {"name": name, "args": given, "id": called}
        yield from self._take(position, {"role": "assistant", "tool_calls": [call], "timestamp": self._at})
        output = next((item[k] for k in ("aggregated_output", "result", "output") if item.get(k)), None)
        failed = item.get("status") == "failed"
        row = {"role": "tool", "content": _output(output), "tool_call_id": called, "is_error": failed}
        yield from self._take(position, row)

    def _take(self, position: str, row: dict[str, Any]) -> Iterator[Found]:
        """Add a message to the conversation, under an id that does not depend on what the agent did.

        A fork repeats its ancestors, each with its own head: the conversation is the oldest one's.
        """
        if self._is_subagents:
            yield LeftOut("messages of subagents")
            return
        session = next(reversed(self._session), "")
        if self._draft is None:
            self._draft = Draft(position, {"id": session})
        if row["role"] == "user" and session:
            words = short_hash(str(row["content"]))
            self._occurred[words] += 1
            row["id"] = short_hash("codex", session, words, str(self._occurred[words]))
        yield from self._draft.add(position, row)


def _lowered(part: Any) -> Any:
    """A part with its type in small letters: `Text` and `text` are both written."""
    if isinstance(part, Mapping) and isinstance(part.get("type"), str):
        return {**part, "type": part["type"].lower()}
    return part


def _output(output: Any) -> Any:
    """A tool's output: its text, where it is wrapped in JSON with the exit code."""
    if isinstance(output, Mapping):
        inner = output.get("output", output.get("content"))
        return inner if inner is not None else as_json(dict(output))
    return output
