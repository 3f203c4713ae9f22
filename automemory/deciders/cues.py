"""Words that say how a turn stands to the one before it: acknowledgements, cue phrases, closings.

English and Chinese fully, the other languages of the encoder where a few words suffice. Only acknowledgements are a
rule; everything else here is a feature of the learned score.
"""

# ruff: noqa: E501  (tables of phrases, a language a line)

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_ACK_WORDS = """
a lot|absolutely|ack|acknowledged|agreed|ah|aha|all clear|all good|all right|alright|amazing|and|appreciated|approved
awesome|brilliant|bye|carry on|cheers|clear|confirmed|continue|continue please|cool|correct|definitely|do it|do so
excellent|exactly|fair enough|fantastic|fine|for now|go|go ahead|go for it|go on|good|good job|good work|good to know
goodbye|got it|got that|great|great job|great work|have a good day|have a good one|have a great day|have a nice day
haha|hm|hmm|i agree|i appreciate it|i appreciate that|i see|i understand|i understand now|indeed|it works|it works now
it worked|keep going|keep it up|lgtm|lol|looks fine|looks good|looks good to me|looks great|lovely|makes sense
makes sense now|many thanks|mhm|mm|much appreciated|my friend|neat|nice|nice job|nice one|nice work|no|no problem
no thank you|no thanks|no worries|nope|noted|of course|oh|ok|okay|okey|oki|okie|on|one|perfect|please|please continue
please do|please go ahead|please go on|please proceed|proceed|right|roger|roger that|sounds fine|sounds good
sounds great|sounds perfect|sounds right|sure|sure thing|super|sweet|ta|take care|thank you|thank you so much
thank you very much|thanks|thanks a bunch|thanks a lot|thanks a million|thanks again|thanks for that
thanks for the help|thanks for your help|thank you for your help|thank you for the help|thank you for your assistance
thanks so much|thanks very much|that helps|that is all|that is fine|that is good|that is great|that is it
that is perfect|that is right|that will be all|that will do|that works|that works for me|that worked
that would be great|that would be all|that would be fine|that would be good|then|this is great|this is perfect
this works|thx|tks|ty|tysm|understood|very good|very helpful|very nice|very well|well|well done|will do|wonderful|wow
works|works for me|works now|works great|yay|ya|yea|yeah|yep|yes|yes please|you are right|you are welcome|you can
you rock|you too|yup|so helpful|really helpful|great help|that is helpful|that is very helpful|that is awesome
that is correct|that is cool|that is nice|that is ok|that is okay|i am good|i am fine|we are good|it is fine|it is ok
let us do it|let us go|let us continue|lets go|lets do it|lets continue|resume|carry on please|k|kk|okk|thank u
to me|for me|helpful|thanks man|thanks mate|thanks buddy|thanks dude|danke|merci|gracias|obrigado|spasibo
"""
_ACK_CJK = """
好的|好|好吧|好呀|好啊|好嘞|好滴|好哒|好呢|好了|嗯|嗯嗯|嗯呢|恩|哦|噢|喔|啊|呀|哈|哈哈|行|行吧|行的|行啊|行了|可以|可以的|可以了
没问题|没事|没事了|没关系|对|对的|对对|是|是的|是啊|没错|正确|谢谢|谢谢你|谢谢您|谢谢啦|谢谢了|谢啦|谢了|多谢|多谢了|感谢|非常感谢
十分感谢|太感谢了|感谢你|感谢您|感谢帮助|感谢你的帮助|感谢您的帮助|谢谢帮助|谢谢你的帮助|谢谢您的帮助|非常|万分|辛苦|辛苦了|麻烦你了
麻烦您了|麻烦了|收到|了解|了解了|明白|明白了|懂了|知道了|我知道了|我明白了|我懂了|清楚了|我了解了|继续|请继续|继续吧|接着|接着来|接着说
继续说|接着做|继续做|往下|往下说|继续执行|执行吧|开始吧|来吧|就这样|就这样吧|先这样|先这样吧|那就这样|就这么办|就这么做|按你说的做
按你说的来|同意|我同意|赞|赞同|很好|很棒|非常好|非常棒|真棒|真好|太好了|太棒了|棒|不错|挺好|挺好的|真不错|很不错|完美|厉害|牛|牛逼|给力
再见|拜拜|再会|下次见|那|吧|呢|啦|哇|不用了|不用|不需要|不需要了|不用谢|不客气|没有了|没有|没了|就这些|就这些吧|当然|当然可以|确定
确认|是这样|原来如此|这样啊|有道理|说得对|你说得对|您说得对|有帮助|很有帮助|非常有帮助|成功了|搞定了|搞定|可行|请|你|您|祝你愉快|好的呢
ok的|ありがとう|ありがとうございます|はい|了解です|了解しました|お願いします|続けて|続けてください|いいね|いいですね|オッケー|なるほど|わかりました|分かりました
고마워|감사합니다|네|알겠습니다|계속
"""
_ACK_OTHER = """
спасибо|да|хорошо|ок|окей|понятно|отлично|продолжай|продолжи|дальше|ясно|давай|супер|dziękuję|dzięki|tak|dobrze|świetnie
kontynuuj|obrigado|obrigada|sim|pode continuar|certo|ótimo|perfeito|perfecto|vale|claro|sí|si|continúa|oui|d accord
parfait|continuer|continuez|ja|gut|weiter|mach weiter|super|tamam|evet|teşekkürler|grazie|va bene
"""


