"""One page to look at, of a replay or an evaluation: `--report out.html`."""

from automemory.report.writing import ReportPage, page_for

__all__ = ["ReportPage", "page_for"]
