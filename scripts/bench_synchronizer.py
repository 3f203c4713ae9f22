"""What it costs to condense a conversation: calls, characters, tokens, and the size of what is handed back.

    python scripts/bench_synchronizer.py [--messages 10 100 1000]

Both strategies of the synchronizer, and LangChain's SummarizationMiddleware with its defaults, on the same
messages in the same run. The model is a server on loopback that answers at once, with as much text for each.
Tokens are an estimate: one for each CJK character, one for each four others.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.runtime import Runtime
from loopback import serving, tokens

from automemory import Synchronizer, __version__

FINDINGS = [f"Module {n} reads a quoted field twice when a row ends without a newline" for n in range(8)]
PROGRESS = [f"Changed parser_{n}.py and ran its {n + 3} tests" for n in range(8)]
FIXED = {
    "title": "Repair the CSV parser",
    "objective": "All files of the customer are read without losing a row.",
    "plan": "Reproduce with the sample, repair each module, run the whole suite.",
    "next": ["Run the whole suite", "Write the changelog"],
    "description": "The parser loses rows of files that end without a newline. The customer waits for it.",
}


@dataclass
class Server:
    """Answers as the request asks: with a tool call, a patch, a closing line or a summary."""

    sent: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        message = self._message(body)
        self.sent.append("\n".join(str(m.get("content") or "") for m in body["messages"]) + _schema(body))
        self.answered.append(json.dumps(message, ensure_ascii=False))
        return message

    def _message(self, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("response_format"):
            given = {**FIXED, "skip": False, "scope_changed": False, "completed": None, "excerpts": []}
            given |= {"progress": PROGRESS, "findings": FINDINGS, "decisions": []}
            return {"role": "assistant", "content": json.dumps(given)}
        if not body.get("tools"):
            return {"role": "assistant", "content": _sections()}
        if body["messages"][-1]["role"] == "tool":
            return {"role": "assistant", "content": "Done."}
        day = body["messages"][0]["content"].rpartition("Now: ")[2][:10]
        path = f"daily/{day}/repair-the-csv-parser/repair-the-csv-parser.md"
        head = f"---\ntitle: {FIXED['title']}\ndescription: {FIXED['description']}\nstatus: active\n---\n\n"
        arguments = json.dumps({"path": path, "content": head + _sections(), "overwrite": True})
        call = {"id": "c1", "type": "function", "function": {"name": "write", "arguments": arguments}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}


def _sections() -> str:
    listed = {"Progress": PROGRESS, "Findings": FINDINGS, "Next": [f"[ ] {n}" for n in FIXED["next"]]}
    texts = {"Objective": FIXED["objective"], "Plan": FIXED["plan"]}
    texts |= {name: "\n".join(f"- {line}" for line in lines) for name, lines in listed.items()}
    return "\n\n".join(f"## {name}\n{text}" for name, text in texts.items())


def _schema(body: dict[str, Any]) -> str:
    """What a server shows the model besides the messages."""
    return "".join(json.dumps(body[key]) for key in ("tools", "response_format") if body.get(key))


def conversation(size: int) -> list[AnyMessage]:
    """That many messages: a request, two tool calls with results, a reply, and again."""
    found: list[AnyMessage] = []
    for number in range(-(-size // 6)):
        found.append(HumanMessage(f"Now repair module {number}. " + "It loses rows at the end. " * 8))
        for step in ("read", "test"):
            call = {"name": step, "args": {"file": f"parser_{number}.py"}, "id": f"{step}{number}"}
            found.append(AIMessage("", tool_calls=[call]))
            found.append(ToolMessage(f"{step} output line\n" * 60, tool_call_id=call["id"], name=step))
        found.append(AIMessage(f"Module {number} is repaired. " + "The quoted field is read once. " * 10))
    return found[:size]


def synchronized(strategy: Any, model: ChatOpenAI, messages: list[AnyMessage]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        result = Synchronizer(Path(folder) / "vault", model, strategy=strategy).synchronize(messages)
        assert result.success, result.failed
        return result.as_context()


def summarized(model: ChatOpenAI, messages: list[AnyMessage]) -> str:
    middleware = SummarizationMiddleware(model, trigger=("messages", 1), keep=("messages", 1))
    update = middleware.before_model({"messages": list(messages)}, Runtime())  # type: ignore[arg-type]
    assert update is not None
    return str(update["messages"][1].text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--messages", type=int, nargs="+", default=[10, 100, 1000])
    options = parser.parse_args()
    ways: dict[str, Callable[[ChatOpenAI, list[AnyMessage]], str]] = {
        "synchronizer, tools": lambda model, messages: synchronized("tools", model, messages),
        "synchronizer, patch": lambda model, messages: synchronized("patch", model, messages),
        "SummarizationMiddleware": summarized,
    }
    print(f"automemory {__version__}, langchain {version('langchain')}, Python {platform.python_version()}")
    names = ("calls", "sent", "tokens", "answered", "tokens", "handed back", "seconds")
    print(f"{'messages':>8}  {'way':<26}" + "".join(f"{name:>13}" for name in names))
    for size in options.messages:
        messages = conversation(size)
        for name, way in ways.items():
            server = Server()
            with serving(server.answer) as url:
                begin = time.perf_counter()
                note = way(ChatOpenAI(model="m", base_url=url, api_key="none"), messages)
                spent = time.perf_counter() - begin
            sent, said = "".join(server.sent), "".join(server.answered)
            figures = (len(server.sent), len(sent), tokens(sent), len(said), tokens(said), len(note))
            print(f"{size:>8}  {name:<26}" + "".join(f"{n:>13,}" for n in figures) + f"{spent:>13.2f}")


if __name__ == "__main__":
    main()
