"""Owns report.html: one file that holds the answer, the charts and every query, and asks nobody for anything.

Same input, same bytes. Everything shown is untrusted: text is escaped where it enters the page, and the
reading room's texts are data that a script puts into text nodes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from judge.dataset.suspicion import SUSPICIOUS
from judge.report import trust, words, words_zh
from judge.report.charts import Said, charts
from judge.report.charts.texts import GRADES
from judge.report.page import about, kinds, tables
from judge.report.page.legible import name
from judge.report.page.mind import mind
from judge.report.page.names import labels, marked, named
from judge.report.page.packing import Shape, as_json
from judge.report.page.sample import Budget, Entries, Room, gather

Row = Mapping[str, Any]

#: How many comparisons stand as sentences under the answer.
_SENTENCES = 6


def page(
    run: str,
    summary: Row,
    entries: Entries,
    agreement: Row | None = None,
    config: Row | None = None,
    budget: Budget | None = None,
) -> Iterator[str]:
    """The text of report.html, in pieces.

    `summary`, `agreement` and `config` are what summary.json, agreement.json and config.json of the run
    hold; `entries` gives results.json's queries, anew each time it is called. Where they are more than
    the `budget` allows, the page takes a stated sample of them.
    """
    engines = list(summary["engines"])
    measures = list(summary["measures"])
    deciding = words.deciding(summary) or measures[0]
    shape = Shape(engines, measures, summary["depth"])
    room = gather(entries, shape, deciding, budget or Budget())
    shown = named(summary)
    template = _environment().get_template("report.html.jinja")
    yield from template.generate(
        run=name(run),
        policy=_policy(),
        style=_style(),
        script=_script(),
        headline=_headline(shown),
        alarm=trust.alarm(shown),
        differences=_differences(shown),
        engines=tables.engines(shown),
        minds=list(mind(shown)),
        facts=list(about.about(summary, agreement, config or {})),
        charts=charts(summary, entries(), agreement),
        pairs=list(tables.pairs(shown)),
        slices=list(tables.slices(shown)),
        sampled=about.sampled(room),
        room=room,
        data=_data(run, summary, deciding, room),
    )


def _headline(summary: Row) -> Said:
    """The answer in a sentence; of one engine, that there is nothing to compare."""
    if words.deciding(summary):
        return Said(words.headline(summary), words_zh.headline(summary))
    count = len(summary["engines"])
    return Said(
        f"{count} engine{'' if count == 1 else 's'}: nothing to compare.",
        f"只有 {count} 个引擎，没有可比的。",
    )


def _differences(summary: Row) -> Sequence[Said]:
    """How the engine with the highest mean compares with the others."""
    deciding = words.deciding(summary)
    if not deciding:
        return []
    best = words.standing(summary, deciding)[0]
    rows = [
        row for row in summary["comparisons"] if row["measure"] == deciding and best in (row["a"], row["b"])
    ]
    return [Said(words.difference(row), words_zh.difference(row)) for row in rows[:_SENTENCES]]


def _data(run: str, summary: Row, deciding: str, room: Room) -> Iterator[Markup]:
    """The reading room's data as JSON, a line a query."""
    head = {
        "run": name(run),
        "engines": list(labels(summary["engines"]).values()),
        "order": _order(summary, deciding),
        "measures": list(summary["measures"]),
        "deciding": list(summary["measures"]).index(deciding),
        "grades": GRADES[summary["scale"]],
        "from": summary["relevant_from"],
        "errors": kinds.ERRORS,
        "flags": kinds.FLAGS,
        "suspicious": sorted(SUSPICIOUS),
    }
    yield Markup('{"head":' + as_json(head) + ',\n"queries":[\n')  # noqa: S704
    yield Markup(",\n".join(room.lines))  # noqa: S704
    yield Markup("\n]}")


def _order(summary: Row, deciding: str) -> list[int]:
    """The places of the engines, best first."""
    places = {engine: place for place, engine in enumerate(summary["engines"])}
    return [places[engine] for engine in words.standing(summary, deciding)]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("judge.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["marked"] = marked
    return environment


def _style() -> Markup:
    return _own("report.css", "charts.css")


def _script() -> Markup:
    return _own("texts.js", "data.js", "query.js", "room.js", "report.js")


@cache
def _own(*names: str) -> Markup:
    """Files of ours that stand in the page as they are."""
    folder = files("judge.report") / "templates"
    return Markup("\n".join((folder / each).read_text(encoding="utf-8") for each in names))  # noqa: S704


def _policy() -> str:
    """What the page may do: run its own script, wear its own style, and nothing else."""
    return (
        f"default-src 'none'; script-src {_hash(_script())}; style-src {_hash(_style())};"
        " base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
