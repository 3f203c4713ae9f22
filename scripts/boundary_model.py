"""Trains the boundary scorer and replays it over dialogues: for train_boundary.py and bench_boundaries.py."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from boundary_data import FINE_SETS, Dialogue, Stream, histories, moved
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from automemory.deciders.encoder import UseEncoder, clip
from automemory.deciders.features import Look, features, probe
from automemory.deciders.local import LocalDecider, continues_by_rule
from automemory.deciders.scorer import ENSEMBLES, Ensemble, Scorer, Trees
from automemory.decision import DecisionContext, EventView, Exchange, Granularity
from automemory.evaluate import score

SEED, FOLDS = 20250601, 5
PASSES = ((0.0, 0.0), (0.3, 0.08), (0.5, 0.2))
"""Histories trained on: the labels' own, and two with boundaries missed and made up."""
SET_WEIGHT = {"real-agent": 3.0, "spliced-agent": 3.0, "tiage": 1.5, "tiage-val": 1.5}
"""How much a decision of a set counts; 1 where nothing is said."""
SOFT_WEIGHT, MOVED_WEIGHT = 0.3, 0.3
"""How much a soft turn counts for either answer, and a turn moved into another history."""
HEADS = (
    (("real-agent", "spliced-agent"), 150.0, 1024),
    (("sgd", "crosswoz"), 300.0, 2048),
    (FINE_SETS, 300.0, 2048),
)
"""What each linear head is trained on, its ridge, how much of a probe it reads: the agent sets are too small
for the replies alone."""
TREES: Mapping[Ensemble, Mapping[str, Any]] = {
    "default": {"max_iter": 200, "learning_rate": 0.05, "min_samples_leaf": 100},
    "fine": {"max_iter": 200, "learning_rate": 0.065, "min_samples_leaf": 60},
}
ALL_TREES = {"max_leaf_nodes": 12, "l2_regularization": 20.0, "max_features": 0.3, "early_stopping": False}
BAGS: Mapping[Ensemble, int] = {"default": 2, "fine": 1}
"""Ensembles of different seeds whose mean is taken: the agent sets are small, one alone is noisy."""
UNCALIBRATED: Mapping[Ensemble, tuple[float, float]] = {"default": (1.0, 0.0), "fine": (1.0, 0.0)}


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
    """Decisions to learn from, a row each; `probe` is the row of its vectors in `probes`."""

    names: tuple[str, ...]
    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    fold: np.ndarray
    probe: np.ndarray
    probes: np.ndarray
    sets: np.ndarray
    soft: np.ndarray
    moments: dict[tuple[int, int], Moments] = field(default_factory=dict)
    fitted: dict[tuple[int, ...], np.ndarray] = field(default_factory=dict)

    def of(self, ensemble: Ensemble) -> np.ndarray:
        """Which decisions an ensemble learns from."""
        return np.isin(self.sets, FINE_SETS) == (ensemble == "fine")


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
    """Every scored decision of the dialogues, under several histories; a soft turn with both answers.

    Turns of agent sessions are also moved into histories of other sessions of their fold.
    """
    rows: list[tuple[Any, ...]] = []
    probes: list[np.ndarray] = []
    index: dict[tuple[Exchange, Exchange], int] = {}
    names: tuple[str, ...] = ()
    for d, turn, event, label, is_moved in _met(dialogues, folds):
        seen, recent = look(turn), [look(e) for e in event.recent]
        named = features(seen, recent, look(event.opening), event.turns)
        names = tuple(named)
        pair = turn, event.recent[-1]
        if pair not in index:
            index[pair] = len(index)
            probes.append(probe(seen, recent[-1]))
        for y in (True, False) if label is None else (label,):
            rows.append((tuple(named.values()), y, label is None, is_moved, d.set, folds[d.id], index[pair]))
    x, y, soft, moved_rows, sets, fold, probe_rows = map(np.array, zip(*rows, strict=True))
    weight = np.array([SET_WEIGHT.get(name, 1.0) for name in sets], dtype=np.float64)
    weight *= np.where(soft, SOFT_WEIGHT, np.where(moved_rows, MOVED_WEIGHT, 1.0))
    samples = Samples(
        names, x.astype(np.float32), y.astype(np.int8), weight, fold, probe_rows, np.stack(probes), sets, soft
    )
    for i, (kinds, _, size) in enumerate(HEADS):
        for number in np.unique(fold):
            samples.moments[i, int(number)] = _moments(samples, kinds, size, number)
    return samples


Met = tuple[Dialogue, Exchange, EventView, bool | None, bool]


def _met(dialogues: Sequence[Dialogue], folds: dict[str, int]) -> Iterable[Met]:
    """Every turn that no rule decides, with the events it meets under the histories of `PASSES`, its label,
    and whether it was moved there.
    """
    for number, (miss, spurious) in enumerate(PASSES):
        for d in dialogues:
            for i, event in histories(d, SEED + number, miss, spurious):
                if not _ruled(d, d.turns[i], event):
                    yield d, d.turns[i], event, d.labels[i], False
    for fold in sorted(set(folds.values())):
        for d, turn, event, label in moved([d for d in dialogues if folds[d.id] == fold], SEED):
            if not _ruled(d, turn, event):
                yield d, turn, event, label, True


