"""What a model says is new in a task, in one object; read tolerantly, since small models write it too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from automemory.boundary import NOTHING, Words
from automemory.content import as_json
from automemory.vault.naming import slugify

_NOT_WORDS = re.compile(r"[\W_]+")
_SHORTEST_ECHO = 20
_BULLET = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])\s+")


def _entries(value: Any) -> list[str]:
    """Entries of a list, however a model wrote them: each one line, without its bullet."""
    if isinstance(value, Mapping):
        return _entries(" — ".join(filter(None, map(_said, value.values()))))
    if isinstance(value, list):
        return [line for item in value for line in _entries(item)]
    if not isinstance(value, str):
        return []
    lines = (_BULLET.sub("", " ".join(line.split())) for line in value.split("\n"))
    return [line for line in lines if line and line.lower() not in NOTHING]


def _said(value: Any) -> str:
    """What a model wrote within an entry, as words."""
    if isinstance(value, (list, Mapping)):
        return "; ".join(_entries(value))
    return value if isinstance(value, str) else as_json(value) if value else ""


def _text(value: Any) -> Any:
    """A text, however a model wrote it."""
    return "\n".join(f"- {line}" for line in _entries(value)) if isinstance(value, (list, Mapping)) else value


def _excerpts(value: Any) -> list[dict[str, str]]:
    if isinstance(value, Mapping):
        value = [value] if "content" in value else [{"name": k, "content": v} for k, v in value.items()]
    if not isinstance(value, list):
        return []
    found = [item for item in value if isinstance(item, Mapping) and isinstance(item.get("content"), str)]
    return [
        {"name": _said(item.get("name")) or "excerpt", "content": item["content"]}
        for item in found
        if item["content"].strip()
    ]


Entries = Annotated[list[str], BeforeValidator(_entries)]
Text = Annotated[Words, BeforeValidator(_text)]


class Excerpt(BaseModel):
    """A text to be kept word for word."""

    name: str = "excerpt"
    content: str = ""

    @property
    def file(self) -> str:
        """The name of the file it becomes."""
        return f"{slugify(self.name.removesuffix('.md')) or 'excerpt'}.md"

    @property
    def text(self) -> str:
        """The file's text: a heading, and the content as code unless it is Markdown itself."""
        if self.content.lstrip().startswith("#") or "```" in self.content:
            return self.content
        heading = " ".join(self.name.split())[:100]
        return f"# {heading}\n\n```\n{self.content.strip(chr(10))}\n```\n"


class PatchReply(BaseModel):
    """What a model says is new in a task."""

    model_config = ConfigDict(extra="ignore")

    skip: bool = False
    title: Words
    objective: Text = ""
    scope_changed: bool = False
    plan: Text = ""
    progress: Entries = []
    findings: Entries = []
    decisions: Entries = []
    next: Entries = []
    description: Text = ""
    completed: bool | None = None
    excerpts: Annotated[list[Excerpt], BeforeValidator(_excerpts)] = Field(default_factory=list)

    def without_echoes(self, instructions: str) -> PatchReply:
        """The same without what is copied from the instructions, as very small models do."""
        told = _bare(instructions)

        def own(text: str) -> bool:
            return len(text) < _SHORTEST_ECHO or _bare(text) not in told

        texts = {name: "" for name in ("description", "objective", "plan") if not own(getattr(self, name))}
        names = ("progress", "findings", "decisions", "next")
        lists = {name: [line for line in getattr(self, name) if own(line)] for name in names}
        return self.model_copy(update=texts | lists)

    @property
    def holds_nothing(self) -> bool:
        told = (self.objective, self.plan, self.progress, self.findings, self.decisions, self.next)
        return not any((*told, self.description, self.excerpts)) and self.completed is None

    @property
    def sections(self) -> dict[str, str]:
        """The sections that there is something for, lists as items."""
        found = {
            "Objective": self.objective,
            "Plan": self.plan,
            "Progress": _listed(self.progress),
            "Findings": _listed(self.findings),
            "Decisions": _listed(self.decisions),
            "Next": _listed(self.next),
        }
        return {name: text for name, text in found.items() if text}


def _bare(text: str) -> str:
    return " ".join(_NOT_WORDS.sub(" ", text).casefold().split())


def _listed(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
