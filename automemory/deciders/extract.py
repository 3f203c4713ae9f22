"""Names and summaries without a model: sentences picked from what was said, never made up.

A message is first reduced to its prose: fenced code, logs, stack traces, diffs, tables and markup go.
"""

# ruff: noqa: E501  (patterns of pleasantries and pastes, a kind a line)

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache

from automemory.deciders.cues import REQUEST, WH, is_acknowledgement, strip_acknowledgement
from automemory.deciders.keywords import CJK as CJK
from automemory.deciders.keywords import CJK_STOP, CJK_TIME, topic_characters, topic_words
from automemory.deciders.keywords import SLUG_CHARS as SLUG_CHARS
from automemory.deciders.keywords import STOP_WORDS as STOP_WORDS
from automemory.deciders.results import outcome
from automemory.deciders.sentences import capitalized, content_size, ended, sentences, shorten
from automemory.decision import Exchange
from automemory.vault.naming import slugify

TITLE_CHARS, PATCH_CHARS, SUMMARY_CHARS = 60, 200, 400

_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_OPENING = re.compile(r"<([a-zA-Z][\w.-]*)(?:\s[^<>]*)?>")
_CLOSING = re.compile(r"</([a-zA-Z][\w.-]*)\s*>")
_TAG = re.compile(r"</?[a-zA-Z][\w.:-]*(?:\s[^<>]{0,200})?/?>")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_MARK = re.compile(r"^\s*(?:#{1,6}\s+|[-*+•]\s+|>\s*|\d{1,2}[.)、]\s*)+|\*\*|__|`|(?<=\s)#{2,6}\s")
_NOISE = re.compile(
    r"^\s*(?:"
    r"(?:\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|\d{1,3}\s*[│|→])"  # timestamps, numbered dumps
    r"|at [\w.$<>]+ ?\(|File \"|Traceback|\w*(?:Error|Exception|Warning)\b:|(?:\w+\.)+\w*(?:Error|Exception)\b"  # traces
    r"|[+-]{1,3}\s*+[\w{(}<\"']{0,80}\s*+[\w.]{0,80}[=({;]|@@|diff --git|index [0-9a-f]{7}"  # diffs
    r"|\||[|+:-]{3,}|[=*_~-]{3,}\s*$|[{}()\[\]<>;,]+\s*$"  # tables, rules, brackets
    r"|(?:import|from|export|const|let|var|def|class|function|public|private|return|package|using|#include)\b.*[;:({}'\"*]\s*$"
    r"|(?:\$|>>>|PS [A-Z]:|[A-Za-z]:\\|\w+@\w+[:~])\s*|(?:INFO|DEBUG|ERROR|WARN(?:ING)?|TRACE|\[[A-Z]+\])\b"
    r"|\[tool_(?:call|result)\]|(?:https?://|file://|www\.)\S+\s*$|[\w./\\-]+:\d+(?::\d+)?\b|@?[\w./\\-]+\.\w{1,5}\s*$"
    r")"
)
_PLEASANTRY = re.compile(
    r"^(?:\W*(?:"
    r"(?:bonjour|salut|hola|olá|oi|ciao|hallo|привет|здравствуйте|cześć|こんにちは)(?=[\s,!.])|(?:hi|hello|hey|greetings|dear)(?: (?:there|everyone|all|team|claude|assistant|chatgpt|gpt|cursor|copilot|guys))?\b(?! world)|good (?:morning|afternoon|evening|day)\b"
    r"|please\b|kindly\b|ok(?:ay)?\b|so\b|well\b|alright\b|great\b|thanks\b|thank you\b|also\b|now\b|then\b|next\b|and\b|sure\b|yes\b|actually\b|perfect\b|awesome\b|cool\b"
    r"|(?:can|could|would|will) (?:you|u|we)(?: (?:please|kindly|also|maybe|possibly|now|just|help me(?: to| with)?))*\b(?! (?:be|like)\b)"
    r"|(?:can|could|may) i (?:please |also |just )*(?:get|have|see|know)\b|(?:is it possible|is there (?:a|any) way) (?:for you )?to\b|(?:it )?(?:looks|seems) like\b|i (?:just )?wanted to (?=check\b|know\b|ask\b|see\b|make\b)|(?:would|do) you mind\b|(?:i was wondering|i wonder) if (?:you|we) (?:can|could)\b|help me(?: to| with)?\b|let'?s\b(?! encrypt)"
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
    r"|^\W*(?:これから)?(?:新しい|次の|別の)(?:タスク|質問|依頼|お願い)[^。]{0,12}[。.]?$"
    r"|^\W*(?:有|还有|问)一?[个件](?:关于)?.{0,12}(?:问题|事情?|需求)[。：:！]?$", re.IGNORECASE)  # fmt: skip
