"""Takes rights away from parts of vaults and says what still works; run by a process without rights."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from automemory.boundary import BoundaryDecision
from automemory.decision import EventSummary, Verdict
from automemory.errors import VaultError
from automemory.maintenance.doctor import examine, repair
from automemory.maintenance.rebuild import rebuild
from automemory.memory import AutoMemory
from automemory.vault.reader import Reader

NOON = datetime(2026, 5, 27, 12, 0, tzinfo=UTC)
DAY = "daily/2026-05-27"
FOREIGN = "---\ntitle: A person's own\n---\n"


class Scripted:
    """Opens an event for a question that names one, goes on otherwise."""

    async def decide(self, context: Any) -> Verdict:
        about = context.turn.user.partition("about ")[2]
        decision = BoundaryDecision(continue_=not about, new_event_slug=about, summary_patch="A patch.")
        return Verdict(decision, "local")

    async def summarize(self, event: Any, turns: Any) -> EventSummary:
        return EventSummary(f"{event.slug} is over.")


def memory(vault: Path) -> AutoMemory:
    return AutoMemory(vault, decider=Scripted(), timezone="UTC", durability="os", clock=lambda: NOON)


def say(number: int, text: str) -> list[dict[str, Any]]:
    at = (NOON + timedelta(minutes=number)).isoformat()
    return [{"role": "user", "content": text, "id": f"u{number}", "timestamp": at}]


def asked(vault: Path) -> list[str]:
    reader = Reader(vault)
    return sorted(t.steps[0].text for head in reader.events() for t in reader.event(head.path).turns)


def main(vault: Path, what: str, mode: int, fresh: bool) -> dict[str, Any]:
    """What came of turns while `what` had only the rights of `mode`, and afterwards."""
    target = vault / what
    used = memory(vault)
    for number, text in enumerate(("about closed", "about active")):
        used.record(say(number, text))
    used.record(say(2, "about elsewhere"), thread_id="other")
    (vault / DAY / "foreign").mkdir()
    (vault / DAY / "foreign" / "foreign.md").write_text(FOREIGN, "utf-8")
    before = target.stat().st_mode
    Path(target).chmod(mode)
    if fresh:
        used.close()
        used = memory(vault)
    outcomes = [
        used.record(say(3 + n, "on"), thread_id=t).outcome for n, t in enumerate(("main", "other", "new"))
    ]
    outcomes.append(used.record(say(1, "about active")).outcome)
    unsure = [finding.code for finding in examine(vault, NOON).findings]
    repaired = repair(vault, NOON, lambda agent: memory(vault)).error
    try:
        changed = rebuild(vault)
    except VaultError as error:
        changed = [str(error)]
    index = Reader(vault).day("2026-05-27").lines if os.access(vault / f"{DAY}.md", os.R_OK) else ()
    Path(target).chmod(before)
    used.flush()
    used.record(say(6, "last"))
    used.close()
    return {
        "outcomes": outcomes,
        "codes": unsure,
        "repaired": repaired,
        "rebuilt": changed,
        "index": [line.event for line in index],
        "asked": asked(vault),
        "left": [f.code for f in examine(vault, NOON).findings if f.code != "also-open"],
    }


if __name__ == "__main__":
    cases = json.load(sys.stdin)
    print(json.dumps([main(Path(vault), what, mode, when == "fresh") for vault, what, mode, when in cases]))
