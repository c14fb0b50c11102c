"""The estimate of a run: calls, tokens by earlier calls or by default values, time by the pace."""

import asyncio
import sqlite3
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from judge.assess.assessor import Assessor
from judge.assess.assignment_plan import AssignmentPlan
from judge.assess.estimate import AssessorEstimate, QuestionEstimator, estimate_run
from judge.assess.prompts import find_default_directory, load_prompts, load_question_prompts
from judge.assess.question_assessor import QuestionAssessor, QuestionKind
from judge.characters import estimate_tokens
from judge.dataset.pool import build_pool
from judge.dimensions.reasons import EXPLAIN
from judge.files.stored_records import StoredRecords
from judge.models.lexical import LexicalModel
from judge.models.providers import open_openai
from judge.models.server import ServerAccess
from judge.pricing.prices import Price
from judge.records import GRADED, Call, Pair, Query, Sampling, Snippet, Usage
from judge.store.leases import Lease
from judge.store.store import VerdictKeyInfo, VerdictStore
from tests.support.cases import check_each
from tests.support.datasets import read_dataset
from tests.support.stores import make_verdict

PRICE = Price(input=1.0, output=10.0, cached=0.5)
ASSESSOR = Assessor(LexicalModel(), load_prompts(find_default_directory(), GRADED), GRADED)
VERSIONS = ASSESSOR.prompts.versions


def make_chat_assessor(url: str, sampling: Sampling) -> Assessor:
    model = open_openai("m", ServerAccess(url, {"OPENAI_API_KEY": "k"}, 60.0, 8), sampling)
    return Assessor(model, load_prompts(find_default_directory(), GRADED), GRADED)


def estimate_pairs(
    store: VerdictStore | None,
    zh: int = 0,
    en: int = 0,
    price: Price | None = PRICE,
    concurrency: int = 8,
    assessor: Assessor = ASSESSOR,
    *,
    thinking: bool = False,
) -> AssessorEstimate:
    """Return the estimate for this many pairs in each language."""
    queries = {"zh": ("小狗贫血的表现", zh), "en": ("anaemia in puppies", en)}
    rows = [
        {"query": query, "query_id": lang, "engine": f"e{n}", "rank": 1, "snippet": f"{query} {n}"}
        for lang, (query, count) in queries.items()
        for n in range(count)
    ]
    pairs = build_pool(read_dataset(rows, lang="auto", max_chars=4000), 10).pairs
    return estimate_run(AssignmentPlan(pairs, assessor, 1), store, price, concurrency, thinking=thinking)


def test_an_estimate_takes_little_memory_whatever_the_number_of_pairs() -> None:
    count, query = 4_000, Query("q", "a query", "a query", "en")

    def make_pairs() -> Iterator[Pair]:
        for number in range(count):
            text = f"{number} {'long ' * 600}"
            yield Pair(query, Snippet(f"s{number}", text))

    pairs = StoredRecords(make_pairs, count)
    tracemalloc.start()
    try:
        estimate = estimate_run(AssignmentPlan(pairs, ASSESSOR, 1), None, PRICE, 8, thinking=False)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert estimate.calls == count
    assert peak < count * 3_000 * 3 / 4  # bytes; a text has 3,000 characters


def save_verdicts(
    path: Path, version: str, calls: Sequence[Sequence[Call]], settings_digest: str = ASSESSOR.settings_digest
) -> None:
    """Save verdicts of earlier runs, each with its calls."""

    async def save() -> None:
        info = VerdictKeyInfo("lexical", version, 1, settings_digest)
        await asyncio.gather(
            *(
                store.save(Lease(f"{version}{settings_digest}{number}"), info, make_verdict(), of_verdict)
                for number, of_verdict in enumerate(calls)
            )
        )

    with VerdictStore(path) as store:
        asyncio.run(save())


def make_answered_call(prompt: int, cached: int, completion: int) -> Call:
    return Call("answered", Usage(prompt, cached, completion))


@check_each(
    ("text", "tokens"),
    [("小狗贫血", 3.0), ("abcd" * 10, 9.4), ("2024", 3.6), ("。，", 1.28), ("", 0.0), ("狗 a1", 2.12)],
)
def test_tokens_are_estimated_by_script(text: str, tokens: float) -> None:
    # 0.75 a Chinese character, 0.9 a digit, 0.235 an ASCII sign, 0.64 any other
    assert estimate_tokens(text) == pytest.approx(tokens)


def test_without_a_store_default_values_are_used_and_counted() -> None:
    result = estimate_pairs(None, zh=3, en=2)
    assert (result.judgments, result.known, result.calls, result.retry_calls) == (5, 0, 5, 0)
    assert (result.earlier_calls, result.by_rule) == (0, 5)
    assert result.completion_tokens == 5 * 80
    assert result.usd == pytest.approx((result.prompt_tokens + 10 * result.completion_tokens) / 1e6)
    # five calls, eight at once: one call's time, 2 s
    assert (result.pace, result.latency, result.seconds) == (None, 2.0, 2.0)


