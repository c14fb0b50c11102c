"""Owns judging a whole pool: what is known is taken from the store, the rest is asked for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields

from judge.assess.assessor import Assessor, AssessorAnswer, Question
from judge.assess.claiming import LEASE_POLL_INTERVAL, Claim, claimed
from judge.assess.desk import Desk
from judge.assess.stop import Stopped
from judge.assess.store import ANSWERED, Call, Store
from judge.assess.watch import Rounds, Watch
from judge.errors import PARSE_ERROR_KINDS, AccountError, Interrupted, JudgeError, RunIncomplete, StoreError
from judge.models.error_mapping import shorten
from judge.models.redaction import mask
from judge.pricing.prices import Price, summed
from judge.records import Judgment, Pool

#: Pairs in a row that fail at the server, or whose replies hold no verdict, after which the run stops.
MAX_CONSECUTIVE_FAILURES = 30
#: The same for pairs at which the model did nothing but think.
_MAX_ONLY_THINKING = 5
#: Characters of a reply that a message shows.
_SHOWN = 160
_SERVER_TROUBLE = frozenset({"transport", "server_error", "rate_limit", "bad_request"})
#: Pairs that are being asked about at the same time, at least.
_CREW = 16


@dataclass(frozen=True, slots=True)
class Cost:
    """What the judgments of a run cost since they were first asked for, failed calls included.

    `usd` is None when no price was given. `uncounted` calls came back without a token count;
    `maybe_billed` calls never came back (a timeout, a cut reply, a killed process).
    """

    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    usd: float | None
    uncounted: int
    maybe_billed: int


@dataclass(frozen=True, slots=True)
class Judging:
    """What came of judging a pool. `stopped` is the reason when pairs were left unasked."""

    judgments: tuple[Judgment, ...]
    cost: Cost
    calls_made: int
    stopped: JudgeError | None
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class _Session:
    """The state of one execution: what is still to do and what came of it."""

    desk: Desk
    assessor: Assessor
    store: Store
    watch: Watch
    rounds: Rounds
    judgments: list[Judgment] = field(default_factory=list)
    failures_in_a_row: int = 0
    unreadable_in_a_row: int = 0
    only_thinking_in_a_row: int = 0
    todo: deque[Sequence[Question]] = field(default_factory=deque)
    #: What other processes are paying for, and when something last came of any pair.
    elsewhere: deque[Sequence[Question]] = field(default_factory=deque)
    moved_at: float = 0.0


async def judge_pool(
    pool: Pool, assessor: Assessor, store: Store, desk: Desk, repeats: int, watch: Watch
) -> Judging:
    """Judges every pair of `pool` in every repeat, paying only for what `store` does not hold.

    Requests that would be identical are made once. Judgments come back in pool order, repeat by
    repeat. Never raises for trouble with the model: see `Judging.stopped`.
    """
    ruled, asked = split(pool, assessor, repeats)
    known = store.lookup(asked)
    session = _Session(desk, assessor, store, watch, Rounds(repeats, len(pool.pairs), assessor.scale))
    session.judgments += ruled
    for key in (key for key in asked if key in known):
        session.judgments += [assessor.make_judgment(question, known[key]) for question in asked[key]]
    watch.begin(len(ruled) + sum(map(len, asked.values())), len(session.judgments))
    _tell(session, session.judgments)
    try:
        session.todo += [asked[key] for key in asked if key not in known]
        await _ask_all(session)
    finally:
        watch.end()
    order = {(pair.query.id, pair.snippet.id): place for place, pair in enumerate(pool.pairs)}
    judgments = sorted(session.judgments, key=lambda j: (j.repeat, order[j.query_id, j.snippet_id]))
    cost = total(store.calls(asked), desk.limits.price)
    warnings = (*_warnings(store, asked), *desk.remarks)
    return Judging(tuple(judgments), cost, desk.allowance.calls, desk.stop.reason, warnings)


def _warnings(store: Store, asked: Collection[str]) -> Iterator[str]:
    corrupt = [key for key in dict.fromkeys(store.corrupt_keys) if key in asked]
    if corrupt:
        yield (
            f"{store.path}: {len(corrupt)} verdicts no longer match their checksums and were asked for"
            f" again, first {corrupt[0]}"
        )


def split(
    pool: Pool, assessor: Assessor, repeats: int
) -> tuple[list[Judgment], Mapping[str, Sequence[Question]]]:
    """The judgments that need no call, and the other questions by store key, first repeats first."""
    ruled: list[Judgment] = []
    asked: dict[str, list[Question]] = {}
    rendered = [assessor.make_questions(pair, repeats) for pair in pool.pairs]
    for repeat in range(repeats):
        for questions in rendered:
            question = questions[repeat]
            judgment = assessor.judge_by_rule(question)
            if judgment:
                ruled.append(judgment)
            else:
                asked.setdefault(question.key, []).append(question)
    return ruled, asked


async def _ask_all(session: _Session) -> None:
    if not session.todo:
        return
    limits, session.moved_at = session.desk.limits, asyncio.get_running_loop().time()
    # More workers than slots: the ones that wait before a retry must not keep a slot idle.
    # With few slots some more, so that an outage is spread over many pairs' attempts.
    size = min(len(session.todo), max(_CREW, 4 * limits.concurrency))
    async with asyncio.TaskGroup() as group:
        crew = [group.create_task(_work(session)) for _ in range(size)]
        closing = group.create_task(_close_down(session.desk, crew, limits.grace))
        reporting = group.create_task(_report_waits(session))
        await asyncio.wait(crew)
        closing.cancel()
        reporting.cancel()


async def _report_waits(session: _Session) -> None:
    """Tell the watch every second what is waited for."""
    while True:
        await asyncio.sleep(1)
        session.watch.waiting(session.desk.wait_status())


async def _close_down(desk: Desk, crew: Sequence[asyncio.Task[None]], grace: float) -> None:
    """Once a stop is requested, calls in flight come home and are stored: they are paid for.

    Someone who interrupts waits for them `grace` seconds at most, or not at all when in a hurry.
    """
    await desk.stop.wait()
    desk.gate.abandon()
    await desk.stop.wait_for_hurry(grace if isinstance(desk.stop.reason, Interrupted) else None)
    for worker in crew:
        worker.cancel()


async def _work(session: _Session) -> None:
    stop = session.desk.stop
    try:
        while stop.reason is None and (questions := await _next(session)):
            await _settle(session, questions)
    except Stopped:
        return
    except (AccountError, RunIncomplete, StoreError) as reason:
        stop.request(reason)


async def _next(session: _Session) -> Sequence[Question] | None:
    """The next questions to settle; those that another process is paying for come last, after a while."""
    if session.todo:
        return session.todo.popleft()
    if not session.elsewhere:
        return None
    questions = session.elsewhere.popleft()
    max_wait = session.desk.limits.max_wait
    if asyncio.get_running_loop().time() - session.moved_at > max_wait:
        raise RunIncomplete(
            f"another process is paying for the pairs that are left, and none came in {max_wait:g} s; let it"
            f" finish, or end whatever else uses {session.store.path}, then run the same command again: what"
            " was judged is kept"
        )
    await session.desk.stop.sleep(LEASE_POLL_INTERVAL)
    return questions


async def _settle(session: _Session, questions: Sequence[Question]) -> None:
    """Gets one verdict and writes it down for all questions that it answers, or puts them off."""
    first = questions[0]
    async with claimed(session.store, first.key, session.desk) as held:
        answer = await _pay(session, first, held) if isinstance(held, Claim) else held
    if answer is None:
        session.elsewhere.append(questions)
        return
    session.moved_at = asyncio.get_running_loop().time()
    _note(session, [session.assessor.make_judgment(question, answer) for question in questions])
    if isinstance(answer, AssessorAnswer):
        _raise_after_consecutive_failures(session, answer)


async def _pay(session: _Session, question: Question, claim: Claim) -> AssessorAnswer:
    answer = await session.assessor.ask(question, claim.seat)
    if answer.stored is not None:
        await claim.save(session.assessor.source(question), answer.stored)
    return answer


def _note(session: _Session, judgments: list[Judgment]) -> None:
    session.judgments += judgments
    for judgment in judgments:
        session.watch.judged(judgment, session.desk.allowance.usd)
    _tell(session, judgments)


def _tell(session: _Session, judgments: Iterable[Judgment]) -> None:
    """Counts `judgments` and tells the watch of every repeat that they complete."""
    for judgment in judgments:
        finished = session.rounds.count(judgment)
        if finished is not None:
            session.watch.finished(finished)


def _raise_after_consecutive_failures(session: _Session, answer: AssessorAnswer) -> None:
    """Raise Incomplete when pair after pair fails at the server, or no reply of the model can be read."""
    unreadable = answer.error in PARSE_ERROR_KINDS
    session.failures_in_a_row = session.failures_in_a_row + 1 if answer.error in _SERVER_TROUBLE else 0
    session.unreadable_in_a_row = session.unreadable_in_a_row + 1 if unreadable else 0
    session.only_thinking_in_a_row = session.only_thinking_in_a_row + 1 if answer.thinking else 0
    model = session.assessor.model
    if session.failures_in_a_row >= MAX_CONSECUTIVE_FAILURES:
        raise RunIncomplete(
            f"{MAX_CONSECUTIVE_FAILURES} pairs in a row failed with {answer.error!r} at {model.endpoint}, at"
            f" last: {answer.detail}; check the server, then run the same command again: what was judged is"
            " kept"
        )
    if session.only_thinking_in_a_row >= _MAX_ONLY_THINKING:
        raise RunIncomplete(
            f"{_MAX_ONLY_THINKING} pairs in a row have no grade by {model.name}: {answer.advice}"
        )
    if session.unreadable_in_a_row >= MAX_CONSECUTIVE_FAILURES:
        shown = f"the last reply ({answer.error}): {_shown(answer.reply)!r}" if answer.reply else "all empty"
        raise RunIncomplete(
            f"the replies of {model.name} to {MAX_CONSECUTIVE_FAILURES} pairs in a row hold no grade that can"
            f" be read, {shown}; {answer.advice}"
        )


def _shown(reply: str) -> str:
    """Return the beginning of `reply` in one line, without anything shaped like a key."""
    line = shorten(mask(reply[: 4 * _SHOWN]))
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def together(judgings: Collection[Judging]) -> Judging:
    """What the members of a panel judged one after the other, as one judging of all of it."""
    costs = [judging.cost for judging in judgings]
    usd = [cost.usd for cost in costs]
    counts = {
        each.name: sum(getattr(cost, each.name) for cost in costs)
        for each in fields(Cost)
        if each.name != "usd"
    }
    return Judging(
        judgments=tuple(judgment for judging in judgings for judgment in judging.judgments),
        cost=Cost(**counts, usd=None if None in usd else round(sum(filter(None, usd)), 6)),
        calls_made=max(judging.calls_made for judging in judgings),
        stopped=next((judging.stopped for judging in judgings if judging.stopped), None),
        warnings=tuple(dict.fromkeys(warning for judging in judgings for warning in judging.warnings)),
    )


def total(calls: Sequence[Call], price: Price | None) -> Cost:
    """The sum of `calls`; `usd` is None without a price, or where no answer came with a token count."""
    usages = [call.usage for call in calls if call.usage is not None]
    tokens = summed(usages)
    uncounted = sum(call.outcome == ANSWERED and call.usage is None for call in calls)
    is_known = price is not None and (usages or not uncounted)
    return Cost(
        calls=len(calls),
        prompt_tokens=tokens.prompt_tokens,
        cached_tokens=tokens.cached_tokens,
        completion_tokens=tokens.completion_tokens,
        usd=round(sum(map(price.usd, usages)), 6) if price is not None and is_known else None,
        uncounted=uncounted,
        maybe_billed=sum(call.maybe_billed for call in calls),
    )
