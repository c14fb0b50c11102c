"""LangChain's wrappers as engines: their order kept, their faults no empty answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_community")

from judge.collect.outcome import Collected
from judge.errors import InputError, SetupError
from tests.collect.asking import CANARY, answered, answers, collected, results, three, write_queries
from tests.loopback.engines import EngineServer, Page
from tests.worlds import command

WRAPPERS = "langchain:tests.collect.wrappers"


def wrapped(folder: Path, cls: str, options: object, **given: Any) -> Collected:
    """What came of asking one of the wrappers, made with the options."""
    table = {"described": {cls: {"options": options}}, "base_urls": {}}
    with EngineServer(three) as server:
        return collected(folder, server, f"{WRAPPERS}:{cls}", **{**table, **given})


def searx(server: EngineServer) -> dict[str, Any]:
    """The options that let LangChain's SearXNG wrapper ask `server`."""
    options = {"searx_host": f"{server.url}/search"}
    return {"base_urls": {}, "described": {"SearxSearchWrapper": {"options": options}}}


def test_a_search_wrapper_is_an_engine(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea", "coffee")
    with EngineServer(three) as server:
        found = collected(tmp_path, server, "langchain:SearxSearchWrapper", **searx(server))
        again = collected(tmp_path, server, "langchain:SearxSearchWrapper", **searx(server))
    assert (found.calls_made, again.calls_made) == (2, 0)
    assert answers(tmp_path, "SearxSearchWrapper")[1]["results"] == [
        {"title": title, "url": url, "snippet": snippet} for title, url, snippet in results("coffee")
    ]


def test_nothing_found_is_empty_and_a_fault_is_an_error(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea", "coffee")
    with EngineServer(
        lambda asked: Page() if asked.query == "tea" else Page(status=500, body="no")
    ) as server:
        found = collected(tmp_path, server, "langchain:SearxSearchWrapper", attempts=1, **searx(server))
    empty, broken = answers(tmp_path, "SearxSearchWrapper")
    assert answered(found) == {"SearxSearchWrapper": 1}
    assert empty["results"] == []
    assert broken["error"].startswith("transport: ")


@pytest.mark.parametrize("cls", ["Retriever", "Tool", "Texts"])
def test_retrievers_and_tools_are_asked_by_their_import_path(cls: str, tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    with EngineServer(three) as server:
        spec = f"langchain:tests.collect.wrappers:{cls}"
        found = collected(tmp_path, server, spec, base_urls={})
    assert found.incomplete is None
    [answer] = answers(tmp_path, cls)
    assert [each["snippet"] for each in answer["results"]] == ["tea 1", "tea 2"]
    assert not server.searched


def test_a_wrapper_that_hangs_is_given_up(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    with EngineServer(three) as server:
        spec = "langchain:tests.collect.wrappers:Slow"
        collected(tmp_path, server, spec, base_urls={}, timeout=0.2, attempts=1)
    assert answers(tmp_path, "Slow")[0]["error"].startswith("transport: TimeoutError")


def test_a_wrapper_that_hangs_does_not_keep_the_process(tmp_path: Path) -> None:
    path = write_queries(tmp_path, *(f"question {number}" for number in range(12)))
    words = ("--engine", f"{WRAPPERS}:Hung", "--out", tmp_path / "data.jsonl")
    done = command("collect", path, *words, "--timeout", "0.2", "--attempts", "1", "--rate", "100")
    # `command` ends with an error when the process does not.
    assert done.returncode == 3, done.stderr
    said = [answer["error"] for answer in answers(tmp_path, "Hung")]
    assert said == ["transport: TimeoutError: no answer within 0.2 s"] * 12  # nobody waited for a thread


def test_a_wrapper_that_ends_the_process_is_a_fault_like_any_other(tmp_path: Path) -> None:
    write_queries(tmp_path, "quit", "tea")
    found = wrapped(tmp_path, "Hosted", {}, attempts=1)
    assert answered(found) == {"Hosted": 1}
    assert answers(tmp_path, "Hosted")[0]["error"].startswith("transport: SystemExit: no a")


def test_other_options_are_other_calls_but_another_key_is_none(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    made = []
    for options in ({"host": "a"}, {"host": "b"}, {"host": "b", "api_key": CANARY}, {"host": "a"}):
        made.append(wrapped(tmp_path, "Hosted", options).calls_made)
        [answer] = answers(tmp_path, "Hosted")
        assert answer["results"][0]["snippet"].split()[0] == options["host"]
    assert made == [1, 1, 0, 0]


@pytest.mark.parametrize(("k", "remarks"), [(3, ["Hosted gives at most 3 of the 10 results"]), (10, [])])
def test_a_wrapper_that_is_made_to_give_less_is_named(k: int, remarks: list[str], tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    found = wrapped(tmp_path, "Hosted", {"k": k})
    assert [remark.partition(" that")[0] for remark in found.remarks] == remarks


def test_keys_are_in_no_file_wherever_a_wrapper_takes_them_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTED_API_KEY", f"environment {CANARY}")
    write_queries(tmp_path, "tea", "quit")
    options = {"host": "https://host.example/search", "api_key": f"option {CANARY}"}
    wrapped(tmp_path, "Hosted", options, attempts=1)
    tea, broken = answers(tmp_path, "Hosted")
    assert tea["results"][0]["snippet"] == "https://host.example/search *** ***"
    assert broken["error"].startswith("transport: SystemExit: no ")
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"canary" not in written


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"api_secret": "hush-hush"}, "api_secret: Extra inputs are not permitted"),
        ({"k": "hush-hush"}, "k: Input should be a valid integer"),
    ],
)
def test_what_is_wrong_with_options_is_said_without_their_values(
    options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    write_queries(tmp_path, "tea")
    with pytest.raises(SetupError, match=said) as refused:
        wrapped(tmp_path, "Strict", options)
    assert "hush" not in str(refused.value)


def test_options_are_a_table(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    with pytest.raises(InputError, match="'options' is 3, not a table"):
        wrapped(tmp_path, "Hosted", 3)
