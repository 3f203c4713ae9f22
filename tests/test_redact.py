from __future__ import annotations

import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automemory.redact import MASK, make_redactor, redact

# Fake keys, put together here so that no scanner takes this file for a leak.
HEX40 = "3456789abcdef0123456" * 2
MIXED = "aB3dE5gH7jK9mN1p"
AWS_ID = "AK" + "IA" + "QWERTYUI12345678"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYzzzzzzzzzz"
JWT = "ey" + "JhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "abc-DEF_123"
PEM_LINES = "\n".join(["Ab1/Cd2+" * 8] * 3) + "\nEf3="
BEGIN, END = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"

TOKENS = {
    "openai": "sk" + "-" + MIXED * 3,
    "openai project": "sk" + "-proj-" + MIXED + "_" + MIXED + "-" + MIXED,
    "openai with dots": "sk" + "-abcd1234.efgh5678.ijkl9012",
    "openai with dots and words": "sk" + "-live.abcdefgh.12345678",
    "anthropic": "sk" + "-ant-api03-" + MIXED + "-" + MIXED + "_AA",
    "github": "gh" + "p_" + MIXED * 2 + "abcd",
    "github longer than its pattern": "gh" + "o_" + MIXED * 4,
    "github fine-grained": "github" + "_pat_11ABCDEF_" + MIXED * 3,
    "gitlab": "gl" + "pat-" + MIXED + "wxyz",
    "aws id": AWS_ID,
    "jwt": JWT,
    "slack": "xo" + "xb-123456789012-123456789012-" + MIXED,
    "slack hook": "https://hooks." + "slack.com/services/T01234567/B01234567/" + MIXED,
    "stripe": "sk" + "_live_" + MIXED + "12345678",
    "google": "AI" + "za" + MIXED * 2 + "abc",
    "npm": "np" + "m_" + MIXED * 2 + "abcd",
    "pypi": "py" + "pi-AgEIcHlwaS5vcmc" + MIXED * 5,
    "telegram": "1234567890" + ":AA" + MIXED * 2 + "_",
    "hugging face": "h" + "f_" + MIXED * 2,
    "sendgrid": "S" + "G." + MIXED + "abcdef." + MIXED * 2 + "abcdefghijk",
    "square": "sq0" + "csp-" + MIXED * 2 + "abcdefghijk",
    "twilio": "A" + "C" + "0123456789abcdef" * 2,
    "mailchimp": "0123456789abcdef" * 2 + "-us12",
    "discord": "M" + MIXED + "abcdefg." + "Abc123." + MIXED + "abcdefghijk",
    "groq": "gs" + "k_" + MIXED * 3,
}
VALUES = {
    "hex under a name": ("api_key: {}", HEX40),
    "json": ('{{"access_token": "{}"}}', HEX40),
    "escaped json": ('{{\\"password\\": \\"{}\\"}}', "hunter2"),
    "environment": ("export DB_PASSWORD={}", "correcthorse"),
    "environment, symbols": ("PASSWORD={}\nX=1", "p@ss(w0rd)!"),
    "yaml": ("password: {}\nuser: me", "hunter2"),
    "code": ('client_secret = "{}"', "abcd1234efgh"),
    "annotated code": ('api_key: str = "{}"', "abcd1234efgh5678"),
    "keyword argument": ("connect(password='{}', port=1)", "hunter"),
    "query": ("https://x.org/?access_token={}&page=2", "abcdefghijk"),
    "option": ("tool --token {} --verbose", "abcd1234efgh"),
    "option with =": ("tool --password={}", "hunter2"),
    "xml": ("<password>{}</password>", "hunter2"),
    "aws secret": ("aws_secret_access_key = {}", AWS_SECRET),
    "aws pair": (f"{AWS_ID}\n{{}}\n", AWS_SECRET),
    "azure": ("AccountName=a;AccountKey={};End", "a1B2" * 21 + "ab=="),
    "bearer": ("curl -H 'Authorization: Bearer {}'", MIXED),
    "basic": ('"Authorization": "Basic {}"', "dXNlcjpwYXNz"),
    "url": ("postgres://user:{}@db.example.org/x", "p@ss:w0rd"),
    "url without user": ("redis://:{}@localhost:6379", "hunter2"),
    "passphrase": ('passphrase: "{}"', "correct horse battery staple"),
    "said": ("my password is {}", "hunter2"),
    "chinese": ("密码：{}，然后登录", "hunter2"),
    "chinese said": ("口令是{}吗", "abc123"),
    "long value": ('token = "{}"', MIXED * 300),
    "long bare value": ("token={}", MIXED * 300),
}
HARMLESS = [
    "the token is invalid", "the password is wrong", "token: str", "def f(token: str | None = None): ...",
    "password: Optional[str] = None", "api_key: <your key>", "api_key=YOUR_API_KEY",
    "token: your-token-here", 'api_key = os.environ["OPENAI_API_KEY"]', "password = getpass()",
    "token: ${TOKEN}", "TOKEN=$CI_TOKEN", "token: {{ secrets.TOKEN }}", "password: ********",
    "password: none", "login(user=user, password=password)", "token = self.token", "token = tokens[0]",
    "token = response.json()['token']", "api_key = settings.API_KEY",
    "password: must be at least 8 characters", "max_tokens: 4096", "tokens=1234567890",
    "token_count: 12345678", "bypass: true", "3 passed: 12345678", "keyboard: abcdefgh12345678",
    "sort_key: abcdefgh12345678", f"commit {HEX40}", f"sha1:{HEX40}",
    "550e8400-e29b-41d4-a716-446655440000", "d41d8cd98f00b204e9800998ecf8427e",
    "sk-learn-based-classification-model", "sk-2024-05-28-fix-login-redirect",
    "global-variable-2024-05-28", "scikit_learn-1.5.2-cp311-cp311-manylinux_2_17_x86_64.whl",
    "cursor eyJsYXN0IjoxMjM0NTY3ODkwMTIzNDU2fQ", "authorization-service-v2 failed",
    "Bearer authentication is used", "Authorization: <token>", "http://localhost:8080/a@v1",
    "mailto:me@example.org", "ssh git@example.org:me/repo.git", "postgres://user:${PASSWORD}@db",
    "token: /run/secrets/token.txt", "private_key: ~/.ssh/id_rsa", "secrets/prod/key.pem",
    "token_url: https://example.org/oauth/token", "password_reset: https://example.org/x/1",
    "密码错误，请重试", "密码：已经重置", "令牌过期了，需要重新登录。", "部署失败：步数不对", "", "\n\n",
    "this-is-a-very-long-slug-with-many-words-and-2-numbers-12",
    "/usr/lib/python3.11/site-packages/x_y/z.py",
]  # fmt: skip


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS.keys())
@pytest.mark.parametrize(
    "around", ["{}", "key={}\nnext", '"{}",', "用{}登录", "see ({}) there", "x: {}. Then"]
)
def test_a_token_is_masked_whole(token: str, around: str) -> None:
    """B73: no part of a known kind of token is left, and nothing around it is taken."""
    left, right = around.split("{}")
    assert redact(around.format(token)) in {left + MASK + right, left + MASK + right.lstrip(".")}


