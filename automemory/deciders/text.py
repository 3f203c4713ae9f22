"""What is compared between texts besides their vectors: words, character n-grams, identifiers, cues."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from automemory.deciders import cues
from automemory.deciders.extract import CJK, STOP_WORDS

_WORD = re.compile(rf"[^\W\d_{CJK}][^\W{CJK}]+")
_CJK_RUN = re.compile(f"[{CJK}]+")
_CJK_FUNCTION = re.compile(
    "[的了吗呢吧啊我你您他她它是有在和与及也都还就很要想请帮给把被将对这那个为什么怎多少哪里一下可以能不用]"
)
_IDENTIFIER = re.compile(
    r"""(?:[\w.-]*/)*[\w-]+\.[A-Za-z]\w{0,5}\b            # files, dotted names
    |\b\w+(?:_\w+)+\b                                      # snake_case
    |\b[a-z]+(?:[A-Z]\w*)+\b|\b(?:[A-Z][a-z0-9]+){2,}\b    # camelCase, CamelCase
    |[#@][\w./-]{2,}                                       # references
    |\b[A-Za-z]*-?\d[\w-]{2,}\b                            # numbers, codes
    |(?<![.!?]\s)(?<=[a-z,]\s)[A-Z][\w'-]+(?:\s[A-Z][\w'-]+)*  # names inside a sentence
    |[“"「『《][^“”"「」『』《》\n]{2,30}[”"」』》]            # quoted
    """,
    re.VERBOSE,
)
_CODE = re.compile(r"```|^\s{4,}\S|[{};]\s*$", re.MULTILINE)
_TRACE = re.compile(
    r"Traceback|Exception|\b[Ee]rror\b[:\[ ]|^\s*at [\w.$]+\(|失败|报错|\bERROR\b|warning:", re.MULTILINE
)
MAX_READ = 2400


@dataclass(frozen=True, slots=True)
class Text:
    """A text reduced to what is compared: sets, and counts of cues."""

    words: frozenset[str]
    grams: frozenset[str]
    beginning: frozenset[str]
    identifiers: frozenset[str]
    size: int
    questions: int
    new_topic: int
    still: int
    anaphors: int
    requests: int
    greeting: bool
    back: bool
    closing: bool
    done: int
    wh: bool
    ends_asking: bool
    code: bool
    trace: bool
    cjk: bool
    mention: bool
    lines: int
    command: bool
    settled: bool
    praise: bool
    concedes: bool
    acknowledges: bool
    kinds: frozenset[str]


@lru_cache(maxsize=512)
def read(text: str, *, reply: bool = False) -> Text:
    """Reduce a text; cost and size are bounded, and equal texts are read once.

    Args:
        text: What was said.
        reply: Whether the agent said it: what only a person's words tell is then not looked for.
    """
    text = text[:MAX_READ]
    head = text[:400]
    said = "" if reply else head
    lower = text.lower()
    runs = _CJK_RUN.findall(text)
    cjk = sum(map(len, runs))
    return Text(
        words=_words(lower, runs),
        grams=_grams(lower[:800]),
        beginning=_grams(lower[:40]),
        identifiers=identifiers(text),
        size=len(text) + 3 * cjk,
        questions=text.count("?") + text.count("？"),
        new_topic=len(cues.NEW_TOPIC.findall(said)),
        still=len(cues.STILL.findall(said)),
        anaphors=len(cues.ANAPHOR.findall(said)),
        requests=len(cues.REQUEST.findall(said)),
        greeting=bool(cues.GREETING.search(said)),
        back=bool(cues.BACK.search(said)),
        closing=bool(cues.CLOSING.search(text[-400:])),
        done=len(cues.DONE.findall(text[:600])),
        wh=bool(cues.WH.search(said)),
        ends_asking=text.rstrip()[-120:].rstrip('`*_ )」"').endswith(("?", "？"))
        or "?" in text[-60:]
        or "？" in text[-30:],
        code=bool(_CODE.search(text)),
        trace=bool(_TRACE.search(text)),
        cjk=cjk * 4 > len(text),
        mention="@" in head,
        lines=text.count("\n"),
        command=head.startswith(("/", "!")),
        settled=bool(cues.SETTLED.search(said[:200])),
        praise=cues.strip_acknowledgement(said) != said.lstrip(),
        concedes=bool(cues.CONCEDING.search(head)),
        acknowledges=not reply and cues.is_acknowledgement(text),
        kinds=frozenset(kind for kind, cue in cues.KINDS.items() if cue.search(said)),
    )


@lru_cache(maxsize=2048)
def words(text: str) -> frozenset[str]:
    """The content words of a text, stemmed; pairs of characters where it is Chinese or Japanese."""
    text = text[:MAX_READ]
    return _words(text.lower(), _CJK_RUN.findall(text))


def _words(lower: str, runs: list[str]) -> frozenset[str]:
    stems = (_stem(w) for w in _WORD.findall(lower) if w not in STOP_WORDS and len(w) > 2)
    return frozenset(stems) | frozenset(_bigrams(runs))


@lru_cache(maxsize=512)
def identifiers(text: str) -> frozenset[str]:
    """Files (whole and by name), symbols, codes, names and quoted words of a text, case folded."""
    found: set[str] = set()
    for match in _IDENTIFIER.findall(text):
        name = match.strip('"“”「」『』《》#@.').casefold()
        found.add(name.rsplit("/", 1)[-1])
    return frozenset(found - {""})


def _stem(word: str) -> str:
    return word[:6] if len(word) > 6 else word.removesuffix("s")


def _bigrams(runs: list[str]) -> list[str]:
    pieces = (piece for run in runs for piece in _CJK_FUNCTION.split(run))
    return [piece[i : i + 2] for piece in pieces for i in range(max(len(piece) - 1, 0))]


def _grams(text: str) -> frozenset[str]:
    width = 2 if _CJK_RUN.search(text) else 4
    return frozenset(text[i : i + width] for i in range(max(len(text) - width + 1, 0)))
