"""`automemory eval`, over real files, with the embedded decider and with a model on loopback."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from stub_openai import Reply, Request, StubOpenAI

from automemory.cli import main, terminal
from automemory.cli.common import INPUT, MODEL, USAGE

WORDS = [
    "Fix the login form in login.py, it refuses an empty password",
    "Does login.py refuse a very long password as well?",
    "Now something else: book me a flight from Berlin to Rome on Friday",
    "What is the cheapest flight on that day?",
]
REPLIES = [
    "I changed the check in login.py, so that an empty password gets a clear message.",
    "Yes, everything above 128 characters is refused in login.py.",
    "There are three flights from Berlin to Rome on Friday, the first at 9:40.",
    "The flight at 14:05 is the cheapest one.",
]


CUT = json.dumps({"intent": "new", "continue": False, "new_event_slug": "flight", "confidence": 0.9})
GO_ON = json.dumps({"intent": "develop", "continue": True, "summary_patch": "More.", "summary": "S."})


def conversation(name: str, **more: Any) -> str:
    turns = [
        utterance
        for words, reply in zip(WORDS, REPLIES, strict=True)
        for utterance in ({"role": "user", "text": words}, {"role": "assistant", "text": reply})
    ]
    return json.dumps({"id": name, "turns": turns, "boundaries": [4]} | more) + "\n"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings from outside, and standard streams as they were."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("AUTOMEMORY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(terminal, "prepare_streams", lambda: None)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text(conversation("one") + conversation("two"), encoding="utf-8")
    return path


def test_prints_measures_with_floors_beside(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", str(data), "--sweep"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    lines = told.out.splitlines()
    assert "measure\tlocal\tnever\trandom\tcosine" in lines
    rows = {line.split("\t")[0]: line.split("\t")[1:] for line in lines if "\t" in line}
    assert rows["F1"][:2] == ["1.000", "0.000"]
    assert rows["Pk"][0] == "0.000"
    assert rows["calls a turn"] == ["0.000"]
    assert {"0.005", "0.95"} <= set(rows)


def test_json_is_one_document(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = data.with_name("other.jsonl")
    other.write_text(conversation("three", returns={}), encoding="utf-8")
    assert main(["eval", str(data), str(other), "--json", "--level", "utterance"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["decider"], found["level"], found["granularity"]) == ("local", "utterance", "fine")
    assert {name: m["turns"] for name, m in found["families"].items()} == {
        "data": 16,
        "other": 8,
        "all families": 24,
    }
    assert found["families"]["data"]["returns"] is None
    assert found["families"]["other"]["returns"]["due"] == 0
    assert set(found["families"]["data"]["floors"]) == {"never", "random", "cosine"}


def test_predictions_can_be_labels_again(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Scored against its own predictions the same decider is perfect, at either level."""
    for level in ("turn", "utterance"):
        written = data.with_name(f"{level}.jsonl")
        assert main(["eval", str(data), "--level", level, "--predictions", str(written)]) == 0
        lines = [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]
        assert [line["id"] for line in lines] == ["one", "two"]
        assert all(set(line) == {"id", "boundaries"} for line in lines)
        step = 2 if level == "turn" else 1
        again = data.with_name("again.jsonl")
        again.write_text(
            "".join(
                conversation(line["id"], boundaries=[step * i for i in line["boundaries"]]) for line in lines
            ),
            encoding="utf-8",
        )
        capsys.readouterr()
        assert main(["eval", str(again), "--level", level, "--json"]) == 0
        quality = json.loads(capsys.readouterr().out)["families"]["again"]["quality"]
        assert (quality["f1"], quality["pk"]) == (1, 0)


def test_families_of_one_file_are_what_its_conversations_say(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data.write_text(conversation("a", family="code") + conversation("b", family="chat"), encoding="utf-8")
    assert main(["eval", str(data), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["families"]) == {"code", "chat", "all families"}


def test_limit_takes_the_first_of_each_file(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", str(data), "--json", "--limit", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["families"]["data"]["conversations"] == 1


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (conversation("x") + "{\n", "data.jsonl: line 2 is no labelled conversation"),
        ("", "data.jsonl: no labelled conversation in it"),
        (conversation("x", boundaries=[50]), "there is no turn 50"),
    ],
)
def test_bad_data_is_one_clear_line(
    data: Path, capsys: pytest.CaptureFixture[str], content: str, told: str
) -> None:
    """Before anything is decided or written."""
    data.write_text(content, encoding="utf-8")
    assert main(["eval", str(data), "--predictions", "p.jsonl"]) == INPUT
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert not Path("p.jsonl").exists()


def test_what_is_read_is_not_written_over(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = data.read_bytes()
    for option in ("--predictions", "--report"):
        assert main(["eval", str(data), option, str(data)]) == USAGE
        assert "write to another one" in capsys.readouterr().err
    assert main(["eval", str(data), "--predictions", "none/p.jsonl"]) == USAGE
    assert data.read_bytes() == before


def test_turns_that_nobody_began_ask_for_the_other_level(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turns = [{"role": "speaker1", "text": "hi"}, {"role": "speaker2", "text": "ho"}]
    data.write_text(conversation("x", turns=turns, boundaries=[]), encoding="utf-8")
    assert main(["eval", str(data)]) == 0
    assert "--level utterance?" in capsys.readouterr().err


def test_a_model_is_asked_and_its_cost_counted(
    data: Path, stub: StubOpenAI, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every turn is one call here; the summaries of events that end are not the turns' cost."""
    monkeypatch.setenv("OPENAI_BASE_URL", stub.url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    stub.always(lambda request: CUT if "something else" in said(request) else GO_ON)
    assert (
        main(["eval", str(data), "--decider", "llm", "--model", "openai:stub", "--json", "--limit", "1"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    measures = found["families"]["data"]
    assert (found["decider"], found["model"], found["cuts_from"]) == ("llm", "openai:stub", None)
    assert measures["quality"]["f1"] == 1
    assert measures["calls"] == 1
    assert measures["prompt_tokens"] > 0
    assert found["spent"]["calls"] == len(stub.requests)


def said(request: Request) -> str:
    """The turn that is asked about."""
    return str(request.body["messages"][-1]["content"]).partition("<turn>")[2].partition("</turn>")[0]


def test_a_model_that_never_answers_fails_the_evaluation(
    data: Path, stub: StubOpenAI, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Measures of the decider that stood in for it would be taken for the model's."""
    monkeypatch.setenv("OPENAI_BASE_URL", stub.url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    stub.always(lambda request: Reply(status=401))
    assert main(["eval", str(data), "--decider", "llm", "--model", "openai:stub", "--json"]) == MODEL
    told = capsys.readouterr()
    assert json.loads(told.out)["families"]["data"]["fallbacks"] == 8
    assert "the decider failed at 8 of 8 turns: " in told.err
    assert "401" in told.err
