"""The console that commands print on; imported only where something is printed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

# Everything that a terminal may obey; what rich itself sends is made from styles after this.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Screen(Console):
    """A console that shows control characters in texts as escapes: texts may come from another person."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of `renderable`, those of text without control characters."""
        for segment in super().render(renderable, options):
            if segment.control is None and _CONTROL.search(segment.text):
                text = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", segment.text)
                yield Segment(text, segment.style)
            else:
                yield segment
