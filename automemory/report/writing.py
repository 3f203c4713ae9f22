"""Where a report goes, and which parts it has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from automemory.errors import ConfigError

if TYPE_CHECKING:
    from automemory.evaluate.run import Evaluation
    from automemory.replay import ReplayReport
    from automemory.settings import Settings
    from automemory.trace import Trace


def page_for(path: Path | None) -> ReportPage:
    """A report to be written to a file; without one, writing it does nothing.

    Raises:
        ConfigError: if it could not be written later, so that nobody waits for a page in vain.
    """
    if path is not None:
        if find_spec("plotly") is None:
            raise ConfigError("--report needs plotly: pip install 'automemory[report]'")
        if path.is_dir() or not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
            raise ConfigError(f"{path}: cannot be written: give a file in a folder that is there")
    return ReportPage(path)


class ReportPage:
    """A page that is made at the end; see `page_for`."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def write_replay(self, report: ReplayReport, trace: Trace, settings: Settings) -> None:
        """Write what a replay decided."""
        if self._path is None:
            return
        from automemory.evaluate.run import thresholds
        from automemory.report import page
        from automemory.report.charts import Lines

        shown = page.Shown.of(trace)
        sources = ", ".join(source.path for source in report.sources[:5])
        more = f" and {len(report.sources) - 5} more" if len(report.sources) > 5 else ""
        sections = [
            page.Section("summary", "Summary", page.tiles(_totals(trace))),
            page.deciders(trace.times),
            page.conversations(trace, shown, Lines(*thresholds(settings)[1:])),
        ]
        self._write(self._path, page.page("automemory replay", sources + more, sections))

    def write_evaluation(self, found: Evaluation, trace: Trace) -> None:
        """Write what an evaluation measured."""
        if self._path is None:
            return
        from automemory.report import page, scores
        from automemory.report.charts import Lines

        shown = page.Shown.of(trace)
        sections = [
            page.Section("summary", "Summary", page.tiles(_totals(trace))),
            page.Section("measures", "Measures", scores.measures(found)),
            page.Section("curves", "Thresholds, calibration, cascade", scores.curves(found)),
            page.marked(trace, shown),
            page.deciders(trace.times),
            page.conversations(trace, shown, Lines(found.cuts_from, found.asks_from)),
        ]
        self._write(self._path, page.page("automemory eval", scores.about(found), sections))

    def _write(self, path: Path, text: str) -> None:
        try:
            path.write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise ConfigError(f"{path}: cannot be written ({error.strerror or error})") from error


def _totals(trace: Trace) -> Mapping[str, object]:
    totals = trace.totals
    return {
        "conversations": len(trace.conversations),
        "turns": totals["turns"],
        "events": totals["events"],
        "model calls": totals["calls"],
        "tokens": totals["prompt_tokens"] + totals["completion_tokens"],
        "median decision": "–" if trace.ms is None else f"{trace.ms:.0f} ms",
        "failures": totals["errors"],
    }
