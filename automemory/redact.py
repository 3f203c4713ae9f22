"""Masking secrets: keys, tokens, private keys and passwords, wherever they stand in a text.

Formats come from the detectors of detect-secrets, run over the whole text and widened to the whole token, and
from rules for what those miss: values named `api_key` or alike, PEM blocks, passwords in URLs, new vendors.
What only looks random (a hash, a UUID) stays unless its name says that it is secret. Every rule is one pass.
"""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache

MASK = "[redacted]"
Redactor = Callable[[str], str]
Span = tuple[int, int]

_log = logging.getLogger(__name__)

# Detectors of detect-secrets, each with what a text must hold to make it worth running. Left out are those
# that are slow on hostile text (AWS, JWT, npm, …; own rules below), report IP addresses, or need entropy.
_DETECTORS: dict[str, tuple[str, ...]] = {
    "github_token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    "mailchimp": tuple(f"-us{n}" for n in range(10)),
    "pypi_token": ("pypi-",),
    "sendgrid": ("SG.",),
    "square_oauth": ("sq0csp-",),
    "stripe": ("k_live_",),
}
# Of these the shape has to be there: they begin as words do that stand in any text, or in either case.
_SHAPED = {
    "discord": re.compile(r"\.[\w-]{6}\.[\w-]{27}"),
    "gitlab_token": re.compile(r"gl[a-z]{2,9}-[\w-]{20}|GR1348941"),
    "slack": re.compile(r"xox[abposr]-\d|hooks\.slack\.com", re.IGNORECASE),
    "twilio": re.compile(r"(?:AC|SK)[a-z0-9]{32}"),
}
_TOKEN_CHAR = re.compile(r"[A-Za-z0-9_-]")
_TOKEN_REST = re.compile(r"[A-Za-z0-9_=+~-]*(?:[./][A-Za-z0-9_=+~-]+)*")
_MAX_LEFT = 256

