"""A decision as a model answers it; checked, since it comes from outside."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

NOTHING = frozenset({"null", "none", "n/a", "nil", "undefined"})


def _empty_if_nothing(value: Any) -> Any:
    """Text without space around it; empty for null and for words that mean nothing."""
    if value is None:
        return ""
    text = value.strip() if isinstance(value, str) else value
    return "" if isinstance(text, str) and text.lower() in NOTHING else text


Words = Annotated[str, BeforeValidator(_empty_if_nothing)]
"""A model's text, of which null and `"null"` are none, so that neither ever names a folder."""


class BoundaryDecision(BaseModel):
    """The answer to "does this turn go on with the active event?", as on the wire."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True, extra="ignore", frozen=True)

    continue_: bool = Field(alias="continue")
    new_event_slug: Words = ""
    summary_patch: Words = ""
