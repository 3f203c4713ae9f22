"""Makes the tool calls that a model asks for: each gets an answer, and none can end the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool

from automemory.decision import cut_middle
from automemory.synchronizer.toolkit import VaultToolkit

RESULT_CHARS = 8_000


async def answer_calls(
    message: AIMessage, tools: Sequence[BaseTool], toolkit: VaultToolkit, say: Callable[[str], None]
) -> list[AnyMessage]:
    """Make the calls of a message in their order.

    Args:
        message: What the model said.
        tools: The toolkit's tools.
        toolkit: Keeps the records, also of calls that no tool takes.
        say: Is told each call in a line.

    Returns:
        The message as it can be shown to the model again, and the answers.
    """
    known = {tool.name: tool for tool in tools}
    calls = [call | {"id": call["id"] or f"call-{n}"} for n, call in enumerate(message.tool_calls)]
    answers: list[AnyMessage] = []
    for call in calls:
        answers.append(await _answer(call, known, toolkit))
        say(_told(toolkit))
    for n, broken in enumerate(message.invalid_tool_calls):
        name, id = broken.get("name") or "unknown", broken.get("id") or f"broken-{n}"
        calls.append(ToolCall(name=name, args={}, id=id, type="tool_call"))
        reason = f"The arguments of {name} are no JSON object: call it again with one."
        answers.append(_refuse(calls[-1], reason, toolkit))
        say(_told(toolkit))
    extra = {key: value for key, value in message.additional_kwargs.items() if key != "tool_calls"}
    shown = {"tool_calls": calls, "invalid_tool_calls": [], "additional_kwargs": extra}
    return [message.model_copy(update=shown), *answers]


async def _answer(call: ToolCall, tools: Mapping[str, BaseTool], toolkit: VaultToolkit) -> ToolMessage:
    tool = tools.get(call["name"].strip().replace(":", "_"))
    if tool is None:
        return _refuse(call, f"There is no tool {call['name']!r}. There are: {', '.join(tools)}.", toolkit)
    try:
        answer = await tool.ainvoke({**call, "name": tool.name, "type": "tool_call"})
    except Exception as error:  # a disk that fails, a mistake of ours: the model is told, and goes on
        return _refuse(call, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}", toolkit)
    status = answer.status if isinstance(answer, ToolMessage) else "success"
    text = str(answer.text) if isinstance(answer, ToolMessage) else str(answer)
    return ToolMessage(cut_middle(text, RESULT_CHARS), tool_call_id=call["id"], status=status)


def _refuse(call: ToolCall, reason: str, toolkit: VaultToolkit) -> ToolMessage:
    toolkit.refuse(call["name"].replace("property_", "property:"), call["args"], reason)
    return ToolMessage(reason, tool_call_id=call["id"], status="error")


def _told(toolkit: VaultToolkit) -> str:
    """The last call in a line."""
    record = toolkit.records[-1]
    done = "done" if record.ok else f"refused: {record.result}"
    return f"{record.tool} {record.arguments.get('path', '')}: {done}"
