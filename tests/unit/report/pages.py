"""Runs to make pages of, and pages from the folders of runs."""

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import judge
from judge.analysis.summary import Summary
from judge.report.facts import ReportExtras
from judge.report.html import ReportQueries, read_extras, render_report
from judge.report.payload import PageLimits
from judge.runs.folder import RunFolder
from judge.runs.load import load_summary
from judge.runs.record_json import from_json, summary_from_json
from judge.runs.results_file import (
    EngineEntry,
    JudgmentEntry,
    QueryEntry,
    ReadQueries,
    SnippetEntry,
    read_query_entries,
)

Row = dict[str, Any]


def read_object(folder: Path, name: str) -> Row:
    """The JSON object in a file of a run's folder."""
    value: Row = json.loads((folder / name).read_text(encoding="utf-8"))
    return value


def parse_queries(queries: Iterable[Mapping[str, Any]]) -> Iterator[QueryEntry]:
    """Yield the records of the queries of a results.json."""
    return (from_json(QueryEntry, query, "results.json") for query in queries)


def write_page(place: Path, folder: Path, limits: PageLimits | None = None) -> Path:
    """Write the report of a finished run into the folder `place`."""
    path = place / "report.html"
    path.write_text(render_page(folder, limits), encoding="utf-8")
    return path


def render_results(results: Mapping[str, Any], run: str = "run") -> str:
    """Return the report of a run with this results.json."""
    summary = summary_from_json(results["summary"], run)

    def read_queries(places: Container[int]) -> Iterator[QueryEntry]:
        return parse_queries(query for place, query in enumerate(results["queries"]) if place in places)

    return render_queries(summary, read_queries, run)


def render_page(folder: Path, limits: PageLimits | None = None) -> str:
    """The report of a finished run."""
    summary = load_summary(RunFolder(folder))
    extras = read_extras(RunFolder(folder), summary)
    queries = partial(read_query_entries, folder / "results.json")
    return render_queries(summary, queries, folder.name, extras, limits)


def render_queries(
    summary: Summary,
    read: ReadQueries,
    run: str = "run",
    extras: ReportExtras | None = None,
    limits: PageLimits | None = None,
) -> str:
    """The report of these queries."""
    queries = ReportQueries.from_entries(summary, read, limits)
    return "".join(render_report(run, summary, queries, extras))


def read_data(text: str) -> Row:
    """What the query browser of a page is given."""
    match = re.search(r'<script type="application/json" id="payload">(.*?)</script>', text, re.DOTALL)
    assert match
    data: Row = json.loads(match[1])
    return data


def run_lexical(out: Path, rows: Iterable[Mapping[str, Any]] | Path) -> Path:
    """The folder of a run over the rows, judged by the lexical model."""
    data = str(rows) if isinstance(rows, Path) else [dict(row) for row in rows]
    judge.run(data, model="lexical", out=str(out))
    return out


def make_entries(queries: int, engines: Sequence[str], results: int, text: str) -> ReadQueries:
    """Queries as results.json has them, made one by one: engine e's score on query q is about q/queries."""

    def walk(places: Container[int]) -> Iterator[QueryEntry]:
        for number in filter(places.__contains__, range(queries)):
            yield QueryEntry(
                query_id=f"q{number}",
                query=f"question {number}",
                lang="en",
                engines={
                    engine: EngineEntry(
                        scores={"P@5": (number * 7919 % queries + place / 10) / (queries + 1)},
                        snippets=tuple(
                            make_snippet_entry(number, rank, text) for rank in range(1, results + 1)
                        ),
                    )
                    for place, engine in enumerate(engines)
                },
            )

    return walk


def make_snippet_entry(query: int, rank: int, text: str) -> SnippetEntry:
    """Return a result with one judgment."""
    judgment = JudgmentEntry(repeat=1, verdict="yes", grade=2, reason="it says so", error=None, flags=())
    return SnippetEntry(
        rank=rank,
        snippet_id=f"{query}-{rank}",
        document=f"d{query}-{rank}",
        title=f"page {rank}",
        url=f"https://site.example/{query}/{rank}",
        snippet=text,
        judgments=(judgment,),
    )
