"""What commands print: a sequence of parts, which are tables and lines of text.

A module of `judge.cli.render` makes the parts from the results of a command; `print_parts` lays them out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.cli.terminal import make_console, t, wrap_line
from judge.report.display_text import escape_hidden
from judge.report.result_tables import Column, CountedMean, ResultTable

#: A line of text, which is escaped when it is printed; a line with a style; a table; one that is split where
#: it is too wide.
Part: TypeAlias = str | Text | Table | ResultTable

#: Names longer than this fold where a table is too wide; they fold to fewer columns where it cannot be split.
_NAME_WIDTH, _MIN_NAME_WIDTH = 20, 10


def make_table(titles: Sequence[str | Text], rows: Iterable[Sequence[str | Text]]) -> Table:
    """Return a table without lines: a column of names, each on one line, then columns of numbers."""
    # Rich takes a string for markup.
    first, *others = (Text(escape_hidden(title)) if isinstance(title, str) else title for title in titles)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, overflow="fold")
    for title in others:
        table.add_column(title, justify="right", no_wrap=True)
    for name, *cells in rows:
        table.add_row(escape_line(name) if isinstance(name, str) else name, *cells)
    return table


def _measure_width(table: Table, console: Console, name_width: int) -> int:
    """Return how many columns of a terminal the numbers of a table and its names, folded, need."""
    options = console.options.update(max_width=10_000)
    names = table.columns[0]
    longest = max(console.measure(cell, options=options).maximum for cell in (names.header, *names.cells))
    return console.measure(table, options=options).maximum - max(0, longest - name_width)


def _split_table(table: ResultTable, console: Console) -> Iterator[Table]:
    """Yield tables with as many columns of a table of results as fit, each with the names of its rows."""
    groups: list[list[Column]] = []
    for column in table.list_columns("terminal"):
        if groups and column.is_beside:
            groups[-1].append(column)
        else:
            groups.append([column])
    columns: list[Column] = []
    for group in groups:
        part = _draw_table(table, [*columns, *group])
        if columns and _measure_width(part, console, _NAME_WIDTH) > console.width:
            yield _draw_table(table, columns)
            columns = []
        columns += group
    yield _draw_table(table, columns)


def _draw_table(table: ResultTable, columns: Sequence[Column]) -> Table:
    titles = [table.short_title or table.names_title, *(column.title for column in columns)]
    cells = ([text.choose(t) for text in column.list_texts("terminal")] for column in columns)
    return make_table([title.choose(t) for title in titles], zip(table.names, *cells, strict=True))


def escape_line(text: str) -> Text:
    """Return `text` on one line, with control and hidden characters as escapes."""
    return Text(escape_hidden(text).replace("\n", "\\n"))


def print_parts(parts: Iterable[Part], console: Console | None = None) -> None:
    """Print tables, and each text that is not empty, as `escape_line` and `wrap_line` return it.

    Where a table of results is too wide, the other columns follow in tables with the same names. Long names
    fold. In a terminal that is narrower than one column of numbers, lines break; rich would drop whole
    columns, the names first. `console` None is standard output.
    """
    console = console or make_console()
    for part in parts:
        if isinstance(part, ResultTable):
            _print_results(part, console)
        elif isinstance(part, Table):
            _print_table(part, console)
        elif not isinstance(part, str):
            console.print(part)
        elif part:
            # Rich breaks long words, which a user copies.
            typer.echo(wrap_line(escape_line(part).plain, console.width), console.file)


def _print_table(table: Table, console: Console) -> None:
    """Print a table without the blanks that fill the last column; where it is too wide, its lines break."""
    if (needed := _measure_width(table, console, _MIN_NAME_WIDTH)) > console.width:
        table.width = needed
    with console.capture() as capture:
        console.print(table, crop=False)
    console.file.write(re.sub(" +$", "", capture.get(), flags=re.MULTILINE))


def _print_results(table: ResultTable, console: Console) -> None:
    for part in _split_table(table, console):
        _print_table(part, console)
    values = (value for column in table.list_columns("terminal") for value in column.values)
    if any(isinstance(value, CountedMean) and value.queries for value in values):
        legend = t("in brackets: the number of queries of a mean, where it is not that in the column queries")
        console.print(Text(legend, style="dim"))