# How tokens of vendors begin; what follows has at least 12 characters.
_PREFIXES = (
    "sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "whsec_", "github_pat_", "ghp_",
    "gho_", "ghu_", "ghs_", "ghr_", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "hf_", "api_org_",
    "AIza", "ya29.", "GOCSPX-", "1//0", "npm_", "pypi-", "dckr_pat_", "xoxa-", "xoxb-", "xoxe-", "xoxe.",
    "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-", "SG.", "sq0atp-", "sq0csp-", "shpat_", "shpss_",
    "AGE-SECRET-KEY-", "AKC", "tvly-", "gsk_", "xai-", "pplx-", "r8_", "lsv2_", "nvapi-", "dop_v1_",
    "sntrys_", "sntryu_", "figd_", "lin_api_", "ntn_", "ATATT3", "PMAK-", "hvs.", "eyJ",
)  # fmt: skip
_TELEGRAM = re.compile(r":(?<=\d{8}:)[A-Za-z0-9_-]{35}(?:(?![A-Za-z0-9_-])|(?=_?\d{8,10}:))")
_AWS = re.compile(
    r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[A-Z0-9]{16}"
    r"(?:(?P<between>[\s,;:|/\"']{1,8})[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=]))?"  # the secret follows its id
)
_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----")
_PEM_REST = re.compile(
    r"(?:[\s>|\"'+,]|\\[nrt]|[A-Za-z0-9+/=]{16,}+|(?:Proc-Type|DEK-Info|Version|Comment):[^\n]*)*+"
    r"(?:[A-Za-z0-9+/=]{1,15}(?=\s*(?:\n|\Z)))?"
)
_PUTTY = re.compile(r"PuTTY-User-Key-File-\d:(?s:.*?)(?:Private-MAC:[^\n]*|\Z)")
# With one slash too: what normalises paths leaves one.
_URL_PASSWORD = re.compile(r":/{1,2}[^\s/:@\"'<>]{0,128}:([^\s/\"'<>]{1,256})@(?=[\w\[.-])")
# These run on the text in lower case, each from a literal beginning, which makes them fast.
_HEADERS = (
    re.compile(
        r"authorization[\"'\\]{0,4}[ \t]{0,4}[:=][ \t]{0,4}[\"'\\]{0,4}"
        r"(?:(?:bearer|basic|token|bot|apikey|digest|aws4-hmac-sha256)[ \t]{1,4})?([^\s\"'`,;\\<>()]{8,})"
    ),
    re.compile(r"bearer[ \t]{1,4}([^\s\"'`,;\\<>()]{8,})"),
)
_NAMES = (
    *(
        "pass(?:w(?:or)?d|phrase|code)?",
        "pwd",
        "secret",
        "token",
        "key",
        "credentials?",
        "sig(?:nature)?(?==)",
    ),
    *("密码", "口令", "密钥", "令牌"),
)
_NAMED = tuple(
    re.compile(
        rf"(?P<name>{name})(?:[_-]?(?:access|key|token|base|value|string)){{0,3}}"
        r"(?P<link>\\{0,3}[\"'`]?\]?[ \t]{0,8}(?:=>|:=|={1,2}|[:：]|is(?=[ \t])|是|为|>|(?<=[ \t])))"
        r"(?:[ \t]{0,8}[a-z_][\w.|\[\] ]{0,40}=(?!=))?[ \t]{0,8}"
    )
    for name in _NAMES
)
_KEY_OWNER = re.compile(r"(?:api|access|account|auth|app|private|signing|encryption|master)[_ -]?\Z")
_MAX_JUDGED = 128
_QUOTE = re.compile(r"[rbfuRBFU]{0,2}(\\{0,3}[\"'`])")
_BARE = re.compile(r"[^\s\"'`,;&<>\\\u3000-\u9fff\uff00-\uffef]+")
_PLACEHOLDER = re.compile(
    r"\s*(?:[<{\[]|\$[({A-Z_]|%[s(A-Z]|\*+$|\*{3}|\.\.\.|…|[xX]{3,}|(?i:your|redacted|example|dummy|placeholder)(?![a-z])"
    r"|(?i:none|null|nil|true|false|undefined|str|string|bytes|int|bool|any|secretstr|optional|required)(?![-.\w])"
    r"|(?i:os\.|process\.env|env[.(\[]|getenv|getpass|config[.(\[]|settings\.|self\.|args\.|https?://))"
)
_REFERENCE = re.compile(r"[A-Za-z_]\w*[(\[]|[A-Za-z_]\w{0,15}(?:\.[A-Za-z_]\w{0,15})+$")
_PATH = re.compile(
    r"(?:~|\.{0,2})/[\w.-]{0,20}(?:/[\w.-]{0,20})*$|[A-Za-z]:\\|[\w./-]+\.(?:pem|key|txt|json|ya?ml|env|py|md)$"
)
_ABOUT_SECRETS = re.compile(r"(?i:passw|token|secret|key|pwd|credential)")


def redact(text: str) -> str:
    """The text with every secret replaced by `[redacted]`; redacting twice changes nothing more."""
    for _ in range(4 if text else 0):
        spans = sorted(_spans(text))
        if not spans:
            return text
        text = _masked(text, spans)
    return text


def make_redactor(extra: Redactor | None = None) -> Redactor:
    """`redact`, followed by a caller's own rule.

    If that rule fails or returns no text, nothing of the text is let through: all of it becomes `[redacted]`,
    and the kind of failure is logged.
    """
    if extra is None:
        return redact

    def both(text: str) -> str:
        try:
            found = extra(redact(text))
        except Exception as error:
            _log.warning("redact= failed with %s: the whole text is masked", type(error).__name__)
            return MASK
        if not isinstance(found, str):
            _log.warning("redact= returned %s: the whole text is masked", type(found).__name__)
            return MASK
        return found

    return both


