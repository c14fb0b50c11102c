"""The engines that are known by name: the API of each, from its documentation, with its language codes.

A function of codes takes the value of --lang or --country, a tag such as zh-CN (BCP 47), and returns the
engine's code. A language without a special code is sent as its primary subtag, so that the engine itself
refuses one that it does not support.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.collect.engines import EngineDefinition
from judge.collect.responses import ResponseShape

#: Scripts and regions with traditional characters; a tag without a script implies it by the region.
_TRADITIONAL = frozenset({"hant", "tw", "hk", "mo"})
#: Codes of Bing and Brave that are not the primary subtag.
_BING = {
    "en-gb": "en-gb",
    "ja": "jp",
    "no": "nb",
    "nn": "nb",
    "pt": "pt-pt",
    "pt-br": "pt-br",
    "pt-pt": "pt-pt",
}
#: Codes of Google (the values of `hl`) that are not the primary subtag.
_GOOGLE = {"he": "iw", "pt-br": "pt-br", "pt-pt": "pt-pt"}


def bing_language(tag: str) -> str:
    """Return the code of Bing's `setLang` and Brave's `search_lang`: zh-CN is zh-hans, zh-TW is zh-hant."""
    return _chinese_code(tag, "zh-hans", "zh-hant") or _look_up_code(tag, _BING)


def google_language(tag: str) -> str:
    """Return the code of Google's `hl`, as Serper and SerpApi list it: zh-Hans is zh-cn, zh-HK is zh-tw."""
    return _chinese_code(tag, "zh-cn", "zh-tw") or _look_up_code(tag, _GOOGLE)


def _chinese_code(tag: str, simplified: str, traditional: str) -> str:
    primary, *others = tag.lower().replace("_", "-").split("-")
    if primary != "zh":
        return ""
    script = [other for other in others if other in ("hans", "hant")]
    return traditional if _TRADITIONAL.intersection(script or others) else simplified


def _look_up_code(tag: str, codes: dict[str, str]) -> str:
    tag = tag.lower().replace("_", "-")
    primary = tag.partition("-")[0]
    return codes.get(tag) or codes.get(primary, primary)


_BEARER = {"Authorization": "Bearer {key}"}
_SERPAPI_DOCS = "https://serpapi.com/search-errors"


def _serpapi(engine: str, params: Mapping[str, str], page: int = 10) -> EngineDefinition:
    """Return the definition of an engine as SerpApi reads its pages.

    SerpApi answers an empty page with success, an `error` that says so, and no list. Its cache of the last
    hour is turned off.
    """
    return EngineDefinition(
        name=f"serpapi-{engine}",
        docs=_SERPAPI_DOCS,
        base_url="https://serpapi.com",
        path="/search.json",
        key="SERPAPI_API_KEY",
        secrets={"api_key": "{key}"},
        params={"engine": engine, "q": "{query}", "no_cache": "true", **params},
        page=page,
        language=google_language,
        country=str.lower,
        shape=ResponseShape(
            results="organic_results", proof="search_metadata.status=Success", url=("link",), date=("date",)
        ),
    )


def _aliyun_iqs(name: str, engine_type: str, body: Mapping[str, Any], page: int) -> EngineDefinition:
    """Return the definition of an engine type of Aliyun IQS; each type is an engine of its own."""
    return EngineDefinition(
        name=name,
        docs="https://help.aliyun.com/document_detail/2883041.html",
        base_url="https://cloud-iqs.aliyuncs.com",
        path="/search/unified",
        method="POST",
        key="ALIYUN_IQS_API_KEY",
        headers=_BEARER,
        body={
            "query": "{query}",
            "engineType": engine_type,
            "timeRange": "NoLimit",
            "contents": {"mainText": False, "markdownText": False, "summary": False, "rerankScore": True},
            **body,
        },
        page=page,
        shape=ResponseShape(results="pageItems", proof="pageItems", url=("link",), date=("publishedTime",)),
    )


