"""How rare a word is in conversations: shared rare words tie turns together, shared common ones do not."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

COUNTS = Path(__file__).with_name("rarity.npz")
BUCKETS = 1 << 15


@lru_cache(maxsize=1 << 16)
def rarity(word: str) -> float:
    """The inverse document frequency of a word: natural logarithm of turns over turns with the word."""
    return float(_table()[_bucket(word)])


def total(words: Iterable[str]) -> float:
    """The words' rarity in all; in a fixed order, as a sum of floats depends on it."""
    return sum(map(rarity, sorted(words)))


def count(turns: Iterable[frozenset[str]]) -> npt.NDArray[np.float16]:
    """The rarity of every bucket of words, from turns given as sets of words."""
    with_word, number = np.zeros(BUCKETS), 0
    for words in turns:
        number += 1
        with_word[sorted({_bucket(word) for word in words})] += 1
    return np.log(max(number, 1) / (with_word + 1)).astype(np.float16)


def save(table: npt.NDArray[np.float16], path: Path = COUNTS) -> None:
    np.savez_compressed(path, rarity=table)
    _table.cache_clear()
    rarity.cache_clear()


@lru_cache(maxsize=1)
def _table() -> npt.NDArray[np.float16]:
    with np.load(COUNTS, allow_pickle=False) as data:
        return np.asarray(data["rarity"])


def _bucket(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "replace")) % BUCKETS
