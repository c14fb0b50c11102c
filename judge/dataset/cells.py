"""Texts in cells of spreadsheets and in columns of TREC files: they are escaped, and read again."""

import re
from urllib.parse import quote

# A text may begin with an apostrophe already; another one keeps two texts from becoming the same cell.
# Some spreadsheets ignore a tab or a line break at the beginning.
_FORMULA = re.compile(r"['\s\ufeff]*[=+\-@＝＋－＠﹢﹣﹦﹫]|'*[\t\r\n]")
# Digits that are not a plain whole number, or are too long: 007, 1.10, 3-2, 12:30, 6e12, 1234567890123456.
_NUMBER = re.compile(
    r"'*(?!(?:0|[1-9][0-9]{0,10})\Z)[(.]?[0-9][0-9 .,:/%()+-]*(?:[eE][0-9+-][0-9 .,:/%()+-]*)?\Z"
)
_RARE_IN_COLUMN = re.compile(r"[^\w.#:~=+@,;-]")


def escape_column(text: str) -> str:
    """Return `text` for a column of a TREC file: blanks and rare characters percent-encoded."""
    return _RARE_IN_COLUMN.sub(lambda match: quote(match[0], safe="", errors="surrogatepass"), text)


def escape_cell(text: str) -> str:
    """Return `text` so that spreadsheets do not read it as a formula."""
    return "'" + text if _FORMULA.match(text) else text


def protect_cell(text: str) -> str:
    """Return `text` so that a spreadsheet saves it unchanged: no formula, no number, no date.

    Different texts give different cells. Words that spreadsheets read as a date in some languages
    (`Mar-1`) stay as they are.
    """
    return "'" + text if _FORMULA.match(text) or _NUMBER.match(text) else text


def unescape_candidates(cell: str) -> tuple[str, ...]:
    """Return the texts that `protect_cell` may have turned into `cell`, the most likely one first.

    Some spreadsheets drop the apostrophe at the beginning of a cell, some keep it.
    """
    if not cell.startswith("'"):
        return (cell,)
    text = cell[1:]
    return (text, cell) if protect_cell(text) == cell else (cell, text)
