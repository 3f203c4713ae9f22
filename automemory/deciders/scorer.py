"""The learned boundary score: linear heads over vectors, trees over features, calibrations; numpy only."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from automemory.decision import Granularity

Row = npt.NDArray[np.float32]
Ensemble = Literal["default", "fine"]
ENSEMBLES: tuple[Ensemble, ...] = ("default", "fine")
WEIGHTS = Path(__file__).with_name("boundary.npz")


@dataclass(frozen=True, slots=True)
class Trees:
    """Boosted trees as arrays, one row a tree; a leaf points to itself."""

    feature: npt.NDArray[np.int16]
    threshold: npt.NDArray[np.float32]
    left: npt.NDArray[np.int16]
    right: npt.NDArray[np.int16]
    value: npt.NDArray[np.float32]
    depth: int
    baseline: float

    def score(self, row: Row) -> float:
        """The log odds of a row of features."""
        roots = np.arange(0, self.feature.size, self.feature.shape[1])
        below = np.where(row[self.feature] <= self.threshold, self.left, self.right)
        child = (below + roots[:, None]).ravel()  # of every node, all trees one behind the other
        node = roots
        for _ in range(self.depth):
            node = child[node]
        return self.baseline + float(self.value.ravel()[node].sum(dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Scorer:
    """p(boundary) of a turn.

    Attributes:
        heads: Linear heads over `features.probe`, one a row, trained on different kinds of conversation.
        trees: Over the named features and, last, the heads' answers; one ensemble for intentions (`coarse`
            and `default`), one for the topics that `fine` asks for.
        names: The features' names, in order.
        calibration: Slope and offset of the log odds of each ensemble.
        thresholds: From which probability on a turn is cut, for each granularity.
        about: How the weights came about.
    """

    heads: npt.NDArray[np.float32]
    trees: Mapping[Ensemble, Trees]
    names: tuple[str, ...]
    calibration: Mapping[Ensemble, tuple[float, float]]
    thresholds: Mapping[Granularity, float]
    about: Mapping[str, Any] = field(default_factory=dict)

    def probability(
        self, named: Mapping[str, float], probe: Row, ensembles: Sequence[Ensemble] = ("default",)
    ) -> float:
        """The highest of the ensembles' calibrated probabilities, rounded to 4 places.

        Raises:
            KeyError: if a feature is missing.
        """
        row = np.array([*(named[name] for name in self.names), *(self.heads @ probe)], dtype=np.float32)
        return max(self._probability(ensemble, row) for ensemble in ensembles)

    def _probability(self, ensemble: Ensemble, row: Row) -> float:
        slope, offset = self.calibration[ensemble]
        return round(1 / (1 + math.exp(-(slope * self.trees[ensemble].score(row) + offset))), 4)


@lru_cache(maxsize=1)
def shipped() -> Scorer:
    """The scorer that comes with the package."""
    return load(WEIGHTS)


def load(path: Path) -> Scorer:
    with np.load(path, allow_pickle=False) as data:
        meta = json.loads(str(data["meta"]))
        trees = {ensemble: _trees(data, meta, ensemble) for ensemble in ENSEMBLES}
        heads = data["heads"].astype(np.float32)
    calibration = {ensemble: _pair(*meta["calibration"][ensemble]) for ensemble in ENSEMBLES}
    return Scorer(heads, trees, tuple(meta["names"]), calibration, meta["thresholds"], meta["about"])


def save(scorer: Scorer, path: Path) -> None:
    meta = {
        "trees": {name: {"depth": t.depth, "baseline": t.baseline} for name, t in scorer.trees.items()},
        "names": scorer.names,
        "calibration": dict(scorer.calibration),
        "thresholds": dict(scorer.thresholds),
        "about": dict(scorer.about),
    }
    arrays = {
        f"{ensemble}.{name}": getattr(trees, name)
        for ensemble, trees in scorer.trees.items()
        for name in _ARRAYS
    }
    np.savez_compressed(
        path, **arrays, heads=scorer.heads.astype(np.float16), meta=np.array(json.dumps(meta, sort_keys=True))
    )


_ARRAYS = ("feature", "threshold", "left", "right", "value")


def _trees(data: Mapping[str, npt.NDArray[Any]], meta: Mapping[str, Any], ensemble: Ensemble) -> Trees:
    arrays: dict[str, Any] = {name: data[f"{ensemble}.{name}"] for name in _ARRAYS}
    return Trees(**arrays, **meta["trees"][ensemble])


def _pair(slope: float, offset: float) -> tuple[float, float]:
    return slope, offset
