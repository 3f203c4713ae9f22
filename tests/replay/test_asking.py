"""The questions a model would be asked, written down; and given answers, followed and scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stub_openai import StubOpenAI

from automemory.cli import main, terminal
from automemory.cli.common import INPUT, USAGE
from automemory.errors import ConfigError, ImportFailed
from automemory.evaluate import Labelled, Score, read_labelled
from automemory.memory import AutoMemory
from automemory.replay.asking import Key, Question, ask, conversations_of, read_replies
from automemory.vault.reader import Reader

WORDS = [
    "Fix the login form in login.py",
    "Does login.py refuse an empty password?",
    "Thanks!",
    "Plan the offsite in May for twelve people",
    "Which hotel has a meeting room?",
    "Translate the menu into French",
]
LABELLED = {
    "id": "talk",
    "turns": [
        utterance
        for number, words in enumerate(WORDS)
        for utterance in (
            {"role": "user", "text": words},
            {"role": "assistant", "text": f"Answer {number}."},
        )
    ],
    "boundaries": [6],
    "soft_boundaries": [10],
}


def cut(slug: str, **more: Any) -> str:
    return json.dumps({"intent": "new", "continue": False, "new_event_slug": slug} | more)


GO_ON = json.dumps({"intent": "develop", "continue": True, "summary_patch": "More."})


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "labelled.jsonl"
    path.write_text(json.dumps(LABELLED) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def talk(source: Path) -> list[Labelled]:
    return read_labelled(source)


def asked(
    talk: list[Labelled], vault: Path, replies: dict[int, str] | None = None, **options: Any
) -> tuple[list[Question], Score]:
    """The questions, and the score of answers by turn."""
    found: list[Question] = []
    given: dict[Key, str] = {("talk", turn): text for turn, text in (replies or {}).items()}
    score = ask(talk, vault, found.append, replies=given, **options)
    return found, score


def opened(vault: Path) -> list[list[str]]:
    """What the person said in each event."""
    reader = Reader(vault)
    events = [reader.event(head.path) for head in reader.events()]
    return sorted(
        ([turn.steps[0].text for turn in event.turns] for event in events), key=lambda w: WORDS.index(w[0])
    )


def shown(question: Question, tag: str) -> str:
    _, _, rest = question.messages[1][1].partition(f"<{tag}>")
    return rest.partition(f"</{tag}>")[0].strip()


def test_the_questions_are_those_of_a_live_run(
    talk: list[Labelled], vault: Path, tmp_path: Path, stub: StubOpenAI
) -> None:
    """With the same answers, message for message what goes over the wire; acknowledgements are not asked."""
    replies = {0: cut("login"), 1: GO_ON, 3: cut("offsite"), 4: GO_ON, 5: cut("menu")}
    questions, _ = asked(talk, vault, replies)
    stub.always(
        lambda request: (
            json.loads(next(replies[n] for n in reversed(range(6)) if WORDS[n] in turn_of(request)))
            if "<turn>" in request.text
            else {"summary": "S."}
        )
    )

    def turn_of(request: Any) -> str:
        return str(request.text).partition("<turn>")[2]

    with AutoMemory(tmp_path / "live", model=stub.model(), durability="os", recent_scope="stream") as memory:
        for turn in talk[0].turns:
            memory.record(turn, thread_id="talk")
    sent = [
        [(message["role"], message["content"]) for message in request.body["messages"]]
        for request in stub.requests
        if "<turn>" in request.text
    ]
    assert [question.messages for question in questions] == sent
    assert [question.turn for question in questions] == [0, 1, 3, 4, 5]
    assert opened(vault) == opened(tmp_path / "live")


def test_gold_cuts_the_past_at_the_labels(talk: list[Labelled], vault: Path) -> None:
    """Whatever is answered, or nothing; a turn where either answer is right goes on; only answers count."""
    questions, score = asked(talk, vault, {1: cut("wrong"), 3: GO_ON}, gold=True)
    assert opened(vault) == [WORDS[:3], WORDS[3:]]
    assert [question.turn for question in questions] == [0, 1, 3, 4, 5]
    assert shown(questions[3], "previous") == f"person: {WORDS[3]}\nagent: Answer 3."
    assert score == Score(turns=2, boundaries=1, predicted=1, hits=0)


def test_answers_make_the_past(talk: list[Labelled], vault: Path) -> None:
    """As live: names, patches and boundaries are the answers', and the turns left open do not count."""
    replies = {0: cut("login"), 1: GO_ON, 3: cut("offsite"), 4: cut("hotel"), 5: cut("menu")}
    questions, score = asked(talk, vault, replies)
    assert opened(vault) == [WORDS[:3], WORDS[3:4], WORDS[4:5], WORDS[5:]]
    assert shown(questions[-1], "event").startswith("hotel: ")
    assert score == Score(turns=3, boundaries=1, predicted=2, hits=1)
    assert (score.precision, score.recall) == (0.5, 1.0)