@pytest.mark.parametrize(("around", "value"), VALUES.values(), ids=VALUES.keys())
def test_a_value_under_a_secret_name_is_masked_and_the_name_stays(around: str, value: str) -> None:
    """B73: assignments in code, JSON, YAML, environments, headers, URLs and prose."""
    expected = around.format(MASK).replace(AWS_ID, MASK)
    assert redact(around.format(value)) == expected


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_stays(text: str) -> None:
    """B73: placeholders, variables, types, hashes, ids, slugs, paths and prose are no secrets."""
    assert redact(text) == text


def test_private_keys_are_masked_from_first_to_last_line() -> None:
    """B73: a PEM block goes as one, also several of them, quoted, in JSON, or cut off before its end."""
    block = f"{BEGIN}\n{PEM_LINES}\n{END}"
    assert redact(f"a\n{block}\nb\n{block}\nc") == f"a\n{MASK}\nb\n{MASK}\nc"
    assert redact(f"a\n{BEGIN}\n{PEM_LINES}\n\nAnd then prose.") == f"a\n{MASK}\n\nAnd then prose."
    assert redact(f"a\n{BEGIN}\n{PEM_LINES[:100]}") == f"a\n{MASK}"
    escaped = block.replace("\n", "\\n")
    assert redact(f'{{"key": "{escaped}"}}') == f'{{"key": "{MASK}"}}'
    quoted = block.replace("\n", "\n> ")
    assert redact(f"> {quoted}\nb") == f"> {MASK}\nb"
    encrypted = f"{BEGIN}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n{PEM_LINES}"
    assert redact(f"{encrypted}\n\nprose") == f"{MASK}\n\nprose"
    assert redact(f"the line {BEGIN} begins a key") == f"the line {MASK} begins a key"


