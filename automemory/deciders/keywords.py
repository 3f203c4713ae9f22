"""Which words name a topic: of a request those that come back in the rest of its turn.

Latin script is read in words. CJK text has no spaces, so there a word is a run of characters that recurs.
"""

# ruff: noqa: E501  (tables of words)

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

WORDS, SLUG_CHARS, CJK_CHARS = 5, 48, 12
ENOUGH_WORDS, ENOUGH_CJK = 2, 4
_READ = 2400
_LONGEST, _ADDED = 8, 2

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_STOP_WORDS = """
a about above actually after again all also am an and any are as at be because been before being below both
but by can cannot could did do does doing done don down during each else even ever few for from further get
give go got had has have having he hello help her here hers hey hi him his how i if in into is it its itself
just kindly know let lets like ll m make may me might me more most must my myself need needs no nor not now of
off ok okay on once one only or other our ours out over own per please re really regarding s same see shall
she should since so some such t tell than thank thanks that the their them then there these they this those
through to too try under until up upon us ve very via want wants was we well were what when where which
while who whom why will with without would yes yet you your yours looking trying going able im ive id dont
way using use used there're new something someone sure bonjour salut le la les un une des du de dans et pour
avec est hola el los las y en para con por olá oi um uma os na com que der die das ein eine und mit für ist
и в на с по не для
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_MORE_STOP_WORDS = """
при со к у о что как это все из за от до же бы то так мне мы я ты вы его ее
pourquoi comment quand que qui quoi ce cette ces il elle je j'ai nous vous mon ma mes votre sur pas plus est-il t-il t-elle au aux se sont
na do się jest nie że jak co dla oraz po qué cómo por su mi se ist nicht wie warum was kann ich wir bitte dem den zu auf im
"""
_NAMES_NOTHING = STOP_WORDS | frozenset(_MORE_STOP_WORDS.split())
_SETTINGS = """
today tomorrow yesterday tonight morning afternoon evening night week weekend month year day days hour monday tuesday wednesday
thursday friday saturday sunday january february march april june july august september october november december
last next ago later soon recently currently already still every ones thing things stuff lot lots bit couple quick quickly
topic question questions people somebody anyone everyone anything everything nothing much many however though
although maybe probably kind sort time times can't don't doesn't didn't isn't won't i'd i'm i've hoping possible
wait looks seems guess think yeah hmm another different first second third
"""
_SETTING_WORDS = frozenset(_SETTINGS.split())
"""Words that set a scene and name no topic: left out of names where anything else is left."""
CJK_STOP = re.compile(
    "请帮忙我|请你帮我|请帮我|帮我|帮忙|麻烦您?你?|请问|请你|请您|您好|你好|我想要|我想|我需要|我要|我希望|我们|咱们|能不能|能否|可不可以|可以吗|可以|给我|一下"
    "|是不是|有没有|怎么样|怎么|如何|什么|为什么|哪些|哪个|哪里|哪家|多少|这个|那个|[这那][边里]|地方|这些|那些|一些|一个|一家|现在|之[间后中前]|然后|还有|以及|并且|或者|如果|因为|所以|但是|需要|想要"
    "|进行|谢谢|好的|吗|呢|吧|啊|呀|哦|嗯|的|了|着|过|和|与|及|并|在|把|被|将|对|请|我|你|您|他|她|它|是|有|想|要|就|都|也|还|很|这|那|个"
)
_CJK_COUNTED = re.compile("第?[一二两三四五六七八九十几][个家位名封份篇道种张次条项段本台辆]")
_CJK_WHOLE = re.compile(
    "过敏|过程|过期|过滤|过年|超过|通过|对比|对接|对话|对象|对齐|对账|核对|反对|绝对|相对|把握|被子|将来|有效|有限|有关|所有|拥有|没有|公有|私有|在线|存在|了解|着色|着手|要点|主要|重要|必要|摘要|纪要|概要|要求"
    "|想法|理想|思想|和平|是否|及时|普及|申请|邀请|请假|请求|请柬|首都|成都|都市|还款|还原|归还|这样|个人|个性|就业|成就|就餐|就近|合并|并发|并行|参与|也许|很多|目的地?|目的|标的|自我|其他|吉他|是非|还是"
)
"""Words with a character in them that alone carries no content."""
CJK_TIME = re.compile(
    r"(?:[上下这本每]个?)?(?:周|星期|礼拜)[一二三四五六日天末](?!报|刊|年)|[上下这本]个?(?:周末?|月|星期|礼拜|季度)(?!报|刊)|[今明昨前后去]天|[今明去]年|(?<!最)周末|早上|上午|中午|下午|晚上|夜里|凌晨|傍晚|刚才|刚刚|最近|现在|目前|之前|以前|上次"
    r"|[\d一二三四五六七八九十]+(?:月份?(?:[\d一二三四五六七八九十]+[号日])?|[号日]|(?<!一)点)"
)
_ASKING = re.compile("(?:请|能?不?能?帮我|麻烦|给我|能否|我(?:还|也)?(?:想|要|需要))")
_RELATION = re.compile("[从到由给向往]")
_KANA = re.compile("[\u3041-\u3096]")
_JAPANESE = re.compile(
    "[\u30a1-\u30fa\u30fc]{2,}|[\u4e00-\u9fff々]{2,}|[\u4e00-\u9fff](?=[のがをはに])|[A-Za-z0-9](?:[A-Za-z0-9_.+#/-]*[A-Za-z0-9])?"
)
"""Words of Japanese: what is written in katakana, in two and more Chinese characters, in Latin script."""
_CLAUSE = re.compile(r"[,;:](?=\s|$)|\s[-–—]\s|[，、；：。！？…—()（）\n]+|(?<=[.!?])\s+")
_TOKEN = re.compile(r"(?:[\w.-]*/)*([^\W_][\w.'’-]*)")
_EMPTY = STOP_WORDS | frozenset("不几让别能会只再又才最更先第去来给用里")
"""Words, and characters that say nothing where they stand alone."""

_ENDING = re.compile(r"['’]s$|(?<=\w{3})(?:ings?|ed|es|s)$")


def topic_words(asked: str, said: str, rest: str) -> str:
    """The content words that name a request in a script with spaces, at most `WORDS`, joined by dashes.

    Args:
        asked: The sentence of the request.
        said: All that the person said.
        rest: What came of it: the reply, the tools' names and arguments. Empty if not known.
    """
    seen: Counter[str] = Counter()
    for word, times in Counter(re.findall(r"[^\W_]+", f"{said[:_READ]} {rest[:_READ]}".lower())).items():
        seen[_stem(word)] += times
    said = said[:_READ]
    clauses = [found for part in _CLAUSE.split(asked) if (found := _content(part))]
    first, later = (clauses[0], [w for c in clauses[1:] for w in c]) if clauses else ([], [])
    chosen = [*first, *(w for w in later if not rest or _recurs(w, seen))]
    if len(set(chosen)) < ENOUGH_WORDS:
        lower = said.lower()
        others = sorted(
            {*later, *_content(said)} - set(chosen), key=lambda w: (-_weight(w, seen), lower.find(w), w)
        )
        chosen += [w for w in others if _recurs(w, seen)][:2] or later
    chosen = list(dict.fromkeys(chosen)) or _tokens(asked)
    if len(chosen) > WORDS:
        best = sorted(range(1, len(chosen)), key=lambda i: (-_weight(chosen[i], seen), i))[: WORDS - 1]
        chosen = [chosen[i] for i in (0, *sorted(best))]
    return _joined(chosen)


def topic_characters(asked: str, said: str, rest: str) -> str:
    """The same for CJK text: the content of a short request, the recurring runs of characters of a long one."""
    whole = f"{said[:_READ]}\n{rest[:_READ]}"
    parts = _CLAUSE.split(asked)
    parts.sort(key=lambda part: not _ASKING.match(part))  # the clause that asks first, the rest as it came
    first, *later = [found for part in parts if (found := _pieces(part))] or [[]]
    more = [piece for pieces in later for piece in pieces]
    if rest:
        everything = [*more, *(piece for part in _CLAUSE.split(said[:_READ]) for piece in _pieces(part))]
        more = _best(everything, whole, first) or more
        recurring = _recurring(first, whole) if _length(first) > CJK_CHARS * 2 // 3 else []
        if _length(recurring) >= CJK_CHARS // 2:
            first = recurring
    groups = [first]
    if _length(first) < ENOUGH_CJK:
        start = ["".join(first)] if first and not first[0].isascii() else first
        groups = [start, *([piece] for piece in more)]
    return _fitting(groups) or _joined(re.findall(r"\w+", asked))[: 2 * CJK_CHARS]


def _content(text: str) -> list[str]:
    """The words of a clause that carry content: no function words, no scene setting, no numbers."""
    words = [w for w in _tokens(text) if not {w, re.sub(r"['’].*", "", w)} & _NAMES_NOTHING]
    return [w for w in words if w not in _SETTING_WORDS and re.search(r"[^\W\d_]", w)]


def _tokens(text: str) -> list[str]:
    tokens = (re.sub(r"['’]s$", "", t.strip(".'’_-")) for t in _TOKEN.findall(text.lower()))
    return [token for token in tokens if token]


def _stem(word: str) -> str:
    return _ENDING.sub("", word)[:7]


def _weight(word: str, seen: Counter[str]) -> int:
    return min(max(seen[_stem(part)] for part in [*re.split(r"[\W_]+", word), word]), 4)


def _recurs(word: str, seen: Counter[str]) -> bool:
    return len(word) > 2 and _weight(word, seen) > 1


def _pieces(text: str) -> list[str]:
    """What is left of a clause without times, numbers and function words."""
    if _KANA.search(text):
        return [word for word in _JAPANESE.findall(text) if re.search(r"[^\W\d_]", word)]
    text = _CJK_COUNTED.sub(" ", CJK_TIME.sub(" ", text))
    keep = {i for match in _CJK_WHOLE.finditer(text) for i in range(*match.span())}
    text = CJK_STOP.sub(lambda m: m[0] if len(m[0]) == 1 and m.start() in keep else " ", text)
    parts = re.findall(rf"[{CJK}]+|(?:(?![{CJK}])[\w.+#/-])+", text)
    parts = [
        short for part in parts for short in (_RELATION.split(part) if len(part) > CJK_CHARS else [part])
    ]
    pieces = (part.rsplit("/", 1)[-1].strip("._-+#") for part in parts)
    return [p for p in pieces if re.search(r"[^\W\d_]", p) and p.lower() not in _EMPTY]


def _recurring(pieces: Sequence[str], whole: str) -> list[str]:
    """The longest runs of characters, and the words, of these pieces that `whole` has more than once."""
    found: list[str] = []
    for piece in pieces:
        if piece.isascii():
            found += [piece] if whole.count(piece) > 1 else []
            continue
        at = 0
        while at < len(piece) - 1:
            sizes = range(min(_LONGEST, len(piece) - at), 1, -1)
            size = next((n for n in sizes if whole.count(piece[at : at + n]) > 1), 0)
            found += [piece[at : at + size]] if size else []
            at += size or 1
    return list(dict.fromkeys(found))


def _best(pieces: Sequence[str], whole: str, besides: Sequence[str]) -> list[str]:
    """Those that recur most, the longer the better, in their order."""
    runs = [run for run in _recurring(pieces, whole) if not any(run in other for other in besides)]
    best = sorted(runs, key=lambda run: (-min(whole.count(run), 4) * _length([run]), runs.index(run)))
    return [run for run in runs if run in best[:_ADDED]]


def _length(pieces: Sequence[str]) -> int:
    """In CJK characters; a word of another script counts as half as many as it has letters."""
    return sum((len(piece) + 1) // 2 if piece.isascii() else len(piece) for piece in pieces)


def _fitting(groups: Sequence[Sequence[str]]) -> str:
    """As many pieces as fit; those of a clause stay together, a dash between clauses and scripts."""
    found, left, skipped = "", CJK_CHARS, False
    for group in groups:
        for i, piece in enumerate(group):
            if _length([piece]) > left and (found or any(_length([p]) <= left for p in group)):
                skipped = True
                continue
            glue = "-" if found and (i == 0 or skipped or found[-1].isascii() or piece[0].isascii()) else ""
            skipped = False
            kept = piece[: SLUG_CHARS if piece.isascii() else CJK_CHARS]
            found, left = found + glue + kept, left - _length([piece])
    return found


def _joined(words: Sequence[str]) -> str:
    found = ""
    for word in words[:WORDS]:
        if found and len(found) + 1 + len(word) > SLUG_CHARS:
            break
        found = f"{found}-{word}" if found else word[:SLUG_CHARS]
    return found
