"""Trains the boundary scorer and replays it over dialogues: for train_boundary.py and bench_boundaries.py."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from boundary_data import FINE_SETS, Dialogue, Stream, histories
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from automemory.deciders.encoder import UseEncoder, clip
from automemory.deciders.features import Look, features, probe
from automemory.deciders.local import LocalDecider, continues_by_rule
from automemory.deciders.scorer import Scorer, Trees
from automemory.decision import DecisionContext, EventView, Granularity

SEED, FOLDS = 20250601, 5
PASSES = ((0.0, 0.0), (0.3, 0.08), (0.5, 0.2))
"""Histories trained on: the labels' own, and two with boundaries missed and made up."""
SET_WEIGHT = {"real-agent": 3.0, "spliced-agent": 3.0, "tiage": 1.5, "tiage-val": 1.5}
"""How much a decision of a set counts; 1 where nothing is said."""
SOFT_WEIGHT = 0.3
HEADS = (("real-agent", "spliced-agent"), ("sgd", "crosswoz"), ("superdialseg", "tiage", "tiage-val"))
HEAD_RIDGE = 300.0
TREES = {
    "max_iter": 260,
    "learning_rate": 0.05,
    "max_leaf_nodes": 12,
    "min_samples_leaf": 60,
    "l2_regularization": 20.0,
    "max_features": 0.3,
}


class CachedEncoder(UseEncoder):
    """The package's encoder, its vectors kept on disk between runs; each is what the encoder itself gives."""

    def __init__(self, folder: Path | None) -> None:
        super().__init__()
        self._path = folder / "vectors.npz" if folder else None
        self._kept: dict[str, np.ndarray] = {}
        self._new = 0
        if self._path and self._path.exists():
            with np.load(self._path) as data:
                self._kept = dict(zip(data["keys"].tolist(), data["vectors"], strict=True))

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self._stored(clip(text)) for text in texts])

    def _stored(self, text: str) -> np.ndarray:
        key = hashlib.sha1(text.encode()).hexdigest()
        if key not in self._kept:
            self._kept[key] = self._encode_one(text)
            self._new += 1
        return self._kept[key]

    def save(self) -> None:
        if self._path and self._new:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(self._path, keys=np.array(list(self._kept)), vectors=np.stack(list(self._kept.values())))


@dataclass(frozen=True)
class Samples:
    """Decisions to learn from, a row each; `turn` is the row of its turn in `probes`."""

    names: tuple[str, ...]
    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    fold: np.ndarray
    turn: np.ndarray
    probes: np.ndarray
    sets: np.ndarray
    soft: np.ndarray


def balanced_folds(dialogues: Iterable[Dialogue]) -> dict[str, int]:
    """A fold for each dialogue: groups stay whole, every set is spread evenly by turns."""
    sizes: dict[tuple[str, str], int] = {}
    members: dict[tuple[str, str], list[str]] = {}
    for d in dialogues:
        sizes[d.set, d.group] = sizes.get((d.set, d.group), 0) + len(d.turns)
        members.setdefault((d.set, d.group), []).append(d.id)
    load: dict[tuple[str, int], int] = {}
    found: dict[str, int] = {}
    for key in sorted(sizes, key=lambda k: (k[0], -sizes[k], zlib.crc32(f"{SEED}{k[1]}".encode()))):
        fold = min(range(FOLDS), key=lambda f: (load.get((key[0], f), 0), f))
        load[key[0], fold] = load.get((key[0], fold), 0) + sizes[key]
        found.update(dict.fromkeys(members[key], fold))
    return found


def granularity(d: Dialogue) -> Granularity:
    return "fine" if d.set in FINE_SETS else "default"


def collect(dialogues: Sequence[Dialogue], folds: dict[str, int], look: Look) -> Samples:
    """Every scored decision of the dialogues, under several histories; a soft turn with both answers."""
    rows: list[tuple[Any, ...]] = []
    probes: dict[tuple[str, int], np.ndarray] = {}
    index: dict[tuple[str, int], int] = {}
    names: tuple[str, ...] = ()
    for d, i, event in _met(dialogues):
        turn, recent, label = look(d.turns[i]), [look(e) for e in event.recent], d.labels[i]
        named = features(turn, recent, look(event.opening), event.turns, fine=d.set in FINE_SETS)
        names = tuple(named)
        if (d.id, i) not in index:
            index[d.id, i] = len(index)
            probes[d.id, i] = probe(turn, recent[-1])
        for y in (True, False) if label is None else (label,):
            rows.append((tuple(named.values()), y, label is None, d.set, folds[d.id], index[d.id, i]))
    x, y, soft, sets, fold, turn_index = map(np.array, zip(*rows, strict=True))
    return Samples(
        names, x.astype(np.float32), y.astype(np.int8), _weights(sets, soft), fold, turn_index,
        np.stack(list(probes.values())), sets, soft,
    )  # fmt: skip


