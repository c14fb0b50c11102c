"""LangChain's wrappers as engines: their order kept, their faults no empty answers."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from judge.collect.raw_log import CollectResult
from judge.errors import InputError, SetupError
from tests.support.cases import check_each
from tests.support.command_line import run_judge
from tests.support.fake_engines import DATE, EngineServer, Page
from tests.unit.collect.engine_calls import (
    CANARY,
    collect_results,
    count_answered,
    make_results,
    read_answers,
    return_three,
    write_queries,
)

pytestmark = pytest.mark.skipif(
    find_spec("langchain_community") is None, reason="the extra langchain is missing"
)

WRAPPERS = "langchain:tests.unit.collect.wrappers"


def collect_wrapped(folder: Path, cls: str, options: object, **given: Any) -> CollectResult:
    """What came of asking one of the wrappers, made with the options."""
    table = {"engine_tables": {cls: {"options": options}}, "base_urls": {}}
    with EngineServer(return_three) as server:
        return collect_results(folder, server, f"{WRAPPERS}:{cls}", **{**table, **given})


SERPER = "langchain:GoogleSerperAPIWrapper"
#: Wrappers of LangChain with what makes one; all of them ask with `requests`.
SUPPORTED: dict[str, dict[str, Any]] = {
    "BingSearchAPIWrapper": {
        "bing_subscription_key": "k",
        "bing_search_url": "http://bing.example/v7.0/search",
    },
    "BraveSearchWrapper": {"api_key": "k"},
    "GoogleSerperAPIWrapper": {"serper_api_key": "k"},
    "MojeekSearchAPIWrapper": {"api_key": "k"},
    "YouRetriever": {"ydc_api_key": "k"},
    "langchain_community.utilities.jina_search:JinaSearchAPIWrapper": {"api_key": "k"},
    "langchain_community.utilities:SearchApiAPIWrapper": {"searchapi_api_key": "k"},
    "langchain_community.retrievers:RemoteLangChainRetriever": {"url": "http://remote.example/"},
}
OUTAGES = {
    "status 500": Page(status=500, body='{"error": "internal"}'),
    "a page of HTML": Page(body="<html>sign in</html>"),
    "an error with status 200": Page(body='{"error": {"code": "quota", "message": "used up"}}'),
    "no answer in time": Page(body="{}", delay=1.0),
}


@contextmanager
def redirect_requests(server: EngineServer) -> Iterator[None]:
    """Send every request of the library `requests` to `server`, whatever its host."""
    send = requests.adapters.HTTPAdapter.send

    def send_to_server(self: Any, request: Any, **options: Any) -> Any:
        parts = urlsplit(request.url)
        request.url = f"{server.url}{parts.path}?{parts.query}"
        return send(self, request, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(requests.adapters.HTTPAdapter, "send", send_to_server)
        yield


def test_a_search_wrapper_is_an_engine(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea", "coffee")
    options = {"engine_tables": {"GoogleSerperAPIWrapper": {"options": {"serper_api_key": "k"}}}}
    with EngineServer(return_three) as server, redirect_requests(server):
        result = collect_results(tmp_path, server, SERPER, base_urls={}, **options)
        again = collect_results(tmp_path, server, SERPER, base_urls={}, **options)
    assert (result.calls_made, again.calls_made) == (2, 0)
    assert read_answers(tmp_path, "GoogleSerperAPIWrapper")[1]["results"] == [
        {"title": title, "url": url, "snippet": snippet, "date": DATE}
        for title, url, snippet in make_results("coffee")
    ]


def test_nothing_found_is_empty(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    options = {"engine_tables": {"GoogleSerperAPIWrapper": {"options": {"serper_api_key": "k"}}}}
    with EngineServer(lambda _: Page()) as server, redirect_requests(server):
        result = collect_results(tmp_path, server, SERPER, base_urls={}, **options)
    assert count_answered(result) == {"GoogleSerperAPIWrapper": 1}
    assert read_answers(tmp_path, "GoogleSerperAPIWrapper")[0]["results"] == []


@check_each("outage", OUTAGES)
@check_each("spec", SUPPORTED)
def test_an_outage_behind_a_wrapper_is_an_error_and_never_an_empty_answer(
    spec: str, outage: str, tmp_path: Path
) -> None:
    write_queries(tmp_path, "tea")
    cls = spec.rpartition(":")[2]
    options = {"engine_tables": {cls: {"options": SUPPORTED[spec]}}, "base_urls": {}, "attempts": 1}
    with EngineServer(lambda _: OUTAGES[outage]) as server, redirect_requests(server):
        # Slower than the timeout or far faster, on any machine.
        timeout = 0.5 if OUTAGES[outage].delay else 30.0
        result = collect_results(tmp_path, server, f"langchain:{spec}", timeout=timeout, **options)
        assert server.searched or OUTAGES[outage].delay
    assert count_answered(result) == {cls: 0}
    assert read_answers(tmp_path, cls)[0]["error"]


@check_each(
    ("spec", "expected"),
    [
        ("SearxSearchWrapper", "use the engine searxng"),
        ("langchain_community.utilities:SearxSearchWrapper", "use the engine searxng"),
        (
            "tests.unit.collect.wrappers:Inherited",
            "langchain:Inherited is refused: .* use the engine searxng",
        ),
        ("langchain_community.utilities:ArxivAPIWrapper", "are the same for an outage and an empty answer"),
        ("langchain_community.retrievers:ArxivRetriever", "are the same for an outage and an empty answer"),
        ("langchain_community.retrievers:BreebsRetriever", "as an engine of your own, http:NAME"),
    ],
)
def test_a_wrapper_that_hides_errors_is_refused_with_the_alternative(
    spec: str, expected: str, tmp_path: Path
) -> None:
    write_queries(tmp_path, "tea")
    with EngineServer(return_three) as server:
        with pytest.raises(InputError, match=expected):
            collect_results(tmp_path, server, f"langchain:{spec}", base_urls={})
        assert not server.searched


def test_an_own_class_in_the_working_folder_is_an_engine(tmp_path: Path) -> None:
    (tmp_path / "own_searx.py").write_text(
        "class Own:\n    def run(self, query):\n        return '[\"' + query + ' text\"]'\n", encoding="utf-8"
    )
    queries = write_queries(tmp_path, "tea")
    # The installed command, for `python -m judge` has the working folder on its path anyway.
    words = ("collect", str(queries), "--engine", "langchain:own_searx:Own", "--out", "data.jsonl")
    done = subprocess.run(
        [Path(sys.executable).with_name("judge"), *words],
        capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [each["snippet"] for each in read_answers(tmp_path, "Own")[0]["results"]] == ["tea text"]


@pytest.mark.parametrize("cls", ["Retriever", "Tool", "Texts"])
def test_retrievers_and_tools_are_asked_by_their_import_path(cls: str, tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    with EngineServer(return_three) as server:
        spec = f"langchain:tests.unit.collect.wrappers:{cls}"
        result = collect_results(tmp_path, server, spec, base_urls={})
    assert result.incomplete is None
    [answer] = read_answers(tmp_path, cls)
    assert [each["snippet"] for each in answer["results"]] == ["tea 1", "tea 2"]
    assert not server.searched


def test_a_wrapper_that_hangs_is_given_up(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    with EngineServer(return_three) as server:
        spec = "langchain:tests.unit.collect.wrappers:Slow"
        collect_results(tmp_path, server, spec, base_urls={}, timeout=0.2, attempts=1)
    assert read_answers(tmp_path, "Slow")[0]["error"].startswith("transport: TimeoutError")


def test_a_wrapper_that_hangs_does_not_keep_the_process(tmp_path: Path) -> None:
    path = write_queries(tmp_path, *(f"question {number}" for number in range(12)))
    words = ("--engine", f"{WRAPPERS}:Hung", "--out", tmp_path / "data.jsonl")
    done = run_judge("collect", path, *words, "--timeout", "0.2", "--attempts", "1", "--rate", "100")
    # `command` ends with an error when the process does not.
    assert done.returncode == 3, done.stderr
    errors = [answer["error"] for answer in read_answers(tmp_path, "Hung")]
    assert errors == ["transport: TimeoutError: no answer within 0.2 s"] * 12  # nobody waited for a thread


def test_a_wrapper_that_ends_the_process_is_a_fault_like_any_other(tmp_path: Path) -> None:
    write_queries(tmp_path, "quit", "tea")
    result = collect_wrapped(tmp_path, "Hosted", {}, attempts=1)
    assert count_answered(result) == {"Hosted": 1}
    assert read_answers(tmp_path, "Hosted")[0]["error"].startswith("transport: SystemExit: no a")


def test_other_options_are_other_calls_but_another_key_is_none(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    made = []
    for options in ({"host": "a"}, {"host": "b"}, {"host": "b", "api_key": CANARY}, {"host": "a"}):
        made.append(collect_wrapped(tmp_path, "Hosted", options).calls_made)
        [answer] = read_answers(tmp_path, "Hosted")
        assert answer["results"][0]["snippet"].split()[0] == options["host"]
    assert made == [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("k", "remarks"),
    [
        (
            3,
            [
                "Hosted returned at most 3 of the 10 requested results; lower the depth, or change the"
                " options in [collect.engines.Hosted.options]"
            ],
        ),
        (10, []),
    ],
)
def test_a_wrapper_that_is_made_to_give_less_is_named(k: int, remarks: list[str], tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    result = collect_wrapped(tmp_path, "Hosted", {"k": k})
    assert list(result.short_lists.values()) == remarks


def test_keys_are_in_no_file_wherever_a_wrapper_takes_them_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTED_API_KEY", f"environment {CANARY}")
    write_queries(tmp_path, "tea", "quit")
    options = {
        "host": "https://host.example/search",
        "api_key": f"option {CANARY}",
        "headers": {"Authorization": f"header {CANARY}"},
    }
    collect_wrapped(tmp_path, "Hosted", options, attempts=1)
    tea, broken = read_answers(tmp_path, "Hosted")
    assert tea["results"][0]["snippet"] == "https://host.example/search *** *** ***"
    assert broken["error"].startswith("transport: SystemExit: no ")
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"canary" not in written


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"api_secret": "hush-hush"}, "api_secret: Extra inputs are not permitted"),
        ({"k": "hush-hush"}, "k: Input should be a valid integer"),
    ],
)
def test_what_is_wrong_with_options_is_said_without_their_values(
    options: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    write_queries(tmp_path, "tea")
    with pytest.raises(SetupError, match=expected) as refused:
        collect_wrapped(tmp_path, "Strict", options)
    assert "hush" not in str(refused.value)


def test_options_are_a_table(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    with pytest.raises(InputError, match="options is 3; it must be a table"):
        collect_wrapped(tmp_path, "Hosted", 3)


def test_a_class_that_cannot_be_made_is_an_error_of_the_setup_whatever_it_raises(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    with pytest.raises(SetupError, match=r"langchain:Closed cannot be made from .* no account for \*\*\*;"):
        collect_wrapped(tmp_path, "Closed", {"api_key": CANARY})