_ENGINES = (
    # Open source, self-hosted. The size of a page depends on its own engines; no parameter sets it.
    EngineDefinition(
        name="searxng",
        docs="https://docs.searxng.org/dev/search_api.html",
        base_env="SEARXNG_URL",
        path="/search",
        params={"q": "{query}", "format": "json", "pageno": "{page}", "language": "{lang}"},
        shape=ResponseShape(
            results="results",
            proof="results",
            snippet=("content",),
            date=("publishedDate",),
            unresponsive="unresponsive_engines",
        ),
        hint="its settings.yml must have json among search.formats, and let this address past the limiter",
    ),
    # A page without web results has no `web`; its offset counts pages.
    EngineDefinition(
        name="brave",
        docs="https://api-dashboard.search.brave.com/api-reference/web/search/get",
        base_url="https://api.search.brave.com",
        path="/res/v1/web/search",
        key="BRAVE_SEARCH_API_KEY",
        headers={"X-Subscription-Token": "{key}"},
        params={
            "q": "{query}",
            "count": "{count}",
            "offset": "{skipped_pages}",
            "result_filter": "web",
            "search_lang": "{lang}",
            "country": "{country}",
        },
        page=20,
        language=bing_language,
        country=str.upper,
        shape=ResponseShape(
            results="web.results", proof="type=search", snippet=("description",), date=("page_age", "age")
        ),
    ),
    # Microsoft retired its service on 2025-08-11; compatible servers remain.
    EngineDefinition(
        name="bing",
        docs="https://learn.microsoft.com/en-us/bing/search-apis/bing-web-search/reference/response-objects",
        base_env="BING_SEARCH_URL",
        path="/v7.0/search",
        key="BING_SUBSCRIPTION_KEY",
        headers={"Ocp-Apim-Subscription-Key": "{key}"},
        params={
            "q": "{query}",
            "count": "{count}",
            "offset": "{offset}",
            "responseFilter": "Webpages",
            "setLang": "{lang}",
            "cc": "{country}",
        },
        page=50,
        language=bing_language,
        country=str.upper,
        shape=ResponseShape(
            results="webPages.value", proof="_type=SearchResponse", title=("name",), date=("datePublished",)
        ),
    ),
    EngineDefinition(
        name="serper",
        docs="https://serper.dev/playground",
        base_url="https://google.serper.dev",
        path="/search",
        method="POST",
        key="SERPER_API_KEY",
        headers={"X-API-KEY": "{key}"},
        body={"q": "{query}", "num": "{count}", "page": "{page}", "hl": "{lang}", "gl": "{country}"},
        language=google_language,
        country=str.lower,
        shape=ResponseShape(results="organic", proof="searchParameters", url=("link",), date=("date",)),
    ),
    _serpapi("google", {"num": "{count}", "start": "{offset}", "hl": "{lang}", "gl": "{country}"}),
    _serpapi("baidu", {"rn": "{count}", "pn": "{offset}"}, page=50),
    _serpapi("bing", {"count": "{count}", "first": "{first}", "cc": "{country}"}, page=50),
    # Returns 20 results at most, and has no second page.
    EngineDefinition(
        name="tavily",
        docs="https://docs.tavily.com/documentation/api-reference/endpoint/search",
        base_url="https://api.tavily.com",
        path="/search",
        method="POST",
        key="TAVILY_API_KEY",
        headers=_BEARER,
        body={"query": "{query}", "max_results": "{count}", "search_depth": "basic"},
        page=20,
        shape=ResponseShape(
            results="results", proof="results", snippet=("content",), date=("published_date",)
        ),
    ),
    # Its snippets are excerpts that it selects for the query; it has no second page.
    EngineDefinition(
        name="exa",
        docs="https://exa.ai/docs/reference/search",
        base_url="https://api.exa.ai",
        path="/search",
        method="POST",
        key="EXA_API_KEY",
        headers={"x-api-key": "{key}"},
        body={
            "query": "{query}",
            "numResults": "{count}",
            "userLocation": "{country}",
            "contents": {"highlights": True},
        },
        page=100,
        country=str.upper,
        shape=ResponseShape(
            results="results",
            proof="results",
            snippet=("highlights", "text", "summary"),
            date=("publishedDate",),
        ),
    ),
    # LiteAdvanced is the only engine type with a parameter for the number of results.
    _aliyun_iqs("aliyun-iqs", "LiteAdvanced", {"advancedParams": {"numResults": "{count_text}"}}, 50),
    _aliyun_iqs("aliyun-iqs-generic", "Generic", {}, 10),
    _aliyun_iqs("aliyun-iqs-generic-advanced", "GenericAdvanced", {}, 50),
    EngineDefinition(
        name="bocha",
        docs="https://open.bochaai.com",
        base_url="https://api.bochaai.com",
        path="/v1/web-search",
        method="POST",
        key="BOCHA_API_KEY",
        headers=_BEARER,
        body={"query": "{query}", "count": "{count}", "page": "{page}", "summary": False},
        page=50,
        shape=ResponseShape(
            results="data.webPages.value",
            proof="code=200",
            title=("name",),
            snippet=("snippet", "summary"),
            date=("datePublished",),
        ),
    ),
)
#: All engines that are known by name.
KNOWN: Mapping[str, EngineDefinition] = {engine.name: engine for engine in _ENGINES}