def _met(dialogues: Sequence[Dialogue]) -> Iterable[tuple[Dialogue, int, EventView]]:
    """Every turn that no rule decides, with the events it meets under the histories of `PASSES`."""
    for number, (miss, spurious) in enumerate(PASSES):
        for d in dialogues:
            for i, event in histories(d, SEED + number, miss, spurious):
                if not continues_by_rule(DecisionContext(d.turns[i], event, granularity=granularity(d))):
                    yield d, i, event


def _weights(sets: np.ndarray, soft: np.ndarray) -> np.ndarray:
    """A soft turn counts half for either answer, and less than a sure one."""
    return np.array([SET_WEIGHT.get(name, 1.0) for name in sets], dtype=np.float64) * np.where(
        soft, SOFT_WEIGHT, 1.0
    )


def fit_heads(s: Samples, mask: np.ndarray) -> np.ndarray:
    """Ridge regressions, one a row, each on its own kind of conversation."""
    return (
        np.stack([_ridge(s, mask & np.isin(s.sets, sets)) for sets in HEADS])
        .astype(np.float16)
        .astype(np.float32)
    )


def _ridge(s: Samples, mask: np.ndarray) -> np.ndarray:
    if not mask.any():
        return np.zeros(s.probes.shape[1])
    _, first = np.unique(s.turn[mask], return_index=True)
    rows = np.flatnonzero(mask)[first]
    x, w = s.probes[s.turn[rows]], s.weight[rows][:, None].astype(np.float32)
    y = s.y[rows].astype(np.float32)
    y = y - np.average(y, weights=w[:, 0])
    return np.linalg.solve(x.T @ (x * w) + HEAD_RIDGE * np.eye(x.shape[1], dtype=np.float32), (x * w).T @ y)


def train(s: Samples, mask: np.ndarray) -> Scorer:
    """Heads, then trees over features and out-of-fold head scores; calibration and thresholds are set
    later.
    """
    inner = np.zeros((len(s.y), len(HEADS)), dtype=np.float32)
    for fold in np.unique(s.fold[mask]):
        here = s.fold == fold
        inner[here] = (s.probes @ fit_heads(s, mask & ~here).T)[s.turn[here]]
    x = np.column_stack([s.x, inner])[mask]
    rising = [int(name == "fine") for name in s.names] + [0] * len(HEADS)  # finer never means a lower score
    model = HistGradientBoostingClassifier(
        **TREES, monotonic_cst=rising, early_stopping=False, random_state=SEED
    )
    model.fit(x, s.y[mask], sample_weight=s.weight[mask])
    return Scorer(
        fit_heads(s, mask), _export(model), s.names, (1.0, 0.0), {"coarse": 0.5, "default": 0.5, "fine": 0.5}
    )


def cross_validate(s: Samples, calibration: tuple[float, float] = (1.0, 0.0)) -> list[Scorer]:
    """A scorer for each fold, trained on the other folds."""
    return [replace(train(s, s.fold != fold), calibration=calibration) for fold in range(FOLDS)]


def _export(model: HistGradientBoostingClassifier) -> Trees:
    nodes = [stage[0].nodes for stage in model._predictors]
    shape = (len(nodes), max(len(n) for n in nodes))
    feature, left, right = (np.zeros(shape, dtype=np.int16) for _ in range(3))
    threshold, value = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
    for t, tree in enumerate(nodes):
        n, leaf, own = len(tree), tree["is_leaf"].astype(bool), np.arange(len(tree))
        feature[t, :n] = np.where(leaf, 0, tree["feature_idx"])
        threshold[t, :n] = np.where(leaf, 0, tree["num_threshold"])
        left[t, :n], right[t, :n] = np.where(leaf, own, tree["left"]), np.where(leaf, own, tree["right"])
        value[t, :n] = np.where(leaf, tree["value"], 0)
    depth = int(max(tree["depth"].max() for tree in nodes))
    return Trees(
        feature, threshold, left, right, value, depth, float(np.ravel(model._baseline_prediction)[0])
    )


