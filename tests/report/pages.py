"""Owns runs to make pages of: a graded world small enough for any test, and pages from a run's folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import judge
from judge.report.html import ReportExtras, render_report
from judge.report.page.payload import PageBudget
from judge.runs.record_json import summary_from_json, to_version_1

Row = dict[str, Any]


def held(folder: Path, name: str) -> Row:
    """The JSON object in a file of a run's folder."""
    found: Row = json.loads((folder / name).read_text(encoding="utf-8"))
    return found


def page_of(folder: Path, budget: PageBudget | None = None) -> str:
    """The report of a finished run."""
    results = held(folder, "results.json")
    summary = to_version_1(summary_from_json(results["summary"], folder.name))
    labelled = (folder / "agreement.json").exists()
    agreement = held(folder, "agreement.json") if labelled else None
    beside = ReportExtras(agreement, held(folder, "config.json"))
    return "".join(render_report(folder.name, summary, lambda: results["queries"], beside, budget))


def data_of(text: str) -> Row:
    """What the query browser of a page is given."""
    found = re.search(r'<script type="application/json" id="payload">(.*?)</script>', text, re.DOTALL)
    assert found
    data: Row = json.loads(found[1])
    return data


def ran(out: Path, rows: Iterable[Mapping[str, Any]] | Path) -> Path:
    """The folder of a run over the rows, judged by the lexical floor."""
    data = str(rows) if isinstance(rows, Path) else [dict(row) for row in rows]
    judge.run(data, model="lexical", out=str(out))
    return out


def entries(queries: int, engines: Sequence[str], results: int, text: str) -> Callable[[], Iterator[Row]]:
    """Queries as results.json has them, made one by one: engine e's score on query q is about q/queries."""

    def walk() -> Iterator[Row]:
        for number in range(queries):
            yield {
                "query_id": f"q{number}",
                "query": f"question {number}",
                "lang": "en",
                "engines": {
                    engine: {
                        "scores": {"P@5": (number * 7919 % queries + place / 10) / (queries + 1)},
                        "snippets": [_snippet(number, rank, text) for rank in range(1, results + 1)],
                    }
                    for place, engine in enumerate(engines)
                },
            }

    return walk


def _snippet(query: int, rank: int, text: str) -> Row:
    said = {"repeat": 1, "verdict": "yes", "grade": 2, "reason": "it says so", "error": None, "flags": []}
    return {
        "rank": rank,
        "snippet_id": f"{query}-{rank}",
        "document": f"d{query}-{rank}",
        "title": f"page {rank}",
        "url": f"https://site.example/{query}/{rank}",
        "snippet": text,
        "judgments": [said],
    }
