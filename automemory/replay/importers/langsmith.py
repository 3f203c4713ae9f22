"""Runs exported from LangSmith, as JSON lines, an array, or nested in each other.

A root run is a turn: what came in and what went out. Roots of one thread, told by the run's metadata, make a
conversation. Where a root's own inputs and outputs hold no messages, those of its model runs do.
Format: docs.langchain.com/langsmith/run-data-format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, BinaryIO

from automemory.errors import ConfigError
from automemory.replay.importers.branches import moment
from automemory.replay.importers.conversation import Draft, Found
from automemory.replay.importers.langchain_dump import flat
from automemory.replay.importers.records import BadRecord, LeftOut, Sample, text
from automemory.replay.importers.rows import any_record, is_list, wanted_records
from automemory.replay.importers.spill import SpillMap
from automemory.turn import Message, align, fingerprint, read_messages

_THREADS = ("thread_id", "conversation_id", "session_id")
_ASKED = ("input", "question", "query", "prompt", "human_input", "user_input", "text", "content")
_ANSWERED = ("output", "answer", "result", "response", "text", "content", "output_text", "generation")
_HISTORIES = ("chat_history", "history")


class LangSmith:
    name = "langsmith"

    def detect(self, sample: Sample) -> bool:
        return any_record(sample.records, _is_run)

    def read(self, file: BinaryIO) -> Iterator[Found]:
        runs = _Runs()
        for position, record in wanted_records(file, _is_run):
            if isinstance(record, BadRecord):
                yield record
            else:
                runs.add(position, record)
        yield from runs.conversations()


def _is_run(record: Any) -> bool:
    if not isinstance(record, dict) or not isinstance(record.get("run_type"), str):
        return False
    return any(key in record for key in ("inputs", "outputs", "trace_id", "dotted_order", "start_time"))


@dataclass(frozen=True, slots=True, order=True)
class _Run:
    """A run: when it began, its place among those that began then, its id and its thread."""

    began: float
    order: str
    id: str
    thread: str


class _Runs:
    """Runs in any order, sorted into threads."""

    def __init__(self) -> None:
        self._stored = SpillMap()
        self._roots: list[_Run] = []
        self._models: dict[str, list[_Run]] = {}
        self._positions: dict[str, str] = {}

    def add(self, position: str, run: Mapping[str, Any]) -> None:
        """Take a run with the runs in it."""
        own = text(run.get("id")) or position
        if own in self._positions:
            return
        self._positions[own] = position
        trace = text(run.get("trace_id")) or text(run.get("parent_run_id")) or own
        root = run.get("parent_run_id") is None or own == trace
        began = moment(run.get("start_time"))
        about = _Run(
            inf if began is None else began, text(run.get("dotted_order")), own, _thread(run) or trace
        )
        if root:
            self._roots.append(about)
        elif run.get("run_type") == "llm":
            self._models.setdefault(trace, []).append(about)
        if root or run.get("run_type") == "llm":
            self._stored.put(own, (run.get("start_time"), run.get("end_time"), _asked(run), _answered(run)))
        nested = run.get("child_runs")
        for number, child in enumerate(nested if is_list(nested) else (), 1):
            if _is_run(child):
                inside = {"trace_id": trace, "parent_run_id": own}
                self.add(f"{position}, child {number}", {**child, **inside})

    def conversations(self) -> Iterator[Found]:
        """A conversation a thread, its turns by their time; a model's last run stands for a missing root."""
        roots = {run.id for run in self._roots}
        lone = [max(runs) for trace, runs in self._models.items() if trace not in roots]
        threads: dict[str, list[_Run]] = {}
        for run in sorted([*self._roots, *lone]):
            threads.setdefault(run.thread, []).append(run)
        if within := sum(map(len, self._models.values())) - len(lone):
            yield LeftOut("model runs within a turn", within)
        for runs in threads.values():
            draft = Draft(self._positions[runs[0].id], unique_ids=True)
            history: list[str] = []
            seen: set[str] = set()
            for run in runs:
                draft.take(self._turn(run.id, history, seen))
            yield from draft.finish()

    def _turn(self, own: str, history: list[str], seen: set[str]) -> Iterator[Message]:
        """What a root run added to its thread; `history` and `seen` are kept up to date."""
        start, end, asked, answered = self._stored[own]
        if not asked and not answered and own in self._models:
            start, end, asked, answered = self._stored[max(self._models[own]).id]
        new = _new(_read(asked, start), _read(answered, end), history)
        for number, message in enumerate(new):
            if message.id and message.id in seen:
                continue
            seen.add(message.id or "")
            history.append(fingerprint(message))
            yield message if message.id else replace(message, id=f"{own}:{number}")


