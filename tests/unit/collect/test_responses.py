"""What counts as a result, and what becomes of answers that hold none."""

from pathlib import Path

import pytest

from judge.collect.registry import KNOWN
from judge.collect.responses import ResponseShape, parse_json_body, parse_results
from judge.errors import RetryableError
from judge.messages import CHINESE
from tests.support.cases import check_each
from tests.support.fake_engines import EngineServer, Page, SearchRequest
from tests.unit.collect.engine_calls import (
    collect_results,
    make_results,
    read_answers,
    return_three,
    write_queries,
)


def test_nan_and_infinity_are_null() -> None:
    assert parse_json_body('{"title": NaN, "scores": [-Infinity, 1.5]}') == {
        "title": None,
        "scores": [None, 1.5],
    }


@check_each(("value", "proof"), [("true", "ok=true"), ("0", "ok=0"), ('"fine"', "ok=fine"), ("[]", "ok")])
def test_the_proof_is_written_as_the_answer_has_it(value: str, proof: str) -> None:
    shape = ResponseShape(results="items", proof=proof)
    assert parse_results(shape, f'{{"ok": {value}, "items": [{{"title": "t"}}]}}')[0]["title"] == "t"
    with pytest.raises(RetryableError) as raised:
        parse_results(shape, '{"ok": null,\n "items": [{"title": "t"}]}')
    beginning = '{"ok": null, "items": [{"title": "t"}]}'
    assert raised.value.detail == f"the response has no {proof!r} (proof); it begins {beginning}"


_TABLE = {"url": "http://127.0.0.1:9/find?q={query}", "proof": "data", "fields": {"title": "name"}}


