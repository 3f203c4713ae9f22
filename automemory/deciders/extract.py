"""Names and summaries without a model: sentences picked from what was said, never made up.

A message is first reduced to its prose: fenced code, logs, stack traces, diffs, tables and markup go.
"""

# ruff: noqa: E501  (patterns of pleasantries and pastes, a kind a line)

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from automemory.deciders.cues import REQUEST, WH, is_acknowledgement, strip_acknowledgement
from automemory.deciders.keywords import CJK as CJK
from automemory.deciders.keywords import CJK_STOP, CJK_TIME, topic_characters, topic_words
from automemory.deciders.keywords import SLUG_CHARS as SLUG_CHARS
from automemory.deciders.keywords import STOP_WORDS as STOP_WORDS
from automemory.decision import Exchange

TITLE_CHARS, PATCH_CHARS, SUMMARY_CHARS = 60, 200, 400

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


_CUE = re.compile(
    r"^(?:\W*(?:(?:ok(?:ay)?|right|so|now|alright|great|and|well|good|fine|done|cool|hi|hello|hey|(?:good )?(?:morning|afternoon|evening))\b"
    r"|(?:and |now |on to )?(?:the |an? |my )?(?:(?:next|new|another|different|separate|unrelated|other|last|final|second|small|more|one more) ?)+(?:topic|task|thing|question|subject|matter|item|issue|request|one|note|step|up)?s?(?: (?:for|of) (?:today|now|you|me|the day))?"
    r"|(?:one|two) (?:more|last|other) things?|something (?:else|different|new)(?: entirely)?|(?:changing|change of|switching|to change) (?:the )?(?:topics?|subjects?|gears)|by the way|btw|moving on|finally|lastly|also|before i forget|while (?:we|you|i)(?:'re| are|'m| am) at it|first(?: of all)?"
    r"|(?:好(?:的|了|吧)?|行|嗯|那么?)?(?:换个?(?:话题|问题)|(?:另外|还有|最后|再来?|下|另)*一?[件个]?(?:新的?)?(?:事情?|问题|话题|任务|需求|小事)|说点别的|说个别的|问个别的|顺便(?:问一?下)?|对了|另外|接下来|此外|最后|首先|今天的?新?任务|早(?:上好|安)?|[下晚]午?上?好))"
    r"\s*(?:[.,:;!—–，。：；！、]|\s-\s|$)+\s*)+",
    re.IGNORECASE,
)
"""Clauses that only announce another topic, or greet."""
_ANNOUNCED = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|now|so|and|then|next)\W+)*(?:there(?:'s| is) )?(?:something|(?:another|one|an?) (?:(?:small|quick|other|more|new) )?(?:thing|question|request|topic)) (?:on|about|for|with|regarding) [^.!?]{1,40}[.:!]?$"
    r"|^\W*(?:有|还有|问)一?[个件](?:关于)?.{0,12}(?:问题|事情?|需求)[。：:！]?$", re.IGNORECASE)  # fmt: skip
_BACK = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|now|so|right|let'?s|let us|can we|i want to|i'd like to)\W+)*(?:(?:go|get|come|going|coming|getting|turn|jump|switch)(?:ing)? back to|back to|return(?:ing)? to|resuming)\s+(?:the |that |our |my |yesterday's )*"
    r"|^(?:回到|说回|回过头来?看?|继续|接着)(?:[昨前今]天|之前|刚才|上次|上周)?(?:的|那[个封份次篇]?)?",
    re.IGNORECASE,
)
_MEASURE = re.compile("一[个家位名封份篇道种张次条项段本]")
_US = re.compile(r"^(?:(?:咱们|我们)(?!的)(?:来)?想?|想(?=[和去在给把让用]))(?=\S)|吧[。.!！]?$")
_TIME_FIRST = re.compile(
    rf"^(?:(?:{CJK_TIME.pattern})(?:的时候)?(?:[（(][^）)]*[）)])?[，,\s]*)+(?:(?:没|不)[^，。,帮请把想要]{{1,8}}[，,])?"
    r"|^(?:since|on|for|by|until|after|before|during|from|in) (?:(?:last|next|this|the) )?(?:yesterday|today|tomorrow|tonight|(?:mon|tues|wednes|thurs|fri|satur|sun)day|week(?:end)?|night|morning|month)(?:'s \w+)?,? "
    r"|^(?:yesterday|today|tomorrow|tonight|this (?:morning|week|afternoon|evening)|last (?:night|week|month))(?:'s \w+)?, ",
    re.IGNORECASE,
)