@pytest.mark.parametrize("missing", [None, "", "I would rather not say.", '{"continue": fal'])
def test_a_conversation_stops_at_the_first_turn_without_an_answer(
    talk: list[Labelled], vault: Path, missing: str | None
) -> None:
    """That question is written, so that it can be answered; what cannot be read is no answer. The next
    conversation is asked about all the same.
    """
    other = Labelled("other", talk[0].turns[:1], talk[0].labels[:1])
    replies = {0: cut("login"), 1: GO_ON} | ({3: missing} if missing is not None else {})
    questions, score = asked([*talk, other], vault, replies)
    assert [(question.id, question.turn) for question in questions] == [
        ("talk", 0),
        ("talk", 1),
        ("talk", 3),
        ("other", 0),
    ]
    assert score.turns == 1


def test_without_answers_the_local_decider_stands_in(talk: list[Labelled], vault: Path) -> None:
    questions, score = asked(talk, vault)
    assert [question.turn for question in questions] == [0, 1, 3, 4, 5]
    assert score.turns == 0 and opened(vault)[0][0] == WORDS[0]


def test_prompts_of_ones_own_are_asked_with(talk: list[Labelled], vault: Path, tmp_path: Path) -> None:
    """And a folder that is none is told."""
    (tmp_path / "boundary.md").write_text("---\nversion: 1\n---\nNew?", encoding="utf-8")
    questions, _ = asked(talk, vault, gold=True, prompts=tmp_path, granularity="fine")
    assert {question.messages[0] for question in questions} == {("system", "New?")}
    with pytest.raises(ConfigError, match="no folder"):
        asked(talk, vault, prompts=tmp_path / "nowhere")


def test_saved_conversations_are_asked_about_without_labels(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(
        json.dumps([{"role": "user", "content": words} for words in ("a", "b")]), encoding="utf-8"
    )
    [found] = conversations_of(path)
    assert len(found.turns) == len(found.labels) and set(found.labels) == {None}


@pytest.mark.parametrize(
    "line", ["{", '{"id": "a", "turn": 1}', '{"id": "a", "turn": "x", "reply": ""}', "[]"]
)
def test_a_line_that_is_no_answer_is_told_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id": "a", "turn": 0, "reply": {"continue": true}}\n\n' + line + "\n", encoding="utf-8")
    with pytest.raises(ImportFailed, match="line 3"):
        read_replies(path)


def test_answers_are_texts_or_objects(tmp_path: Path) -> None:
    """B49: lines end at line feeds only."""
    path = tmp_path / "answers.jsonl"
    lines = [
        {"id": "a", "turn": 0, "reply": "one\u2028two"},
        {"id": "a", "turn": 1, "reply": {"continue": True}},
    ]
    path.write_text(
        "\r\n".join(json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8", newline=""
    )
    assert read_replies(path) == {("a", 0): "one\u2028two", ("a", 1): '{"continue": true}'}


# The command


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings from outside, and standard streams as they were."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AUTOMEMORY_VAULT", raising=False)
    monkeypatch.setattr(terminal, "prepare_streams", lambda: None)


def test_the_command_prints_questions_and_scores_answers(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Questions on standard output, one JSON object a line, to be answered one by one; the score on standard
    error; nothing is left behind.
    """
    assert main(["prompts", str(source), "--gold"]) == 0
    printed = capsys.readouterr()
    questions = [json.loads(line) for line in printed.out.splitlines()]
    assert [(question["id"], question["turn"]) for question in questions] == [
        ("talk", n) for n in (0, 1, 3, 4, 5)
    ]
    assert [message["role"] for message in questions[0]["messages"]] == ["system", "user"]
    assert printed.err == ""
    answers = tmp_path / "answers.jsonl"
    replies = {0: cut("login"), 1: GO_ON, 3: cut("offsite"), 4: cut("hotel"), 5: cut("menu")}
    answers.write_text(
        "".join(
            json.dumps({"id": question["id"], "turn": question["turn"], "reply": replies[question["turn"]]})
            + "\n"
            for question in questions
        ),
        encoding="utf-8",
    )
    before = set(tmp_path.rglob("*"))
    assert main(["prompts", str(source), "--gold", "--replies", str(answers)]) == 0
    assert capsys.readouterr().err == (
        "turns 3, boundaries 1, predicted 2, hits 1: precision 0.500, recall 1.000, F1 0.667\n"
    )
    assert set(tmp_path.rglob("*")) == before


def test_the_command_records_where_it_is_told(source: Path, vault: Path) -> None:
    assert main(["prompts", str(source), "--gold", "--vault", str(vault)]) == 0
    assert opened(vault) == [WORDS[:3], WORDS[3:]]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nowhere.jsonl"], INPUT),
        (["labelled.jsonl", "--replies", "nowhere.jsonl"], INPUT),
        (["labelled.jsonl", "--prompts-dir", "nowhere"], USAGE),
        (["labelled.jsonl", "--granularity", "huge"], USAGE),
        ([], USAGE),
    ],
)
def test_what_is_not_there_is_told(source: Path, arguments: list[str], code: int, capsys: Any) -> None:
    """The exit code says whose fault it is, the message what is missing."""
    assert main(["prompts", *arguments]) == code
    assert capsys.readouterr().err