def test_a_path_that_no_response_has_is_named_with_the_keys_that_they_have(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea", "coffee")
    tables = [
        {name: {**_TABLE, "results": path} for name in ("mine", "ours")}
        for path in ("data.item", "data.items")
    ]
    engines = ("http:mine", "http:ours")
    with EngineServer(return_three) as server:
        first, again = (
            collect_results(tmp_path, server, *engines, engine_tables=table) for table in (tables[0],) * 2
        )
        answers = read_answers(tmp_path, "mine")
        mended = collect_results(tmp_path, server, *engines, engine_tables=tables[1])
    assert first.incomplete is not None
    sentences = tuple(
        f"no response of {name} has 'data.item' (results); the first one has the keys data.items; correct"
        f" results in [collect.engines.{name}] and run the same command again: it then reads the stored"
        " responses"
        for name in ("mine", "ours")
    )
    assert str(first.incomplete) == "; ".join(sentences)
    assert (first.wrong_paths, again.wrong_paths) == (sentences, sentences)
    assert CHINESE(first.incomplete.message).startswith("mine 的响应中都没有 'data.item'（results）")
    # An engine without a readable response failed; empty lists would score 0.
    assert answers == [{"error": "unreadable: the response has no 'data.item' (results)"}] * 2
    assert (first.calls_made, again.calls_made, mended.calls_made) == (4, 0, 0)
    assert (mended.incomplete, mended.wrong_paths) == (None, ())
    assert len(read_answers(tmp_path, "mine")[0]["results"]) == 3


def test_a_wrong_path_and_a_failed_request_have_one_sentence_each(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea", "coffee", "wine")

    def make_page(request: SearchRequest) -> Page:
        return Page(status=500) if request.query == "tea" else return_three(request)

    table = {"mine": {**_TABLE, "results": "data.item"}}
    with EngineServer(make_page) as server:
        result = collect_results(tmp_path, server, "http:mine", engine_tables=table, attempts=1)
    assert str(result.incomplete) == (
        "no response of mine has 'data.item' (results); the first one has the keys data.items; correct"
        " results in [collect.engines.mine] and run the same command again: it then reads the stored"
        f" responses; no answer from mine on 1 of 3 queries; {tmp_path}/data.jsonl has the reason of each;"
        " run the same command again to request only these"
    )
    assert (result.engines["mine"].answered, result.engines["mine"].failed) == (0, 3)


def test_a_response_without_the_list_is_an_answer_when_another_one_has_it(tmp_path: Path) -> None:
    """An answer without results may lack the list, or hold null."""
    write_queries(tmp_path, "rare", "tea")
    bodies = {"rare": '{"data": {}}', "tea": '{"data": {"items": null}}'}
    with EngineServer(lambda request: Page(body=bodies[request.query])) as server:
        result = collect_results(
            tmp_path, server, "http:mine", engine_tables={"mine": {**_TABLE, "results": "data.items"}}
        )
    assert (result.incomplete, result.engines["mine"].empty) == (None, 2)


def test_short_lists_name_the_options_that_limit_them(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    table = {**_TABLE, "page": 5, "max_pages": 1, "results": "data.items"}
    with EngineServer(return_three) as server:
        result = collect_results(tmp_path, server, "http:mine", engine_tables={"mine": table})
    assert dict(result.short_lists) == {
        "mine": "mine returned at most 3 of the 10 requested results; lower the depth, or change page or"
        " max_pages in [collect.engines.mine]"
    }


def test_results_without_a_title_or_a_snippet_are_no_answer(tmp_path: Path) -> None:
    write_queries(tmp_path, *map(str, range(20)))
    table = {"url": "http://127.0.0.1:9/find?q={query}", "results": "data.items"}
    wrong = {"mine": {**table, "fields": {"title": "heading", "snippet": ["teaser", "summary"]}}}
    mended = {"mine": {**table, "fields": {"title": "name", "snippet": "text"}}}
    with EngineServer(return_three) as server:
        first = collect_results(tmp_path, server, "http:mine", engine_tables=wrong)
        answer = read_answers(tmp_path, "mine")[0]
        again = collect_results(tmp_path, server, "http:mine", engine_tables=wrong)
        last = collect_results(tmp_path, server, "http:mine", engine_tables=mended)
    assert answer["error"] == (
        "unreadable: none of 3 results has a title (looked for in 'heading') or a snippet ('teaser',"
        " 'summary'); their fields are 'date', 'href', 'name', 'text'"
    )
    assert again.wrong_paths == (
        "no result has a title or a snippet in responses of mine; correct fields in [collect.engines.mine]"
        " and run the same command again: it then reads the stored responses",
    )
    # Requests that are sent when the tenth response arrives are up to 7.
    assert 10 <= first.calls_made <= 17
    assert (again.calls_made, first.calls_made + last.calls_made, last.incomplete) == (0, 20, None)
    assert len(read_answers(tmp_path, "mine")[0]["results"]) == 3


def test_an_unreadable_response_beside_readable_ones_is_requested_again(tmp_path: Path) -> None:
    """The table is right, so the response was wrong."""
    write_queries(tmp_path, "tea", "coffee", "wine")
    broken = '{"data": {"items": [{"href": ""}, {"href": ""}]}}'

    def make_page(request: SearchRequest) -> Page:
        is_first = sum(each.query == "tea" for each in server.searched) == 1
        return Page(body=broken) if request.query == "tea" and is_first else return_three(request)

    table = {"mine": {**_TABLE, "results": "data.items"}}
    with EngineServer(make_page) as server:
        first, again = (
            collect_results(tmp_path, server, "http:mine", engine_tables=table, attempts=1) for _ in "12"
        )
    assert str(first.incomplete).endswith("run the same command again to request only these")
    assert (first.wrong_paths, first.engines["mine"].failed) == ((), 1)
    assert (first.calls_made, again.calls_made, again.incomplete) == (3, 1, None)


@check_each("engine", KNOWN)
def test_what_has_neither_text_nor_address_is_no_result(engine: str, tmp_path: Path) -> None:
    page = Page([("", "", ""), *make_results("tea", 2), ("", "https://a.example", "")])
    write_queries(tmp_path, "tea")
    with EngineServer(lambda _: page) as server:
        collect_results(tmp_path, server, engine)
    [answer] = read_answers(tmp_path, engine)
    assert [each["url"] for each in answer["results"]] == [
        "https://site1.example/1",
        "https://site2.example/2",
        "https://a.example",
    ]
