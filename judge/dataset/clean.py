"""Cleaning of untrusted text: markup and invisible characters are removed, control tokens are broken.

The result is exactly the text that a prompt shows; the raw text is stored beside it. Observations become
flags of the snippet. Nothing here decides about relevance.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from judge.dataset.injection import detect_injection
from judge.dataset.text_cleaning import drop_invisible, extract_visible_text, has_invisible, looks_misdecoded
from judge.dataset.validation import short_hash
from judge.records import Ranking, Snippet

#: Flags of a snippet without text: it has only a title, it is empty, or its text is missing.
TITLE_ONLY, EMPTY_SNIPPET, TEXT_MISSING = "textless", "empty_snippet", "no_text"
#: Flag of a snippet with nothing readable in the part of the text that `max_chars` allows.
TEXT_CUT = "text_cut"


def mark_missing_text(snippet: Snippet, position: str) -> Snippet:
    """Return the snippet of a result with missing text; its id differs from that of an empty snippet.

    It also differs from that of any other missing text: by docno, URL, or `position` in the lists.
    """
    id_parts = [TEXT_MISSING, snippet.docno or snippet.url or position]
    flags = {*snippet.flags, TEXT_MISSING} - {EMPTY_SNIPPET}
    return replace(snippet, id=short_hash(id_parts, 16), flags=tuple(sorted(flags)))


def describe_missing(rankings: Iterable[Ranking], depth: int, source: str) -> Iterator[str]:
    """Yield one line if results down to `depth` have no text in the file `source`."""
    missing = [
        (ranking, rank, snippet.docno)
        for ranking in rankings
        for rank, snippet in enumerate(ranking.snippets[:depth], start=1)
        if TEXT_MISSING in snippet.flags
    ]
    if not missing:
        return
    ranking, rank, docno = missing[0]
    documents = len({docno for _, _, docno in missing})
    if docno:
        lack = f"{documents:,} document{'s are' if documents > 1 else ' is'} not in {source}"
        first = f"{docno!r} of topic {ranking.query_id!r}"
    else:
        have = "results have" if len(missing) > 1 else "result has"
        lack = f"{len(missing):,} {have} no text or title in {source}"
        first = f"rank {rank} of engine {ranking.engine!r} for query {ranking.query_id!r}"
    yield f"{lack}, first {first}: left unjudged: a missing text is not grade 0"


#: Prompts show at most this many characters of a query or a reference.
MAX_QUERY_CHARS = 2000
# Where control tokens of ChatML and Qwen, Llama, Gemma, Phi, DeepSeek, Mistral, gpt-oss, GLM, Seed,
# MiniMax, marks of thinking and lines like those of our fence are broken: behind the first character,
# before a closing `>`.
_TOKENS = re.compile(
    r"<(?=\|)|(?<=\|)>|<(?=/?(?:s|bos|eos|unk|pad|sop|eop|think|thinking|tool_calls?|tool_responses?)>)"
    r"|<(?=/?seed:[a-z_]+>)|<(?=unused\d+>)|\[(?=[gs]MASK\])|\](?=~b\]|~!b\[)|\[(?=e~\[)"
    r"|<(?=(?:start|end)_of_(?:turn|image)>)|<(?=<?/?SYS>>)|◁(?=/?think)"
    r"|\[(?=/?(?:INST|SYS|SYSTEM_PROMPT|THINK|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
    r"|<(?=<<(?:[0-9a-f]{8}|MARK|标记))|(?:(?<=[0-9a-f]{8})|(?<=MARK)|(?<=标记))>(?=>>)",
    re.IGNORECASE,
)
# No token is without one of these; what follows the first of each is what NFKC makes the same of.
_TOKEN_MARK = re.compile(
    "[<\ufe64\uff1c[\ufe47\uff3b◁]|[|\uff5c>\ufe65\uff1e][>\ufe65\uff1e]|[]\ufe48\uff3d][~\uff5e]"
)
# How the prompts of older models begin a turn.
_TURN = re.compile(r"(\n\n(?:Human|Assistant))(?=[:：])", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# A sequence that isn't finished is no reason to drop the text behind it.
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\))")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANKS = re.compile("[^\\S\n]+")
_BLANK_LINES = re.compile(r" ?\n ?(?:\n ?){2,}| ?\n ?")


def clean_snippet(
    text: str,
    *,
    title: str = "",
    url: str = "",
    date: str = "",
    docno: str = "",
    max_chars: int,
    query: str = "",
    dates: bool = False,
) -> Snippet:
    """Return the cleaned snippet with at most `max_chars` characters of `text`, and the raw texts.

    With `dates` the date is a part of its id. `query` serves to detect texts that only repeat its words.
    """
    visible, flags = _clean_text(text, max_chars)
    clean_title, title_flags = _clean_text(title, max_chars)
    clean_date, _ = _clean_text(date, 100)
    flags |= title_flags | set(
        detect_injection(query, _join_title(title, text), _join_title(clean_title, visible))
    )
    id_parts = [clean_title, visible, clean_date if dates else ""]
    if not (visible or clean_title) and (cut := [flag for flag in flags if flag.startswith("truncated:")]):
        flags.add(TEXT_CUT)
        id_parts = [TEXT_CUT, *cut]
    elif not visible:
        flags.add(TITLE_ONLY if clean_title else EMPTY_SNIPPET)
    return Snippet(
        id=short_hash(id_parts, 16),
        text=visible,
        title=clean_title.replace("\n", " "),
        date=clean_date,
        url=url,
        raw_text=text,
        raw_title=title,
        docno=docno,
        flags=tuple(sorted(flags)),
    )


def clean_query(text: str, *, max_chars: int = MAX_QUERY_CHARS) -> str:
    """Return a query as prompts show it, on one line. Markup stays, because queries can be about `<b>`."""
    visible, _ = _normalise_text(text, set())
    return " ".join(visible.split())[:max_chars].strip()


def is_query_cut(text: str) -> bool:
    """Return True when `clean_query` cuts `text`."""
    return len(text) > MAX_QUERY_CHARS and len(clean_query(text, max_chars=len(text))) > MAX_QUERY_CHARS


def escape_controls(text: str) -> str:
    """Return `text` for a terminal, with control and invisible characters as escape sequences."""
    return "".join(char if char == "\n" or char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def _join_title(title: str, text: str) -> str:
    return f"{title}\n{text}" if title else text


def _clean_text(text: str, max_chars: int) -> tuple[str, set[str]]:
    flags: set[str] = set()
    if not text:
        return "", flags
    decoded = extract_visible_text(_repair_surrogates(text, flags)).lstrip(" \t\r\n")
    visible, flags = _normalise_text(decoded[: 20 * max_chars], flags)
    if len(visible) > max_chars or len(decoded) > 20 * max_chars:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        flags.add(f"truncated:{len(text)}:{digest}")
        visible = _normalise_text(visible[:max_chars], set())[0]
    # A replaced half of a surrogate pair is not a lost byte.
    seen = decoded[: 2 * max_chars]
    if looks_misdecoded(seen.replace("\ufffd", "") if "surrogate" in flags else seen):
        flags.add("encoding")
    return visible, flags


def _repair_surrogates(text: str, flags: set[str]) -> str:
    """Return `text` with the halves of surrogate pairs joined and lone ones replaced."""
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if joined.count("\ufffd") > text.count("\ufffd"):
        flags.add("surrogate")
    return joined


def _normalise_text(text: str, flags: set[str]) -> tuple[str, set[str]]:
    """Return `text` without invisible characters and control tokens, with ordinary blanks."""
    if not text.isascii() or not text.isprintable():
        text = _drop_unreadable(text, flags)
    broken = _break_tokens(text) if _TOKEN_MARK.search(text) else text
    if broken != text:
        flags.add("chat_tokens")
    if "\n" not in broken:
        return " ".join(broken.split()), flags
    collapsed = _BLANK_LINES.sub(lambda match: "\n" * min(match[0].count("\n"), 2), _BLANKS.sub(" ", broken))
    visible, turns = _TURN.subn(r"\1 ", collapsed)
    if turns:
        flags.add("chat_tokens")
    return visible.strip(), flags


def _break_tokens(text: str) -> str:
    """Return `text` with a blank inside every control token, also in one that only NFKC makes."""
    folded = [unicodedata.normalize("NFKC", char) for char in text]
    positions = [position for position, piece in enumerate(folded) for _ in piece]
    matches = _TOKENS.finditer("".join(folded))
    cuts = sorted({positions[match.start()] + (match[0] != ">") for match in matches})
    return " ".join(text[start:end] for start, end in pairwise((0, *cuts, len(text))))


def _drop_unreadable(text: str, flags: set[str]) -> str:
    text = (
        _repair_surrogates(text, flags)
        .replace("\r\n", "\n")
        .replace("\r", "\n")
        .replace("\u2028", "\n")
        .replace("\u2029", "\n")
        .replace("\x85", "\n")
    )
    if _CONTROL.search(text):
        flags.add("control")
        text = _CONTROL.sub("", _ANSI.sub("", text))
    if has_invisible(text):
        text, dropped = drop_invisible(text)
        if dropped:
            flags.add("invisible")
    return text