def test_a_public_key_stays() -> None:
    """Certificates and public keys are meant to be seen."""
    block = "-----BEGIN CERTIFICATE-----\n" + PEM_LINES + "\n-----END CERTIFICATE-----"
    assert redact(block) == block


FRAGMENTS = [
    *TOKENS.values(), *(around.format(value) for around, value in VALUES.values()), BEGIN, END, PEM_LINES,
    MASK, "token", "password", "api_key", "=", ": ", '"', "'", "://", "a:", "@", "\n", " ", "İ", "密码", "x",
    "<", ">", "\\",
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    """A text passes several gates; the mask is not itself masked, and names around it do not matter."""
    once = redact(text)
    assert redact(once) == once


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(TOKENS.values())), st.text(max_size=30), st.text(max_size=30))
def test_no_surroundings_save_a_token(token: str, before: str, after: str) -> None:
    """B73: whatever stands beside it, a token between blanks is gone, in any script."""
    assert token not in redact(f"{before} {token} {after}")


@pytest.mark.parametrize(
    "piece",
    [
        "a", "eyJ", "sk-", "sk-1234567890ab", "://a:", "token=", "token='", "password ", BEGIN, END,
        "AKIAawskey", "xoxb-1-", "a1b2-us1", "12345678:", "Bearer ", "glpat-", "(", "\\", " ", "SG.",
        "M" * 24 + ".", AWS_ID, 'api_key: "a', "PuTTY-User-Key-File-2: ", "https://hooks.slack.com/services/T",
        "key:: [a", "pass=(((",
    ],
)  # fmt: skip
def test_work_grows_with_the_text(piece: str) -> None:
    """Hostile repetition ends: 1 MB takes below a second or so, and would take hours if it were quadratic."""
    text = (piece * (1_000_000 // len(piece) + 1))[:1_000_000]
    assert isinstance(redact(text), str)


def test_no_rule_repeats_without_bound_before_a_fixed_part() -> None:
    """Detectors with an open-ended middle are slow on hostile text; none of those is taken."""
    from automemory import redact as module

    for detector in (*module._DETECTORS, *module._SHAPED):
        patterns = module._patterns(detector)
        assert patterns, detector
        for pattern in patterns:
            assert not re.search(r"\.[*+]", pattern.pattern), (detector, pattern.pattern)


def test_detectors_are_imported_when_first_needed() -> None:
    """A host waits while the package is imported and a turn is taken in: what people write needs none."""
    said = Path(__file__).parent.parent.joinpath("README.md").read_text(encoding="utf-8")
    code = (
        "import sys; from automemory.redact import redact; redact(sys.stdin.buffer.read().decode());"
        "assert not any(m.startswith('detect_secrets') for m in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], input=f"{said} A TASK, global and AC.".encode(), check=True)


@given(st.data())
def test_every_detector_is_run_on_what_it_detects(data: st.DataObject) -> None:
    """What is looked for first is in each of its secrets, whatever else stands around them."""
    from automemory import redact as module

    detector = data.draw(st.sampled_from((*module._DETECTORS, *module._SHAPED)))
    secret = data.draw(st.sampled_from(module._patterns(detector)).flatmap(st.from_regex))
    assert detector in tuple(module._worth_running(secret))


def test_a_callers_rule_sees_redacted_text_and_has_the_last_word() -> None:
    """1.6: `redact=` takes a callable on top of the built-in rules."""
    seen: list[str] = []

    def extra(text: str) -> str:
        seen.append(text)
        return text.replace("Bob", "[name]")

    assert make_redactor(extra)("Bob: password=hunter2") == f"[name]: password={MASK}"
    assert seen == [f"Bob: password={MASK}"]
    assert (
        make_redactor()("password=hunter2") == make_redactor(None)("password=hunter2") == f"password={MASK}"
    )


def test_a_failing_rule_lets_nothing_through(caplog: pytest.LogCaptureFixture) -> None:
    """B73: fail closed; the log names the kind of failure, not what it was about."""

    def broken(text: str) -> str:
        raise ValueError(f"cannot handle {text}")

    with caplog.at_level(logging.WARNING):
        assert make_redactor(broken)("Bob's diagnosis") == MASK
        assert make_redactor(lambda text: None)("Bob's diagnosis") == MASK  # type: ignore[arg-type,return-value]
    assert "ValueError" in caplog.text and "NoneType" in caplog.text
    assert "Bob" not in caplog.text
