"""`judge show` on the terminal: texts of other people appear without their control characters."""

import io
from typing import Any

from rich.console import Console

from judge.cli.show import print_query
from judge.runs.record_json import from_json
from judge.runs.results_file import QueryEntry

#: Sets a terminal's title and clears its screen.
_ORDER = "\x1b]0;mine\x07\x1b[2J"


def test_no_name_text_or_flag_reaches_the_terminal_as_an_order() -> None:
    text = {"repeat": 1, "grade": 3, "verdict": "yes", "reason": _ORDER, "error": None}
    member = {"assessor": f"openai:{_ORDER}", **text, "flags": []}
    judgment = {**text, "flags": [f"served_by:{_ORDER}"], "members": [member]}
    snippet: dict[str, Any] = {
        "rank": 1,
        "snippet_id": "s",
        "document": "d",
        "title": _ORDER,
        "url": _ORDER,
        "snippet": _ORDER,
    }
    answer = {"scores": {"P@5": 0.2}, "error": _ORDER, "snippets": [{**snippet, "judgments": [judgment]}]}
    entry = {"query_id": _ORDER, "query": _ORDER, "lang": "en", "reference": _ORDER}
    stream = io.StringIO()
    query = from_json(QueryEntry, {**entry, "engines": {f"bing{_ORDER}": answer}}, "results.json")
    print_query(query, query.engines, Console(file=stream, width=200))
    shown = stream.getvalue()
    assert shown.count("\\x1b]0;mine\\x07\\x1b[2J") == 11  # a title that is the address stands there once
    assert not any(ord(char) < 32 for char in shown if char != "\n")


def print_judgment(reason: str, flags: list[str], **values: object) -> list[str]:
    judgment = {"repeat": 1, "grade": 3, "verdict": "yes", "reason": reason, "error": None, "flags": flags}
    judgment |= values
    snippet = {"rank": 1, "snippet_id": "s", "document": "d", "title": "t", "url": "u", "snippet": "text"}
    answer: dict[str, Any] = {"scores": {}, "error": None, "snippets": [{**snippet, "judgments": [judgment]}]}
    entry = {"query_id": "q", "query": "query", "lang": "en", "engines": {"bing": answer}}
    stream = io.StringIO()
    print_query(from_json(QueryEntry, entry, "results.json"), ["bing"], Console(file=stream, width=200))
    return stream.getvalue().splitlines()


def test_an_address_that_does_not_fit_is_indented_like_the_snippet() -> None:
    address = "https://example.org/" + "a" * 120
    snippet = {"rank": 10, "snippet_id": "s", "document": "d", "title": "第10轮 比赛", "url": address}
    row = {**snippet, "snippet": "text", "judgments": []}
    answer: dict[str, Any] = {"scores": {}, "error": None, "snippets": [row]}
    entry = {"query_id": "q", "query": "query", "lang": "zh", "engines": {"bing": answer}}
    stream = io.StringIO()
    print_query(from_json(QueryEntry, entry, "results.json"), ["bing"], Console(file=stream, width=80))
    lines = stream.getvalue().splitlines()[3:]
    assert lines == [
        " 10. 第10轮 比赛",
        "     https://example.org/" + "a" * 55,
        "     " + "a" * 65,
        "     text",
        "     unjudged",
    ]


def test_a_reason_with_a_line_break_stays_on_its_line() -> None:
    assert "     3 yes  first\\nsecond" in print_judgment("first\nsecond", [])


def test_flags_are_explained_and_an_unknown_one_stands_alone() -> None:
    lines = print_judgment("why", ["instruction", "served_by:m2", "new"])
    assert lines[-1] == (
        "     3 yes  why  [instruction (addresses the assessor), served_by:m2 (served by another model), new]"
    )


def test_an_error_that_is_a_flag_stands_there_once() -> None:
    lines = print_judgment("", ["no_text", "text_cut"], grade=None, verdict=None, error="no_text")
    flag = "[text_cut (nothing to read before the length limit: unjudged)]"
    assert lines[-1] == f"     unjudged: no_text (the text is missing)    {flag}"


def test_joiners_that_scripts_need_stay_and_hidden_characters_are_escaped() -> None:
    [*_, line] = print_judgment("نیم\u200cفاصله 👩\u200d👧 a\u200bb\u202ec", [])
    assert line == "     3 yes  نیم\u200cفاصله 👩\u200d👧 a\\x200bb\\x202ec"
