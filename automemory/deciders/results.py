"""Which sentence of an agent's replies says what came out."""

# ruff: noqa: E501  (patterns of phrases, a kind a line)

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from automemory.deciders.sentences import content_size, sentences

_LOOKED_AT = 4  # replies, from the last one on
_OFFER = re.compile(
    r"let me know|feel free|further assistance|reach out|hesitate|anything else|something else|happy to|glad to|you'?re welcome|would you like|how can i|if you (?:need|have|want)\b"
    r"|不客气|随时|还有其他|如果您?你?(?:还|有)|希望(?:这|对)|ご希望|お知らせください|ご確認ください|дайте знать|обращайтесь|n'hésitez",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"^(?:(?:ok(?:ay)?|great|perfect|excellent|now|first|next|then|so|sure|good|got it|of course|certainly)\b[\s,!.]*)*(?:let(?:'s| me| us)\b|i(?:'ll| will| am going to|'m going to| need to| can see| see\b)|we(?:'ll| need to)\b|now (?:let|i)\b|to (?:begin|start)\b|here(?:'s| is| are)\b|you(?: are|'re) (?:absolutely )?right|i apologi[sz]e|thank you for|there (?:seems|appears) to)"
    r"|^(?:首先|接下来|现在)?(?:让我|我将|我会|我来|我需要)|^好的[，。！]?$|^(?:сейчас|теперь|давайте)\b",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"^\W*(?:enjoy|have a|take care|good ?bye|bye|you'?re|no problem|my pleasure|glad|thanks?|thank you|sure|great|perfect|excellent|wonderful|done|祝|再见|不用谢|отлично|bonne|au revoir)\b[^.!?。！？]{0,40}[.!?。！？]*$",
    re.IGNORECASE,
)
_OUTPUT = re.compile(
    r"^\W*(?:\[?aider\]|npm |error\[|traceback|exception in|cancelled\b|\$ )|^[❯>$%]", re.IGNORECASE
)
_RESULT = re.compile(
    r"\b(?:(?:have|has|'ve|was|were|is|are|been|i) (?:now |successfully |also |just |all )*(?:been )?(?:fix|add|updat|creat|implement|chang|remov|renam|resolv|complet|book|reserv|set|sent|schedul|purchas|cancel|exchang|refund|refactor|mov|replac|written|built|correct|improv|migrat|configur|install|deploy|translat|found|scor|mark|pass|sav|commit|merg|verif|confirm|logged|transferr|play|paid|bought|made)\w*"
    r"|successfully|now (?:\w+ly )?(?:follows|uses|supports|works|returns|shows|includes|runs|passes|handles|properly)|(?:root )?cause\b|the (?:problem|issue|reason|error) (?:is|was)\b|all tests (?:are )?(?:now )?pass\w*|no longer)\b"
    r"|已(?:经)?(?!知)|成功|完成[了！!]|完成。?$|修复了|原因是|解决了|推荐|ました|できます|原因は|исправлен|добавлен|успешно|обновлен|решен|причина|corrigé|ajouté|désormais|zaktualizowan|naprawion|dodan",
    re.IGNORECASE,
)


def outcome(replies: Sequence[str]) -> str:
    """The sentence that says what came out; empty if none tells anything.

    Args:
        replies: The prose of an event's replies, oldest first. Those at the end are looked at, the last one first:
            for a sentence that reports a result, else for the first one that is no offer, step or farewell.
    """
    telling = [list(_telling(reply)) for reply in islice(reversed(replies), _LOOKED_AT)]
    whole = [[s for s in found if s.endswith((".", "!", "。", "！"))] or found for found in telling]
    reported = (s for found in whole for s in found if _RESULT.search(s))
    return next(reported, "") or next((found[0] for found in whole if found), "")


def _telling(reply: str) -> Iterator[str]:
    """Sentences with content, the fullest kind there is."""
    said = [
        s
        for s in sentences(reply)
        if not s.endswith(("?", "？", ":", "："))
        and not any(kind.search(s) for kind in (_OFFER, _STEP, _FAREWELL, _OUTPUT))
    ]
    full = [s for s in said if content_size(s) >= 3]
    yield from full or [s for s in said if content_size(s) == 2]
