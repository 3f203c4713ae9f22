"""The bundled conversation through the embedded decider: events a person would call right."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from automemory.memory import AutoMemory
from automemory.replay import replay
from automemory.vault.reader import Reader

SCRIPTS = Path(__file__).parent.parent / "scripts"


def test_the_demo_is_cut_about_where_a_person_would(
    open_memory: Callable[..., AutoMemory], vault: Path
) -> None:
    """No change of task is missed, few turns are cut off from theirs, and what the README shows is there."""
    labels = list(json.loads((SCRIPTS / "demo-expected.json").read_text(encoding="utf-8"))["turns"].values())
    memory = open_memory(decider="local", timezone="Asia/Shanghai", recent_scope="stream")
    replay([SCRIPTS / "demo-conversation.jsonl"], memory)
    reader = Reader(vault)
    turns = [(turn.at, event.name) for event in reader.events() for turn in reader.event(event.path).turns]
    events = [name for _, name in sorted(turns, key=lambda pair: str(pair[0]))]
    assert len(events) == len(labels)
    cuts = {i for i in range(1, len(events)) if events[i] != events[i - 1]}
    wanted = {i for i in range(1, len(labels)) if labels[i] != labels[i - 1]}
    assert len(wanted - cuts) == 0
    assert len(cuts - wanted) <= 4
    readme = (SCRIPTS.parent / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^automemory (?:show|chain) (\S+)$", readme, re.MULTILINE)
    assert len(shown) == 2 and [len(reader.chain(ref)) for ref in shown] == [1, 2]
