"""Invisible characters, and texts that were decoded with the wrong encoding."""

from __future__ import annotations

import re
import unicodedata

from judge.characters import HAN_CHARACTER

# Soft hyphen, combining grapheme joiner, Arabic letter mark, Hangul fillers, Mongolian marks, zero-width
# characters, bidi controls and isolates, invisible operators, variation selectors, BOM, interlinear
# marks, controls of shorthand and music, the tag block and the supplementary variation selectors.
_INVISIBLE = re.compile(
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
    """Return True when `text` contains a character that can be invisible."""
    return _INVISIBLE.search(text) is not None


def drop_invisible(text: str) -> tuple[str, bool]:
    """Return `text` without invisible characters, and True when a suspicious one was dropped.

    Joiners stay inside emoji and between letters of scripts that use them. A byte-order mark, a soft
    hyphen or a single selector is dropped and is not suspicious.
    """
    in_emoji = {match.start() for match in _EMOJI.finditer(text)}
    pieces: list[str] = []
    is_suspicious = False
    for index, char in enumerate(text):
        if _INVISIBLE.match(char) is None or index in in_emoji or _is_joiner_of_script(text, index):
            pieces.append(char)
        elif char not in "\u00ad\ufeff\ufe0e\ufe0f\u200e\u200f":
            is_suspicious = True
    return "".join(pieces), is_suspicious


def _is_joiner_of_script(text: str, index: int) -> bool:
    """Return True when the character is a joiner that the script around it uses."""
    if text[index] not in (_ZWNJ, _ZWJ) or index == 0:
        return False
    before = unicodedata.name(text[index - 1], "").split(" ")[0]
    after = unicodedata.name(text[index + 1], "").split(" ")[0] if index + 1 < len(text) else ""
    return before in _INDIC or (before in _JOINING and after in _JOINING)


# The bytes 80-BF, which UTF-8 continues a character with, as Latin-1 or Windows-1252 show them.
_CONTINUATION_SIGNS = (
    "\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u017d\u2018\u2019\u201c\u201d\u2022"
    "\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u017e\u0178"
)
_CONTINUATION = f"[\u0080-\u00bf{_CONTINUATION_SIGNS}]"
# A capital that is followed by a quote or a dash is good French or German ("CAFÉ…", "Spaß”"), so one
# lead byte and one byte after it prove nothing, except behind Â and Ã and with a sign no word has.
_MISDECODED = re.compile(
    "\u00c3[\u0080-\u00a8\u00aa\u00ac-\u00ba\u00bc-\u00bf\u00a9\u0192\u0161\u0160\u02c6\u2030\u2021\u2020\u0153\u0152\u0178]"
    "|\u00c2[\u0080-\u009f\u00a1-\u00ba\u00bc-\u00bf]"
    "|\u00c2\u00a0(?=[a-z0-9 ])"
    f"|\u00e2[\u0080\u20ac]{_CONTINUATION}"
    "|\u00ef\u00bb\u00bf|\u00ef\u00bf\u00bd"
    f"|\u00f0[\u009f\u0178]{_CONTINUATION}{{2}}"
    f"|(?:[\u00e0-\u00ef]{_CONTINUATION}{{2}}){{2}}"
    f"|(?:[\u00d0\u00d1]{_CONTINUATION}){{3}}|(?:[\u00d8\u00d9]{_CONTINUATION}){{3}}|(?:[\u00ce\u00cf]{_CONTINUATION}){{3}}"
    # What becomes of bytes that were lost and read again (GBK, Korean), and of UTF-8 read as Shift-JIS.
    "|锟斤拷|占쏙옙|(?:[縺繧繝].){3}"
)
# Each match contains one of these: this quick search comes first.
_MISDECODED_CHAR = re.compile("[\u00a1-\u00fe锟쏙縺繧繝]")
_LEAD_BYTE = re.compile("[\u00c2\u00c3\u00ce-\u00d1\u00d8\u00d9\u00e0-\u00f0锟쏙縺繧繝]")
# GBK's two high bytes a character, again and again, as Latin-1.
_HIGH_BYTES = re.compile("[\u00a1-\u00fe]" * 8)
# The bytes that begin (E) and continue (C) the UTF-8 of Chinese characters and punctuation marks.
_UTF8_BYTES = bytes(
    ord("E") if 0xE3 <= byte <= 0xE9 or byte == 0xEF else ord("C") if 0x80 <= byte <= 0xBF else ord(".")
    for byte in range(256)
)
_REPLACED_SHARE = 0.02


def looks_misdecoded(text: str) -> bool:
    """Return True when `text` is probably UTF-8 decoded as Latin-1, Windows-1252 or GBK, or lost bytes.

    `text` must still have its control characters: many traces are among them.
    """
    if text.isascii():
        return False
    replaced_count = text.count("\ufffd")
    if replaced_count and replaced_count >= _REPLACED_SHARE * len(text):
        return True
    if _MISDECODED_CHAR.search(text) and (
        _HIGH_BYTES.search(text) or (_LEAD_BYTE.search(text) and _MISDECODED.search(text))
    ):
        return True
    # Its GBK bytes spell four Chinese characters in UTF-8, as those of real Chinese almost never do.
    spelled = b"ECC" * 4 in text.encode("gb18030", "replace").translate(_UTF8_BYTES)
    return spelled and HAN_CHARACTER.search(text) is not None