def test_the_tokens_of_earlier_calls_predict_the_next(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    verdicts_of_one_call = [[make_answered_call(500, 400, 40)]] * 30
    # Every fourth verdict took a failed call and an unreadable reply: 3 calls, 1,000 tokens in.
    verdicts_of_three_calls = [
        [Call("rate_limit"), make_answered_call(500, 0, 100), make_answered_call(500, 0, 20)]
    ] * 10
    save_verdicts(path, VERSIONS["zh"], [*verdicts_of_one_call, *verdicts_of_three_calls])
    with VerdictStore(path) as store:
        result = estimate_pairs(store, zh=8)
    assert (result.earlier_calls, result.by_rule) == (60, 0)
    # 40 verdicts: 30 * 500 + 10 * 1000 = 25,000 in; 12,000 cached; 30 * 40 + 10 * 120 = 2,400 out
    assert result.prompt_tokens == 25_000 * 8 / 40
    assert result.completion_tokens == 2_400 * 8 / 40
    assert result.retry_calls == 8 * (60 / 40 - 1)
    # (5,000 - 2,400 cached) at 1, 2,400 at 0.5, 480 at 10
    assert result.usd == pytest.approx((2_600 + 1_200 + 4_800) / 1e6)


def test_a_verdict_whose_calls_took_more_than_a_second_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    save_verdicts(
        path, VERSIONS["en"], [[make_answered_call(500, 0, 20), make_answered_call(500, 0, 20)]] * 20
    )
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE calls SET made_at = '2026-11-20T02:00:' || printf('%02d', id) || '+00:00'")
    connection.close()
    with VerdictStore(path) as store:
        result = estimate_pairs(store, en=10)
    assert (result.calls, result.retry_calls) == (10, 10)
    assert (result.prompt_tokens, result.completion_tokens) == (10_000, 400)
    assert result.pace == pytest.approx(1.0)


def test_calls_with_other_parameters_or_of_another_server_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    calls = [[make_answered_call(500, 0, 1500)] * 2] * 30
    others = [
        make_chat_assessor("http://a.example/v1", Sampling(0.0, 512)),
        make_chat_assessor("http://b.example/v1", Sampling(0.0, 8192, thinking=True)),
    ]
    for other in others:
        save_verdicts(path, VERSIONS["en"], calls, other.settings_digest)
    save_verdicts(path, VERSIONS["en"], calls, "")  # a store of an earlier format
    with VerdictStore(path) as store:
        result = estimate_pairs(store, en=10)
    assert (result.earlier_calls, result.by_rule, result.retry_calls, result.pace) == (0, 10, 0, None)
    assert result.completion_tokens == 10 * 80


def test_by_rule_thinking_adds_tokens_and_the_highest_cost_is_given() -> None:
    assessor = make_chat_assessor("http://a.example/v1", Sampling(0.0, 8192, thinking=True))
    result = estimate_pairs(None, en=10, assessor=assessor, thinking=True)
    assert result.completion_tokens == 10 * 1080
    assert result.thinking is not None
    assert (result.thinking.tokens, result.thinking.max_tokens) == (1000, 8192)
    # 10 dollars a million tokens out
    assert result.thinking.max_usd == pytest.approx((result.prompt_tokens + 10 * 81_920) / 1e6)
    short = make_chat_assessor("http://a.example/v1", Sampling(0.0, 300, thinking=True))
    result = estimate_pairs(None, en=10, assessor=short, thinking=True)
    assert result.completion_tokens == 10 * 300
    assert result.thinking is not None
    assert (result.thinking.tokens, result.thinking.max_tokens) == (220, 300)
    assert result.thinking.max_usd == result.usd


def test_questions_have_the_same_tokens_of_thinking() -> None:
    def open_assessor(kind: QuestionKind[Any]) -> tuple[QuestionAssessor, Price | None]:
        prompts = load_question_prompts(find_default_directory(), kind.name, kind.properties)
        return QuestionAssessor(LexicalModel(), prompts, kind), PRICE

    plain, thinking = (
        QuestionEstimator(open_assessor, None, thinking=thinks).estimate(EXPLAIN, 7, 100.0, 60)
        for thinks in (False, True)
    )
    assert (plain.completion_tokens, thinking.completion_tokens) == (7 * 60, 7 * 1060)
    assert plain.prompt_tokens == thinking.prompt_tokens


def test_with_a_history_nothing_is_assumed_of_thinking(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    save_verdicts(path, VERSIONS["en"], [[make_answered_call(500, 0, 1500)]] * 20)
    with VerdictStore(path) as store:
        result = estimate_pairs(store, en=10, thinking=True)
    assert (result.completion_tokens, result.thinking) == (15_000, None)


def test_each_language_is_estimated_by_its_own_prompt(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    save_verdicts(path, VERSIONS["zh"], [[make_answered_call(700, 0, 50)]] * 20)
    save_verdicts(path, VERSIONS["en"], [[make_answered_call(9, 0, 9)]] * 19)  # too few for an estimate
    with VerdictStore(path) as store:
        result = estimate_pairs(store, zh=2, en=3)
    alone = estimate_pairs(None, en=3)
    assert (result.earlier_calls, result.by_rule) == (20, 3)
    assert result.prompt_tokens == 2 * 700 + alone.prompt_tokens
    assert result.completion_tokens == 2 * 50 + 3 * 80


def test_calls_without_a_token_count_are_left_out_of_the_tokens(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    save_verdicts(
        path, VERSIONS["en"], [*[[make_answered_call(600, 0, 60)]] * 20, *[[Call("answered")]] * 20]
    )
    with VerdictStore(path) as store:
        result = estimate_pairs(store, en=10)
    assert (result.prompt_tokens, result.completion_tokens) == (6_000, 600)


def test_the_time_is_estimated_by_the_pace_of_the_last_calls(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    save_verdicts(path, VERSIONS["en"], [[make_answered_call(1, 0, 1)]] * 200)
    with sqlite3.connect(path) as connection:
        # an hour ago 100 calls at once; then 20 calls, and 8 a second for 10 seconds
        connection.execute("UPDATE calls SET made_at = '2026-11-20T01:00:00+00:00' WHERE id <= 100")
        connection.execute(
            "UPDATE calls SET made_at = '2026-11-20T02:00:' || printf('%02d', (id - 121 + 8) / 8)"
            " || '+00:00' WHERE id > 120"
        )
        connection.execute(
            "UPDATE calls SET made_at = '2026-11-20T02:00:00+00:00' WHERE id > 100 AND id <= 120"
        )
    connection.close()
    with VerdictStore(path) as store:
        result = estimate_pairs(store, en=40)
    assert result.pace == pytest.approx(8.0)
    assert result.seconds == pytest.approx(5.0)


def test_the_time_between_two_commands_is_no_part_of_the_pace(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    save_verdicts(path, VERSIONS["en"], [[make_answered_call(1, 0, 1)]] * 200)
    with sqlite3.connect(path) as connection:
        # Ten calls a second for 10 seconds, 8 seconds without any, ten a second for 10 seconds.
        connection.execute(
            "UPDATE calls SET made_at = '2026-11-20T02:00:' || printf('%02d', (id - 1) / 10 + 8 * (id > 100))"
            " || '+00:00'"
        )
    connection.close()
    with VerdictStore(path) as store:
        assert estimate_pairs(store, en=40).pace == pytest.approx(10.0)


def test_a_server_that_is_new_answers_a_few_calls_first() -> None:
    """Eight calls, then 72 of 64 at a time: three times the time of a call."""
    estimates = [estimate_pairs(None, en=count, price=None, concurrency=64) for count in (1, 8, 9, 80)]
    assert [estimate.seconds for estimate in estimates] == [2.0, 2.0, 4.0, 6.0]


def test_calls_of_one_moment_give_no_pace(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    save_verdicts(path, VERSIONS["en"], [[make_answered_call(1, 0, 1)]] * 30)
    with VerdictStore(path) as store:
        result = estimate_pairs(store, en=40)
    assert result.pace is None
    assert result.seconds == 2.0 * 40 / 8


def test_without_a_price_there_is_no_sum() -> None:
    result = estimate_pairs(None, en=2, price=None)
    assert (result.price, result.usd) == (None, None)


def test_what_is_known_already_costs_nothing(tmp_path: Path) -> None:
    with VerdictStore(tmp_path / "v.sqlite") as store:
        row = {"query": "q", "engine": "e", "snippet": "s"}
        dataset = read_dataset([row], lang="auto", max_chars=4000)
        plan = AssignmentPlan(build_pool(dataset, 10).pairs, ASSESSOR, 1)
        [assignment] = next(plan.read_blocks()).for_model

        async def save() -> None:
            await store.save(Lease(assignment.key), ASSESSOR.make_key_info(assignment), make_verdict(), [])

        asyncio.run(save())
        result = estimate_run(plan, store, PRICE, 8, thinking=False)
    assert (result.judgments, result.known, result.calls) == (1, 1, 0)
    assert (result.prompt_tokens, result.usd, result.seconds) == (0, 0.0, 0.0)
