"""Cleaning of untrusted text: markup and invisible characters are removed, control tokens are broken.

The result is exactly the text that a prompt shows; the raw text is stored beside it. Observations become
flags of the snippet, also that a text was read in a wrong encoding. Nothing here decides about relevance.
"""

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from judge.characters import CONTROL, SURROGATE
from judge.dataset.markup import extract_visible_text
from judge.files.json_text import hash_parts
from judge.flags import (
    CHAT_TOKENS,
    CONTROL_CHARACTERS,
    EMPTY_SNIPPET,
    INVISIBLE,
    MISDECODED,
    STUFFING,
    SURROGATES,
    TEXT_CUT,
    TITLE_ONLY,
    TRUNCATED,
)
from judge.injection.detection import detect_injection, is_stuffed
from judge.records import LangChoice, Snippet

#: Prompts show at most this many characters of a query or a reference.
MAX_QUERY_CHARS = 2000
# Where control tokens, marks of thinking and lines like those of our fence are broken up: behind the first
# character, before a closing `>`. The tokens are those of ChatML and Qwen, Llama, Gemma, Phi, DeepSeek,
# Mistral, gpt-oss, GLM, Seed, MiniMax, InternLM, Baichuan, TeleChat, Ling and Command R.
_TOKENS = (
    r"<(?=\|[^\s|<>]{1,60}(?:[|\s<>]|$))|<(?=[^\s|<>]{1,60}\|>)|(?<=[^\s|<>]\|)>"
    r"|<(?=/?(?:s|bos|eos|unk|pad|sop|eop|think|thinking|(?:minimax:)?tool_calls?|tool_responses?|role)>)"
    r"|<(?=_(?:user|bot|system|start|end)>)"
    r"|<(?=/?seed:[a-z_]+>)|<(?=unused\d+>)|\[(?=[gs]MASK\])|\](?=~b\]|~!b\[)|\[(?=e~\[)"
    r"|<(?=(?:reserved_\d+|extra_id_\d+|SPECIAL_\d+|[BE]OS_TOKEN)>)"
    r"|\[(?=(?:UNUSED_TOKEN_\d+|/?MODEL_SETTINGS|TOOL_CONTENT|ARGS|CALL_ID)\])"
    r"|<(?=(?:start|end)_of_(?:turn|image|utterance)>)|<(?=<?/?SYS>>)|◁(?=/?think)"
    r"|\[(?=/?(?:INST|SYS|SYSTEM_PROMPT|THINK|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|[BE]OS)\])"
    r"|<(?=<<(?:[0-9a-f]{8}|MARK|标记))|(?:(?<=[0-9a-f]{8})|(?<=MARK)|(?<=标记))>(?=>>)"
)
# No token is without one of these; what follows the first of each is what NFKC makes the same of.
_BRACKETS = "<\ufe64\uff1c[\ufe47\uff3b◁>\ufe65\uff1e\\]\ufe48\uff3d"
# A pattern that begins with a set of characters is found fast. Each match of `_TOKENS` is one of these.
_TOKEN = re.compile(rf"[<>[\]◁](?<=(?={_TOKENS}).)", re.IGNORECASE)
# Characters that NFKC may replace: all but ASCII and those that most Chinese texts consist of.
_FOLDABLE = re.compile("[^\x00-\x7f\u3001\u3002\u3400-\u4dbf\u4e00-\u9fff]")
# How the prompts of older models begin a turn.
_TURN = re.compile(r"(\n\n(?:Human|Assistant))(?=[:：])", re.IGNORECASE)
# A sequence that isn't finished is not a reason to drop the text behind it.
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\))")
_BLANK_LINES = re.compile("\n\n\n+")
_LINE_BREAK = re.compile("[\r\u2028\u2029\x85\x0b\x0c\x1c-\x1e](?:(?<=\r)\n)?")


class RawSnippet(NamedTuple):
    """The fields of one result as the dataset has them, empty where they are missing."""

    text: str
    title: str = ""
    url: str = ""
    date: str = ""
    docno: str = ""


@dataclass(frozen=True, slots=True)
class TextOptions:
    """How prompts show texts: at most `max_chars` characters of a snippet, and its date with `dates`.

    `lang` is the language of the prompts; `auto` takes that of the script of each query, or else of the
    snippets that all engines returned for it.
    """

    lang: LangChoice
    max_chars: int
    dates: bool = False