def _new(asked: list[Message], answered: list[Message], history: list[str]) -> list[Message]:
    """The messages of a run that are not a repeated past."""
    if len(asked) > 1:
        prints = [fingerprint(message) for message in asked[:-1]]
        asked = asked[align(prints, history) :]
    if asked:
        last = fingerprint(asked[-1])
        at = [i for i, message in enumerate(answered) if fingerprint(message) == last]
        answered = answered[at[-1] + 1 :] if at else answered
    return [*asked, *answered]


def _thread(run: Mapping[str, Any]) -> str:
    extra = run.get("extra")
    metadata = extra.get("metadata") if isinstance(extra, Mapping) else None
    about = metadata if isinstance(metadata, Mapping) else {}
    return next((f"thread {about[key]}" for key in _THREADS if isinstance(about.get(key), (str, int))), "")


def _asked(run: Mapping[str, Any]) -> list[Any]:
    inputs = run.get("inputs")
    rows = _messages(inputs)
    if rows or run.get("run_type") == "llm":
        return rows
    words = _words(inputs, _ASKED, "user")
    return [*_listed(inputs, _HISTORIES), *words] if words else []


def _answered(run: Mapping[str, Any]) -> list[Any]:
    outputs = run.get("outputs")
    rows = _messages(outputs) or _generated(outputs)
    return rows or _words(outputs, _ANSWERED, "assistant")


def _messages(value: Any) -> list[Any]:
    """The messages among a run's inputs or outputs, of the first batch where there are batches."""
    found = _listed(value, ("messages", "input"))
    inner = value.get("input") if isinstance(value, Mapping) else None
    return found or (_messages(inner) if isinstance(inner, Mapping) else [])


def _listed(value: Any, keys: Sequence[str]) -> list[Any]:
    """The messages listed under the first of `keys` that has any."""
    for rows in (value.get(key) for key in keys) if isinstance(value, Mapping) else ():
        if is_list(rows) and rows:
            inner = rows[0] if is_list(rows[0]) and not _is_pair(rows[0]) else rows
            return [row for row in map(_flat, inner) if row is not None]
    return []


def _generated(value: Any) -> list[Any]:
    """A model's answer: LangChain's generations, OpenAI's choices, or a message on its own."""
    if not isinstance(value, Mapping):
        return []
    found = value.get("generations") or value.get("choices")
    while is_list(found) and found:
        found = found[0]
    message = (
        found.get("message") if isinstance(found, Mapping) else value.get("message") or value.get("output")
    )
    if isinstance(message, Mapping):
        row = _flat(message)
        return [row] if row is not None else []
    said = text(found.get("text")) if isinstance(found, Mapping) else ""
    return [{"role": "assistant", "content": said}] if said else []


def _flat(row: Any) -> dict[str, Any] | None:
    """A message as a role/content dict; None for what is none."""
    if _is_pair(row):
        return {"role": row[0], "content": row[1]}
    found = flat(row)
    if isinstance(found, dict) and isinstance(found.get("role") or found.get("type"), str):
        return found
    return None


def _is_pair(row: Any) -> bool:
    """Whether a row is a role and words, as LangChain takes them for a message."""
    return is_list(row) and len(row) == 2 and all(isinstance(part, str) for part in row)


def _words(value: Any, keys: Sequence[str], role: str) -> list[Any]:
    if isinstance(value, Mapping):
        value = next((value[key] for key in keys if isinstance(value.get(key), str) and value[key]), None)
    return [{"role": role, "content": value}] if isinstance(value, str) and value else []


def _read(rows: list[Any], at: Any) -> list[Message]:
    found: list[Message] = []
    for row in rows:
        try:
            found += read_messages({"timestamp": at, **row})
        except ConfigError:
            continue
    return [message for message in found if message.role != "system"]
