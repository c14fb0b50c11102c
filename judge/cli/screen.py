"""The console that commands print on; imported only by commands that print."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

# Control characters, which a terminal may obey. Rich adds its own, from styles, after this.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Screen(Console):
    """A console that shows control characters in texts as escapes: a text may come from an untrusted file."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of `renderable`, those of text without control characters."""
        for segment in super().render(renderable, options):
            if segment.control is None and _CONTROL.search(segment.text):
                text = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", segment.text)
                yield Segment(text, segment.style)
            else:
                yield segment
