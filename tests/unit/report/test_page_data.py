"""What the query browser is given: arrays that mean what results.json says, and a sample of too many."""

import json
from collections.abc import Container, Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from judge.analysis.summary import Summary
from judge.report.payload import (
    LONGEST,
    PageData,
    PageLimits,
    PageQueries,
    dump_script_json,
    pack_query,
)
from judge.runs.results_file import (
    ALL_INDICES,
    CleanedText,
    EngineEntry,
    JudgmentEntry,
    QueryEntry,
    ReadQueries,
    SnippetEntry,
)
from tests.support.cases import check_each
from tests.unit.report.pages import make_entries
from tests.unit.report.summaries import make_mean, make_summary


def make_snippet(**changes: Any) -> SnippetEntry:
    base = SnippetEntry(
        rank=1,
        snippet_id="s",
        document="d",
        title="T",
        url="https://a.example/",
        snippet="text",
        judgments=(),
    )
    return replace(base, **changes)


def make_query(*snippets: SnippetEntry) -> QueryEntry:
    """Return a query with the results of engine a."""
    return QueryEntry(
        query_id="q", query="Q", lang="en", engines={"a": EngineEntry(scores={}, snippets=snippets)}
    )


def make_precision_summary(*names: str) -> Summary:
    """Return the summary of a run with these engines, measured by P@5 down to rank 10."""
    return make_summary({name: {"P@5": make_mean(0.5)} for name in names}, depth=10)


def pack_snippets(*snippets: SnippetEntry) -> list[Any]:
    """One engine's answer and the pairs, as packed."""
    return pack_query(make_query(*snippets), make_precision_summary("a"))


def make_judgments(*grades: int | None, reason: str = "because") -> tuple[JudgmentEntry, ...]:
    return tuple(
        JudgmentEntry(repeat=place, verdict=None, grade=grade, reason=reason, error=None, flags=())
        for place, grade in enumerate(grades, start=1)
    )


def test_grade_0_is_a_grade_and_the_same_reason_is_written_once() -> None:
    *_, pairs = pack_snippets(make_snippet(judgments=make_judgments(0, 0, 1)))
    assert pairs[0][5] == [[0, "because"], [0, 1], [1, 1]]
    *_, pairs = pack_snippets(make_snippet(judgments=make_judgments(0, reason="")))
    assert pairs[0][5] == [[0]]


def test_a_failed_judgment_keeps_its_kind_and_no_grade() -> None:
    failed = replace(make_judgments(None, reason="")[0], error="content_filter", flags=("re_asked",))
    *_, pairs = pack_snippets(make_snippet(judgments=(failed,)))
    assert pairs[0][5] == [[None, "", ["re_asked"], "content_filter"]]


def test_the_reasons_of_a_panel_stand_one_below_another() -> None:
    failed = replace(make_judgments(None, reason="")[0], error="refusal", assessor="openai:b/graded")
    (judged,) = make_judgments(2)
    members = (replace(judged, assessor="openai:a/graded"), failed)
    *_, pairs = pack_snippets(make_snippet(judgments=(replace(judged, members=members),)))
    assert pairs[0][5] == [[2, "openai:a/graded: 2. because\nopenai:b/graded: refusal"]]


def test_what_is_the_pairs_own_is_not_repeated_at_an_engine() -> None:
    other = make_snippet(rank=2, url="https://b.example/", document="e")
    *_, answers, pairs = pack_snippets(make_snippet(), other, make_snippet(rank=3))
    assert answers[0][1] == [0, [0, "https://b.example/", 2], 0]
    assert len(pairs) == 1


def test_no_address_is_not_the_pairs_address() -> None:
    *_, answers, pairs = pack_snippets(
        make_snippet(), make_snippet(rank=2, url=""), make_snippet(rank=3, document="e")
    )
    assert answers[0][1] == [0, [0, ""], [0, 0, 2]]
    assert pairs[0][2] == "https://a.example/"


@check_each(
    ("url", "address"),
    [
        ("https://a.example/%E8%B7%AF?q=a+b&c=%#x", "https://a.example/%E8%B7%AF?q=a+b&c=%#x"),
        ("https://例子.example/路", "https://例子.example/路"),
        ("https://a.example/\u202egnp.exe", ["https://a.example/\\x202egnp.exe", "https://a.example/%E2%80%AEgnp.exe"]),
        ("https://a.example/a\u00a0b", ["https://a.example/a b", "https://a.example/a%C2%A0b"]),
        ("https://a.example/x ", ["https://a.example/x ", "https://a.example/x%20"]),
        ("https://a.example/\n", ["https://a.example/\n", "https://a.example/%0A"]),
        ("https://a.example/\ud800", ["https://a.example/\\xd800", ""]),
    ],
)  # fmt: skip
def test_an_address_is_followed_as_the_engine_gave_it_and_shown_with_nothing_hidden(
    url: str, address: str | list[str]
) -> None:
    *_, pairs = pack_snippets(make_snippet(url=url))
    assert pairs[0][2] == address