def _phrases(*blocks: str) -> frozenset[str]:
    return frozenset(
        {p.strip() for block in blocks for line in block.splitlines() for p in line.split("|")} - {""}
    )


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_ACK_SPACED = frozenset(f"{phrase} " for phrase in _phrases(_ACK_WORDS, _ACK_OTHER))
_ACK_DENSE = _phrases(_ACK_CJK, "ok")
_LONGEST_ACK = max(map(len, _ACK_SPACED | _ACK_DENSE))
_CONTRACTIONS = tuple((re.compile(found), put) for found, put in (
                 (r"\b(that|it|let|he|there)[’']?s\b", r"\1 is"), (r"[’']re\b", " are"), (r"[’']m\b", " am"),
                 (r"\blet is\b", "let us"), (r"[’']ll\b", " will"), (r"[’']d\b", " would"), (r"\bthats\b", "that is"),
                 (r"\bthankyou\b", "thank you"), (r"([a-z])\1{2,}", r"\1")))  # fmt: skip
_CLAUSE = re.compile(r"[^.!?,;:。！？，；：\n~]{0,60}[.!?,;:。！？，；：\n~]+\s*")
_EMPHASIS = {"so", "very", "really", "just", "now", "much", "again", "pretty", "quite"}
_MAX_ACK = 120