def _ruled(d: Dialogue, turn: Exchange, event: EventView) -> bool:
    return continues_by_rule(DecisionContext(turn, event, granularity=granularity(d)))


@dataclass(frozen=True)
class Moments:
    """What a weighted ridge regression needs of some decisions; those of several folds are added up."""

    xx: np.ndarray
    xy: np.ndarray
    x: np.ndarray
    y: float
    weight: float

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.xx + other.xx,
            self.xy + other.xy,
            self.x + other.x,
            self.y + other.y,
            self.weight + other.weight,
        )

    def solve(self, ridge: float) -> np.ndarray:
        """Coefficients for deviations from the mean label."""
        if not self.weight:
            return np.zeros(len(self.x))
        against = self.xy - self.x * (self.y / self.weight)
        return np.linalg.solve(self.xx + ridge * np.eye(len(self.x)), against)


def _moments(s: Samples, sets: Sequence[str], size: int, fold: int) -> Moments:
    """Of decisions that are sure, each pair of turns once; here a moved turn counts like any other."""
    rows = np.flatnonzero((s.fold == fold) & np.isin(s.sets, sets) & ~s.soft)
    rows = rows[np.unique(s.probe[rows], return_index=True)[1]]
    x = s.probes[s.probe[rows], :size].astype(np.float64)
    weight = np.array([SET_WEIGHT.get(name, 1.0) for name in s.sets[rows]], dtype=np.float64)
    weighted = x * weight[:, None]
    y = s.y[rows]
    return Moments(
        x.T @ weighted, weighted.T @ y, weighted.sum(0), float((weight * y).sum()), float(weight.sum())
    )


def fit_heads(s: Samples, folds: Iterable[int]) -> np.ndarray:
    """Ridge regressions, one a row, each on its own kind of conversation; the same folds are fitted once."""
    known = sorted(folds)
    if tuple(known) in s.fitted:
        return s.fitted[tuple(known)]
    heads = []
    for i, (_, ridge, size) in enumerate(HEADS):
        total = s.moments[i, known[0]]
        for fold in known[1:]:
            total += s.moments[i, fold]
        heads.append(np.pad(total.solve(ridge), (0, s.probes.shape[1] - size)))
    fitted = s.fitted[tuple(known)] = np.stack(heads).astype(np.float16).astype(np.float32)
    return fitted


def train(s: Samples, folds: Collection[int]) -> Scorer:
    """Heads, then trees over features and out-of-fold head scores; calibration and thresholds are set
    later.
    """
    inner = np.zeros((len(s.y), len(HEADS)), dtype=np.float32)
    for fold in folds:
        here = s.fold == fold
        inner[here] = s.probes[s.probe[here]] @ fit_heads(s, set(folds) - {fold}).T
    x, mask = np.column_stack([s.x, inner]), np.isin(s.fold, list(folds))
    trees = {ensemble: _boost(x, s, mask & s.of(ensemble), ensemble) for ensemble in ENSEMBLES}
    return Scorer(
        fit_heads(s, folds), trees, s.names, UNCALIBRATED, {"coarse": 0.5, "default": 0.5, "fine": 0.5}
    )


def _boost(x: np.ndarray, s: Samples, mask: np.ndarray, ensemble: Ensemble) -> Trees:
    bagged = []
    for bag in range(BAGS[ensemble]):
        model = HistGradientBoostingClassifier(**TREES[ensemble], **ALL_TREES, random_state=SEED + bag)
        bagged.append(_export(model.fit(x[mask], s.y[mask], sample_weight=s.weight[mask])))
    return _mean(bagged)


def cross_validate(
    s: Samples, calibration: Mapping[Ensemble, tuple[float, float]] = UNCALIBRATED
) -> list[Scorer]:
    """A scorer for each fold, trained on the other folds."""
    folds = set(range(FOLDS))
    return [replace(train(s, folds - {fold}), calibration=calibration) for fold in range(FOLDS)]


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


def _mean(bagged: Sequence[Trees]) -> Trees:
    """One ensemble whose log odds are the mean of several."""
    width = max(t.feature.shape[1] for t in bagged)

    def joined(name: str) -> np.ndarray:
        arrays = [getattr(t, name) for t in bagged]
        return np.concatenate([np.pad(a, ((0, 0), (0, width - a.shape[1]))) for a in arrays])

    return Trees(
        *(joined(name) for name in ("feature", "threshold", "left", "right")),
        joined("value") / np.float32(len(bagged)),
        max(t.depth for t in bagged),
        float(np.mean([t.baseline for t in bagged])),
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
    pairs = [list(zip(o.cut, o.dialogue.labels, strict=True))[1:] for o in outcomes]
    found = score(chain.from_iterable(pairs))
    return {
        "f1": found.f1, "precision": found.precision, "recall": found.recall,
        "density": found.predicted / max(found.turns, 1), "turns": found.turns,
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