def test_long_texts_are_cut_with_a_count_and_addresses_so_that_they_lead_nowhere() -> None:
    *_, pairs = pack_snippets(
        make_snippet(snippet="x" * (LONGEST + 7), url="https://a.example/" + "y" * 3000)
    )
    title, text, url, *_, more = pairs[0]
    assert (title, len(text), more) == ("T", LONGEST, 7)
    assert url.startswith("… https://a.example/yyy")
    assert len(url) < 250


def test_results_below_the_depth_are_counted_only() -> None:
    *_, answers, pairs = pack_snippets(
        *(make_snippet(rank=rank, snippet_id=str(rank)) for rank in range(1, 13))
    )
    assert len(pairs) == 10
    assert answers[0][3] == 2


def test_the_raw_text_is_kept_where_something_suspicious_was_taken_away() -> None:
    shown = CleanedText("T", "yes")
    *_, pairs = pack_snippets(make_snippet(snippet="y\u200bes", shown=shown, flags=("invisible",)))
    assert pairs[0][8] == "y\\x200bes"
    *_, pairs = pack_snippets(make_snippet(snippet="<b>yes</b>", shown=shown))
    assert len(pairs[0]) < 8


def test_an_engine_that_was_not_asked_is_not_one_that_found_nothing() -> None:
    *_, answers, _ = pack_query(make_query(), make_precision_summary("a", "b"))
    assert answers == [[[None]], None]


@given(st.text())
def test_json_in_the_page_ends_no_script_and_means_the_same(text: str) -> None:
    written = dump_script_json([text])
    assert not set(written) & set("<>&\u2028\u2029")
    assert json.loads(written) == [text]


# --- a sample


ENGINES = ["a", "b"]


def select_by_precision(read_queries: ReadQueries, engines: list[str], limits: PageLimits) -> PageData:
    """Select queries by P@5."""
    queries = PageQueries(make_precision_summary(*engines), limits)
    for entry in read_queries(ALL_INDICES):
        queries.add(entry)
    return queries.select(read_queries)


def test_as_long_as_all_fit_every_query_is_there_in_reading_order() -> None:
    selection = select_by_precision(make_entries(30, ENGINES, 3, "x"), ENGINES, PageLimits())
    assert selection.sample is None
    assert [json.loads(line)[0] for line in selection.lines] == [f"q{number}" for number in range(30)]
    assert (selection.pairs, selection.pairs_in_all, selection.queries_in_all) == (90, 90, 30)


def test_beyond_the_budget_a_third_each_is_worst_disagreeing_and_random() -> None:
    walk = make_entries(300, ENGINES, 3, "x")
    selection = select_by_precision(walk, ENGINES, PageLimits(pairs=270))
    assert selection.sample == {"worst": 30, "disagreeing": 30, "random": 30}
    assert (selection.pairs, selection.pairs_in_all, selection.queries_in_all) == (270, 900, 300)
    ids = [json.loads(line)[0] for line in selection.lines]
    assert ids == sorted(ids, key=lambda each: int(each[1:]))
    worst = sorted(walk(ALL_INDICES), key=lambda entry: entry.engines["a"].scores["P@5"] or 0)[:30]
    assert {entry.query_id for entry in worst} <= set(ids)
    again = select_by_precision(walk, ENGINES, PageLimits(pairs=270))
    assert again.lines == selection.lines


def test_bytes_are_a_budget_too_and_a_query_that_is_too_much_alone_is_never_taken() -> None:
    selection = select_by_precision(
        make_entries(50, ENGINES, 3, "漢" * 400), ENGINES, PageLimits(size=20_000)
    )
    assert selection.sample is not None
    assert 0 < sum(len(line.encode()) for line in selection.lines) <= 20_000
    selection = select_by_precision(make_entries(1, ENGINES, 3, "漢" * 400), ENGINES, PageLimits(size=2_000))
    assert (selection.lines, selection.sample) == ([], {"worst": 0, "disagreeing": 0, "random": 0})


def test_the_largest_differences_and_then_flips_are_the_most_disagreeing() -> None:
    def walk(places: Container[int]) -> Iterator[QueryEntry]:
        for entry in make_entries(9, ["a"], 2, "x")(places):
            first, second = entry.engines["a"].snippets
            if entry.query_id == "q4":
                flipped = replace(first.judgments[0], repeat=2, verdict="no", grade=0)
                first = replace(first, judgments=(*first.judgments, flipped))
            engine = EngineEntry(scores={"P@5": 0.5}, snippets=(first, second))
            yield replace(entry, engines={"a": engine})

    selection = select_by_precision(walk, ["a"], PageLimits(pairs=4))
    assert "q4" in [json.loads(line)[0] for line in selection.lines]