NEW_TOPIC = _any(
    r"\bnext\b", r"\bnew (?:task|topic|question|request|feature|thing|chat|subject|issue)\b", r"\bmov(?:e|ing) on\b",
    r"\banother (?:task|question|thing|topic|request|issue|one|matter)\b", r"\bdifferent (?:topic|question|task|subject|thing)\b",
    r"\bswitch(?:ing)? (?:to|over|gears)\b", r"\bchange (?:of |the )?(?:topic|subject)\b", r"\bunrelated\b", r"\bseparate(?:ly)?\b",
    r"\bby the way\b", r"\bbtw\b", r"\b(?:one|two|a few) (?:more|other) things?\b", r"\bsomething else\b", r"\bi(?: would|'d)? also\b",
    r"^(?:ok(?:ay)?|great|good|alright|awesome|perfect|thanks|cool|nice)?[,.! ]*now\b", r"\bstart(?:ing)? (?:work|working) on\b",
    r"\blet'?s (?:start|work on|begin|do the|move|switch|talk)\b", r"\bfinally\b", r"\blast thing\b", r"\badditionally\b",
    r"换个|换一个|换下一|另外|另一个|接下来|下一个|下一步|下一项|新的?(?:任务|问题|需求|话题)|顺便|对了|此外|我还想|我还要|我还需要|还有一|再(?:帮我|问|请|推荐)|现在(?:我|请|来|开始)",
    r"次に|次は|別の|ところで|それから|теперь|следующ|друг(?:ой|ая|ое)|ещё одн|teraz|następn|agora|próxim|outr[oa]\b",
)  # fmt: skip
STILL = _any(
    r"\bstill\b", r"\bagain\b", r"\b(?:same|this|that|the|an|following|new) errors?\b", r"\b(?:does|did|do|is|are|was)(?:n'?t| not) work",
    r"\bnot (?:work|fix|right|correct|what i)", r"\bwrong\b", r"\binstead\b", r"\bactually\b", r"\bfail(?:s|ed|ing)?\b", r"^no[, ]",
    r"\bi meant?\b", r"\byou (?:forgot|missed|did|said|just|have|should)\b", r"\bwhy\b", r"\bbroken?\b", r"\brevert\b", r"\bundo\b",
    r"还是|仍然|依然|不对|不行|报错|错误|失败|没有生效|为什么|你(?:刚|说|改|写|没|这)|刚才|上面|还没|怎么还|不是",
    r"まだ|エラー|じゃなくて|まだ|опять|снова|ошибк|nadal|błąd|dalej nie|ainda|erro\b|de novo",
)  # fmt: skip
ANAPHOR = _any(
    r"\b(?:it|its|it's|that|this|these|those|them|they|he|she|his|her|there|one|ones|same|above|both|else|other)\b",
    r"这个|那个|这些|那些|它|他|她|这里|那里|这家|那家|该|上述|同样|其中|这样|那样|这|那|それ|これ|その|この|это|этот|его|ее|tego|ten\b|isso|esse|este",
)  # fmt: skip
REQUEST = _any(
    r"\b(?:i|we)(?: would|'d)? (?:need|want|like|wish|plan|am looking|'m looking|look)\b", r"\bi'?m (?:looking|trying|going|interested|hoping)\b",
    r"\b(?:can|could|would|will) you\b", r"\bplease\b", r"\bhelp me\b", r"\blet'?s\b", r"\bhow (?:do|can|to|would|should)\b", r"\bi have an?\b",
    r"^(?:\W|ok(?:ay)?|now|then|and|great|good|thanks|also|please|next|so|hi|hello|hey)*(?:add|analy[sz]e|build|book|calculate|change|check|clean|commit|convert"
    r"|create|debug|delete|describe|design|document|explain|explore|find|fix|generate|get|give|implement|improve|install|investigate"
    r"|list|look|make|merge|move|open|optimi[sz]e|plan|play|read|refactor|remove|rename|replace|review|run|scan|search|set|show|start"
    r"|summari[sz]e|test|translate|update|use|verify|write)\b",
    r"我(?:想|要|需要|希望|打算|正在找|在找)|请|帮(?:我|忙)|麻烦|能不能|能否|可以帮|给我|怎么|如何|推荐|[てで]ください|したい|お願い|хочу|нужно|сделай|добавь"
    r"|proszę|chcę|zrób|dodaj|quero|preciso|faça",
)  # fmt: skip
GREETING = _any(r"^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening)|greetings|dear)\b", r"^\W*(?:你好|您好|嗨|哈喽|早上好|下午好|晚上好|こんにちは|привет|cześć|olá)")  # fmt: skip
BACK = _any(
    r"\b(?:go|going|get|getting|come|coming|circle|circling|return|returning|switch|switching|move|moving|jump|jumping)(?: (?:us|me|you|it|this|that))? back to\b",
    r"\bback (?:to|on)\b", r"\breturn(?:ing)? to\b", r"\brevisit", r"\bresum(?:e|ing)\b", r"\bpick(?:ing)? (?:\w+ )?(?:back )?up\b",
    r"\bwhere (?:we|i|you) left\b", r"\b(?:continue|continuing|keep going|carry on|proceed) (?:with|on|working)\b",
    r"\b(?:yesterday|earlier|last time|the other day|last week)\b",
    r"\b(?:about|regarding|as for|on) (?:the|that|my|our)\b.{0,60}\b(?:again|earlier|from before|yesterday)\b",
    r"回到|回过头|回头|接着(?:昨天|之前|刚才|上次|做|弄|聊)|继续(?:昨天|之前|刚才|上次|做|弄|聊|处理|修|写|开发|完成)|昨天|上次的?|之前(?:的|那|说)|刚才(?:那|的|说)|早些时候|返回到|说回",
    r"さっきの|先ほどの|昨日の|に戻|вернемся|вернёмся|вчера|wróćmy|wracając|wczoraj|voltando|ontem",
)  # fmt: skip
CLOSING = _any(
    r"\bwelcome\b", r"\benjoy\b", r"\bhave a (?:good|great|nice|wonderful|lovely|safe)\b", r"\bgood ?bye\b", r"\bbye\b", r"\bglad (?:i|to|you)\b",
    r"\bhappy to (?:help|assist)\b", r"\b(?:anything|something) else\b", r"\bany (?:other|more|further) (?:questions|help|assistance|requests)\b",
    r"\bfurther assist", r"\blet me know if\b", r"\bfeel free\b",
    r"不客气|再见|不用谢|祝您|祝你|很高兴|还有(?:什么|其他)|其他(?:需要|问题)|随时|为您服务|どういたしまして|пожалуйста|proszę bardzo|de nada",
)  # fmt: skip
DONE = _any(
    r"\bsuccess(?:ful|fully)?\b", r"\bdone\b", r"\bcomplet(?:e|ed|ely)\b", r"\bfinished\b", r"\b(?:has|have) been\b", r"\ball (?:tests|set)\b", r"✅|✔|🎉",
    r"\bconfirmed\b", r"\b(?:booked|reserved|scheduled|created|added|updated|fixed|implemented|committed|cancell?ed|transferred)\b",
    r"完成|成功|已经?(?:为您|帮您|修复|更新|创建|添加|实现|修改|删除|提交)|搞定|通过|完了|しました|готово|успешно|zakończon|gotowe|conclu[íi]d",
)  # fmt: skip
SETTLED = _any(
    r"\b(?:works?|worked|working) (?:now|well|great|fine|perfectly|as expected)\b", r"\bit(?: is|'s)? (?:now )?work(?:s|ed|ing)\b", r"\bworks\b[.!,]",
    r"\b(?:is|are|got|now|been) (?:fixed|resolved|solved|done)\b", r"\bthat(?:'s| is) it\b", r"^\W*(?:great|awesome|perfect|excellent|thanks|thank you|nice|amazing|phenomenal|wonderful|good)\b",
    r"好了|可以了|成功了|解决了|没问题了|修好|太棒|很好|不错|谢谢|отлично|спасибо|super\b|świetnie|działa|funcionou|ótimo|ありがとう|できました",
)  # fmt: skip
KINDS = {
    "commit": _any(r"\bcommit", r"\bpush\b", r"\bpull request\b", r"\bPRs?\b", r"\bmerge\b", r"\bbranch\b", r"提交|推送|合并|分支|коммит"),
    "docs": _any(r"\bread-?me\b", r"\bdoc(?:s|ument|umentation)?\b", r"\bspecifications?\b", r"\bchangelog\b", r"\broadmap\b", r"\btasks?\.md\b", r"文档|说明|документ|dokumentac|documenta"),
    "test": _any(r"\btests?\b", r"\btesting\b", r"\bcoverage\b", r"\blint", r"测试|覆盖率|тест|\bteste"),
    "look": _any(r"\b(?:color|colour|font|css|style|layout|button|icon|page|screen|ui)s?\b", r"界面|页面|按钮|样式|颜色|布局"),
    "explain": _any(r"\b(?:explain|why|what (?:is|are|does|do)|how (?:do|does|is|are|come)|difference)\b", r"解释|为什么|是什么|区别|原理"),
}  # fmt: skip
"""Kinds of work an agent is asked for; a change of kind often is a change of intention."""
CONCEDING = _any(r"\byou(?:'re| are) (?:absolutely |completely )?(?:right|correct)\b", r"\bsorry\b", r"\bapolog", r"\bgood catch\b", r"抱歉|对不起|(?:你|您)说得对|没错|прав[ыа]?\b|masz rację|desculp|申し訳")  # fmt: skip
ACTIONS = {
    "look": _any(r"^\W*(?:read|list|search|grep|glob|view|find|open|cat|ls|explor|codebase|web|fetch|get|query|check)"),
    "change": _any(r"^\W*(?:edit|writ|replac|creat|patch|delet|apply|update|insert|multi|str_replace|search_replace|add|move|renam)"),
    "run": _any(r"^\W*(?:run|bash|terminal|exec|shell|command|python|test|ran)"),
    "plan": _any(r"^\W*(?:todo|task|think|plan|sequential|mcp_sequential)"),
}  # fmt: skip
"""Kinds of tools by their names: a new task is explored first, an old one changed."""
MANNERS = {
    "adds": _any(r"^\W*(?:and|also|plus|additionally)\b|^\W*(?:还|再|另外|此外)"),
    "objects": _any(r"^\W*(?:but|no|not|nope|wait|hmm|actually|sorry|instead|however|wrong)\b|^\W*(?:但|可是|不|别|等)"),
    "assents": _any(r"^\W*(?:yes|yeah|yep|y|ok|okay|sure|right|great|good|perfect|thanks|thank|nice|awesome|sim|да|tak)\b|^\W*(?:好|对|是|可以|嗯|谢谢|はい)"),
    "points": _any(r"^\W*(?:it|its|that|this|they|these|those|he|she|the same)\b|^\W*(?:这|那|它|これ|それ)"),
    "repeats": _any(r"^\W*(?:i |it |we |there )?(?:still|again|keep|same|now i|got|i get|i got|getting|new error)|^\W*(?:还是|仍|又)"),
    "of_you": _any(r"\b(?:you (?:have|did|didn't|are|were|can|should|need|missed|forgot|said|made|changed|added|removed)|(?:did|have|are) you)\b|\byour (?:change|code|suggest|answer|last|fix)"),
    "order": _any(r"^\W*(?:(?:please|now|then|next|ok|great|thanks|also|let'?s|(?:can|could) you|help me|(?:i|we) (?:want|need)(?: you)? to|i'd like(?: you)? to) )*(?:add|analy|build|book|calculat|change|check|clean|commit|convert|copy|create|debug|delete|describe|design|document|explain|explore|extract|find|fix|format|generate|get|give|implement|improve|install|investigate|list|look|make|merge|move|open|optimi|plan|read|refactor|remove|rename|replace|review|revise|run|scan|search|set|show|split|start|summari|test|translate|update|use|verify|write)"),
    "make": _any(r"\b(?:create|add|implement|build|write|generate|make|design|set ?up|start|begin|introduc\w*|support)\b|创建|添加|实现|新增|生成|编写|增加|设计|开发"),
    "repair": _any(r"\b(?:fix|error|fail|issue|problem|bug|wrong|broken|crash|exception|warning)s?\b|修复|错误|报错|问题|失败|解决"),
    "adjust": _any(r"\b(?:too|more|less|bigger|smaller|instead of|rather|should be|shouldn't|keep|only|just|don't|do not|without|prefer)\b|不要|只|太|应该|改成|保留"),
    "tells": _any(r"\b(?:i (?:have|did|ran|tried|see|get|got|am|'m|moved|updated|installed|changed|deleted|added|need|want|think|believe)|it (?:is|was|does|doesn't|didn't|says|looks|seems|works|worked)|there (?:is|are))\b"),
    "turns_to": _any(r"\b(?:now|next|let's|moving|start|begin|new)\b|现在|接下来|下一|开始|新"),
    "announces": _any(
        r"\b(?:something|anything) (?:completely |entirely |totally )?(?:else|different|new)\b", r"\bunrelated\b", r"\bby the way\b", r"\bbtw\b",
        r"\b(?:another|new|different|separate|next|other) (?:[\w-]+ ){0,2}(?:task|topic|question|subject|matter|request|job)\b",
        r"\bon (?:another|a different|an unrelated) (?:note|topic|subject)\b", r"\bchang(?:e|ing) (?:of |the )*(?:topic|subject)\b",
        r"换个(?:话题|任务|问题)|另外?一[个件项](?:任务|问题|话题|事)|新的?(?:任务|话题|需求|问题)|说点别的|不相关|无关的|顺便[问说]|题外话",
        r"別の(?:話|件|タスク|質問)|ところで|話は変わ|друг(?:ая|ой|ое) (?:задача|вопрос|тема|дело)|нов(?:ая|ый) (?:задача|вопрос|тема)|кстати",
        r"inn[ey] (?:zadanie|temat|pytanie)|nowe (?:zadanie|pytanie)|przy okazji|outr[oa] (?:tarefa|assunto|pergunta|tema)|nova (?:tarefa|pergunta)",
        r"mudando de assunto|otr[oa] (?:tarea|tema|pregunta|cosa)|cambiando de tema|por cierto|autre (?:chose|sujet|tâche|question)|rien à voir",
        r"ander(?:es|e) (?:thema|aufgabe|frage)|neue (?:aufgabe|frage)|etwas (?:ganz )?anderes",
    ),
    "numbered": _any(r"\b(?:option|opção|variant|step|phase|task|stage|part|tier|sprint|milestone)\b ?\w|选项|方案|步骤|阶段|第.[步个阶部]"),
}  # fmt: skip
"""How a request is put: what is added, objected to or repeated goes on, what is ordered or begun may be new."""
OPENINGS = {
    "helps": _any(r"^\W*(?:i'll help|i will help|i'd be happy|certainly|absolutely|sure|of course|great idea|let me (?:help|create|start|first|explore|look|search)|i'll (?:add|create|implement|make|update|start|analyze|review|look|search|check|examine|investigate))"),
    "concedes": _any(r"you(?:'re| are) (?:absolutely |completely |totally |quite )?(?:right|correct)|apolog|sorry|my mistake|i misunder|good (?:catch|point|question)|i see (?:the|what)|抱歉|[你您]说得对"),
    "finds": _any(r"^\W*(?:i (?:can )?see|i found|found|the (?:error|issue|problem)|looking at|now (?:try|let)|excellent|perfect|great)"),
    "begins": _any(r"首先|让我[先来]|我[来将会]帮|好的"),
    "finished": _any(r"✅|complete|success|summary|完成|总结"),
}  # fmt: skip
ENDINGS = {
    "cut": _any(r"(?:cancell?ed|[:：…]|\.\.\.)\s*$"),
    "offers": _any(r"would you like|do you want|shall i|should i|want me to|let me know|if you(?:'d| would)? (?:like|want|need)|next steps?|您(?:想|需要|希望)|是否|需要我|下一步|如果您"),
    "lists": _any(r"(?:^|\n)\s*(?:\d[.)]|[-*] |option|[A-C][.)])"),
}  # fmt: skip
"""How a reply opens and ends: one that is broken off or offers to go on is often just taken up."""
SAVING = _any(r"git (?:commit|push|merge|tag)|gh pr|create_pull")
WH = _any(
    r"^\W*(?:and |so |but |ok(?:ay)?,? |then )?(?:what|which|where|when|who|whose|how|why|is|are|was|do|does|did|can|could|will|would|should|may|has|have)\b",
    r"什么|哪|吗|多少|几|怎|呢[？?]?$|か[？?]?$",
)  # fmt: skip