@dataclass(frozen=True)
class Outcome:
    """What a decider did over a dialogue: the probability of every turn, and what was cut."""

    dialogue: Dialogue
    p: tuple[float, ...]
    cut: tuple[bool, ...]


class Replays:
    """Replays dialogues turn by turn, causally, on the decider's own earlier boundaries.

    An event is known by its turns, so a probability is computed once, however many thresholds are tried.

    Args:
        decider_of: The decider of a dialogue.
        level: The granularity asked for; that of the dialogue's set by default.
    """

    def __init__(
        self, decider_of: Callable[[Dialogue], LocalDecider], level: Granularity | None = None
    ) -> None:
        self._decider_of = decider_of
        self._level = level
        self._known: dict[tuple[str, int, int], float] = {}

    def run(self, dialogues: Iterable[Dialogue], threshold: float) -> list[Outcome]:
        return [self._run(d, threshold) for d in dialogues]

    def _run(self, d: Dialogue, threshold: float) -> Outcome:
        stream, start = Stream(), 0
        ps: list[float] = []
        cuts: list[bool] = []
        for i, turn in enumerate(d.turns):
            key = (d.id, start, i)
            if key not in self._known:
                context = DecisionContext(turn, stream.event, granularity=self._level or granularity(d))
                self._known[key] = self._decider_of(d).probability(context)
            ps.append(self._known[key])
            cuts.append(i > 0 and ps[-1] >= threshold)
            start = i if cuts[-1] else start
            stream.take(turn, boundary=cuts[-1])
        return Outcome(d, tuple(ps), tuple(cuts))


def f1(outcomes: Iterable[Outcome]) -> dict[str, float]:
    """Precision, recall and F1 of the cuts, pooled; turns with either answer right are left out."""
    hit = false = missed = total = 0
    for o in outcomes:
        for label, cut in list(zip(o.dialogue.labels, o.cut, strict=True))[1:]:
            if label is None:
                continue
            hit, false, missed = (
                hit + (cut and label),
                false + (cut and not label),
                missed + (label and not cut),
            )
            total += 1
    return {
        "f1": 2 * hit / max(2 * hit + false + missed, 1), "precision": hit / max(hit + false, 1),
        "recall": hit / max(hit + missed, 1), "density": (hit + false) / max(total, 1), "turns": total,
    }  # fmt: skip


def calibrate(outcomes: Iterable[Outcome]) -> tuple[float, float]:
    """Slope and offset that turn the log odds of an uncalibrated replay into probabilities, every set
    counting alike.
    """
    pairs = [(_logit(p), y, o.dialogue.set) for o in outcomes for p, y in scored(o)]
    x, y, sets = (
        np.array([q[0] for q in pairs]),
        np.array([q[1] for q in pairs]),
        np.array([q[2] for q in pairs]),
    )
    weight = np.zeros(len(x))
    for name in np.unique(sets):
        weight[sets == name] = 1000 / (sets == name).sum()
    fitted = LogisticRegression(C=1e6).fit(x[:, None], y, sample_weight=weight)
    return float(fitted.coef_[0, 0]), float(fitted.intercept_[0])


def calibration_error(outcomes: Iterable[Outcome], bins: int = 10) -> float:
    """Expected calibration error over equally wide bins, of turns that a rule did not decide."""
    pairs = [pair for o in outcomes for pair in scored(o)]
    p, y = np.array([q[0] for q in pairs]), np.array([q[1] for q in pairs], dtype=float)
    bin_of = np.minimum((p * bins).astype(int), bins - 1)
    return float(sum(abs(p[bin_of == b].sum() - y[bin_of == b].sum()) for b in range(bins)) / len(p))


def scored(o: Outcome) -> list[tuple[float, bool]]:
    """Probability and label of the turns that have both; a rule gives 0."""
    found = zip(o.p[1:], o.dialogue.labels[1:], strict=True)
    return [(p, label) for p, label in found if label is not None and p > 0]


def _logit(p: float) -> float:
    p = min(max(p, 1e-4), 1 - 1e-4)
    return float(np.log(p / (1 - p)))
