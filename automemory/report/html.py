"""HTML as values: whatever is not marked as HTML is escaped."""

from __future__ import annotations

import html
import json
from typing import Any


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, *children: object, **attributes: object) -> Html:
    """An element.

    Args:
        name: Of the element.
        children: What it holds; None and empty text are left out, whatever is no `Html` is escaped.
        attributes: `class_` is `class`, `aria_label` is `aria-label`; True stands alone, None and False are
            left out.
    """
    words = [name, *(_attribute(key, value) for key, value in attributes.items() if _given(value))]
    return Html(f"<{' '.join(words)}>{join(*children)}</{name}>")


def join(*children: object) -> Html:
    return Html("".join(child if isinstance(child, Html) else _escaped(child) for child in children))


def table(header: tuple[str, ...], rows: list[tuple[object, ...]], caption: str) -> Html:
    """A table whose first column names its rows; it scrolls by itself where there is no room."""
    head = tag("tr", *(tag("th", cell, scope="col") for cell in header))
    body = [
        tag("tr", tag("th", first, scope="row"), *(tag("td", cell) for cell in rest)) for first, *rest in rows
    ]
    made = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body))
    return tag("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)


def json_block(value: Any, id: str) -> Html:
    """JSON that a script can read and that cannot end its element."""
    text = value if isinstance(value, str) else json.dumps(value)
    return Html(f'<script type="application/json" id="{_escaped(id)}">{text.replace("<", _LESS)}</script>')


_LESS = "\\u003c"


def _given(value: object) -> bool:
    return value is not None and value is not False


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    return name if value is True else f'{name}="{_escaped(value)}"'


def _escaped(value: object) -> str:
    return "" if value is None else html.escape(str(value))
