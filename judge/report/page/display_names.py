"""Owns the summary as a page says it: every engine under a name that hides nothing and keeps to itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup, escape

from judge.report.display_text import END, ISOLATE, isolate, one_line

Row = Mapping[str, Any]


class DisplayName(str):
    """What an engine is called; sorts as the engine's own name does, so that ties stand alike everywhere."""

    own: str

    def __new__(cls, label: str, own: str) -> DisplayName:
        """The label, which remembers the engine's own name."""
        called = super().__new__(cls, label)
        called.own = own
        return called

    def __lt__(self, other: str) -> bool:
        return self.own < other.own if isinstance(other, DisplayName) else str(self) < other


def labels(engines: Iterable[str]) -> dict[str, str]:
    """What each engine is called on the page; names that would look alike are numbered."""
    called: dict[str, str] = {}
    for engine in engines:
        plain = label = one_line(engine)
        number = 1
        while label in called.values():
            number += 1
            label = f"{plain} ({number})"
        called[engine] = label
    return called


def _apart(names: Iterable[str]) -> dict[str, str]:
    """Labels as they stand in sentences; isolating a label anew could cut off its number."""
    return {each: f"{ISOLATE}{label}{END}" for each, label in labels(names).items()}


def named(summary: Row) -> dict[str, Any]:
    """The summary with the names of engines isolated, as sentences that are made from it will hold them."""
    called = {engine: DisplayName(label, engine) for engine, label in _apart(summary["engines"]).items()}
    return {
        **summary,
        "engines": _keyed(summary["engines"], called),
        "comparisons": [_pair(row, called) for row in summary["comparisons"]],
        "within_lists": _within(summary["within_lists"], called),
        "flagged": _keyed(summary["flagged"], called),
        "without_flagged": _without(summary.get("without_flagged"), called),
        "panel": _panel(summary.get("panel"), called),
        "kin": [{**row, "other": called.get(row["other"], row["other"])} for row in summary.get("kin", ())],
        "served": _served(summary.get("served", {})),
        "deciding_queries": _deciding(summary.get("deciding_queries"), called),
        "slices": [
            (isolate(column), [(isolate(value), _slice(part, called)) for value, part in values.items()])
            for column, values in summary["slices"].items()
        ],
    }


def _keyed(rows: Row, called: Mapping[str, str]) -> dict[str, Any]:
    return {called[engine]: row for engine, row in rows.items()}


def _panel(panel: Row | None, called: Mapping[str, str]) -> dict[str, Any] | None:
    if not panel:
        return None
    measures = panel["agreement"].get("measures", {})
    shown = {name: {**row, "engines": _keyed(row["engines"], called)} for name, row in measures.items()}
    ties = {measure: _keyed(means, called) for measure, means in panel["ties_high"].items()}
    return {**panel, "agreement": {**panel["agreement"], "measures": shown}, "ties_high": ties}


def _served(models: Row) -> dict[str, Any]:
    return {label if model else "": models[model] for model, label in _apart(models).items()}


def _pair(row: Row, called: Mapping[str, str]) -> dict[str, Any]:
    a, b = called[row["a"]], called[row["b"]]
    verdict = f"{a} > {b}" if row["winner"] else row["verdict"]
    return {**row, "a": a, "b": b, "winner": row["winner"] and called[row["winner"]], "verdict": verdict}


def _within(row: Row | None, called: Mapping[str, str]) -> dict[str, Any] | None:
    if row is None:
        return None
    return {**row, "better": called[row["better"]], "worse": called[row["worse"]]}


def _without(row: Row | None, called: Mapping[str, str]) -> dict[str, Any] | None:
    if row is None:
        return None
    winners = {way: engine and called[engine] for way, engine in row["winners"].items()}
    swapped = [[called[engine] for engine in pair] for pair in row["swapped"]]
    return {**row, "engines": _keyed(row["engines"], called), "winners": winners, "swapped": swapped}


def _slice(part: Row, called: Mapping[str, str]) -> dict[str, Any]:
    return {
        "queries": part["queries"],
        "engines": _keyed(part["engines"], called),
        "comparisons": [_pair(row, called) for row in part["comparisons"]],
        "contrasts": [{**row, **_engines(row, called)} for row in part.get("contrasts", ())],
    }


def _engines(row: Row, called: Mapping[str, str]) -> dict[str, str]:
    return {side: called[row[side]] for side in ("a", "b")}


def _deciding(row: Row | None, called: Mapping[str, str]) -> dict[str, Any] | None:
    """The deciding queries with their ids and texts legible, and where each stands on the page."""
    if row is None:
        return None
    queries = [
        {
            **each,
            "query_id": one_line(each["query_id"]),
            "query": one_line(each["query"]),
            "link": f"#{urlencode({'q': each['query_id']})}",
        }
        for each in row["queries"]
    ]
    return {**row, **_engines(row, called), "queries": queries}


def marked(sentence: str) -> Markup:
    """The sentence escaped, each isolated name in a <bdi> of its own."""
    return escape(sentence).replace(ISOLATE, Markup("<bdi>")).replace(END, Markup("</bdi>"))
