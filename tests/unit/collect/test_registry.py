"""Options, names, descriptions and language codes of engines, and errors before a call."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from judge.collect.registry import KNOWN, LANGUAGES, open_engines, read_custom_engine
from judge.config.collect import CollectConfig
from judge.errors import InputError, SetupError
from tests.support.cases import check_each

LOCAL = "http://127.0.0.1:9"
TABLE: dict[str, Any] = {"url": "https://mine.example/find?q={query}", "results": "items"}


def open_names(*engines: str, **options: Any) -> list[str]:
    """The names of what was opened, from an empty environment."""
    config = CollectConfig(queries="q.txt", engines=engines, out="d.jsonl", **options)
    return [source.name for source in open_engines(config, {})]


def test_every_known_engine_opens_at_a_private_address() -> None:
    assert open_names(*KNOWN, base_urls=dict.fromkeys(KNOWN, LOCAL)) == list(KNOWN)


@check_each(
    ("engine", "options", "expected"),
    [
        ("brvae", {}, r"^unknown engine 'brvae'; did you mean 'brave'\?$"),
        ("gooogle", {}, "; the known names are searxng, brave, .*, http:NAME and langchain:CLASS$"),
        ("google", {}, "unknown engine 'google'"),
        ("http:mine", {}, r"in a table \[collect.engines.mine\]"),
        (
            "brave",
            {"base_urls": {"brave": LOCAL, "exa": LOCAL}},
            "'exa', which is not an engine of",
        ),
        ("brave", {"base_urls": {"brave": "ftp://x"}}, "is not the address of a server"),
        ("brave", {"base_urls": {"brave": "http://me:word@localhost"}}, "contains a user, a query or a"),
        ("http:mine", {"engine_tables": {"mine": {**TABLE, "url": "mine"}}}, "url is 'mine'; it must be"),
        (
            "http:mine",
            {"engine_tables": {"mine": {**TABLE, "url": "https://{query}/x"}}},
            "it must be like https",
        ),
        (
            "http:mine",
            {"engine_tables": {"mine": {**TABLE, "url": "https://[x/?q={query}"}}},
            "it must be like https",
        ),
        (
            "http:mine",
            {"engine_tables": {"mine": {**TABLE, "url": "https://x/?q=fixed"}}},
            "all queries would be",
        ),
        (
            "http:mine",
            {"engine_tables": {"mine": {**TABLE, "params": {"size": "{n}"}}}},
            "{n} is not a placeholder",
        ),
        (
            "http:mine",
            {"engine_tables": {"mine": {**TABLE, "body": {"q": "{query}", "since": date(2026, 1, 2)}}}},
            "body.since is 2026-01-02; it must be a text, a number, true, false, a list or a table",
        ),
        (
            "http:mine",
            {"engine_tables": {"mine": {**TABLE, "body": {"all": [{"q": "{query}", "api_key": "x"}]}}}},
            "body: 'api_key' is in a list",
        ),
        (
            "http:mine",
            {"engine_tables": {"mine": {**TABLE, "headers": {"X": "{kee}"}}}},
            "{kee} is not a placeholder",
        ),
        (
            "http:mine",
            {"engine_tables": {"mine": {"url": TABLE["url"]}}},
            "results is missing; it must be the path",
        ),
        (
            "http:mine",
            {"engine_tables": {"mine": {**TABLE, "colour": "red"}}},
            "unknown option 'colour'",
        ),
        (
            "http:mine",
            {"engine_tables": {"mine": {**TABLE, "page": True}}},
            "page is true; it must be a whole",
        ),
        ("http:mine", {"engine_tables": {"mine": {**TABLE, "page": 0}}}, "page is 0; it must be at least 1"),
        (
            "http:mine",
            {"engine_tables": {"mine": {**TABLE, "fields": {"rank": "x"}}}},
            "unknown option 'rank'",
        ),
        (
            "http:mine",
            {"engine_tables": {"mine": {**TABLE, "fields": {"url": 3}}}},
            "url is 3; it must be a path",
        ),
        (
            "http:mine",
            {"engine_tables": {"mine": {**TABLE, "headers": {"X": 3}}}},
            "headers.X is 3; it must be",
        ),
        ("langchain:DuckDuckGoSearchAPIWrapper", {}, "its order measures no engine"),
        ("langchain:ddgs:DDGS", {}, "it sorts, drops or mixes results on this machine"),
        ("langchain:langchain_classic.retrievers:EnsembleRetriever", {}, "it sorts, drops or mixes results"),
        ("langchain:Nothing", {}, "not known by name"),
        ("langchain:no.such.package:Search", {}, "cannot be made"),
        (
            "langchain:json:JSONDecoder",
            {"engine_tables": {"JSONDecoder": {"options": {"x": 1}}}},
            "cannot be made",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(engine: str, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        open_names(engine, **options)


def test_a_list_in_a_body_may_name_fields() -> None:
    body = {"q": "{query}", "filters": [{"key": "lang", "value": "en"}, {"tokenizer": "ik"}]}
    engine = read_custom_engine("mine", {**TABLE, "body": body})
    assert (engine.body, engine.body_secrets) == (body, {})
    for text in ("{key}", "0123456789abcdef"):
        with pytest.raises(InputError, match="'key' is in a list"):
            read_custom_engine("mine", {**TABLE, "body": {"all": [{"q": "{query}", "key": text}]}})


def test_a_wrong_header_is_named_without_the_others_which_may_hold_a_key() -> None:
    headers = {"Authorization": "Bearer canary-5b1d9f", "X-Limit": 3}
    with pytest.raises(InputError) as caught:
        open_names("http:mine", engine_tables={"mine": {**TABLE, "headers": headers}})
    assert str(caught.value) == "[collect.engines.mine] headers.X-Limit is 3; it must be a text"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"method": "GET NOW"}, "method is 'GET NOW'; it must be an HTTP method such as GET or POST"),
        ({"method": "得到"}, "method is '得到'; it must be an HTTP method such as GET or POST"),
        ({"headers": {"X Limit": "3"}}, "headers: 'X Limit' is not the name of a header, or"),
        ({"headers": {"": "3"}}, "headers: '' is not the name of a header"),
        (
            {"headers": {"A": "1", "X-Limit": "3\r\nX: 4"}},
            "headers: 'X-Limit' is not the name of a header, or its text has a line break",
        ),
        (
            {"headers": {"X-Limit": "3\0"}},
            "headers: 'X-Limit' is not the name of a header, or its text has a",
        ),
    ],
)
def test_what_no_request_can_have_is_refused_before_the_first_request(
    options: dict[str, Any], expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        open_names("http:mine", engine_tables={"mine": {**TABLE, **options}})
    assert str(caught.value).startswith(f"[collect.engines.mine] {expected}")


def test_two_engines_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="two engines are called 'brave'"):
        open_names("brave", "http:brave", base_urls={"brave": LOCAL}, engine_tables={"brave": TABLE})


def test_a_described_engine_on_the_internet_needs_the_key_that_it_names() -> None:
    with pytest.raises(SetupError, match="set MINE"):
        open_names("http:mine", engine_tables={"mine": {**TABLE, "key": "MINE"}})


@pytest.mark.parametrize(
    ("url", "base", "path"),
    [
        ("HTTPS://Mine.example/Find?q={query}#top", "https://Mine.example", "/Find?q={query}"),
        ("http://mine.example:8080?q={query}", "http://mine.example:8080", "?q={query}"),
        ("https://mine.example//find/{query}", "https://mine.example", "//find/{query}"),
    ],
)
def test_an_address_is_a_server_and_the_rest(url: str, base: str, path: str) -> None:
    result = read_custom_engine("mine", {**TABLE, "url": url})
    assert (result.base_url, result.path) == (base, path)


def test_options_come_from_the_table_and_the_command_line_wins(tmp_path: Path) -> None:
    toml = tmp_path / "judge.toml"
    toml.write_text(
        'model = "lexical"\n[collect]\nqueries = "q.txt"\nengine = ["brave", "http:mine"]\nout = "d.jsonl"\n'
        'depth = 5\nrate = 2\n[collect.base_urls]\nbrave = "http://a"\n'
        '[collect.engines.mine]\nresults = "x"\n',
        encoding="utf-8",
    )
    result = CollectConfig.load(toml, depth=7, out=None)
    assert (result.engines, result.depth, result.rate) == (("brave", "http:mine"), 7, 2)
    assert (result.base_urls, result.engine_tables) == ({"brave": "http://a"}, {"mine": {"results": "x"}})


@check_each(
    ("table", "expected"),
    [
        ("", "queries is missing; add it"),
        ('queries = "q.txt"', "engine is missing; add it"),
        ('queries = "q.txt"\nengine = []\nout = "d"', "no engine was named"),
        ('queries = "q.txt"\nengine = "brave"', "engine is 'brave'; it must be a list of texts"),
        ("queries = 3", "queries is 3; it must be a text"),
        ("dept = 3", "did you mean 'depth'"),
        ("depth = true", "depth is true; it must be a whole number"),
        ('queries = "q"\nengine = ["brave"]\nout = "d"\nrate = 0', "rate is 0"),
        (
            'queries = "q"\nengine = ["brave"]\nout = "d"\ntimeout = inf',
            "timeout is inf; it must be a number",
        ),
    ],
)
def test_bad_options_are_named(table: str, expected: str, tmp_path: Path) -> None:
    toml = tmp_path / "judge.toml"
    toml.write_text(f"[collect]\n{table}\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"judge\.toml: \[collect\] .*{expected}"):
        CollectConfig.load(toml)


@check_each(
    ("tag", "bing", "google"),
    [
        ("zh", "zh-hans", "zh-cn"),
        ("zh-CN", "zh-hans", "zh-cn"),
        ("zh_CN", "zh-hans", "zh-cn"),
        ("zh-SG", "zh-hans", "zh-cn"),
        ("zh-Hans-HK", "zh-hans", "zh-cn"),
        ("zh-TW", "zh-hant", "zh-tw"),
        ("zh-HK", "zh-hant", "zh-tw"),
        ("zh-Hant", "zh-hant", "zh-tw"),
        ("zh-hans", "zh-hans", "zh-cn"),
        ("en", "en", "en"),
        ("en-US", "en", "en"),
        ("en-GB", "en-gb", "en"),
        ("ja-JP", "jp", "ja"),
        ("jp", "jp", "jp"),
        ("pt", "pt-pt", "pt"),
        ("pt-BR", "pt-br", "pt-br"),
        ("de-AT", "de", "de"),
        ("nb", "nb", "nb"),
    ],
)
def test_a_language_tag_becomes_the_code_of_the_engine(tag: str, bing: str, google: str) -> None:
    assert (LANGUAGES["bing"](tag), LANGUAGES["google"](tag)) == (bing, google)
