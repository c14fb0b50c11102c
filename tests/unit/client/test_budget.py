"""Limits of calls and of cost, with many calls in flight."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.client.budget import SpendLimit
from judge.errors import LimitReached, RunIncomplete
from judge.pricing.prices import Price
from judge.records import ANSWERED, CONTENT_FILTER, Call, Usage

#: One dollar for a million completion tokens: a token costs a micro-dollar.
PRICE = Price(input=0.0, output=1.0, cached=0.0)


def make_answer(tokens: int, *, in_batch: bool = False) -> Call:
    return Call(ANSWERED, Usage(completion_tokens=tokens), in_batch=in_batch)


def test_no_call_starts_beyond_max_calls_however_the_others_end() -> None:
    limit = SpendLimit(max_calls=3)
    limit.reserve()
    limit.settle(Call("transport", maybe_billed=True), PRICE)
    limit.reserve()
    limit.settle(make_answer(5), PRICE)
    limit.reserve()
    with pytest.raises(LimitReached, match="max-calls 3"):
        limit.reserve()
    assert limit.calls == 3


def test_equal_calls_use_the_whole_budget_and_never_more() -> None:
    for in_flight in (1, 8, 64):
        limit = SpendLimit(budget=100e-6)
        limit.reserve()
        limit.settle(make_answer(7), PRICE)
        assert count_started_calls(limit, [7] * 200, in_flight) == 13  # and the first: 14 * 7 = 98
        assert limit.usd == pytest.approx(98e-6)


@given(
    st.lists(st.integers(1, 100), min_size=1, max_size=80),
    st.integers(0, 2000),
    st.integers(1, 64),
    st.randoms(use_true_random=False),
)
def test_a_budget_is_overshot_by_one_call_at_most(
    costs: list[int], budget: int, in_flight: int, order: random.Random
) -> None:
    limit = SpendLimit(budget=budget / 1e6)
    started = count_started_calls(limit, costs, in_flight, order, most=100e-6)
    assert limit.usd is not None
    assert limit.usd * 1e6 <= budget + max(costs) + 1e-6
    if started < len(costs):  # what is left does not cover the highest cost
        assert limit.usd * 1e6 + max(costs[:started], default=0) >= budget


@given(
    st.lists(st.integers(1, 100), min_size=1, max_size=80),
    st.integers(0, 2000),
    st.integers(1, 64),
    st.randoms(use_true_random=False),
)
def test_without_a_limit_of_replies_it_is_overshot_by_no_more_than_the_calls_in_flight(
    costs: list[int], budget: int, in_flight: int, order: random.Random
) -> None:
    limit = SpendLimit(budget=budget / 1e6)
    count_started_calls(limit, costs, in_flight, order)
    assert limit.usd is not None
    assert limit.usd * 1e6 <= budget + in_flight * max(costs) + 1e-6


def count_started_calls(
    limit: SpendLimit,
    costs: list[int],
    in_flight: int,
    order: random.Random | None = None,
    most: float = 0.0,
) -> int:
    """Return how many calls of these costs start, `in_flight` at once, if they finish in `order`."""
    costs_in_flight: list[int] = []

    def end_call() -> None:
        finished_cost = costs_in_flight.pop(order.randrange(len(costs_in_flight)) if order else 0)
        limit.settle(make_answer(finished_cost), PRICE, most)

    started = 0
    for cost in costs:
        if len(costs_in_flight) == in_flight:
            end_call()
        try:
            while not limit.reserve(most):
                end_call()
        except RunIncomplete:
            break
        started += 1
        costs_in_flight.append(cost)
    while costs_in_flight:
        end_call()
    return started


def test_what_ended_calls_could_have_cost_is_free_again() -> None:
    limit = SpendLimit(budget=1.0)
    for _ in range(50):
        for _ in range(3):
            assert limit.reserve(max_usd=0.3)
        assert not limit.reserve(max_usd=0.3)
        for _ in range(3):
            limit.settle(make_answer(1), PRICE, 0.3)


def test_a_batch_leaves_what_calls_in_flight_can_cost() -> None:
    limit = SpendLimit(budget=100e-6)
    limit.reserve(max_usd=70e-6)
    assert limit.reserve_batch([20e-6] * 3) == 1


def test_a_first_call_that_may_be_billed_counts_as_the_most_that_it_can_cost() -> None:
    limit = SpendLimit(budget=100e-6)
    limit.reserve(max_usd=100e-6)
    limit.settle(Call("transport", maybe_billed=True), PRICE, 100e-6)
    with pytest.raises(LimitReached, match="is used up"):
        limit.reserve(max_usd=1e-6)


def test_rounding_uses_no_budget_up() -> None:
    limit = SpendLimit(budget=0.0003)
    for _ in range(3):
        limit.reserve()
        limit.settle(make_answer(100), PRICE)
    with pytest.raises(LimitReached, match=r"budget 0\.0003"):
        limit.reserve()


def test_what_may_be_billed_is_set_aside_and_failures_cost_nothing() -> None:
    limit = SpendLimit(budget=100e-6)
    limit.reserve()
    limit.settle(make_answer(30), PRICE)
    limit.reserve()
    limit.settle(Call("server_error"), PRICE)
    limit.reserve()
    limit.settle(Call("transport", maybe_billed=True), PRICE)
    assert limit.reserve()  # 30 spent, 30 set aside, this one fits
    assert not limit.reserve()
    limit.settle(make_answer(30), PRICE)
    with pytest.raises(RunIncomplete):
        limit.reserve()
    assert limit.usd == pytest.approx(60e-6)


def test_a_declined_answer_is_paid_for() -> None:
    limit = SpendLimit(budget=50e-6)
    limit.reserve()
    limit.settle(Call(CONTENT_FILTER, Usage(completion_tokens=30)), PRICE)
    with pytest.raises(RunIncomplete):
        limit.reserve()


def test_a_server_that_counts_no_tokens_ends_a_budget_at_once() -> None:
    limit = SpendLimit(budget=1.0)
    limit.reserve()
    limit.settle(Call(ANSWERED), PRICE)
    assert limit.usd is None
    with pytest.raises(RunIncomplete, match="the server does not count tokens"):
        limit.reserve()


def test_money_is_unknown_where_the_price_is() -> None:
    limit = SpendLimit()
    for _ in range(2):
        limit.reserve()
        limit.settle(make_answer(3), None)
        assert limit.usd is None


def test_money_that_is_only_set_aside_is_not_called_spent() -> None:
    limit = SpendLimit(budget=100e-6)
    limit.reserve()
    limit.settle(make_answer(30), PRICE)
    for _ in range(2):
        limit.reserve()
    assert not limit.reserve()  # until one of both has ended
    for _ in range(2):
        limit.settle(make_answer(30), PRICE)
    with pytest.raises(LimitReached, match="is used up; run the same command again"):
        limit.reserve()


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (SpendLimit(budget=0.0), "--budget 0 USD is used up"),
        (SpendLimit(max_calls=0), "--max-calls 0 is used up"),
    ],
)
def test_a_limit_of_0_starts_no_call(limit: SpendLimit, message: str) -> None:
    with pytest.raises(LimitReached, match=f"^{message}; .*, or raise it$"):
        limit.reserve()


def test_the_calls_of_a_batch_are_reserved_at_the_most_that_they_can_cost() -> None:
    limit = SpendLimit(budget=100e-6, max_calls=30)
    assert limit.reserve_batch([30e-6] * 5) == 3
    assert limit.calls == 3
    assert limit.reserve_batch([30e-6]) == 0
    limit.reserve()  # 90 are set aside
    limit.settle(make_answer(10), PRICE)
    with pytest.raises(LimitReached, match="budget"):
        limit.reserve()
    # Two replies of 10 tokens at half the price, and one request that was not processed.
    replies = [make_answer(10, in_batch=True)] * 2
    limit.settle_batch([30e-6] * 3, replies, PRICE)
    assert limit.calls == 3
    assert limit.usd == pytest.approx(20e-6)
    assert limit.reserve_batch([1e-6] * 50) == 27


def test_a_batch_without_token_counts_makes_the_money_unknown() -> None:
    limit = SpendLimit(budget=1.0)
    limit.settle_batch([], [Call("server_error", in_batch=True)], PRICE)
    assert [limit.usd] == [0.0]
    limit.settle_batch([], [Call(ANSWERED, in_batch=True)], PRICE)
    assert limit.usd is None
    assert limit.reserve_batch([0.1]) == 0
