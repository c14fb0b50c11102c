"""Owns making untrusted text readable: markup out, hidden characters out, control tokens broken.

What comes out is exactly what a prompt may show; what went in is kept beside it. Nothing here decides
about relevance: what was noticed is noted as flags.
"""

from __future__ import annotations

import hashlib
import re

from selectolax.lexbor import LexborHTMLParser

from judge.dataset.encoding import looks_misdecoded
from judge.dataset.identifiers import short_hash
from judge.dataset.suspicion import suspicions
from judge.dataset.unseen import drop_invisible, has_invisible
from judge.records import Snippet

_TAG_NAMES = (
    "a abbr acronym address applet area article aside audio b base basefont bdi bdo big blink blockquote "
    "body br button canvas caption center cite code col colgroup data datalist dd del details dfn dialog "
    "dir div dl dt em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 "
    "head header hgroup hr html i iframe img input ins kbd label legend li link main map mark marquee "
    "menu meta meter nav nobr noembed noframes noscript object ol optgroup option output p param picture "
    "plaintext pre progress q rp rt ruby s samp script section select slot small source span strike "
    "strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track "
    "tt u ul var video wbr"
).split()
# `vector<int>`, `a < b` and `<- here` are text, so only the names of real elements open markup.
_NOT_MARKUP = re.compile(rf"<(?!/?(?:{'|'.join(_TAG_NAMES)})(?=[\s/>])|!--)", re.IGNORECASE)
_OPENED = re.compile(r"<([a-zA-Z][a-zA-Z0-9]*)")
_BREAKING = frozenset(
    "br p div li tr h1 h2 h3 h4 h5 h6 td th dd dt ul ol table section article hr blockquote pre".split()
)
_SILENT = ["script", "style", "template", "noscript", "iframe", "object", "svg", "head", "title"]

# Control tokens of ChatML and Qwen, Llama, Gemma, Phi, DeepSeek, gpt-oss, and thinking marks.
_TOKENS = re.compile(
    r"<(?=[|｜])|(?<=[|｜])>|<(?=/?(?:s|bos|eos|think|thinking|start_of_turn|end_of_turn|unk|pad)>)"
    r"|\[(?=/?(?:INST|SYS|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])|<(?=</?SYS>>)|<(?=/?SYS>>)|◁(?=/?think)",
    re.IGNORECASE,
)
_TOKEN_MARKS = ("<", "|>", "｜>", "[", "◁")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANKS = re.compile("[^\\S\n]+")
_BLANK_LINES = re.compile(r" ?\n ?(?:\n ?){2,}| ?\n ?")


def snippet(
    text: str,
    *,
    title: str = "",
    url: str = "",
    date: str = "",
    docno: str = "",
    max_chars: int,
    query: str = "",
) -> Snippet:
    """The snippet that shows `text` under `title`, cleaned, at most `max_chars` of it; raw texts kept.

    `query` helps to notice text that is only the query's words piled up.
    """
    shown, flags = _clean(text, max_chars)
    heading, more = _clean(title, max_chars)
    dated, _ = _clean(date, 100)
    flags |= more | set(suspicions(query, _joined(title, text), _joined(heading, shown)))
    if not shown and not heading:
        flags.add("empty_snippet")
    return Snippet(
        id=short_hash([heading, shown, dated], 16),
        text=shown,
        title=heading.replace("\n", " "),
        date=dated,
        url=url,
        raw_text=text,
        raw_title=title,
        docno=docno,
        flags=tuple(sorted(flags)),
    )


def query(text: str, *, max_chars: int = 2000) -> str:
    """A query as prompts show it, on one line. Markup stays: people do ask about `<b>`."""
    shown, _ = _tidy(text, set())
    return shown.replace("\n", " ")[:max_chars].strip()


def visible(text: str) -> str:
    """`text` for a terminal: controls and hidden characters shown as escapes, never obeyed."""
    return "".join(char if char == "\n" or char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def _joined(title: str, text: str) -> str:
    return f"{title}\n{text}" if title else text


def _clean(text: str, max_chars: int) -> tuple[str, set[str]]:
    flags: set[str] = set()
    if not text:
        return "", flags
    # Far more raw text than could ever be shown is not worth parsing.
    shown = _without_markup(text[: 50 * max_chars])
    shown, flags = _tidy(shown, flags)
    if len(shown) > max_chars or len(text) > 50 * max_chars:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        flags.add(f"truncated:{len(text)}:{digest}")
        shown = _tidy(shown[:max_chars], set())[0]
    if looks_misdecoded(shown):
        flags.add("encoding")
    return shown, flags


def _without_markup(text: str) -> str:
    if "<" not in text and "&" not in text:
        return text
    parser = LexborHTMLParser(_NOT_MARKUP.sub("&lt;", _SURROGATE.sub("\ufffd", text).replace("\0", "")))
    body = parser.body
    if body is None:
        return ""
    # Walking the tree costs more than parsing it, so only for elements that are there.
    present = {name.lower() for name in _OPENED.findall(text)}
    if not present.isdisjoint(_SILENT) or "<!--" in text:
        body.strip_tags(_SILENT, recursive=True)
    for name in present & _BREAKING:
        for element in body.css(name):
            if name != "br":
                element.insert_before("\n")
            element.insert_after("\n")
    return body.text(deep=True)


def _tidy(text: str, flags: set[str]) -> tuple[str, set[str]]:
    """`text` with nothing in it that a reader can't see or a model could obey, in ordinary blanks."""
    if not text.isascii() or not text.isprintable():
        text = _readable(text, flags)
    broken = text
    if any(mark in text for mark in _TOKEN_MARKS):
        broken = _TOKENS.sub(_apart, text)
        if broken != text:
            flags.add("chat_tokens")
    if "\n" not in broken:
        return " ".join(broken.split()), flags
    collapsed = _BLANKS.sub(" ", broken)
    return _BLANK_LINES.sub(_line_breaks, collapsed).strip(), flags


def _line_breaks(match: re.Match[str]) -> str:
    return "\n" * min(match[0].count("\n"), 2)


def _apart(match: re.Match[str]) -> str:
    return f" {match[0]}" if match[0] == ">" else f"{match[0]} "


def _readable(text: str, flags: set[str]) -> str:
    if _SURROGATE.search(text):
        flags.add("surrogate")
        text = _SURROGATE.sub("\ufffd", text)
    text = (
        text.replace("\r\n", "\n")
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
