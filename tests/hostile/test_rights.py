"""Files and folders that may not be read or written: each holds up nothing but itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DAY = "daily/2026-05-27"
EVERYTHING = sorted(["about closed", "about active", "about elsewhere", "on", "on", "on", "last"])
# Root may read everything: it has to give that up.
WITHOUT = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or (os.geteuid() == 0 and not shutil.which("setpriv")),
    reason="every file can be read here",
)


HELD_UP_BY_NOTHING = [
    (f"{DAY}/active/active.md", 0o000, "open"),
    (f"{DAY}/active/active.md", 0o000, "fresh"),
    (f"{DAY}/active/active.md", 0o400, "open"),
    (f"{DAY}/active", 0o000, "open"),
    (f"{DAY}/closed/closed.md", 0o000, "fresh"),
    (f"{DAY}/closed", 0o000, "open"),
    (f"{DAY}/foreign/foreign.md", 0o000, "open"),
    (f"{DAY}/foreign", 0o000, "fresh"),
]
HELD_UP = {
    (DAY, 0o000, "open"): ["deferred"] * 3,
    (DAY, 0o500, "fresh"): ["recorded", "recorded", "deferred"],
    (f"{DAY}.md", 0o000, "open"): ["recorded", "recorded", "deferred"],
}
Case = tuple[str, int, str]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[Case, dict[str, Any]]:
    """What came of all cases, which one process without rights goes through."""
    cases = [*HELD_UP_BY_NOTHING, *HELD_UP]
    given = [[str(tmp_path_factory.mktemp("rights") / "vault"), *case] for case in cases]
    rights = WITHOUT if os.geteuid() == 0 else []
    command = [*rights, sys.executable, str(Path(__file__).with_name("unreadable.py"))]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip(cases, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("case", HELD_UP_BY_NOTHING, ids=str)
def test_turns_go_on_without_it(found: dict[Case, dict[str, Any]], case: Case) -> None:
    """2.7: the stream whose active event is out of reach opens another one; no other stream notices.

    Nobody takes what cannot be read for gone: the index keeps its line, the turns stay known.
    """
    became = found[case]
    assert became["outcomes"] == ["recorded", "recorded", "recorded", "duplicate"]
    assert not {"turn-lost", "index", "plan", "waiting"} & {*became["codes"]}
    assert became["repaired"] == "" and became["rebuilt"] == []
    for name in ("active", "closed", "elsewhere"):
        assert f"{DAY}/{name}/{name}.md" in became["index"]
    assert became["asked"] == EVERYTHING
    assert not {"turn-twice", "turn-lost", "index"} & {*became["left"]}


@pytest.mark.parametrize("case", HELD_UP, ids=str)
def test_what_needs_it_waits_for_it(found: dict[Case, dict[str, Any]], case: Case) -> None:
    """2.7: a day or an index that cannot be written defers what has to be written there, in order."""
    became = found[case]
    assert became["outcomes"] == [*HELD_UP[case], "duplicate"]
    assert "turn-lost" not in became["codes"]
    assert became["asked"] == EVERYTHING
    assert not {"turn-twice", "turn-lost", "index", "waiting"} & {*became["left"]}
