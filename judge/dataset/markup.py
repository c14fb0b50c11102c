"""Text without HTML: what is markup, and what only looks like it."""

import html
import re
from collections.abc import Set

from selectolax.lexbor import LexborHTMLParser

# Only the names of HTML elements are markup; other brackets are text.
_ELEMENTS = frozenset(
    "a abbr acronym address applet area article aside audio b base basefont bdi bdo big blink blockquote "
    "body br button canvas caption center cite code col colgroup data datalist dd del details dfn dialog "
    "dir div dl dt em embed fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 "
    "head header hgroup hr html i iframe img input ins kbd label legend li link main map mark marquee "
    "menu meta meter nav nobr noembed noscript object ol optgroup option output p param picture "
    "pre progress q rp rt ruby s samp script section select slot small source span strike "
    "strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track "
    "tt u ul var video wbr".split()
)
# Without a closing tag these would remove the rest of the text: then the tag is a part of the text
# ("the <script> tag loads …").
_PAIRED = "head iframe noembed noscript script select style svg template textarea title".split()
_CLOSING = re.compile(rf"</({'|'.join(_PAIRED)})(?=[\s/>])[^>]*>", re.IGNORECASE)
_OPENING = re.compile(r"<(?:(/?)([A-Za-z][A-Za-z0-9]*)(?=[\s/>])|(!--))?")
_NO_TAG = re.compile(r"<(?![A-Za-z/!])")
_HIDDEN = re.compile(
    r"<(script|style|template|noscript|noembed|iframe|svg|head)(?=[\s/>]).*?</\1(?=[\s/>])[^>]*>|<!--.*?-->",
    re.IGNORECASE | re.DOTALL,
)
_BLOCK = re.compile(
    r"</?(?:p|div|li|tr|h[1-6]|t[dh]|d[dt]|[ou]l|table|section|article|[bh]r|blockquote|pre|option)(?=[\s/>])",
    re.IGNORECASE,
)
_BRACKET = re.compile("[<>]")
# A name of an entity without its semicolon, which HTML takes for one: `&sect` in `&section=2`.
_PARAMETER = re.compile(
    r"&(?=[A-Za-z][A-Za-z0-9]*(?![A-Za-z0-9;]))(?!(?:amp|lt|gt|quot|nbsp)(?![A-Za-z0-9=]))"
)
# Elements whose names are types of programs, too: `List<object>`. As elements, they have a closing tag.
_TYPES = "data dir label map menu object output time var".split()
_CLOSED_TYPE = re.compile(rf"</({'|'.join(_TYPES)})(?=[\s/>])", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
# A parser takes quadratic time with thousands of nested tags or attributes. A text with this many tags is
# stripped tag by tag.
_MAX_TAGS = 2_000
_MAX_CHARS = 100_000


def extract_visible_text(source: str) -> str:
    """Return the text of `source` without markup: entities decoded once, a line break at each block.

    Only the names of HTML elements are markup, so `vector<int>`, `List<Object>`, `a <b` and `<-`
    stay, and so do parameters of an address, such as `&section=2`. `source` holds no lone surrogates.
    """
    if "&" in source:
        source = _PARAMETER.sub("&amp;", source)
    if "<" not in source:
        return html.unescape(source) if "&" in source else source
    visible = _HIDDEN.sub("", _escape_others(source))
    tags = visible.count("<")
    if not tags:
        return html.unescape(visible)
    broken = _BLOCK.sub(r"\n\g<0>", visible)
    if tags > _MAX_TAGS or len(visible) > _MAX_CHARS:
        end = broken.rfind(">") + 1  # behind it each search would run to the end of the text
        return html.unescape(_TAG.sub("", broken[:end]) + broken[end:])
    root = LexborHTMLParser(broken).root
    return "" if root is None else root.text()


def _escape_others(source: str) -> str:
    """Return `source` with every `<` that opens no element or comment as an entity."""
    source = _NO_TAG.sub("&lt;", source)
    last = source.rfind(">")
    closed = dict.fromkeys(_PAIRED, -1)
    # Search up to the last bracket only: behind it each search would run to the end of the text.
    closed |= {match[1].lower(): match.start() for match in _CLOSING.finditer(source, 0, last + 1)}
    closed["!--"] = source.rfind("-->")
    types = {*_TYPES} - {match[1].lower() for match in _CLOSED_TYPE.finditer(source)}

    def escape(match: re.Match[str]) -> str:
        slash, name, comment = match.groups()
        opened = comment or (name or "").lower()
        ends = last if slash else closed.get(opened, last)
        is_markup = (comment or opened in _ELEMENTS) and match.start() < ends
        is_quoted = source.endswith("&lt;&lt;", 0, match.start())  # "<<<MARK" is no element
        if is_markup and not is_quoted and (slash or not _is_generic(source, match, name, types)):
            return match[0]
        return "&lt;" + match[0][1:]

    return _OPENING.sub(escape, source)


def _is_generic(source: str, match: re.Match[str], name: str | None, types: Set[str]) -> bool:
    """Return True when the bracket holds a type, as in `List<Object>`, or a comparison, as in `a<b and c>d`.

    Tags are not written `Like` that, and a tag with a single letter has no bare words behind its name.
    `types` are names of elements that have no closing tag in the text.
    """
    if name is not None and len(name) == 1:
        # Only up to the next bracket, so that many of them take linear time together.
        bracket = _BRACKET.search(source, match.end())
        rest = source[match.end() : bracket.start() if bracket else None].strip(" /\n")
        is_closed = bracket is not None and bracket[0] == ">"
        return (bool(rest) or not is_closed) and "=" not in rest
    before = source[match.start() - 1 : match.start()] if match.start() else ""
    is_type = name is not None and (
        name.istitle()
        or (name in types and before.isascii() and source[match.end() : match.end() + 1] == ">")
    )
    return is_type and (before.isalnum() or before == "_")