def clean_snippet(raw: RawSnippet, *, max_chars: int, query: str = "", dates: bool = False) -> Snippet:
    """Return the cleaned snippet with at most `max_chars` characters of text, and the raw texts.

    With `dates` the date is a part of its id. `query` serves to detect texts that only repeat its words.
    """
    visible, flags = _clean_text(raw.text, max_chars)
    clean_title, title_flags = _clean_text(raw.title, max_chars)
    clean_date, _ = _clean_text(raw.date, 100)
    raw_text = _join_title(raw.title, raw.text)
    flags |= title_flags | set(detect_injection(raw_text, _join_title(clean_title, visible)))
    if is_stuffed(query, clean_title) or is_stuffed(query, visible):
        flags.add(STUFFING)
    id_parts = [clean_title, visible, clean_date if dates else ""]
    if not (visible or clean_title) and (cut := [flag for flag in flags if flag.startswith(f"{TRUNCATED}:")]):
        flags.add(TEXT_CUT)
        id_parts = [TEXT_CUT, *sorted(cut)]  # a set has no order
    elif not visible:
        flags.add(TITLE_ONLY if clean_title else EMPTY_SNIPPET)
    title = clean_title.replace("\n", " ")
    return Snippet(
        id=hash_parts(id_parts, 16),
        text=visible,
        title=title,
        date=clean_date,
        url=raw.url,
        raw=None if (raw.title, raw.text) == (title, visible) else (raw.title, raw.text),
        docno=raw.docno,
        flags=tuple(sorted(flags)),
    )


def clean_query(text: str, *, max_chars: int = MAX_QUERY_CHARS) -> str:
    """Return a query as prompts show it, on one line. Markup stays, because queries can be about `<b>`."""
    return " ".join(_normalise_text(text, set()).split())[:max_chars].strip()


def is_query_cut(text: str) -> bool:
    """Return True when `clean_query` cuts `text`."""
    return len(text) > MAX_QUERY_CHARS and len(clean_query(text, max_chars=len(text))) > MAX_QUERY_CHARS


def _join_title(title: str, text: str) -> str:
    return f"{title}\n{text}" if title else text


def _clean_text(text: str, max_chars: int) -> tuple[str, set[str]]:
    flags: set[str] = set()
    if not text:
        return "", flags
    # The parser of HTML takes no lone surrogates.
    source = _repair_surrogates(text, flags) if "<" in text else text
    decoded = extract_visible_text(source).strip(" \t\r\n")
    start = decoded[: 20 * max_chars]
    is_plain = not _NOTABLE.search(start)
    visible = _normalise_text(start, flags, is_plain=is_plain)
    if len(visible) > max_chars or len(decoded) > 20 * max_chars:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        flags.add(f"{TRUNCATED}:{len(text)}:{digest}")
        visible = _normalise_text(visible[:max_chars], set())
    # A replaced half of a surrogate pair is not a lost byte.
    seen = decoded[: 2 * max_chars]
    if not is_plain and looks_misdecoded(seen.replace("\ufffd", "") if SURROGATES in flags else seen):
        flags.add(MISDECODED)
    return visible, flags


def _repair_surrogates(text: str, flags: set[str]) -> str:
    """Return `text` with the halves of surrogate pairs joined and lone ones replaced."""
    if not SURROGATE.search(text):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if joined.count("\ufffd") > text.count("\ufffd"):
        flags.add(SURROGATES)
    return joined


def _normalise_text(text: str, flags: set[str], *, is_plain: bool = False) -> str:
    """Return `text` without invisible characters and control tokens, with ordinary blanks.

    A text that `is_plain` has neither.
    """
    if not is_plain and _UNUSUAL.search(text):
        readable = _drop_unreadable(text, flags)
        text = _break_tokens(readable)
        if text != readable:
            flags.add(CHAT_TOKENS)
    if "\n" not in text:
        return _join_words(text)
    visible = _BLANK_LINES.sub("\n\n", "\n".join(map(_join_words, text.split("\n"))))
    if "\n\n" in visible:
        visible, turns = _TURN.subn(r"\1 ", visible)
        if turns:
            flags.add(CHAT_TOKENS)
    return visible.strip()


def _join_words(line: str) -> str:
    """Return the words of a line with one blank between each two."""
    # A blank that is not a space is not printable, and these checks take less time than to split the line.
    return line.strip() if line.isprintable() and "  " not in line else " ".join(line.split())


@lru_cache(maxsize=8192)
def _fold_char(char: str) -> str:
    return unicodedata.normalize("NFKC", char)


def _break_tokens(text: str) -> str:
    """Return `text` with a blank inside every control token, also in one that only NFKC makes."""
    folded = _FOLDABLE.sub(lambda match: _fold_char(match[0]), text)
    starts = [match.start() for match in _TOKEN.finditer(folded)]
    if not starts:
        return text
    positions = [position for position, char in enumerate(text) for _ in _fold_char(char)]
    cuts = sorted({positions[start] + (folded[start] != ">") for start in starts})
    return " ".join(text[start:end] for start, end in pairwise((0, *cuts, len(text))))


def _drop_unreadable(text: str, flags: set[str]) -> str:
    text = _LINE_BREAK.sub("\n", _repair_surrogates(text, flags))
    if CONTROL.search(text):
        flags.add(CONTROL_CHARACTERS)
        text = CONTROL.sub("", _ANSI.sub("", text))
    text, dropped = drop_invisible(text)
    if dropped:
        flags.add(INVISIBLE)
    return text


