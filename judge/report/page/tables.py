"""Owns the tables of the answer: engines, pairs of engines, slices; every cell a text or two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from judge.cli.render.columns import tells
from judge.report import sentences, words_zh
from judge.report.charts import Said
from judge.report.charts.svg import format_number, format_p_value, format_range, mean_name

Row = Mapping[str, Any]

#: How many pairs of engines a table lists; summary.json has them all.
MAX_PAIRS = 60


class Cell(NamedTuple):
    """What a cell says, and what it says under it in smaller letters."""

    main: Said
    under: str = ""


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table whose rows begin with a name; `more` rows are left out."""

    caption: Said
    head: tuple[Said, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    more: int = 0


def same_text(text: str) -> Said:
    """What is the same in both languages."""
    return Said(text, text)


def number_cell(value: float | None, form: str = ".4f") -> Cell:
    """A number, or a dash."""
    return Cell(same_text(format_number(value, form)))


_COUNTS = {
    "answered": Said("answered", "有答复"),
    "empty": Said("empty", "为空"),
    "errors": Said("broke", "出错"),
    "absent": Said("absent", "缺席"),
}
_SHARES = {
    "judged": Said("judged", "已判定"),
    "duplicates": Said("repeated", "重复"),
    "unique": Said("only here", "独有"),
}
#: What the answers took, where somebody measured it.
_TOOK = (Said("ms, median", "毫秒（中位）"), Said("tokens", "token 数"))


def engines_table(summary: Row) -> PageTable:
    """One row an engine, best first: means with their ranges, and what came back."""
    measures = summary["measures"]
    counts, shares = (
        {key: said for key, said in kind.items() if tells(summary, key)} for kind in (_COUNTS, _SHARES)
    )
    timed = tells(summary, "latency_ms")
    rows = []
    for engine in sentences.standing(summary, sentences.deciding(summary) or measures[0]):
        row = summary["engines"][engine]
        means = [_mean(row["measures"][measure]) for measure in measures]
        numbers = [Cell(same_text(f"{row[key]:,}")) for key in counts]
        numbers += [number_cell(row[key], ".1%") for key in shares]
        rows.append((engine, (*means, *numbers, *(_took(row) if timed else ()))))
    head = (*(same_text(mean_name(measure)) for measure in measures), *counts.values(), *shares.values())
    head += _TOOK if timed else ()
    caption = Said(
        "Engines: means with 95 % range, and what came back", "各引擎：均值与 95 % 区间，以及返回情况"
    )
    return PageTable(caption, (Said("engine", "引擎"), *head), tuple(rows))


def _took(row: Row) -> tuple[Cell, Cell]:
    """How long the engine took, the slowest 5 % under it, and how many tokens an answer of it is."""
    latency, tokens = row.get("latency_ms"), row.get("tokens")
    return (
        Cell(same_text(f"{latency['median']:,.0f}"), f"95 %: {latency['p95']:,.0f}")
        if latency
        else number_cell(None),
        Cell(same_text(f"{tokens['mean']:,.0f}")) if tokens else number_cell(None),
    )


def _mean(cell: Row) -> Cell:
    if cell["mean"] is None:
        return number_cell(None)
    return Cell(same_text(f"{cell['mean']:.4f}"), format_range(cell["ci95"]) if cell["ci95"] else "")


def pair_tables(summary: Row) -> Iterator[PageTable]:
    """For each measure that engines are compared by, every pair of engines."""
    for measure in dict.fromkeys(row["measure"] for row in summary["comparisons"]):
        rows = [row for row in summary["comparisons"] if row["measure"] == measure]
        decides = measure == sentences.deciding(summary)
        caption = Said(
            f"Pairs by {mean_name(measure)}" + ("" if decides else " (descriptive)"),
            f"两两比较：{mean_name(measure)}" + ("" if decides else "（仅供参考）"),
        )
        shown = tuple((f"{row['a']} − {row['b']}", _pair(row)) for row in rows[:MAX_PAIRS])
        yield PageTable(caption, _PAIR_HEAD, shown, len(rows) - len(shown))


_PAIR_HEAD = (
    Said("pair", "引擎对"),
    Said("result", "结论"),
    Said("difference", "差值"),
    Said("95 % range", "95 % 区间"),
    Said("won / tied / lost", "胜 / 平 / 负"),
    Said("p, adjusted", "p（校正后）"),
    Said("worst case", "最坏情况"),
    Said("detectable", "可检出"),
)


def _pair(row: Row) -> tuple[Cell, ...]:
    outcome = Said(row["verdict"], words_zh.verdict_of(row))
    return (
        Cell(outcome),
        number_cell(row["difference"], "+.4f"),
        Cell(same_text(format_range(row["ci95"], "+.4f"))),
        Cell(same_text(f"{row['wins']:,} / {row['ties']:,} / {row['losses']:,}")),
        Cell(same_text(format_p_value(row["p_adjusted"]))),
        Cell(same_text(format_range(row["bounds"], "+.4f") if sentences.is_unsure(row) else "–")),
        Cell(
            same_text(format_number(row["detectable"], ".3f")),
            format_number(row["detectable_doubled"], ".3f"),
        ),
    )


def segment_tables(summary: Row) -> Iterator[PageTable]:
    """For each column that divides the queries, the engines' means on every part."""
    measure = sentences.deciding(summary) or summary["measures"][0]
    for column, values in summary["slices"]:
        caption = Said(
            f"By {column}: mean {mean_name(measure)}", f"按 {column} 细分：{mean_name(measure)} 均值"
        )
        order = sentences.standing(summary, measure)
        rows = tuple((value, _slice(part, order, measure)) for value, part in values)
        head = (
            same_text(column),
            Said("queries", "查询"),
            *map(same_text, order),
            Said("separated", "分出高下的"),
        )
        yield PageTable(caption, head, rows)


def _slice(part: Row, order: Sequence[str], measure: str) -> tuple[Cell, ...]:
    means = [part["engines"].get(engine, {}).get(measure) for engine in order]
    found = [row["verdict"] for row in part["comparisons"] if row["winner"]]
    said = Said("; ".join(found) or "none", "；".join(found) or "无")
    cells = [_mean(mean) if mean else number_cell(None) for mean in means]
    return (Cell(same_text(f"{part['queries']:,}")), *cells, Cell(said))
