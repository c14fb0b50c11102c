"""Owns how a text stands in a column of a TREC file or a cell of a spreadsheet, and how it is read back."""

from __future__ import annotations

import re
from urllib.parse import quote

# An apostrophe may stand before all of these already; one more keeps two texts from becoming one cell.
# Some spreadsheets drop a tab or a line break in front and look at what follows it.
_FORMULA = re.compile(r"['\s\ufeff]*[=+\-@＝＋－＠﹢﹣﹦﹫]|'*[\t\r\n]")
# Digits that aren't a plain whole number, or too long a one: 007, 1.10, 3-2, 12:30, 6e12, 1234567890123456.
_NUMBER = re.compile(
    r"'*(?!(?:0|[1-9][0-9]{0,10})\Z)[(.]?[0-9][0-9 .,:/%()+-]*(?:[eE][0-9+-][0-9 .,:/%()+-]*)?\Z"
)


def escape_column(text: str) -> str:
    """`text` without the blanks that would split a column of a TREC file, other letters kept."""
    return "".join(
        char if char.isalnum() or char in "-_.#:~=+@,;" else quote(char, safe="", errors="surrogatepass")
        for char in text
    )


def escape_cell(text: str) -> str:
    """`text` so that no spreadsheet takes it for a formula."""
    return "'" + text if _FORMULA.match(text) else text


def protect_cell(text: str) -> str:
    """`text` so that a spreadsheet saves what it opened: no formula, no number or date to write anew.

    Different texts give different cells. Words that some country's spreadsheet takes for a date
    (`Mar-1`) are left alone.
    """
    return "'" + text if _FORMULA.match(text) or _NUMBER.match(text) else text


def unescape_candidates(found: str) -> tuple[str, ...]:
    """The texts that a cell may have been made from, likeliest first.

    Some spreadsheets drop the apostrophe that `cell` put before a text, some keep it.
    """
    if not found.startswith("'"):
        return (found,)
    bare = found[1:]
    return (bare, found) if protect_cell(bare) == found else (found, bare)
