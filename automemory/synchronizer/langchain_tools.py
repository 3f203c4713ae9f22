"""The toolkit's tools as LangChain has them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, ConfigDict, Field

from automemory.errors import VaultError

if TYPE_CHECKING:
    from automemory.synchronizer.toolkit import VaultToolkit

_PATH = "A path relative to the vault, such as 'daily/2026-05-28/fix-login/fix-login.md'."


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _List(_Arguments):
    path: str = Field(".", description="A folder, relative to the vault; '.' is the vault.")
    recursive: bool = Field(False, description="Whether to list what is below its folders too.")


class _Path(_Arguments):
    path: str = Field(description=_PATH)


class _Write(_Arguments):
    path: str = Field(description=_PATH)
    content: str = Field(description="The whole text in Markdown.")
    overwrite: bool = Field(False, description="True to merge into a summary note that is there.")
    scope_changed: bool = Field(
        False, description="True if the task's scope changed: a new Objective stands."
    )


class _Update(BaseModel):
    model_config = ConfigDict(extra="allow")

    path: str = Field(description=_PATH)
    status: str | None = Field(None, description="'active', or 'completed' if the task is finished.")
    title: str | None = Field(None, description="One line.")
    description: str | None = Field(None, description="Two or three sentences.")
    fields: dict[str, Any] | None = Field(None, description="Other fields, by name.")


def make_tools(toolkit: VaultToolkit, *, read_only: bool) -> list[BaseTool]:
    """The toolkit's methods as tools, named without colons, which not all providers take."""

    def update(path: str, **given: Any) -> str:
        fields = {key: value for key, value in given.items() if key != "fields" and value is not None}
        return toolkit.property_update(path, **(given.get("fields") or {}), **fields)

    reading: list[tuple[str, Callable[..., Any], type[BaseModel], str]] = [
        ("list", toolkit.list, _List, "List a folder of the vault, files of any type included."),
        ("stat", toolkit.stat, _Path, "Say whether something is a file, a folder or nothing yet."),
        ("read", toolkit.read, _Path, "Read a text file."),
        ("property_read", toolkit.property_read, _Path, "Read a note's frontmatter only."),
    ]
    writing: list[tuple[str, Callable[..., Any], type[BaseModel], str]] = [
        (
            "write",
            toolkit.write,
            _Write,
            "Write the summary note (its sections are merged into what is there) or a new Markdown file "
            "beside it (never replaced: if the name is taken, it gets a number).",
        ),
        ("property_update", update, _Update, "Set fields of the summary note's frontmatter, nothing else."),
    ]
    order = ["list", "stat", "read", "write", "property_read", "property_update"]
    made = [_tool(toolkit, *spec) for spec in (reading if read_only else [*reading, *writing])]
    return sorted(made, key=lambda tool: order.index(tool.name))


def _tool(
    toolkit: VaultToolkit, name: str, method: Callable[..., Any], schema: type[BaseModel], described: str
) -> BaseTool:
    def call(**arguments: Any) -> str:
        try:
            return _as_text(method(**arguments))
        except VaultError as error:
            raise ToolException(str(error)) from error

    def invalid(error: Any) -> str:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        reason = f"wrong arguments ({wrong}): give {', '.join(schema.model_fields)}"
        toolkit.refuse(name.replace("property_", "property:"), {}, reason)
        return reason

    tool = StructuredTool.from_function(call, name=name, description=described, args_schema=schema)
    tool.handle_tool_error = True
    tool.handle_validation_error = invalid
    return tool


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(value) or "(nothing is in it)"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
