"""What commands print: a sequence of parts, which are tables and lines of text.

A module of `judge.cli.render` makes the parts from the results of a command; `print_parts` lays them out.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import typer
from rich.console import Console, Group
from rich.table import Column, Table
from rich.text import Text

from judge.cli.terminal import make_console, t, wrap_line
from judge.report.display_text import escape_hidden
from judge.report.result_tables import CountedMean, ResultTable

#: A line of text, which is escaped when it is printed; a line with a style; a table; a table and those that
#: replace it where it is too wide; a group, whose tables are never split.
Part: TypeAlias = str | Text | Table | ResultTable | tuple[Table, ...] | Group

#: Names longer than this fold where a table is too wide.
_NAME_WIDTH = 20


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


def _measure_width(table: Table, console: Console) -> int:
    """Return how many columns of a terminal the numbers of a table and its names, folded, need."""
    options = console.options.update(max_width=10_000)
    names = table.columns[0]
    longest = max(console.measure(cell, options=options).maximum for cell in (names.header, *names.cells))
    return console.measure(table, options=options).maximum - max(0, longest - _NAME_WIDTH)


def _split_columns(table: Table, console: Console) -> Iterator[Table]:
    """Yield tables with as many columns of `table`, which is too wide, as fit, each with the names.

    The interval of a mean and its number of queries stay beside it.
    """
    names, *others = table.columns
    groups: list[list[Column]] = []
    for column in others:
        if groups and str(column.header) in (t("95% interval"), t("queries")):
            groups[-1].append(column)
        else:
            groups.append([column])
    chosen: list[Column] = []
    for group in groups:
        if chosen and _measure_width(_take_columns([names, *chosen, *group]), console) > console.width:
            yield _take_columns([names, *chosen])
            chosen = []
        chosen += group
    yield _take_columns([names, *chosen])


def _take_columns(columns: Sequence[Column]) -> Table:
    rows = zip(*(column.cells for column in columns), strict=True)
    return make_table([str(column.header) for column in columns], rows)


def draw_table(table: ResultTable) -> Table:
    """Return a table of results as a terminal shows it."""
    columns = table.list_columns("terminal")
    titles = [table.short_title or table.names_title, *(column.title for column in columns)]
    cells = ([text.choose(t) for text in column.list_texts("terminal")] for column in columns)
    return make_table([title.choose(t) for title in titles], zip(table.names, *cells, strict=True))


def explain_brackets(table: ResultTable) -> Iterator[Text]:
    """Yield what the brackets of means are, if the table has some."""
    values = (value for column in table.list_columns("terminal") for value in column.values)
    if any(isinstance(value, CountedMean) and value.queries for value in values):
        legend = t("in brackets: the number of queries of a mean, where it is not that in the column queries")
        yield Text(legend, style="dim")


def escape_line(text: str) -> Text:
    """Return `text` on one line, with control and hidden characters as escapes."""
    return Text(escape_hidden(text).replace("\n", "\\n"))


def print_parts(parts: Iterable[Part], console: Console | None = None) -> None:
    """Print tables, and each text that is not empty, as `escape_line` and `wrap_line` return it.

    Where a table is too wide, the other columns follow in tables with the same names. Long names fold. In a
    terminal that is narrower than one column of numbers, lines break; rich would drop whole columns, the
    names first. `console` None is standard output.
    """
    console = console or make_console()
    for part in (draw_table(part) if isinstance(part, ResultTable) else part for part in parts):
        if isinstance(part, tuple):
            whole, *others = part
            if _measure_width(whole, console) <= console.width:
                console.print(whole, crop=False)
            else:
                print_parts(others, console)
        elif isinstance(part, Table) and _measure_width(part, console) <= console.width:
            console.print(part, crop=False)
        elif isinstance(part, Table):
            for table in _split_columns(part, console):
                if (needed := _measure_width(table, console)) > console.width:
                    table.width = needed
                console.print(table, crop=False)
        elif not isinstance(part, str):
            console.print(part)
        elif part:
            # Rich breaks long words, which a user copies.
            typer.echo(wrap_line(escape_line(part).plain, console.width), console.file)