def _masked(text: str, spans: list[Span]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end in spans:
        if start > position or not pieces:
            pieces += [text[position:start], MASK]
        position = max(position, end)
    return "".join([*pieces, text[position:]])


def _spans(text: str) -> Iterator[Span]:
    yield from _detected(text)
    yield from _vendor_tokens(text)
    yield from _key_blocks(text)
    if ":/" in text:
        yield from (m.span(1) for m in _URL_PASSWORD.finditer(text) if not _PLACEHOLDER.match(m[1]))
    lower = _lower(text)
    for header in _HEADERS:
        yield from (m.span(1) for m in header.finditer(lower) if _is_credential(text[m.start(1) : m.end(1)]))
    for named in _NAMED:
        yield from _named_values(text, lower, named)


def _lower(text: str) -> str:
    """The text in lower case with every character in its place."""
    lower = text.lower()
    return (
        lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    )


@cache
def _patterns(detector: str) -> tuple[re.Pattern[str], ...]:
    """The patterns of a detect-secrets plugin. Imported at first use: most texts need none."""
    from detect_secrets.plugins.base import RegexBasedDetector

    module = importlib.import_module(f"detect_secrets.plugins.{detector}")
    classes = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, RegexBasedDetector)]
    return tuple(p for c in classes if c is not RegexBasedDetector for p in c().denylist)


def _detected(text: str) -> Iterator[Span]:
    for detector in _worth_running(text):
        for pattern in _patterns(detector):
            yield from _widened(text, pattern)


def _worth_running(text: str) -> Iterator[str]:
    yield from (name for name, needles in _DETECTORS.items() if any(needle in text for needle in needles))
    yield from (name for name, shape in _SHAPED.items() if shape.search(text))


def _widened(text: str, pattern: re.Pattern[str]) -> Iterator[Span]:
    """Matches widened to the token they stand in, each token once."""
    done = 0
    for match in pattern.finditer(text):
        if match.start() < done:
            continue
        start = match.start(match.lastindex or 0)
        while start > max(done, match.start() - _MAX_LEFT) and _TOKEN_CHAR.match(text, start - 1):
            start -= 1
        rest = _TOKEN_REST.match(text, match.end(match.lastindex or 0))
        done = rest.end() if rest else match.end()
        yield start, done


def _vendor_tokens(text: str) -> Iterator[Span]:
    found = tuple(prefix for prefix in _PREFIXES if prefix in text)
    for match in _vendor_pattern(found).finditer(text) if found else ():
        dotless = match[0].startswith("eyJ") and "." not in match["body"]
        if _begins_token(text, match.start()) and not dotless and not _is_name(match["body"]):
            yield match.start(), match.start() + len(match[0].rstrip(".-="))
    for match in _TELEGRAM.finditer(text):
        start = match.start()
        while start > 0 and text[start - 1].isdigit() and match.start() - start < 10:
            start -= 1
        yield start, match.end()
    for match in _AWS.finditer(text):
        middle = match.span("between") if match["between"] else (match.end(), match.end())
        yield from ((match.start(), middle[0]), (middle[1], match.end()))


@lru_cache(maxsize=256)
def _vendor_pattern(prefixes: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(map(re.escape, prefixes))})(?P<body>[A-Za-z0-9_=+~.-]{{12,}})")


def _begins_token(text: str, start: int) -> bool:
    return start == 0 or not _TOKEN_CHAR.match(text, start - 1)


def _is_name(body: str) -> bool:
    """Whether what follows a vendor's prefix is words and short numbers, as in a slug or a file's name."""
    parts = re.split(r"[_.=~+-]+", body)
    return all(len(part) <= (20 if part.isalpha() else 4 if part.isdigit() else 5) for part in parts)


def _key_blocks(text: str) -> Iterator[Span]:
    """Private keys from their first to their last line, or as far as one that was cut off goes."""
    if "PRIVATE KEY" in text:
        position = 0
        ends = [match.span() for match in _PEM_END.finditer(text)]
        begins = list(_PEM_BEGIN.finditer(text))
        for number, match in enumerate(begins):
            next_begin = begins[number + 1].start() if number + 1 < len(begins) else len(text)
            while position < len(ends) and ends[position][0] < match.end():
                position += 1
            if position < len(ends) and ends[position][0] < next_begin:
                yield match.start(), ends[position][1]
            elif rest := _PEM_REST.match(text, match.end()):
                yield match.start(), match.end() + len(rest[0].rstrip())
    if "PuTTY-User-Key-File" in text:
        yield from (match.span() for match in _PUTTY.finditer(text))