_STORY = re.compile(
    r"\W*i (?:forgot|just|have (?:been|just)|had|got|was|went|moved|sent|lost|bought)\b(?! (?:want|need|wonder))",
    re.IGNORECASE,
)
"""What happened to the person, before what is wanted."""
_POINTS_BACK = re.compile(r"\b(?:it|this|that|them|these|those)\b", re.IGNORECASE)
_PRAISE = re.compile(
    r"^\W*(?:great|good|nice|awesome|excellent|amazing|well|perfect|phenomenal) ?(?:work|job|stuff|progress|done)?\b[^.!?]{0,30}[.!]+$"
    r"|^\W*(?:we|you)(?:'ve| have) (?:now |just |successfully )?(?:completed|finished|done)\b[^?]*[.!]$|^\W*now it'?s time to\b[^?]{0,40}[.!]$|^\W*(?:太好了|干得好|做得好|很好|非常好|不错)[！!。]?$",
    re.IGNORECASE,
)
"""Sentences on what is done already, before what is wanted."""
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
_THANKS = re.compile(
    r"\W*(?:thank|thanks|(?:i )?(?:really )?appreciate|(?:you|that)(?:'ve| have| were| was|'s) .{0,20}(?:help|great)|谢谢|感谢|多谢)",
    re.IGNORECASE,
)
_GO_ON = re.compile(
    r"\W*(?:(?:please|yes|ok(?:ay)?|now)\W+)*(?:continue|go on|go ahead|proceed|keep going|继续|接着|продолжай)",
    re.IGNORECASE,
)
_PASTED = re.compile(
    r"^\s*(?:[❯>$%]\s|exception in\b|npm (?:err|warn)|uncaught\b|\S+\.\w{1,4}:\d+\s|\w*(?:error|exception): )|\w+\(\) at |\S{60,}",
    re.IGNORECASE,
)
"""What a person pasted as one line of output."""
_FAILED = re.compile(
    r"(?:^|\s)((?:(?:\w+\.)*\w*(?:Error|Exception|Warning): |npm ERR! |fatal: |error: |FAILED )[^\n]{4,200})"
)
_STAMP = re.compile(r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,]*(?:Z|[+-]\d\d:?\d\d)?\]?\s*")
_FILLER = re.compile(
    r"^(?:(?:[哦噢嗯啊哎唉喔]|好吧|行吧|可以|还?不错|真(?:不错|好)|太[好棒]了|是吗|一般|这样|知道了?|明白了?|没问题|那[就么]?好)[吧呢啊呀哦的了呗]*[，,。！!～~\s]+)+"
)


@lru_cache(maxsize=2048)
def prose(text: str) -> str:
    """What a person said in words: a line each, no code, logs, markup or file dumps. Empty if there is nothing else."""
    text = _FENCE.sub("\n", text)
    for _ in range(3):
        text = _without_elements(text)
    text = _LINK.sub(r"\1", _TAG.sub(" ", text))
    lines = (_MARK.sub("", line).strip() for line in text.split("\n") if not _is_noise(line))
    return "\n".join(" ".join(line.split()) for line in lines if line)


def _without_elements(text: str) -> str:
    """The text with each element of HTML or the like, from its opening to the next closing, as a line break."""
    closings: dict[str, list[tuple[int, int]]] = {}
    for closing in _CLOSING.finditer(text):
        closings.setdefault(closing[1], []).append(closing.span())
    kept, at = [], 0
    for opening in _OPENING.finditer(text) if closings else ():
        known = closings.get(opening[1], [])
        following = bisect_left(known, (opening.end(), 0))
        if opening.start() >= at and following < len(known):
            kept.append(text[at : opening.start()])
            at = known[following][1]
    return "\n".join([*kept, text[at:]])


def title(text: str) -> str:
    """The request a turn opens with, shortened to a title of at most `TITLE_CHARS` characters."""
    short = shorten(_bare(text), TITLE_CHARS).rstrip(" .,;:!。，；：！、-")
    return capitalized(short)


