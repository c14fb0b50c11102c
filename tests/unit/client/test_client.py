"""The requests for one pair: each is counted, a rejected parameter is dropped at once, retries wait."""

import asyncio
from contextlib import suppress

import pytest

from judge.client.budget import SpendLimit
from judge.client.cancel import Cancelled, CancelToken
from judge.client.client import ModelClient, PairPermit
from judge.client.limiter import Circuit
from judge.client.retry import RequestLimits
from judge.errors import (
    AccountError,
    CallError,
    ConnectionFailed,
    Interrupted,
    NoResponse,
    ParametersRejected,
    RequestRejected,
    RetryableError,
    RunIncomplete,
    TimedOut,
)
from judge.pricing.prices import Price
from judge.records import ANSWERED, Call, Completion, Prompt, Usage
from tests.support import virtual_time
from tests.unit.client.simulation import CallList, ScriptedModel, SilentModel, make_prompt

SERVER_ERROR = RetryableError("server_error", "down")
REJECTED_PARAMETER = ParametersRejected("unsupported", "no json_schema")
CONNECTION_REFUSED = ConnectionFailed("http://x: connection refused", lasting=False)
UNKNOWN_HOST = ConnectionFailed("http://x: unknown host", lasting=True)


def run_call(client: ModelClient) -> list[str]:
    """Return the outcomes of the calls for one pair, and the class of its error if it has one."""

    async def ask() -> list[str]:
        log = CallList(client.cancel_token)
        with PairPermit(client.limiter, log) as permit:
            try:
                await client.complete(make_prompt("tea"), permit)
            except (CallError, RunIncomplete) as error:
                return [*(call.outcome for call in log.calls), type(error).__name__]
        return [call.outcome for call in log.calls]

    return virtual_time.run(ask())


def make_client(
    *faults: CallError, attempts: int = 2, max_calls: int | None = None, max_wait: float = 600
) -> ModelClient:
    """Return a client of a model that fails with `faults` first."""
    limits = RequestLimits(4, attempts, max_wait, 1)
    return ModelClient(ScriptedModel(*faults), limits, CancelToken(), SpendLimit(max_calls))


def test_a_rejected_parameter_is_a_call_but_no_attempt() -> None:
    client = make_client(REJECTED_PARAMETER, REJECTED_PARAMETER, SERVER_ERROR, REJECTED_PARAMETER)
    assert run_call(client) == [
        "unsupported",
        "unsupported",
        "server_error",
        "unsupported",
        "answered",
    ]
    assert client.spend_limit.calls == 5
    assert client.limiter.in_flight == 0


def test_a_rejected_parameter_counts_against_the_ceiling_of_calls() -> None:
    assert run_call(make_client(REJECTED_PARAMETER, REJECTED_PARAMETER, REJECTED_PARAMETER, max_calls=2)) == [
        "unsupported",
        "unsupported",
        "LimitReached",
    ]


def test_a_probe_with_a_rejected_parameter_is_repeated_before_other_probes() -> None:
    async def ask() -> int:
        client = make_client(REJECTED_PARAMETER)
        with PairPermit(client.limiter, CallList(client.cancel_token)) as permit:
            await permit.acquire()
            waiting = asyncio.create_task(client.limiter.acquire())
            await asyncio.sleep(0)
            await client.complete(make_prompt("tea"), permit)
        return (await waiting).number

    assert virtual_time.run(ask()) == 3


def test_attempts_are_counted_and_a_final_fault_is_final() -> None:
    assert run_call(make_client(SERVER_ERROR, SERVER_ERROR)) == [
        "server_error",
        "server_error",
        "RetryableError",
    ]
    assert run_call(make_client(RequestRejected("too_long", "x"))) == ["too_long", "RequestRejected"]


def test_a_cancelled_call_counts_as_maybe_billed() -> None:
    price = Price(input=0.0, output=1.0, cached=0.0)
    limits = RequestLimits(4, 2, 600, 1)

    async def ask() -> list[Call]:
        client = ModelClient(SilentModel(), limits, CancelToken(), SpendLimit(budget=50e-6), price)
        client.spend_limit.reserve()
        client.spend_limit.settle(Call(ANSWERED, Usage(completion_tokens=20)), price)
        log = CallList(client.cancel_token)
        with PairPermit(client.limiter, log) as permit:
            with suppress(TimeoutError):
                await asyncio.wait_for(client.complete(make_prompt("tea"), permit), 1)
            # 20 spent, 20 set aside, none in flight
            with pytest.raises(RunIncomplete, match="used up; run the same command again"):
                client.spend_limit.reserve()
        assert client.limiter.in_flight == 0
        return log.calls

    assert virtual_time.run(ask()) == [Call("lost", maybe_billed=True)]


