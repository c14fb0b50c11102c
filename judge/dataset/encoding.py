"""Owns noticing text that was decoded with the wrong encoding somewhere on its way."""

from __future__ import annotations

import re

# What UTF-8's lead and trail bytes look like when read as Windows-1252 or Latin-1.
_LATIN = re.compile(
    "[\u00c2-\u00df][\u0080-\u00bf\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u017d"
    "\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u017e\u0178]"
    "|\u00e2\u20ac[\u0080-\u00bf\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u2018\u2019\u201c\u201d\u2122\u0153\u017e]?"
)
_HAN = re.compile("[\u4e00-\u9fff\ue000-\uf8ff]")
_REPLACEMENT_SHARE = 0.05


def looks_misdecoded(text: str) -> bool:
    """Whether `text` is probably UTF-8 that was read as Latin-1, Windows-1252 or GBK, or lost bytes."""
    if text.isascii():
        return False
    if text.count("\ufffd") > max(2, _REPLACEMENT_SHARE * len(text)):
        return True
    return _LATIN.search(text) is not None or _was_read_as_gbk(text)


def _was_read_as_gbk(text: str) -> bool:
    """Whether the Chinese in `text` makes sense as UTF-8 bytes when written as GBK.

    Real Chinese almost never does: a run of its GBK bytes is valid UTF-8 by accident only when short.
    """
    sample = text[:400]
    if len(_HAN.findall(sample)) < 6:
        return False
    try:
        raw = sample.encode("gb18030")
    except UnicodeEncodeError:
        raw = sample.encode("gb18030", "ignore")
    again = raw.decode("utf-8", "replace")
    recovered = len(_HAN.findall(again))
    return recovered >= 4 and recovered > 2 * again.count("\ufffd")