# Of the basic plane: soft hyphen, combining grapheme joiner, Arabic letter mark, Hangul fillers, Mongolian
# marks, zero-width characters, bidi controls and isolates, invisible operators, variation selectors, BOM,
# interlinear marks.
_INVISIBLE_BASIC = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
)
# Beyond it: controls of shorthand and music, the tag block and the supplementary variation selectors.
_INVISIBLE = re.compile(
    f"[{_INVISIBLE_BASIC}\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# All that `_drop_unreadable` replaces or drops, and what tokens have: most texts have none of these. Each
# range beyond the basic plane takes time for every character, so there is one for all of them.
_UNUSUAL = re.compile(
    f"[{CONTROL.pattern[1:-1]}{SURROGATE.pattern[1:-1]}\u2028\u2029{_INVISIBLE_BASIC}{_BRACKETS}\U00010000-\U0010ffff]"
)
_ZWNJ, _ZWJ = "\u200c", "\u200d"
_PICTURE = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
# A joiner between pictures (skin tones and selectors may come before it) makes one emoji; a selector
# after a picture, a digit, # or * chooses its colour form.
_EMOJI = re.compile(f"(?<=[{_PICTURE}\ufe0f])\u200d(?=[{_PICTURE}])|(?<=[{_PICTURE}0-9#*])[\ufe0e\ufe0f]")
_JOINING = ("ARABIC", "SYRIAC", "MONGOLIAN", "NKO", "MANDAIC", "THAANA")
_INDIC = (
    "DEVANAGARI BENGALI GURMUKHI GUJARATI ORIYA TAMIL TELUGU KANNADA MALAYALAM SINHALA KHMER MYANMAR TIBETAN"
).split()


def drop_invisible(text: str) -> tuple[str, bool]:
    """Return `text` without invisible characters, and True when a suspicious one was dropped.

    Joiners stay inside emoji and between letters of scripts that use them. A byte-order mark, a soft
    hyphen or a single selector is dropped and is not suspicious.
    """
    if not _INVISIBLE.search(text):
        return text, False
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
# A capital before a quote or a dash can be correct French or German ("CAFÉ…", "Spaß”"). So one lead byte and
# one byte after it prove nothing, except behind Â and Ã and with a sign that no word has.
_MISDECODED = (
    "\u00c3[\u0080-\u00a8\u00aa\u00ac-\u00ba\u00bc-\u00bf\u00a9\u0192\u0161\u0160\u02c6\u2030\u2021\u2020\u0153\u0152\u0178]"
    "|\u00c2[\u0080-\u009f\u00a1-\u00ba\u00bc-\u00bf]"
    "|\u00c2\u00a0(?=[a-z0-9 ])"
    f"|\u00e2[\u0080\u20ac]{_CONTINUATION}"
    "|\u00ef\u00bb\u00bf|\u00ef\u00bf\u00bd"
    f"|\u00f0[\u009f\u0178]{_CONTINUATION}{{2}}"
    f"|(?:[\u00e0-\u00ef]{_CONTINUATION}{{2}}){{2}}"
    f"|(?:[\u00d0\u00d1]{_CONTINUATION}){{3}}|(?:[\u00d8\u00d9]{_CONTINUATION}){{3}}|(?:[\u00ce\u00cf]{_CONTINUATION}){{3}}"
    # The result of bytes that were lost and read again (GBK, Korean), and of UTF-8 read as Shift-JIS.
    "|锟斤拷|쏙(?<=占쏙)옙|(?:[縺繧繝].){3}"
    # GBK's two high bytes a character, again and again, as Latin-1.
    "|[\u00a1-\u00fe]{8}"
)
# Each match begins with one of these characters.
_TRACE_BEGINNINGS = "\u00a1-\u00fe쏙锟縺繧繝"
_TRACE = re.compile(f"[{_TRACE_BEGINNINGS}](?<=(?={_MISDECODED}).)")
# Four Chinese characters or punctuation marks in UTF-8, and the characters whose bytes in GBK begin one.
_UTF8 = re.compile(rb"(?:[\xe3-\xe9\xef][\x80-\xbf]{2}){4}")
_UTF8_BEGINNINGS = b"".join(
    bytes((first, second)) for first in b"\xe3\xe4\xe5\xe6\xe7\xe8\xe9\xef" for second in range(0x80, 0xC0)
).decode("gb18030")
_REPLACED_SHARE = 0.02
# A text without these has nothing that `_drop_unreadable`, `_break_tokens` and `looks_misdecoded` look for.
# Most texts are such, and one search takes less time than one for each of them.
_RARE = f"{_UNUSUAL.pattern[1:-1]}{_UTF8_BEGINNINGS}\ufffd"
_NOTABLE = re.compile(f"[{_TRACE_BEGINNINGS}{_RARE}](?:(?<=[{_RARE}])|(?<=(?={_MISDECODED}).))")


def looks_misdecoded(text: str) -> bool:
    """Return True when `text` is probably UTF-8 decoded as Latin-1, Windows-1252 or GBK, or lost bytes.

    `text` must still have its control characters: many traces are among them.
    """
    if text.isascii():
        return False
    replaced_count = text.count("\ufffd")
    if replaced_count and replaced_count >= _REPLACED_SHARE * len(text):
        return True
    if _TRACE.search(text):
        return True
    # Its GBK bytes spell four Chinese characters in UTF-8, as those of real Chinese almost never do.
    return _UTF8.search(text.encode("gb18030", "replace")) is not None