def test_a_call_that_waits_for_the_budget_holds_no_permit_and_goes_on_when_another_ends() -> None:
    price = Price(input=1.0, output=1.0, cached=0.0)
    limits = RequestLimits(4, 2, 600, 1)

    async def ask() -> list[int]:
        client = ModelClient(SilentModel(), limits, CancelToken(), SpendLimit(budget=50e-6), price)
        assert client.spend_limit.reserve(max_usd=40e-6)  # a call in flight, which can cost nearly all
        with PairPermit(client.limiter, CallList(client.cancel_token)) as permit:
            waiting = asyncio.create_task(client.complete(make_prompt("tea " * 100), permit))
            await asyncio.sleep(0.1)
            permits_in_use = [client.limiter.in_flight]
            client.spend_limit.settle(Call(ANSWERED, Usage(completion_tokens=1)), price, 40e-6)
            await asyncio.sleep(0.1)
            permits_in_use.append(client.limiter.in_flight)
            waiting.cancel()
            with suppress(asyncio.CancelledError):
                await waiting
        return [*permits_in_use, client.limiter.in_flight, client.spend_limit.calls]

    assert virtual_time.run(ask()) == [0, 1, 0, 2]


def test_a_call_that_waits_for_the_budget_ends_with_the_run() -> None:
    price = Price(input=0.0, output=1.0, cached=0.0)
    limits = RequestLimits(4, 2, 600, 1)

    async def ask() -> int:
        client = ModelClient(SilentModel(), limits, CancelToken(), SpendLimit(budget=50e-6), price)
        client.spend_limit.reserve(max_usd=60e-6)
        with PairPermit(client.limiter, CallList(client.cancel_token)) as permit:
            waiting = asyncio.create_task(client.complete(make_prompt("tea"), permit))
            await asyncio.sleep(0.1)
            client.cancel_token.cancel(RunIncomplete("enough"))
            client.spend_limit.settle(Call(ANSWERED, Usage(completion_tokens=1)), price, 60e-6)
            with pytest.raises(Cancelled):
                await waiting
        return client.spend_limit.calls

    assert virtual_time.run(ask()) == 1


def test_a_refused_account_stops_all_calls() -> None:
    client = make_client(AccountError("auth", "who are you"))
    assert run_call(client) == ["auth", "AccountError"]
    assert isinstance(client.cancel_token.reason, AccountError)


def test_a_declined_pair_ends_the_probes() -> None:
    client = make_client(RequestRejected("content_filter", "x"))
    run_call(client)
    assert client.limiter.circuit is Circuit.CLOSED


@pytest.mark.parametrize(
    ("fault", "seconds", "calls"), [(CONNECTION_REFUSED, (20, 25), 7), (UNKNOWN_HOST, (1, 2), 2)]
)
def test_a_server_that_never_accepted_a_connection_ends_the_run_early(
    fault: ConnectionFailed, seconds: tuple[float, float], calls: int
) -> None:
    async def ask() -> tuple[float, int]:
        client = make_client(*[fault] * 99, attempts=9)
        with (
            PairPermit(client.limiter, CallList(client.cancel_token)) as permit,
            pytest.raises(RunIncomplete, match=f"no connection to {fault.detail}; check --base-url"),
        ):
            await client.complete(make_prompt("tea"), permit)
        return asyncio.get_running_loop().time(), client.spend_limit.calls

    elapsed, calls_made = virtual_time.run(ask())
    assert seconds[0] <= elapsed <= seconds[1]
    assert calls_made <= calls


class SlowModel(ScriptedModel):
    """A model whose calls fail with `fault` after this many seconds."""

    def __init__(self, fault: CallError, seconds: float) -> None:
        super().__init__()
        self._fault, self._seconds = fault, seconds

    async def complete(self, _: Prompt) -> Completion:
        await asyncio.sleep(self._seconds)
        raise self._fault


@pytest.mark.parametrize(
    ("fault", "latency", "max_calls", "max_seconds", "words"),
    [
        (TimedOut("no answer within 60 s"), 60, 24, 65, "accepts requests and does not answer"),
        (
            NoResponse("HTTP 200: an HTML page titled 'Login'", lasting=True),
            0.05, 16, 20, "and whether the network requires a login",
        ),
        (NoResponse("Server disconnected"), 0.05, 16, 20, "disconnected; check --base-url (http or https)"),
        (AccountError("auth", "who are you"), 0.5, 8, 1, "who are you"),
    ],
    ids=["timeout", "page", "disconnect", "account"],
)  # fmt: skip
def test_a_server_that_never_answered_costs_few_requests(
    fault: CallError, latency: float, max_calls: int, max_seconds: float, words: str
) -> None:
    async def ask() -> tuple[float, int, str]:
        client = ModelClient(SlowModel(fault, latency), RequestLimits(64, 5, 600, 1), CancelToken())

        async def run_work(number: int) -> None:
            with PairPermit(client.limiter, CallList(client.cancel_token)) as permit:
                try:
                    await client.complete(make_prompt(str(number)), permit)
                except (CallError, RunIncomplete) as error:
                    client.cancel_token.cancel(error)

        tasks = [asyncio.create_task(run_work(number)) for number in range(256)]
        await client.cancel_token.wait()
        assert client.limiter.in_flight <= 8
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return asyncio.get_running_loop().time(), client.spend_limit.calls, str(client.cancel_token.reason)

    seconds, calls, output = virtual_time.run(ask())
    assert words in output
    assert calls <= max_calls
    assert seconds <= max_seconds


