"""The codes of languages and countries that engines expect, from language tags such as zh-CN (BCP 47).

Each function takes what --lang or --country says and returns the engine's code. A language that an engine
has no special code for is sent as its primary subtag, so the engine itself refuses what it does not know.
"""

from __future__ import annotations

#: Chinese is written in two scripts; a tag without a script names it by its region.
_TRADITIONAL = frozenset({"hant", "tw", "hk", "mo"})
#: Bing's and Brave's codes that are no primary subtag.
_BING = {
    "en-gb": "en-gb",
    "ja": "jp",
    "no": "nb",
    "nn": "nb",
    "pt": "pt-pt",
    "pt-br": "pt-br",
    "pt-pt": "pt-pt",
}
#: Google's codes that are no primary subtag (the values of `hl`).
_GOOGLE = {"he": "iw", "pt-br": "pt-br", "pt-pt": "pt-pt"}


def bing_language(tag: str) -> str:
    """Return the code of Bing's `setLang` and Brave's `search_lang`: zh-CN is zh-hans, zh-TW is zh-hant."""
    return _chinese(tag, "zh-hans", "zh-hant") or _code(tag, _BING)


def google_language(tag: str) -> str:
    """Return the code of Google's `hl`, as Serper and SerpApi list it: zh-Hans is zh-cn, zh-HK is zh-tw."""
    return _chinese(tag, "zh-cn", "zh-tw") or _code(tag, _GOOGLE)


def unchanged(text: str) -> str:
    """Return the text as it is, for engines that take language tags or that any case fits."""
    return text


def _chinese(tag: str, simplified: str, traditional: str) -> str:
    primary, *others = tag.lower().replace("_", "-").split("-")
    if primary != "zh":
        return ""
    script = [other for other in others if other in ("hans", "hant")]
    return traditional if _TRADITIONAL.intersection(script or others) else simplified


def _code(tag: str, codes: dict[str, str]) -> str:
    tag = tag.lower().replace("_", "-")
    primary = tag.partition("-")[0]
    return codes.get(tag) or codes.get(primary, primary)