def is_acknowledgement(text: str) -> bool:
    """Whether a message says nothing but thanks, assent or "go on", in any combination, with any marks or emoji."""
    return len(text) <= _MAX_ACK and bool(text.strip()) and _acknowledges(text)


def strip_acknowledgement(text: str) -> str:
    """The text without sentences at its start that only acknowledge ("Great, thanks! Now …" → "Now …")."""
    rest = text.lstrip()
    while match := _CLAUSE.match(rest):
        if not is_acknowledgement(match[0]) or match.end() >= len(rest):
            break
        rest = rest[match.end() :]
    return rest


@lru_cache(maxsize=4096)
def _acknowledges(text: str) -> bool:
    words = _words_only(text)
    if not words:
        return True
    return _is_made_of(f"{words} ", _ACK_SPACED) or _is_made_of(words.replace(" ", ""), _ACK_DENSE)


def _is_made_of(text: str, phrases: frozenset[str]) -> bool:
    """Whether a text is phrases one behind the other.

    A regular expression would try each way to part "go on go on …" into them, and there are 2**n.
    """
    ends = {0}
    for start in range(len(text)):
        if start in ends:
            after = range(start + 1, min(start + _LONGEST_ACK, len(text)) + 1)
            ends.update(end for end in after if text[start:end] in phrases)
    return len(text) in ends


def _words_only(text: str) -> str:
    """Lower-case words with single spaces: no marks, no emoji, contractions written out, "soooo" shortened."""
    text = unicodedata.normalize("NFKC", text).lower()
    for pattern, replacement in _CONTRACTIONS:
        text = pattern.sub(replacement, text)
    kept = "".join(c if unicodedata.category(c)[0] in "LNM" and c != "\ufe0f" else " " for c in text)
    words = kept.split()
    return " ".join(w for w in words if w not in _EMPHASIS) or " ".join(words)
