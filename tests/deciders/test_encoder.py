from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from automemory.deciders.encoder import CACHE_SIZE, UseEncoder, clip


def test_rows_are_units_and_do_not_depend_on_company() -> None:
    """A text's vector is bit-identical alone, in company, and from several threads."""
    alone = UseEncoder().encode(["fix the login form"])[0]
    encoder = UseEncoder()
    together = encoder.encode(["hello", "fix the login form", "好的"])
    assert together.dtype == np.float32 and together.shape == (3, 512)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert (together[1] == alone).all()
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda _: encoder.encode(["fix the login form"])[0], range(8)))
    assert all((row == alone).all() for row in rows)


def test_cache_is_bounded(monkeypatch) -> None:
    """Old vectors are dropped."""
    monkeypatch.setattr("automemory.deciders.encoder.CACHE_SIZE", 2)
    encoder = UseEncoder()
    encoder.encode(["a", "b", "c"])
    assert len(encoder._cache) == 2 < CACHE_SIZE


def test_clip_bounds_what_is_encoded() -> None:
    """Head and tail are kept, long words cut, CJK counted as what it costs."""
    text = "start " + "word " * 1000 + "end"
    assert clip(text).startswith("start word") and clip(text).endswith("word end") and len(clip(text)) <= 401
    assert len(clip("字" * 1000)) <= 101
    assert len(clip("x" * 5000)) <= 40
    assert clip(" a\n b ") == "a b"
