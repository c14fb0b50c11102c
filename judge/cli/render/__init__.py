"""Tables for the terminal: cells as all commands print them. Each module has those of some commands."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.table import Column, Table
from rich.text import Text

from judge.characters import CONTROL, find_line_breaks
from judge.messages import Translator
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


def format_decimal(value: float | None, form: str = ".4f") -> str:
    """Return a number, or a dash where it is unknown."""
    return "-" if value is None else format(value, form)


def format_decimal_range(t: Translator, ends: Sequence[float] | None, form: str = ".3f") -> str:
    """Return `low to high`, or a dash where it is unknown."""
    if not ends:
        return "-"
    return t("{low} to {high}", low=format(ends[0], form), high=format(ends[1], form))


def _trim_lines(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yield the segments without the spaces before a line break."""
    blanks: list[Segment] = []
    for segment in segments:
        if segment.control is not None:
            yield segment
            continue
        for line in segment.text.splitlines(keepends=True):
            text, end = line.rstrip("\n").rstrip(" "), "\n" * line.endswith("\n")
            if text:
                yield from blanks
                yield Segment(text, segment.style)
            if text or end:
                blanks = []
            if end:
                yield Segment.line()
            else:
                blanks.append(Segment(line[len(text) :], segment.style))
    yield from blanks


class Screen(Console, RenderHook):
    """A console for texts that may come from an untrusted file.

    It shows control characters in them as escapes. No line ends in spaces.
    """

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - those of rich
        super().__init__(**options)
        self.push_render_hook(self)

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Return what prints the same without spaces at the ends of lines."""
        return [Segments(_trim_lines(self.render(each))) for each in renderables]

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of `renderable`, those of text without control characters.

        The other lines of a text that starts with spaces are indented as its first one. Lines break as
        `find_line_breaks` says; rich breaks them at spaces only.
        """
        options = options or self.options
        if isinstance(renderable, str):
            renderable = self.render_str(renderable, highlight=options.highlight, markup=options.markup)
        if isinstance(renderable, Text) and renderable.plain.startswith(" "):
            indent = len(renderable.plain) - len(renderable.plain.lstrip(" "))
            renderable = Padding(renderable[indent:], (0, 0, 0, indent), expand=False)
        elif isinstance(renderable, Text) and not options.no_wrap:
            lines = renderable.divide(find_line_breaks(renderable.plain, options.max_width))
            for line in lines[:-1]:
                line.rstrip()
            renderable = renderable.blank_copy("\n").join(lines)
        for segment in super().render(renderable, options):
            # Rich adds the control characters of styles after this.
            if segment.control is None and CONTROL.search(segment.text):
                text = CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", segment.text)
                yield Segment(text, segment.style)
            else:
                yield segment
