"""Names and summaries without a model: sentences picked from what was said, never made up.

A message is first reduced to its prose: fenced code, logs, stack traces, diffs, tables and markup go.
"""

# ruff: noqa: E501  (patterns of pleasantries and pastes, a kind a line)

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from automemory.deciders.cues import REQUEST, WH, is_acknowledgement, strip_acknowledgement
from automemory.decision import Exchange

TITLE_CHARS, PATCH_CHARS, SUMMARY_CHARS = 70, 200, 400
SLUG_WORDS, SLUG_CHARS, SLUG_CJK_CHARS = 6, 48, 20

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_STOP_WORDS = """
a about above actually after again all also am an and any are as at be because been before being below both
but by can cannot could did do does doing done don down during each else even ever few for from further get
give go got had has have having he hello help her here hers hey hi him his how i if in into is it its itself
just kindly know let lets like ll m make may me might more most must my myself need needs no nor not now of
off ok okay on once one only or other our ours out over own per please re really regarding s same see shall
she should since so some such t tell than thank thanks that the their them then there these they this those
through to too try under until up upon us ve very via want wants was we well were what when where which
while who whom why will with without would yes yet you your yours looking trying going able im ive id dont
way using use used there're new something someone sure bonjour salut le la les un une des du de dans et pour
avec est hola el los las y en para con por olá oi um uma os na com que der die das ein eine und mit für ist
и в на с по не для
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_CJK_STOP = re.compile(
    "请帮忙我|请你帮我|请帮我|帮我|帮忙|麻烦您?你?|请问|请你|请您|您好|你好|我想要|我想|我需要|我要|我希望|我们|能不能|能否|可不可以|可以吗|可以|给我|一下"
    "|是不是|有没有|怎么样|怎么|如何|什么|为什么|哪些|哪个|哪里|哪家|多少|这个|那个|这些|那些|一些|一个|一家|现在|然后|还有|以及|并且|或者|如果|因为|所以|但是|需要|想要"
    "|进行|谢谢|好的|吗|呢|吧|啊|呀|哦|嗯|的|了|着|过|和|与|及|并|在|把|被|将|对|请|我|你|您|他|她|它|是|有|想|要|就|都|也|还|很|这|那|个"
)
_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_WRAPPER = re.compile(r"<([a-zA-Z][\w.-]*)(?:\s[^<>]*)?>.*?</\1\s*>", re.DOTALL)
_TAG = re.compile(r"</?[a-zA-Z][\w.:-]*(?:\s[^<>]{0,200})?/?>")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_MARK = re.compile(r"^\s*(?:#{1,6}\s+|[-*+•]\s+|>\s*|\d{1,2}[.)、]\s*)+|\*\*|__|`|(?<=\s)#{2,6}\s")
_NOISE = re.compile(
    r"^\s*(?:"
    r"(?:\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|\d{1,3}\s*[│|→])"  # timestamps, numbered dumps
    r"|at [\w.$<>]+ ?\(|File \"|Traceback|\w*(?:Error|Exception|Warning)\b:|(?:\w+\.)+\w*(?:Error|Exception)\b"  # traces
    r"|[+-]{1,3}\s*[\w{(}<\"']*\s*[\w.]*[=({;]|@@|diff --git|index [0-9a-f]{7}"  # diffs
    r"|\||[|+:-]{3,}|[=*_~-]{3,}\s*$|[{}()\[\]<>;,]+\s*$"  # tables, rules, brackets
    r"|(?:import|from|export|const|let|var|def|class|function|public|private|return|package|using|#include)\b.*[;:({}'\"*]\s*$"
    r"|(?:\$|>>>|PS [A-Z]:|[A-Za-z]:\\|\w+@\w+[:~])\s*|(?:INFO|DEBUG|ERROR|WARN(?:ING)?|TRACE|\[[A-Z]+\])\b"
    r"|\[tool_(?:call|result)\]|(?:https?://|file://|www\.)\S+\s*$|[\w./\\-]+:\d+(?::\d+)?\b|@?[\w./\\-]+\.\w{1,5}\s*$"
    r")"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])|(?<=[。！？；!?])(?=[^\s」』”’）)])|\n+")
_PLEASANTRY = re.compile(
    r"^(?:\W*(?:"
    r"(?:bonjour|salut|hola|olá|oi|ciao|hallo|привет|здравствуйте|cześć|こんにちは)(?=[\s,!.])|(?:hi|hello|hey|greetings|dear)(?: (?:there|everyone|all|team|claude|assistant|chatgpt|gpt|cursor|copilot|guys))?\b(?! world)|good (?:morning|afternoon|evening|day)\b"
    r"|please\b|kindly\b|ok(?:ay)?\b|so\b|well\b|alright\b|great\b|thanks\b|thank you\b|also\b|now\b|then\b|next\b|and\b|sure\b|yes\b|actually\b|perfect\b|awesome\b|cool\b"
    r"|(?:can|could|would|will) (?:you|u|we)(?: (?:please|kindly|also|maybe|possibly|now|just|help me(?: to| with)?))*\b(?! (?:be|like)\b)"
    r"|(?:would|do) you mind\b|(?:i was wondering|i wonder) if (?:you|we) (?:can|could)\b|help me(?: to| with)?\b|let'?s\b(?! encrypt)"
    r"|i(?:'d| would)? (?:just |also |really )?(?:want|need|like|wish) (?:you )?to\b(?: know\b)?|i(?:'d| would) like (?:to (?:know )?)?|i(?:'m| am) (?:trying|looking|hoping|going) to\b|i (?:also )?(?:need|want) (?=(?:a|an|some|the|my|your)\b)"
    r"|你好|您好|嗨|哈喽|好的|谢谢|请问一?下?|请?(?:你|您)?(?:能不能|能否|可以|可不可以)?帮(?:助)?(?:我|忙)(?:一下)?|麻烦(?:你|您)?(?:帮我)?|请(?:你|您)?|(?:你|您)(?:能|可以)(?=\S)"
    r"|我(?:还|也)?(?:想要|想让你|想请你|想|需要你|需要|希望你|希望|要你|要)(?=\S)|那么?(?=[，,])|现在(?=请|帮|我|来)|然后(?=请|帮|我)|接下来|另外|给我"
    r")[\s,，.!！:：。~、]*)+",
    re.IGNORECASE,
)


_MENTIONS = re.compile(r"^(?:(?:[@#]|https?://)\S+\s+)+")
_ARTICLE = re.compile(r"^(?:an?|the|some)\s+(?=\w)", re.IGNORECASE)
_POLITE_END = re.compile(r"(?:,? (?:please|thanks|thank you))?[\s.?？]*$", re.IGNORECASE)
_THANKS = re.compile(r"\W*(?:thank|thanks|谢谢|感谢|多谢)", re.IGNORECASE)


@lru_cache(maxsize=2048)
def prose(text: str) -> str:
    """What a person said in words: a line each, no code, logs, markup or file dumps. Empty if there is nothing else."""
    text = _FENCE.sub("\n", text)
    for _ in range(3):
        text, wrapped = _WRAPPER.subn("\n", text)
        if not wrapped:
            break
    text = _LINK.sub(r"\1", _TAG.sub(" ", text))
    lines = (_MARK.sub("", line).strip() for line in text.split("\n") if not _is_noise(line))
    return "\n".join(" ".join(line.split()) for line in lines if line)


def title(text: str) -> str:
    """The request a turn opens with, shortened to a title of at most `TITLE_CHARS` characters."""
    asked = _request(text)
    bare = _PLEASANTRY.sub("", _without_mentions(asked)).strip() or asked
    if bare != asked and not WH.match(bare):
        bare = _POLITE_END.sub("", _ARTICLE.sub("", bare)) or bare
    short = _shorten(bare, TITLE_CHARS).rstrip(" .,;:!。，；：！、-")
    return short[:1].upper() + short[1:] if re.match(r"[a-zà-ÿа-я]+(?:[ ,]|$)", short) else short


def slug(text: str) -> str:
    """A title's content words joined by dashes; CJK characters that carry content stay together."""
    cjk = len(re.findall(f"[{CJK}]", text))
    if cjk * 2 >= len(re.findall(r"[^\W\d_]", text)) - cjk:
        return _cjk_slug(text)
    words = [w.strip(".'’_-") for w in re.findall(r"[^\W_][\w.'’-]*", text.lower())]
    content = [w for w in words if w and w not in STOP_WORDS and re.sub(r"['’].*", "", w) not in STOP_WORDS]
    return _joined(content or [w for w in words if w])