_MENTIONS = re.compile(r"^(?:(?:[@#]|https?://)\S+\s+)+")
_ARTICLE = re.compile(r"^(?:an?|the|some)\s+(?=\w)", re.IGNORECASE)
_POLITE_END = re.compile(r"(?:,? (?:please|thanks|thank you))?[\s.?？]*$", re.IGNORECASE)
_LOOSE_END = re.compile(
    r"(?: (?:an?|the|of|to|in|on|at|for|from|with|by|and|or|that|because|so|if|when|it|is|are|they|we|i|you))+$",
    re.I,
)
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
    short = _shorten(_bare(text), TITLE_CHARS).rstrip(" .,;:!。，；：！、-")
    return short[:1].upper() + short[1:] if re.match(r"[a-zà-ÿа-я]+(?:[ ,:]|$)", short) else short


def slug(text: str, rest: str = "") -> str:
    """The words of a request that name its topic, joined by dashes; CJK characters stay together.

    Args:
        text: What the person said, or a title.
        rest: What came of it, the reply and the tool calls: words that come back there are the topic's.
    """
    asked, said = _bare(text), prose(text) or text
    cjk = len(re.findall(f"[{CJK}]", asked))
    dense = cjk * 2 >= len(re.findall(r"[^\W\d_]", asked)) - cjk
    return topic_characters(asked, said, rest) if dense else topic_words(asked, said, rest)


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


@lru_cache(maxsize=256)
def _request(text: str) -> str:
    """The first sentence with content; where that only sets the scene, the first that asks for something."""
    sentences = _sentences(prose(text)) or _sentences(_TAG.sub(" ", text.replace("`", "")))
    sentences = [s for s in sentences if _CUE.sub("", s)] or sentences
    sentences = [s for s in sentences[:12] if not is_acknowledgement(s)] or sentences[:1]
    content = [
        s
        for s in (strip_acknowledgement(s) for s in sentences)
        if _content_size(_MENTIONS.sub("", f"{s} ")) >= 2
    ]
    if not content:
        return sentences[0] if sentences else ""
    if _ANNOUNCED.match(content[0]) and len(content) > 1:
        return content[1]
    if not _is_setting(content[0]):
        return next((s for s in content[1:6] if _says_more(s, content[0])), content[0])
    asking = (s for s in content[1:6] if REQUEST.search(s) or s.rstrip().endswith(("?", "？")))
    return next(asking, content[0])


def _says_more(sentence: str, short: str) -> bool:
    """Whether a request repeats a very short one with more content ("write a letter": "a letter of appeal")."""
    core = _MEASURE.sub("", CJK_STOP.sub("", short)) if re.search(f"[{CJK}]", short) else ""
    kept = [c for c in core if c.isalnum()] or [
        w for w in re.findall(r"\w+", short.lower()) if w not in STOP_WORDS
    ]
    return len(kept) <= 3 and bool(REQUEST.search(sentence)) and all(c in sentence.lower() for c in kept)


def _bare(text: str) -> str:
    """The request without what leads up to it: cues, times, pleasantries, an article."""
    asked = _without_mentions(_request(text))
    led = _TIME_FIRST.sub("", _BACK.sub("", _CUE.sub("", asked))).strip()
    asked = led if _content_size(led) else asked
    bare = _PLEASANTRY.sub("", asked).strip() or asked
    if bare != asked and not WH.match(bare):
        bare = _POLITE_END.sub("", _ARTICLE.sub("", bare)) or bare
    return _US.sub("", bare) or bare


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
    cjk = len(re.findall(f"[{CJK}]", CJK_STOP.sub("", text)))
    words = re.findall(rf"[^\W\d_{CJK}][^\W{CJK}]+", text.lower())
    return sum(w not in STOP_WORDS for w in words) + cjk // 2


def _shorten(text: str, limit: int) -> str:
    """At most `limit` characters, cut at a clause or a word."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    clause = max(
        head.rfind(mark) for mark in (", ", "; ", ": ", "：", " - ", " (", "，", "；", "。", "、", ". ")
    )
    if clause >= limit * 3 // 5:
        return head[:clause].rstrip()
    space = head.rfind(" ")
    kept = head[:space] if space >= limit * 3 // 5 else head
    return _LOOSE_END.sub("", kept).rstrip(" ,;，；、") + "…"


def _ended(sentence: str) -> str:
    sentence = sentence.rstrip(" ,;:，；：")
    if not sentence or sentence[-1] in ".!?…。！？":
        return sentence
    return sentence + ("。" if re.search(f"[{CJK}]$", sentence) else ".")
