"""Tables for the terminal: cells as all commands print them. Each module has those of some commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from judge.characters import escape_controls
from judge.messages import Translator

# Control characters, which a terminal may obey. Rich adds its own, from styles, after this.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")

#: Names longer than this fold where a table is too wide.
_NAME_WIDTH = 20


def make_table(first: str, *others: str) -> Table:
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


def print_table(table: Table, console: Console) -> None:
    """Print a table at least as wide as its numbers; long names fold where it is too wide.

    In a narrower terminal its lines break; rich would drop whole columns, the names first.
    """
    if (needed := measure_width(table, console)) > console.width:
        table.width = needed
    console.print(table, crop=False)


def escape_line(text: str) -> Text:
    """Return `text` on one line; control characters in names are shown as escapes."""
    return Text(escape_controls(text).replace("\n", "\\n"))


def print_lines(lines: Iterable[str], console: Console) -> None:
    """Print each text that is not empty on one line; see `escape_line`."""
    for line in filter(None, lines):
        console.print(escape_line(line))


def format_number(value: float | None, form: str = ".4f") -> str:
    """Return a number, or a dash where it is unknown."""
    return "-" if value is None else format(value, form)


def format_range(t: Translator, ends: Sequence[float] | None, form: str = ".3f") -> str:
    """Return `low to high`, or a dash where it is unknown."""
    if not ends:
        return "-"
    return t("{low} to {high}", low=format(ends[0], form), high=format(ends[1], form))


class Screen(Console):
    """A console that shows control characters in texts as escapes: a text may come from an untrusted file."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of `renderable`, those of text without control characters.

        The other lines of a text that starts with spaces are indented as its first one.
        """
        if isinstance(renderable, Text) and renderable.plain.startswith(" "):
            indent = len(renderable.plain) - len(renderable.plain.lstrip(" "))
            renderable = Padding(renderable[indent:], (0, 0, 0, indent), expand=False)
        for segment in super().render(renderable, options):
            if segment.control is None and _CONTROL.search(segment.text):
                text = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", segment.text)
                yield Segment(text, segment.style)
            else:
                yield segment