def patch(text: str) -> str:
    """The sentence that carries a turn's request, at most `PATCH_CHARS` characters; empty for an acknowledgement."""
    return "" if not text.strip() or is_acknowledgement(text) else _shorten(_request(text), PATCH_CHARS)


def summary(turns: Sequence[Exchange]) -> str:
    """What was asked and what came out of it: two or three sentences of an event's turns (oldest first)."""
    asked = [found for turn in turns if (found := patch(turn.user))]
    parts = [_ended(_shorten(asked[0], 170))] if asked else []
    if len(asked) > 2 and len(turns) > 4 and not _THANKS.match(asked[-1]):
        parts.append(_ended(_shorten(asked[-1], 90)))
    outcome = next((found for turn in reversed(turns) if (found := _outcome(turn.reply))), "")
    if outcome and outcome not in parts:
        parts.append(_ended(_shorten(outcome, SUMMARY_CHARS - sum(map(len, parts)) - len(parts) - 1)))
    return _shorten(" ".join(parts), SUMMARY_CHARS)


def _request(text: str) -> str:
    """The first sentence with content; where that only sets the scene, the first that asks for something."""
    sentences = _sentences(prose(text)) or _sentences(_TAG.sub(" ", text.replace("`", "")))
    sentences = [s for s in sentences[:12] if not is_acknowledgement(s)] or sentences[:1]
    content = [
        s
        for s in (strip_acknowledgement(s) for s in sentences)
        if _content_size(_MENTIONS.sub("", f"{s} ")) >= 2
    ]
    if not content:
        return sentences[0] if sentences else ""
    if not _is_setting(content[0]):
        return content[0]
    asking = (s for s in content[1:6] if REQUEST.search(s) or s.rstrip().endswith(("?", "？")))
    return next(asking, content[0])


