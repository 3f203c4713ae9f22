from __future__ import annotations

import math

import pytest
from conversations import DEPLOY_ZH, LOGIN, context

from automemory.deciders import rarity
from automemory.deciders.features import Look, features, probe
from automemory.deciders.local import LocalDecider
from automemory.deciders.text import words
from automemory.decision import Exchange


@pytest.fixture
def look(decider: LocalDecider) -> Look:
    return Look(decider._encoder)


def named(look: Look, user: str, *before: tuple[str, str], **more: object) -> dict[str, float]:
    asked = context(user, *before, **more)
    assert asked.active is not None
    recent = [look(exchange) for exchange in asked.active.recent]
    return features(look(asked.turn), recent, look(asked.active.opening), asked.active.turns)


@pytest.mark.parametrize("user", ["", "🎉", "Add a test", "再加一个测试", "x" * 5000, "1"])
def test_every_turn_has_every_feature(look: Look, user: str) -> None:
    """Whatever a turn says, the same features come in the same order, and each is a number."""
    found = named(look, user, *LOGIN)
    assert list(found) == list(named(look, "Does it work?", *DEPLOY_ZH))
    assert all(math.isfinite(value) for value in found.values())


def test_probe_is_of_fixed_size(look: Look) -> None:
    """What the heads read has one length, also where one side said nothing."""
    sides = [Exchange("Add a test", "Added."), Exchange("Add a test", ""), Exchange("", "")]
    assert {probe(look(a), look(b)).shape for a in sides for b in sides} == {(2048,)}


def test_shared_rare_words_count_more(look: Look) -> None:
    """A rare word of the event in the turn ties the two more than a common one."""
    rare, common = (named(look, f"Explain {word} to Ann", *LOGIN) for word in ("password", "please"))
    assert rare["rare_previous"] > common["rare_previous"]
    assert rare["rare_new"] < common["rare_new"]


def test_names_brought_in_are_counted(look: Look) -> None:
    """A file the event has not met is new; one it works on is not, whatever its folder."""
    assert named(look, "Open cart.py and src/login.py", *LOGIN)["names_new"] == 1
    assert named(look, "Open src/login.py", *LOGIN)["names_new"] == 0


def test_work_on_other_files_shows(look: Look) -> None:
    """Tool calls on what the event is about are told from tool calls on something else."""
    same, other = (
        named(look, "Go on with it", *LOGIN, actions=(f"edit {path}",)) for path in ("login.py", "cart.py")
    )
    assert same["worked_new"] == 0 and other["worked_new"] == 1


def test_saved_work_is_noticed(look: Look) -> None:
    """A commit among the tool calls marks the turn."""
    assert named(look, "Save it", *LOGIN, actions=("bash git commit -m x",))["saves"] == 1
    assert named(look, "Save it", *LOGIN, actions=("bash ls",))["saves"] == 0


def test_rarity_of_words() -> None:
    """What every conversation says is common, what none said is rarest, and order changes no digit."""
    rarest = rarity.rarity("zzyzxq")
    (common,) = words("update")
    assert 0 < rarity.rarity(common) < rarest
    some = ["login", "port", "zzyzxq", "update", "ticket"]
    assert rarity.total(some) == rarity.total(some[::-1])


def test_counting_words() -> None:
    """Rarity is the logarithm of turns over turns with the word, one added to those."""
    table = rarity.count([frozenset({"port"}), frozenset({"port"}), frozenset({"login"}), frozenset()])
    assert float(table.max()) == pytest.approx(math.log(4), abs=1e-3)
    assert float(table.min()) == pytest.approx(math.log(4 / 3), abs=1e-3)
