"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from judge.report.display_text import escape_hidden

#: Names longer than this fold where a table is too wide.
_NAME_WIDTH = 20


def make_table(first: str | Text, *others: str) -> Table:
    """Return a table without lines: a column of names, then columns of numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def measure_width(table: Table, console: Console) -> int:
    """Return how many columns of a terminal the numbers of a table and its names, folded, need."""
    options = console.options.update(max_width=10_000)
    names = table.columns[0]
    longest = max(console.measure(cell, options=options).maximum for cell in (names.header, *names.cells))
    return console.measure(table, options=options).maximum - max(0, longest - _NAME_WIDTH)


def print_table(table: Table, console: Console, together: Container[object] = ()) -> None:
    """Print a table; where it is too wide, the other columns follow in tables with the same names.

    A column with a title in `together` stays with the one before it. Long names fold. In a terminal that is
    narrower than one column of numbers, lines break; rich would drop whole columns, the names first.
    """
    for part in _split_columns(table, console, together):
        if (needed := measure_width(part, console)) > console.width:
            part.width = needed
        console.print(part, crop=False)


def _split_columns(table: Table, console: Console, together: Container[object]) -> Iterator[Table]:
    """Yield tables with as many columns as fit into the terminal, each with the names."""
    if measure_width(table, console) <= console.width:
        yield table
        return
    names, *others = table.columns
    groups: list[list[Column]] = []
    for column in others:
        if groups and column.header in together:
            groups[-1].append(column)
        else:
            groups.append([column])
    chosen: list[Column] = []
    for group in groups:
        if chosen and measure_width(_take_columns([names, *chosen, *group]), console) > console.width:
            yield _take_columns([names, *chosen])
            chosen = []
        chosen += group
    yield _take_columns([names, *chosen])


def _take_columns(columns: Sequence[Column]) -> Table:
    """Return a table of columns of another one."""
    first, *others = (str(column.header) for column in columns)
    table = make_table(first, *others)
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*row)
    return table


def escape_line(text: str) -> Text:
    """Return `text` on one line, with control and hidden characters as escapes."""
    return Text(escape_hidden(text).replace("\n", "\\n"))


def print_lines(lines: Iterable[str | Table], console: Console) -> None:
    """Print tables, and each text that is not empty on one line; see `escape_line`."""
    for line in filter(None, lines):
        console.print(escape_line(line) if isinstance(line, str) else line)