def _named_values(text: str, lower: str, named: re.Pattern[str]) -> Iterator[Span]:
    done = 0
    for match in named.finditer(lower):
        if match.end() < done or not _is_name_of_secret(lower, match):
            continue
        quote = _QUOTE.match(text, match.end())
        start, end = _quoted_value(text, quote) if quote else _bare_value(text, match.end())
        value = text[start : min(end, start + _MAX_JUDGED)]
        if value and _is_secret(text, match, value, quoted=bool(quote)):
            done = _whole_end(text, start, end, quote)
            yield start, done


def _is_name_of_secret(lower: str, match: re.Match[str]) -> bool:
    """Not the `pass` of `bypass` or the `key` of `keyboard` or `sort_key`."""
    start = match.start()
    if match["name"] == "pass":
        return start == 0 or not lower[start - 1].isalpha()
    return match["name"] != "key" or bool(_KEY_OWNER.search(lower[max(0, start - 12) : start]))


def _quoted_value(text: str, quote: re.Match[str], reach: int = _MAX_JUDGED) -> Span:
    """The value up to its closing quote, or else up to the line's end, as far as `reach`."""
    start = quote.end()
    limit = min(len(text), start + reach)
    line_end = text.find("\n", start, limit)
    limit = line_end if line_end >= 0 else limit
    end = text.find(quote[1], start, limit)
    return start, end if end >= 0 else limit


def _bare_value(text: str, start: int, reach: int = _MAX_JUDGED) -> Span:
    match = _BARE.match(text, start, start + reach)
    value = match[0].rstrip(".:") if match else ""
    return start, start + len(value if re.search(r"[(\[{]", value) else value.rstrip(")]}.:"))


def _whole_end(text: str, start: int, end: int, quote: re.Match[str] | None) -> int:
    """Where a value ends that was judged by its beginning (all of many long ones would take too long)."""
    if end - start < _MAX_JUDGED - 8:
        return end
    return (_quoted_value(text, quote, len(text)) if quote else _bare_value(text, start, len(text)))[1]


def _is_secret(text: str, name: re.Match[str], value: str, *, quoted: bool) -> bool:
    """Whether a value under a secret's name is one, and no variable, placeholder, path or plain words."""
    if len(value) < 4 or _PLACEHOLDER.match(value) or _PATH.match(value):
        return False
    if not quoted and _REFERENCE.match(value):
        return False
    digits, words = bool(re.search(r"\d", value)), bool(re.search(r"\s", value))
    setting = _is_setting(text, name)
    if _ABOUT_SECRETS.search(value) and not setting and (words or not digits):
        return False
    link = name["link"].strip("\\\"'`] \t")
    if link == ">":
        return text.startswith("</", name.end() + len(value))
    if link in {"", "is", "是", "为"}:
        mixed = digits and len(value) >= 6 and not words and bool(re.search(r"[^\W\d_]", value))
        return mixed and (bool(link) or _is_option(text, name))
    if words:
        return name["name"] == "passphrase" or (digits and _is_password(name))
    if _is_password(name):
        return digits or quoted or setting or bool(re.search(r"[^\w.\-/'’]", value))
    return len(value) >= 8 and (digits or setting or len(value) >= (16 if quoted else 24))


def _is_option(text: str, name: re.Match[str]) -> bool:
    return bool(re.search(r"(?<!\S)--?[\w-]*\Z", text[max(0, name.start() - 24) : name.start()]))


def _is_password(name: re.Match[str]) -> bool:
    return name["name"].startswith(("pass", "pwd", "密码", "口令"))


def _is_setting(text: str, name: re.Match[str]) -> bool:
    """Whether it reads `NAME=value` as for a process or `&name=value` as in a query: words count there."""
    if name["link"] != "=":
        return False
    before = text[max(0, name.start() - 40) : name.start()]
    return text[slice(*name.span("name"))].isupper() or bool(re.search(r"[?&;][\w.-]*\Z", before))


def _is_credential(value: str) -> bool:
    plain = value.isalpha() and (value.islower() or value.istitle()) and len(value) < 20
    return not plain and not _PLACEHOLDER.match(value)
