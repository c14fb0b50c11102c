"""Untrusted text as a page shows it: cut, hidden characters escaped, names isolated in sentences.

The result is still text; the page escapes it as HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup, escape

from judge.dataset.clean import escape_controls
from judge.dataset.text_cleaning import drop_invisible, has_invisible

#: Unicode's own marks around a name that must not turn the direction of what stands beside it.
ISOLATE, END = "\u2068", "\u2069"
_JOINERS = "\u200c\u200d"
# Blanks of other widths (Unicode's category Zs), which hide nothing.
_BLANKS = frozenset("\t\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))))


def escape_hidden(text: str) -> str:
    """Return `text` with every control character and hidden character as an escape.

    Line breaks, blanks of every width, the joiners that emoji and some scripts need, and emoji that are newer
    than Python stay.
    """
    if all(map(str.isprintable, text.split("\n"))) and not has_invisible(text):
        return text
    return "".join(_escape_char(char, visible_char) for char, visible_char in _mark_visible(text))


def _mark_visible(text: str) -> Iterator[tuple[str, bool]]:
    """Yield every character and whether it is visible."""
    seen = iter(drop_invisible(text)[0])
    following = next(seen, "")
    for char in text:
        visible_char = char == following
        if visible_char:
            following = next(seen, "")
        yield char, visible_char


def _escape_char(char: str, visible_char: bool) -> str:
    if not visible_char:
        return f"\\x{ord(char):02x}"
    if char in _BLANKS:
        return " "
    return char if char in _JOINERS or "\U0001f000" <= char <= "\U0001faff" else escape_controls(char)


def truncate(text: str, most: int) -> tuple[str, int]:
    """Return the first `most` characters with hidden ones escaped, and how many more there are."""
    return escape_hidden(text[:most]), max(0, len(text) - most)


def truncate_with_ellipsis(text: str, most: int) -> str:
    """Return at most `most` characters with hidden ones escaped, and an ellipsis when more follow."""
    measures_with_labels, more = truncate(text, most)
    return f"{measures_with_labels}…" if more else measures_with_labels


def one_line(text: str) -> str:
    """Return the name of an engine, a column or a run on one line."""
    return truncate_with_ellipsis(text, 200).replace("\n", "\\n")


def isolate(text: str) -> str:
    """Return a name for a sentence, between marks that isolate its writing direction."""
    return f"{ISOLATE}{one_line(text)}{END}"


Row = Mapping[str, Any]


class DisplayName(str):
    """The label of an engine; sorts by the engine's own name, so that ties have one order everywhere."""

    own: str

    def __new__(cls, label: str, own: str) -> DisplayName:
        """Return a label that remembers the engine's own name."""
        labels_of = super().__new__(cls, label)
        labels_of.own = own
        return labels_of

    def __lt__(self, other: str) -> bool:
        return self.own < other.own if isinstance(other, DisplayName) else str(self) < other


def make_labels(engines: Iterable[str]) -> dict[str, str]:
    """Return the label of each engine on the page; labels that look alike get numbers."""
    labels_of: dict[str, str] = {}
    for engine in engines:
        plain = label = one_line(engine)
        number = 1
        while label in labels_of.values():
            number += 1
            label = f"{plain} ({number})"
        labels_of[engine] = label
    return labels_of


def _isolated_labels(names: Iterable[str]) -> dict[str, str]:
    """Return isolated labels. Isolating a label a second time could cut off its number."""
    return {each: f"{ISOLATE}{label}{END}" for each, label in make_labels(names).items()}


def use_display_names(summary: Row) -> dict[str, Any]:
    """Return the summary with isolated names of engines, for the sentences that are made from it."""
    labels_of = {
        engine: DisplayName(label, engine) for engine, label in _isolated_labels(summary["engines"]).items()
    }
    return {
        **summary,
        "engines": _with_labels(summary["engines"], labels_of),
        "comparisons": [_pair(row, labels_of) for row in summary["comparisons"]],
        "own_list_reversal": _own_list_labels(summary["own_list_reversal"], labels_of),
        "flagged": _with_labels(summary["flagged"], labels_of),
        "flagged_sensitivity": _flagged_labels(summary.get("flagged_sensitivity"), labels_of),
        "panel": _panel(summary.get("panel"), labels_of),
        "self_preference": [
            {**row, "other": labels_of.get(row["other"], row["other"])}
            for row in summary.get("self_preference", ())
        ],
        "served": _served(summary.get("served", {})),
        "deciding_queries": _deciding(summary.get("deciding_queries"), labels_of),
        "segments": [
            (isolate(column), [(isolate(value), _slice(part, labels_of)) for value, part in values.items()])
            for column, values in summary["segments"].items()
        ],
    }


def _with_labels(rows: Row, labels_of: Mapping[str, str]) -> dict[str, Any]:
    return {labels_of[engine]: row for engine, row in rows.items()}


def _panel(panel: Row | None, labels_of: Mapping[str, str]) -> dict[str, Any] | None:
    if not panel:
        return None
    measures = (panel["agreement"] or {}).get("measures", {})
    measures_with_labels = {
        name: {**row, "engines": _with_labels(row["engines"], labels_of)} for name, row in measures.items()
    }
    ties = {measure: _with_labels(means, labels_of) for measure, means in panel["ties_high"].items()}
    return {
        **panel,
        "agreement": {**(panel["agreement"] or {}), "measures": measures_with_labels},
        "ties_high": ties,
    }


def _served(models: Row) -> dict[str, Any]:
    return {label if model else "": models[model] for model, label in _isolated_labels(models).items()}


def _pair(row: Row, labels_of: Mapping[str, str]) -> dict[str, Any]:
    a, b = labels_of[row["a"]], labels_of[row["b"]]
    verdict = f"{a} > {b}" if row["winner"] else row["verdict"]
    return {**row, "a": a, "b": b, "winner": row["winner"] and labels_of[row["winner"]], "verdict": verdict}


def _own_list_labels(row: Row | None, labels_of: Mapping[str, str]) -> dict[str, Any] | None:
    if row is None:
        return None
    return {**row, "better": labels_of[row["better"]], "worse": labels_of[row["worse"]]}


def _flagged_labels(row: Row | None, labels_of: Mapping[str, str]) -> dict[str, Any] | None:
    if row is None:
        return None
    winners = {way: engine and labels_of[engine] for way, engine in row["winners"].items()}
    swapped = [[labels_of[engine] for engine in pair] for pair in row["swapped"]]
    return {**row, "engines": _with_labels(row["engines"], labels_of), "winners": winners, "swapped": swapped}


def _slice(part: Row, labels_of: Mapping[str, str]) -> dict[str, Any]:
    return {
        "queries": part["queries"],
        "engines": _with_labels(part["engines"], labels_of),
        "comparisons": [_pair(row, labels_of) for row in part["comparisons"]],
        "contrasts": [{**row, **_engines(row, labels_of)} for row in part.get("contrasts", ())],
    }


def _engines(row: Row, labels_of: Mapping[str, str]) -> dict[str, str]:
    return {side: labels_of[row[side]] for side in ("a", "b")}


def _deciding(row: Row | None, labels_of: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the deciding queries with escaped ids and texts and links to their places on the page."""
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
    return {**row, **_engines(row, labels_of), "queries": queries}


def mark_names(sentence: str) -> Markup:
    """Return the sentence escaped, with each isolated name in a <bdi> element."""
    return escape(sentence).replace(ISOLATE, Markup("<bdi>")).replace(END, Markup("</bdi>"))