def test_the_status_names_what_a_call_waits_for_and_for_how_long() -> None:
    async def read_statuses() -> list[str]:
        client = ModelClient(SlowModel(SERVER_ERROR, 100), RequestLimits(4, 5, 600, 1), CancelToken())
        client.model.endpoint = "http://127.0.0.1:9/v1"  # type: ignore[misc]
        with PairPermit(client.limiter, CallList(client.cancel_token)) as permit:
            call = asyncio.create_task(client.complete(make_prompt("tea"), permit))
            statuses: list[str] = []
            for wait in (3, 37, 80):
                await asyncio.sleep(wait)
                statuses.append(client.describe_wait())
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        return statuses

    output = virtual_time.run(read_statuses())
    assert output[:2] == ["", "waiting for an answer from 127.0.0.1:9, 40 s"]
    assert output[2]


def test_the_status_names_the_error_of_a_server_that_does_not_answer() -> None:
    async def read_status(seconds: float, endpoint: str = "http://x", *, is_local: bool = False) -> str:
        client = make_client(*[CONNECTION_REFUSED] * 40, attempts=99)
        client.model.endpoint, client.model.is_local = endpoint, is_local  # type: ignore[misc]
        with PairPermit(client.limiter, CallList(client.cancel_token)) as permit:
            call = asyncio.create_task(client.complete(make_prompt("tea"), permit))
            await asyncio.sleep(seconds)
            status = client.describe_wait()
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        return status

    assert virtual_time.run(read_status(1.5)) == ""
    assert virtual_time.run(read_status(9.0)) == (
        "no request to x succeeded for 9 s, trying again: connection refused"
    )
    # The address can be unknown, and a model in this process has none.
    assert virtual_time.run(read_status(9.0, "")).startswith("no request to scripted succeeded for 9 s, ")
    assert virtual_time.run(read_status(9.0, "", is_local=True)) == ""


def test_the_status_after_ctrl_c_says_how_long_calls_in_flight_get() -> None:
    async def read_status() -> tuple[str, str]:
        client = ModelClient(SlowModel(SERVER_ERROR, 100), RequestLimits(4, 5, 600, 7), CancelToken())
        client.model.endpoint = "http://x"  # type: ignore[misc]
        with PairPermit(client.limiter, CallList(client.cancel_token)) as permit:
            call = asyncio.create_task(client.complete(make_prompt("tea"), permit))
            await asyncio.sleep(1)
            client.cancel_token.cancel(Interrupted("interrupted"))
            status = client.describe_wait()
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        return status, client.describe_wait()

    assert virtual_time.run(read_status()) == (
        "stopping: calls in flight get up to 7 s; press Ctrl-C again to stop at once",
        "",
    )


@pytest.mark.parametrize("first", [SERVER_ERROR, REJECTED_PARAMETER, RequestRejected("too_long", "x"), None])
def test_a_server_that_replied_once_gets_retries_up_to_max_wait(first: CallError | None) -> None:
    async def ask() -> float:
        client = make_client(*filter(None, [first]), attempts=99)
        with (
            PairPermit(client.limiter, CallList(client.cancel_token)) as permit,
            suppress(RequestRejected),
        ):
            await client.complete(make_prompt("tea"), permit)
        client.model = ScriptedModel(*[UNKNOWN_HOST] * 4, *[CONNECTION_REFUSED] * 4)
        started = asyncio.get_running_loop().time()
        with PairPermit(client.limiter, CallList(client.cancel_token)) as permit:
            await client.complete(make_prompt("milk"), permit)
        return asyncio.get_running_loop().time() - started

    assert virtual_time.run(ask()) > 60


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(90.0, "1.5 min"), (7199.0, "120 min"), (86400.0, "24 h"), (1e300, "2.77778e+296 h")],
)
def test_a_retry_after_beyond_max_wait_ends_the_run_with_a_message(seconds: float, words: str) -> None:
    errors = [RetryableError("rate_limit", "HTTP 429: slow", retry_after=wait) for wait in (7.0, seconds)]
    client = make_client(*errors, max_wait=60.0)

    async def ask() -> float:
        with (
            PairPermit(client.limiter, CallList(client.cancel_token)) as permit,
            pytest.raises(RunIncomplete) as caught,
        ):
            await client.complete(make_prompt("tea"), permit)
        assert f"'scripted' asks to wait {words} (rate_limit: HTTP 429" in str(caught.value)
        return asyncio.get_running_loop().time()

    assert virtual_time.run(ask()) < 10
    assert client.spend_limit.calls == 2
