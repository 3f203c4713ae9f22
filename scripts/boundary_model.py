"""Trains the boundary scorer and replays it over dialogues: for train_boundary.py and bench_boundaries.py."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from boundary_data import CHAT_SETS, FINE_SETS, Dialogue, granularity, histories
from boundary_moves import mixed, moved
from sklearn.ensemble import HistGradientBoostingClassifier

from automemory.deciders.encoder import UseEncoder, clip
from automemory.deciders.features import Look, features, probe
from automemory.deciders.local import continues_by_rule
from automemory.deciders.scorer import ENSEMBLES, Ensemble, Scorer, Trees
from automemory.decision import DecisionContext, EventView, Exchange

SEED, FOLDS = 20250601, 5
PASSES = ((0.0, 0.0), (0.3, 0.08), (0.5, 0.2))
"""Histories trained on: the labels' own, and two with boundaries missed and made up."""
SET_WEIGHT = {"real-agent": 3.0, "spliced-agent": 3.0, "tiage": 1.5, "tiage-val": 1.5, "documents": 0.3}
"""How much a decision of a set counts; 1 where nothing is said."""
SOFT_WEIGHT, MOVED_WEIGHT = 0.3, 0.3
"""How much a soft turn counts for either answer, and a turn moved into another history of its source."""
MIXED_WEIGHT = {"documents": 0.5}
"""How much a turn counts that was put after another kind of conversation, whatever its set counts; else 1."""
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
BAGS = 2
"""Ensembles of different seeds whose mean is taken: one alone is noisy."""
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
        keys = {text: hashlib.sha1(clip(text).encode()).hexdigest() for text in texts}
        new = {key: text for text, key in keys.items() if key not in self._kept}
        if new:
            self._kept.update(zip(new, super().encode(list(new.values())), strict=True))
            self._new += len(new)
        return np.stack([self._kept[keys[text]] for text in texts])

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
    mixed: np.ndarray
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


def collect(dialogues: Sequence[Dialogue], folds: dict[str, int], look: Look) -> Samples:
    """Every scored decision of the dialogues, under several histories; a soft turn with both answers.

    Turns are also put into histories they did not have, of dialogues of their fold.
    """
    rows: list[tuple[Any, ...]] = []
    probes: list[np.ndarray] = []
    index: dict[tuple[Exchange, Exchange], int] = {}
    names: tuple[str, ...] = ()
    for d, turn, event, label, way in _met(dialogues, folds):
        seen, recent = look(turn), [look(e) for e in event.recent]
        named = features(seen, recent, look(event.opening), event.turns)
        names = tuple(named)
        pair = turn, event.recent[-1]
        if pair not in index:
            index[pair] = len(index)
            probes.append(probe(seen, recent[-1]))
        for y in (True, False) if label is None else (label,):
            rows.append((tuple(named.values()), y, label is None, way, d.set, folds[d.id], index[pair]))
    x, y, soft, ways, sets, fold, probe_rows = map(np.array, zip(*rows, strict=True))
    weight = np.array([SET_WEIGHT.get(name, 1.0) for name in sets], dtype=np.float64)
    weight *= np.where(soft, SOFT_WEIGHT, np.where(ways == "moved", MOVED_WEIGHT, 1.0))
    is_mixed = ways == "mixed"
    weight[is_mixed] = [MIXED_WEIGHT.get(name, 1.0) for name in sets[is_mixed]]
    x, y, probe_table = x.astype(np.float32), y.astype(np.int8), np.stack(probes)
    samples = Samples(names, x, y, weight, fold, probe_rows, probe_table, sets, soft, is_mixed)
    for i, (kinds, _, size) in enumerate(HEADS):
        for number in np.unique(fold):
            samples.moments[i, int(number)] = _moments(samples, kinds, size, number)
    return samples


Way = Literal["own", "moved", "mixed"]
Met = tuple[Dialogue, Exchange, EventView, bool | None, Way]


def _met(dialogues: Sequence[Dialogue], folds: dict[str, int]) -> Iterable[Met]:
    """Every turn that no rule decides, with the events it meets under the histories of `PASSES`, its label,
    and which way it came into that history.
    """
    for d, turn, event, label, way in _placed(dialogues, folds):
        if not _ruled(d, turn, event) and (label is not None or d.set not in CHAT_SETS):
            yield d, turn, event, label, way


def _placed(dialogues: Sequence[Dialogue], folds: dict[str, int]) -> Iterable[Met]:
    for number, (miss, spurious) in enumerate(PASSES):
        for d in dialogues:
            if number == 0 or d.set not in CHAT_SETS:
                for i, event in histories(d, SEED + number, miss, spurious):
                    yield d, d.turns[i], event, d.labels[i], "own"
    for fold in sorted(set(folds.values())):
        here = [d for d in dialogues if folds[d.id] == fold]
        for d, turn, event, label in moved(here, SEED):
            yield d, turn, event, label, "moved"
        for d, turn, event, label in mixed(here, SEED):
            yield d, turn, event, label, "mixed"


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
    """Of decisions that are sure, each pair of turns once; here a moved turn counts like any other, and a
    mixed one not at all: a head learns how one kind of conversation goes on.
    """
    rows = np.flatnonzero((s.fold == fold) & np.isin(s.sets, sets) & ~s.soft & ~s.mixed)
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
    for bag in range(BAGS):
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