def _without_mentions(sentence: str) -> str:
    """The sentence without the files it begins with, where enough is left to name it by."""
    rest = _MENTIONS.sub("", sentence)
    return rest if _content_size(rest) >= 2 else sentence


def _is_setting(sentence: str) -> bool:
    """Whether a sentence only sets the scene (who one is, a role for the agent, a heading) before the request."""
    return bool(
        re.match(
            r"\W*(?:i hope|how are you|you are|you're|i am|i'm|my name|this is|here (?:is|are)|context|background|你是|我是|我叫|这是|以下)",
            sentence,
            re.I,
        )
        or sentence.rstrip().endswith((":", "：", "!", "！"))
    )


def _outcome(reply: str) -> str:
    """The sentence of a reply that says what came out: the first with content that offers no further help."""
    sentences = [s for s in _sentences(prose(reply)) if _content_size(s) >= 3 and not s.endswith((":", "："))]
    telling = [s for s in sentences if not s.endswith(("?", "？")) and not _OFFER.search(s)]
    whole = [s for s in telling if s.endswith((".", "!", "。", "！"))]
    return (whole or telling or [""])[0]


_OFFER = re.compile(
    r"let me know|feel free|further assistance|reach out|hesitate|anything else|happy to|glad to|you'?re welcome|would you like|how can i|^(?:let me|i'?ll|i will|now let|now i)\b"
    r"|不客气|随时|还有其他|如果您?你?(?:还|有)|^(?:让我|我将|我会|我来|现在让)|希望(?:这|对)", re.IGNORECASE)  # fmt: skip


def _is_noise(line: str) -> bool:
    if _NOISE.match(line):
        return True
    dense = [c for c in line if not c.isspace()]
    marks = sum(c in '{}[]()<>;=|\\/$&%_"+*~^' for c in dense)
    return len(dense) > 8 and marks * 4 > len(dense)


def _sentences(text: str) -> list[str]:
    return [" ".join(s.split()) for s in _SENTENCE.split(text[:4000]) if any(c.isalnum() for c in s)]


def _content_size(text: str) -> int:
    """Content words, two CJK characters counting as one."""
    cjk = len(re.findall(f"[{CJK}]", _CJK_STOP.sub("", text)))
    words = re.findall(rf"[^\W\d_{CJK}][^\W{CJK}]+", text.lower())
    return sum(w not in STOP_WORDS for w in words) + cjk // 2


def _shorten(text: str, limit: int) -> str:
    """At most `limit` characters, cut at a clause or a word."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    clause = max(head.rfind(mark) for mark in (", ", "; ", " - ", " (", "，", "；", "。", "、", ". "))
    if clause >= limit * 3 // 5:
        return head[:clause].rstrip()
    space = head.rfind(" ")
    return (head[:space] if space >= limit * 3 // 5 else head).rstrip(" ,;，；、") + "…"


def _ended(sentence: str) -> str:
    sentence = sentence.rstrip(" ,;:，；：")
    if not sentence or sentence[-1] in ".!?…。！？":
        return sentence
    return sentence + ("。" if re.search(f"[{CJK}]$", sentence) else ".")


def _cjk_slug(text: str) -> str:
    pieces = re.split(rf"[^\w{CJK}]+", _CJK_STOP.sub(" ", text))
    found = ""
    for piece in filter(None, pieces):
        glue = "-" if found and (found[-1].isascii() or piece[0].isascii()) else ""
        if len(found) + len(glue) + len(piece) > SLUG_CJK_CHARS:
            return found if len(found) * 2 > SLUG_CJK_CHARS else (found + glue + piece)[:SLUG_CJK_CHARS]
        found += glue + piece
    return found or _joined(re.findall(r"\w+", text))[:SLUG_CJK_CHARS]


def _joined(words: Sequence[str]) -> str:
    found = ""
    for word in words[:SLUG_WORDS]:
        if found and len(found) + 1 + len(word) > SLUG_CHARS:
            break
        found = f"{found}-{word}" if found else word[:SLUG_CHARS]
    return found
