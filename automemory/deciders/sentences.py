"""Sentences of what was said: how a text is cut into them, how much is in one, how one is shortened."""

from __future__ import annotations

import re

from automemory.deciders.keywords import CJK, CJK_STOP, STOP_WORDS

_READ = 4000
_SENTENCE = re.compile(
    r"(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bMrs\.)(?<!\bProf\.)(?<!\bSt\.)(?<!\bvs\.)(?<!\bNo\.)(?<!\be\.g\.)(?<!\bi\.e\.)"
    r"(?<=[.!?])\s+(?=[^a-z\s])"
    r"|(?<=[a-z]{2}\.)(?=(?:Please|Can|Could|I|The|This|It|And|But|What|How|Also|Then|Now|We|You|My)\s)"
    r"|(?<=[。！？；!?])(?=[^\s」』”’）)])|\n+"
)
_LOOSE = "an?|the|of|to|in|on|at|for|from|with|by|and|or|that|because|so|if|when|it|is|are|they|we|i|you"
_LOOSE_END = re.compile(rf"(?: (?:{_LOOSE}))+$", re.IGNORECASE)
_CLAUSE_ENDS = (", ", "; ", ": ", "：", " - ", " (", "，", "；", "。", "、", ". ")
_CJK = re.compile(f"[{CJK}]")
_WORD = re.compile(rf"[^\W\d_{CJK}][^\W{CJK}]+")
_ORNAMENT = re.compile(r"^[^\w\"'“”‘’«‹「『《【（(\[@#/.$`<>❯~+-]+")


def sentences(text: str) -> list[str]:
    """The sentences of a text's beginning that say anything, each on one line, without a leading emoji."""
    found = (_ORNAMENT.sub("", " ".join(s.split())) for s in _SENTENCE.split(text[:_READ]))
    return [sentence for sentence in found if any(c.isalnum() for c in sentence)]


def content_size(text: str) -> int:
    """Content words, two CJK characters counting as one."""
    cjk = len(_CJK.findall(CJK_STOP.sub("", text)))
    words = _WORD.findall(text.lower())
    return sum(w not in STOP_WORDS for w in words) + cjk // 2


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, cut at a clause or a word."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    clause = max(head.rfind(mark) for mark in _CLAUSE_ENDS)
    if clause >= limit * 3 // 5:
        return head[:clause].rstrip()
    space = head.rfind(" ")
    kept = head[:space] if space >= limit * 3 // 5 else head
    return _LOOSE_END.sub("", kept).rstrip(" ,;，；、") + "…"


def ended(sentence: str) -> str:
    """The sentence with a full stop, in its own script, if it has no end."""
    sentence = sentence.rstrip(" ,;:，；：")
    if not sentence or sentence[-1] in ".!?…。！？":
        return sentence
    return sentence + ("。" if re.search(f"[{CJK}]$", sentence) else ".")


def capitalized(text: str) -> str:
    """The text with a capital, where it begins with a plain lower-case word."""
    return text[:1].upper() + text[1:] if re.match(r"(?!https?:)[a-zà-ÿа-я]+(?:[ ,:’']|$)", text) else text
