"""The console that shows texts from untrusted files."""

from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.text import Text

from judge.characters import CONTROL, find_line_breaks


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
        return [Segments(_trim_lines(self.render(renderable))) for renderable in renderables]

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
