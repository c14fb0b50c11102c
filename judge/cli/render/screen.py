"""The console that shows texts from untrusted files."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from judge.characters import CONTROL, find_line_breaks


class Screen(Console):
    """A console for texts that may come from an untrusted file; it shows control characters as escapes."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of `renderable`, those of text without control characters.

        The other lines of a text that starts with spaces are indented as its first one. Lines break as
        `find_line_breaks` says; rich breaks them at spaces only.
        """
        options = options or self.options
        if isinstance(renderable, str):
            renderable = self.render_str(renderable, highlight=options.highlight, markup=options.markup)
        if isinstance(renderable, Text) and not options.no_wrap:
            indent = len(renderable.plain) - len(renderable.plain.lstrip(" "))
            text = renderable[indent:]
            width = max(1, options.max_width - indent)
            paragraphs = text.split("\n", allow_blank=True)
            lines = [line for part in paragraphs for line in part.divide(find_line_breaks(part.plain, width))]
            for line in lines[:-1]:
                line.rstrip()
            renderable = renderable[:indent].append(text.blank_copy("\n" + " " * indent).join(lines))
        for segment in super().render(renderable, options):
            # Rich adds the control characters of styles after this.
            if segment.control is None and CONTROL.search(segment.text):
                escaped = CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", segment.text)
                yield Segment(escaped, segment.style)
            else:
                yield segment
