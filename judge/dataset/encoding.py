"""Owns noticing text that was decoded with the wrong encoding somewhere on its way."""

from __future__ import annotations

import re

from judge.characters import HAN

# The bytes 80-BF, which UTF-8 continues a character with, as Latin-1 or Windows-1252 show them.
_HIGH = (
    "\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u017d\u2018\u2019\u201c\u201d\u2022"
    "\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u017e\u0178"
)
_NEXT = f"[\u0080-\u00bf{_HIGH}]"
# A capital that is followed by a quote or a dash is good French or German ("CAFÉ…", "Spaß”"), so one
# lead byte and one byte after it prove nothing, except behind Â and Ã and with a sign no word has.
_LATIN = re.compile(
    "\u00c3[\u0080-\u00a8\u00aa\u00ac-\u00ba\u00bc-\u00bf\u00a9\u0192\u0161\u0160\u02c6\u2030\u2021\u2020\u0153\u0152\u0178]"
    "|\u00c2[\u0080-\u009f\u00a1-\u00ba\u00bc-\u00bf]"
    "|\u00c2\u00a0(?=[a-z0-9 ])"
    f"|\u00e2[\u0080\u20ac]{_NEXT}"
    "|\u00ef\u00bb\u00bf|\u00ef\u00bf\u00bd"
    f"|\u00f0[\u009f\u0178]{_NEXT}{{2}}"
    f"|(?:[\u00e0-\u00ef]{_NEXT}{{2}}){{2}}"
    f"|(?:[\u00d0\u00d1]{_NEXT}){{3}}|(?:[\u00d8\u00d9]{_NEXT}){{3}}|(?:[\u00ce\u00cf]{_NEXT}){{3}}"
    # GBK's two high bytes a character, again and again, as Latin-1.
    "|[\u00a1-\u00fe]{8}"
    # What becomes of bytes that were lost and read again (GBK, Korean), and of UTF-8 read as Shift-JIS.
    "|锟斤拷|占쏙옙|(?:[縺繧繝].){3}"
)
# One of these stands in each of them; looking for it first spares most texts the long pattern.
_LEAD = re.compile("[\u00a1-\u00fe锟占縺繧繝]")
_HAN = re.compile(f"[{HAN}]")
# UTF-8 of four Chinese characters or punctuation marks in a row, which GBK's bytes of real Chinese
# almost never spell.
_SPELLED = re.compile(rb"(?:[\xe3-\xe9\xef][\x80-\xbf]{2}){4}")
_REPLACED_SHARE = 0.02


def looks_misdecoded(text: str) -> bool:
    """Whether `text` is probably UTF-8 that was read as Latin-1, Windows-1252 or GBK, or lost bytes.

    `text` still has its control characters: half of the traces are among them.
    """
    if text.isascii():
        return False
    lost = text.count("\ufffd")
    if lost and lost >= _REPLACED_SHARE * len(text):
        return True
    if _LEAD.search(text) and _LATIN.search(text):
        return True
    return _was_read_as_gbk(text)


def _was_read_as_gbk(text: str) -> bool:
    """Whether the Chinese in `text`, written as GBK, spells Chinese in UTF-8."""
    if _HAN.search(text) is None:
        return False
    return _SPELLED.search(text.encode("gb18030", "replace")) is not None
