"""Write report.html into a run's folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from judge.analysis.summary import Summary
from judge.report import html
from judge.runs.folder import RunFolder
from judge.runs.load import load_agreement
from judge.runs.record_json import to_json, to_version_1
from judge.runs.results import QueryEntry


def write_report(
    folder: RunFolder, summary: Summary, read_queries: Callable[[], Iterable[QueryEntry]]
) -> Path:
    """Write report.html and return its path; `read_queries` gives the queries anew each time.

    The report shows agreement with people when the folder has an agreement.json about these grades, and
    the decision of the night when the run belongs to one.
    """
    agreement = load_agreement(folder)
    if agreement is not None and agreement.grades != summary.grades:
        agreement = None
    extras = html.ReportExtras(
        None if agreement is None else to_json(agreement),
        folder.read_if_there("config.json") or {},
        folder.read_if_there("night.json") or {},
    )
    name = folder.path.name
    page = html.render_report(name, to_version_1(summary), lambda: map(to_json, read_queries()), extras)
    return folder.write("report.html", page)