def slug(text: str, rest: str = "") -> str:
    """The words of a request that name its topic, joined by dashes; CJK characters stay together.

    Args:
        text: What the person said, or a title.
        rest: What came of it, the reply and the tool calls: words that come back there are the topic's.
    """
    asked, said = _bare(text), prose(text) or text
    cjk = len(re.findall(f"[{CJK}]", asked))
    dense = cjk * 2 >= len(re.findall(r"[^\W\d_]", asked)) - cjk
    found = topic_characters(asked, said, rest) if dense else topic_words(asked, said, rest)
    if not found or slugify(found):
        return found
    # A name that reads as none ("null", "timeout") takes in a word of what else was said.
    more = (f"{found}-{word}" for word in re.findall(r"[^\W\d_]{3,}", f"{said[:2000]} {rest[:2000]}".lower()))
    return next((name for name in more if name not in f"{found}-{found}" and slugify(name)), "")[:SLUG_CHARS]


def patch(text: str) -> str:
    """The sentence that carries a turn's request, at most `PATCH_CHARS` characters; empty for an acknowledgement."""
    return "" if not text.strip() or is_acknowledgement(text) else shorten(_request(text), PATCH_CHARS)


def summary(turns: Sequence[Exchange]) -> str:
    """What was asked and what came out of it: two or three sentences of an event's turns (oldest first)."""
    asked = [found for turn in turns if (found := patch(turn.user))]
    parts = [ended(capitalized(shorten(asked[0], 170)))] if asked else []
    last = next((found for found in reversed(asked[1:]) if _asks_more(found)), "") if len(turns) > 4 else ""
    parts += [ended(capitalized(shorten(last, 90)))] if last else []
    result = outcome([prose(turn.reply) for turn in turns])
    if result and result not in parts:
        parts.append(
            ended(capitalized(shorten(result, SUMMARY_CHARS - sum(map(len, parts)) - len(parts) - 1)))
        )
    return shorten(" ".join(parts), SUMMARY_CHARS)


def _asks_more(request: str) -> bool:
    """Whether a later request says something by itself: no thanks, no "go on", nothing pasted."""
    asks = REQUEST.search(request) or request.endswith(("?", "？"))
    empty = _THANKS.match(request) or _GO_ON.match(request) or _PASTED.search(request)
    return bool(asks) and not empty and content_size(request) >= 3


@lru_cache(maxsize=256)
def _request(text: str) -> str:
    """The first sentence with content; where that only sets the scene, the first that asks for something."""
    said = (
        sentences(prose(text))
        or _failed(text)
        or sentences(_STAMP.sub("", _TAG.sub(" ", text.replace("`", ""))))
    )
    said = [s for s in said if not _PASTED.search(s)] or _failed(text) or said
    said = [s for s in said if _CUE.sub("", s)] or said
    said = [s for s in said[:12] if not is_acknowledgement(s)] or said[:1]
    content = [
        s for s in (strip_acknowledgement(s) for s in said) if content_size(_MENTIONS.sub("", f"{s} ")) >= 2
    ]
    if not content:
        return said[0] if said else ""
    while len(content) > 1 and (_ANNOUNCED.match(content[0]) or _PRAISE.match(content[0])):
        content = content[1:]
    if _STORY.match(content[0]):
        wanted = (
            s
            for s in content[1:6]
            if REQUEST.search(s) and content_size(s) >= 3 and not _POINTS_BACK.search(s)
        )
        return next(wanted, content[0])
    if not _is_setting(content[0]):
        return next((s for s in content[1:6] if _says_more(s, content[0])), content[0])
    asking = (s for s in content[1:6] if REQUEST.search(s) or s.rstrip().endswith(("?", "？")))
    return next(asking, content[0])


def _failed(text: str) -> list[str]:
    """The last error that a paste ends in, which says most of it."""
    return _FAILED.findall(text[-4000:])[-1:]


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
    led = _TIME_FIRST.sub("", _BACK.sub("", _CUE.sub("", _FILLER.sub("", asked)))).strip()
    asked = led if content_size(led) else asked
    bare = _PLEASANTRY.sub("", asked).strip() or asked
    if bare != asked and not WH.match(bare):
        bare = _POLITE_END.sub("", _ARTICLE.sub("", bare)) or bare
    return _US.sub("", bare) or bare


def _without_mentions(sentence: str) -> str:
    """The sentence without the files it begins with, where enough is left to name it by."""
    rest = _MENTIONS.sub("", sentence)
    return rest if content_size(rest) >= 2 else sentence


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


def _is_noise(line: str) -> bool:
    if _NOISE.match(line):
        return True
    dense = [c for c in line if not c.isspace()]
    marks = sum(c in '{}[]()<>;=|\\/$&%_"+*~^' for c in dense)
    return len(dense) > 8 and marks * 4 > len(dense)
