from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from automemory.deciders.encoder import CACHE_SIZE, GROUP_TOKENS, ROWS, UseEncoder, _filled, _groups, clip

TEXTS = [f"{'the parser reads it twice, ' * (n % 23)}step {n} 好的" for n in range(60)]


@pytest.mark.parametrize("together", [None, False])
def test_rows_are_units_and_do_not_depend_on_company(together: bool | None, monkeypatch) -> None:
    """A text's vector is bit-identical alone, among others in any order, and from several threads; also where
    a processor's matrix products would tell them apart, and texts are encoded one by one."""
    if together is not None:
        monkeypatch.setattr("automemory.deciders.encoder._Model._is_exact", lambda model: together)
    one_by_one, encoder = UseEncoder(), UseEncoder()
    alone = np.concatenate([one_by_one.encode([text]) for text in TEXTS])
    shuffled = np.random.default_rng(1).permutation(len(TEXTS))
    assert (encoder.encode([TEXTS[i] for i in shuffled]) == alone[shuffled]).all()
    assert alone.dtype == np.float32 and alone.shape == (len(TEXTS), 512)
    assert np.allclose(np.linalg.norm(alone, axis=1), 1, atol=1e-5)
    shared = UseEncoder()
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda i: shared.encode(TEXTS[i % 7 : i % 7 + 3])[0], range(14)))
    assert all((row == alone[i % 7]).all() for i, row in enumerate(rows))


def test_groups_are_bounded_and_even() -> None:
    """Every text is in one group, in order; a group fits the library's batch, filled up to whole rows."""
    tokens = [[2] * (1 + 37 * n % 190) for n in range(50)] + [[2] * 500, [2] * 3]
    groups = list(_groups(tokens))
    assert [one for group in groups for one in group] == tokens
    for group in groups:
        filled = _filled(group)
        size = sum(map(len, filled))
        assert filled[: len(group)] == group and len(filled) % ROWS == size % ROWS == 0
        assert size <= GROUP_TOKENS or len(group) == 1


def test_cache_is_bounded(monkeypatch) -> None:
    """Old vectors are dropped, and more texts than it holds are encoded all the same."""
    monkeypatch.setattr("automemory.deciders.encoder.CACHE_SIZE", 2)
    encoder = UseEncoder()
    assert encoder.encode(["a", "b", "c", "a"]).shape == (4, 512)
    assert len(encoder._cache) == 2 < CACHE_SIZE


def test_clip_bounds_what_is_encoded() -> None:
    """Head and tail are kept, long words cut, CJK counted as what it costs."""
    text = "start " + "word " * 1000 + "end"
    assert clip(text).startswith("start word") and clip(text).endswith("word end") and len(clip(text)) <= 401
    assert len(clip("字" * 1000)) <= 101
    assert len(clip("x" * 5000)) <= 40
    assert clip(" a\n b ") == "a b"
