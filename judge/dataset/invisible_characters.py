"""Owns characters that a reader can't see: which are dropped, and where they are part of writing."""

from __future__ import annotations

import re
import unicodedata

# Soft hyphen, combining grapheme joiner, Arabic letter mark, Hangul fillers, Mongolian marks, zero-width
# characters, bidi controls and isolates, invisible operators, variation selectors, BOM, interlinear
# marks, controls of shorthand and music, the tag block and the supplementary variation selectors.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_ZWNJ, _ZWJ = "\u200c", "\u200d"
_PICTURE = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
# A joiner between pictures (skin tones and selectors may stand before it) makes one emoji; a selector
# after a picture, a digit, # or * chooses its colour form.
_EMOJI = re.compile(f"(?<=[{_PICTURE}\ufe0f])\u200d(?=[{_PICTURE}])|(?<=[{_PICTURE}0-9#*])[\ufe0e\ufe0f]")
_JOINING = ("ARABIC", "SYRIAC", "MONGOLIAN", "NKO", "MANDAIC", "THAANA")
_INDIC = (
    "DEVANAGARI BENGALI GURMUKHI GUJARATI ORIYA TAMIL TELUGU KANNADA MALAYALAM SINHALA KHMER MYANMAR TIBETAN"
).split()


def has_invisible(text: str) -> bool:
    """Whether `text` holds a character that may be hidden."""
    return _UNSEEN.search(text) is not None


def drop_invisible(text: str) -> tuple[str, bool]:
    """`text` without hidden characters, and whether any was dropped that hid something.

    Joiners stay inside emoji and between letters of scripts that are written with them; a byte-order
    mark, a soft hyphen or a stray selector goes without being called hiding.
    """
    kept = {match.start() for match in _EMOJI.finditer(text)}
    pieces: list[str] = []
    hid = False
    for place, char in enumerate(text):
        if _UNSEEN.match(char) is None or place in kept or _joins(text, place):
            pieces.append(char)
        elif char not in "\u00ad\ufeff\ufe0e\ufe0f\u200e\u200f":
            hid = True
    return "".join(pieces), hid


def _joins(text: str, place: int) -> bool:
    """Whether the character is a joiner that the script around it is written with."""
    if text[place] not in (_ZWNJ, _ZWJ) or place == 0:
        return False
    before = unicodedata.name(text[place - 1], "").split(" ")[0]
    after = unicodedata.name(text[place + 1], "").split(" ")[0] if place + 1 < len(text) else ""
    return before in _INDIC or (before in _JOINING and after in _JOINING)
