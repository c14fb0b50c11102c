"""What is asked of a model for one pair: every request counted, concessions at once, retries with others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import pytest

from judge.client.cancel import CancelToken
from judge.client.client import ModelClient, format_duration
from judge.client.retry import Limits
from judge.errors import (
    AccountError,
    CallError,
    ConnectionFailed,
    NoResponse,
    ParametersRejected,
    RequestRejected,
    RetryableError,
    RunIncomplete,
    TimedOut,
)
from judge.pricing.prices import Price
from judge.records import Call, Completion, Prompt, Usage
from tests.support import virtual_time
from tests.unit.client.simulation import CallList, prompt

USAGE = Usage(prompt_tokens=10, completion_tokens=5)
DOWN = RetryableError("server_error", "down")
LESS = ParametersRejected("conceded", "no json_schema")
NOBODY = ConnectionFailed("transport", "http://x: connection refused", lasting=False)
NO_HOST = ConnectionFailed("transport", "http://x: unknown host", lasting=True)


class Scripted:
    """A model that fails as its script says, call by call, and then answers."""

    name = endpoint = "scripted"
    params: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, *faults: CallError) -> None:
        self._faults: Iterator[CallError] = iter(faults)

    async def complete(self, _: Prompt) -> Completion:
        for fault in self._faults:
            raise fault
        return Completion("yes", "m", "stop", {}, USAGE, None)

    async def aclose(self) -> None:
        pass


def outcomes(client: ModelClient) -> list[str]:
    """How the calls for one pair ended."""

    async def ask() -> list[str]:
        log = CallList(client.cancel_token)
        async with client.permit(log) as permit:
            try:
                await client.complete(prompt("tea"), permit)
            except (CallError, RunIncomplete) as error:
                return [*(call.outcome for call in log.calls), type(error).__name__]
        return [call.outcome for call in log.calls]

    return virtual_time.run(ask())


def client_of(*faults: CallError, attempts: int = 2, max_calls: int | None = None) -> ModelClient:
    """A client of a model that meets `faults`."""
    return ModelClient(Scripted(*faults), Limits(4, attempts, 600, 1, max_calls), CancelToken())


def test_a_concession_is_a_call_but_no_attempt() -> None:
    client = client_of(LESS, LESS, DOWN, LESS)
    assert outcomes(client) == ["conceded", "conceded", "server_error", "conceded", "answered"]
    assert client.spend_limit.calls == 5
    assert client.limiter.in_flight == 0


def test_a_concession_counts_against_the_ceiling_of_calls() -> None:
    assert outcomes(client_of(LESS, LESS, LESS, max_calls=2)) == ["conceded", "conceded", "RunIncomplete"]


def test_a_scout_that_concedes_asks_again_before_others_scout() -> None:
    async def ask() -> int:
        client = client_of(LESS)
        async with client.permit(CallList(client.cancel_token)) as permit:
            waiting = asyncio.create_task(client.limiter.acquire())
            await asyncio.sleep(0)
            await client.complete(prompt("tea"), permit)
        return (await waiting).number

    assert virtual_time.run(ask()) == 3


def test_attempts_are_counted_and_a_final_fault_is_final() -> None:
    assert outcomes(client_of(DOWN, DOWN)) == ["server_error", "server_error", "RetryableError"]
    assert outcomes(client_of(RequestRejected("too_long", "x"))) == ["too_long", "RequestRejected"]


def test_a_call_that_is_broken_off_is_booked_as_one_that_may_be_billed() -> None:
    class Silent(Scripted):
        async def complete(self, _: Prompt) -> Completion:
            await asyncio.sleep(3600)
            raise AssertionError("nobody waits for so long")

    price = Price(input=0.0, output=1.0, cached=0.0)
    limits = Limits(4, 2, 600, 1, budget=50e-6, price=price)

    async def ask() -> list[Call]:
        client = ModelClient(Silent(), limits, CancelToken())
        client.spend_limit.reserve()
        client.spend_limit.settle(Usage(completion_tokens=20), price, answered=True)
        log = CallList(client.cancel_token)
        async with client.permit(log) as permit:
            with suppress(TimeoutError):
                await asyncio.wait_for(client.complete(prompt("tea"), permit), 1)
            # 20 spent, 20 set aside, none in flight
            with pytest.raises(RunIncomplete, match="used up; raise it"):
                client.spend_limit.reserve()
        assert client.limiter.in_flight == 0
        return log.calls

    assert virtual_time.run(ask()) == [Call("lost", maybe_billed=True)]


def test_a_refused_account_stops_everybody() -> None:
    client = client_of(AccountError("auth", "who are you"))
    assert outcomes(client) == ["auth", "AccountError"]
    assert isinstance(client.cancel_token.reason, AccountError)


def test_a_declined_pair_shows_that_the_server_is_there() -> None:
    client = client_of(RequestRejected("content_filter", "x"))
    outcomes(client)
    assert not client.limiter.probing


@pytest.mark.parametrize(("fault", "seconds", "calls"), [(NOBODY, (20, 25), 7), (NO_HOST, (1, 2), 2)])
def test_a_server_that_nobody_ever_reached_is_soon_given_up(
    fault: ConnectionFailed, seconds: tuple[float, float], calls: int
) -> None:
    async def ask() -> tuple[float, int]:
        client = client_of(*[fault] * 99, attempts=9)
        async with client.permit(CallList(client.cancel_token)) as permit:
            with pytest.raises(RunIncomplete, match=f"no connection to {fault.detail}; check --base-url"):
                await client.complete(prompt("tea"), permit)
        return asyncio.get_running_loop().time(), client.spend_limit.calls

    after, made = virtual_time.run(ask())
    assert seconds[0] <= after <= seconds[1]
    assert made <= calls


class Slow(Scripted):
    """A model whose calls end with `fault` after so many seconds."""

    def __init__(self, fault: CallError, seconds: float) -> None:
        super().__init__()
        self._fault, self._seconds = fault, seconds

    async def complete(self, _: Prompt) -> Completion:
        await asyncio.sleep(self._seconds)
        raise self._fault


@pytest.mark.parametrize(
    ("fault", "latency", "most_calls", "most_seconds", "words"),
    [
        (TimedOut("transport", "no answer within 60 s"), 60, 24, 65, "accepts requests and does not answer"),
        (
            NoResponse("transport", "HTTP 200, but an HTML page titled 'Login'", is_page=True),
            0.05, 16, 20, "an HTML page titled 'Login'; does this network ask to log in first",
        ),
        (NoResponse("transport", "Server disconnected"), 0.05, 16, 20, "disconnected; check --base-url"),
        (AccountError("auth", "who are you"), 0.5, 8, 1, "who are you"),
    ],
    ids=["timeout", "page", "disconnect", "account"],
)  # fmt: skip
def test_a_server_that_never_answered_costs_few_requests(
    fault: CallError, latency: float, most_calls: int, most_seconds: float, words: str
) -> None:
    async def ask() -> tuple[float, int, str]:
        client = ModelClient(Slow(fault, latency), Limits(64, 5, 600, 1), CancelToken())

        async def work(number: int) -> None:
            async with client.permit(CallList(client.cancel_token)) as permit:
                try:
                    await client.complete(prompt(str(number)), permit)
                except (CallError, RunIncomplete) as error:
                    client.cancel_token.cancel(error)

        working = [asyncio.create_task(work(number)) for number in range(256)]
        await client.cancel_token.wait()
        assert client.limiter.in_flight <= 8
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)
        return asyncio.get_running_loop().time(), client.spend_limit.calls, str(client.cancel_token.reason)

    seconds, calls, output = virtual_time.run(ask())
    assert words in output
    assert calls <= most_calls
    assert seconds <= most_seconds


def test_the_status_says_for_how_long_what_is_waited_for() -> None:
    async def watched() -> list[str]:
        client = ModelClient(Slow(DOWN, 100), Limits(4, 5, 600, 1), CancelToken())
        client.model.endpoint = "http://127.0.0.1:9/v1"  # type: ignore[misc]
        async with client.permit(CallList(client.cancel_token)) as permit:
            asking = asyncio.create_task(client.complete(prompt("tea"), permit))
            text: list[str] = []
            for wait in (3, 37, 80):
                await asyncio.sleep(wait)
                text.append(client.wait_status())
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        return text

    output = virtual_time.run(watched())
    assert output[:2] == ["", "waiting for the first answer from 127.0.0.1:9, 40 s"]
    assert output[2]


@pytest.mark.parametrize("first", [DOWN, LESS, RequestRejected("too_long", "x"), None])
def test_a_server_that_was_heard_of_is_waited_for_as_long_as_patience_lasts(first: CallError | None) -> None:
    async def ask() -> float:
        client = client_of(*filter(None, [first]), attempts=99)
        async with client.permit(CallList(client.cancel_token)) as permit:
            with suppress(RequestRejected):
                await client.complete(prompt("tea"), permit)
        client.model = Scripted(*[NO_HOST] * 4, *[NOBODY] * 4)
        began = asyncio.get_running_loop().time()
        async with client.permit(CallList(client.cancel_token)) as permit:
            await client.complete(prompt("milk"), permit)
        return asyncio.get_running_loop().time() - began

    assert virtual_time.run(ask()) > 60


def test_a_server_that_asks_for_more_than_patience_ends_the_run_and_is_told_of() -> None:
    away = [RetryableError("rate_limit", "HTTP 429: slow", retry_after=wait) for wait in (7.0, 86400.0)]
    client = client_of(away[0], away[1])

    async def ask() -> float:
        async with client.permit(CallList(client.cancel_token)) as permit:
            with pytest.raises(RunIncomplete, match=r"scripted asks to wait 24 h \(rate_limit: HTTP 429"):
                await client.complete(prompt("tea"), permit)
        return asyncio.get_running_loop().time()

    assert virtual_time.run(ask()) < 10
    assert client.spend_limit.calls == 2
    assert client.warnings == ()


@pytest.mark.parametrize(("retry_after", "told"), [(45.0, 0), (300.0, 1)])
def test_what_patience_allows_is_waited_for_and_told_of_where_it_is_long(
    retry_after: float, told: int
) -> None:
    client = client_of(RetryableError("rate_limit", "slow", retry_after=retry_after))
    assert outcomes(client) == ["rate_limit", "answered"]
    assert client.warnings == ("scripted asked to wait for up to 5 min (Retry-After)",)[:told]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(90.0, "1.5 min"), (7199.0, "120 min"), (86400.0, "24 h"), (1e300, "2.77778e+296 h")],
)
def test_waits_are_told_in_few_letters(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words
