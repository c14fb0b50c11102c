"""Side by side: a model says which of two engines' whole lists helps the user more.

Each query is asked twice, with either engine first, and the two answers are averaged: a preference for the
list that is shown first cancels out, and is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from judge.analysis.judged_run import JudgedRun, score_lists
from judge.analysis.summary import (
    DimensionResult,
    EnginePair,
    QueryValues,
    average_values,
    make_note,
    summarise_dimension,
)
from judge.assess.text_assessor import Asker, QuestionKind
from judge.dimensions.questions import is_readable, make_question_pair, show_snippet
from judge.errors import InputError
from judge.measure.resampling import MIN_DIFFERING
from judge.messages import Message, NameList
from judge.records import ListKey, Pair, Ranking

_MAX_REASON = 2_000
#: Tokens that a reason of two sentences and the preference take.
REPLY_TOKENS = 100
#: The most queries whose reasons the summary holds.
_MAX_NOTES = 200


@dataclass(frozen=True, slots=True)
class Preference:
    """What the model answers: the reason, then the better list."""

    reason: str
    better: Literal["A", "B", "tie"]


COMPARE_LISTS = QuestionKind(
    "sidebyside",
    Message("sidebyside"),
    Message("comparisons of lists"),
    Preference,
    {"reason": {"type": "string"}, "better": {"type": "string", "enum": ["A", "B", "tie"]}},
    lambda answer, _: is_readable(answer.reason, _MAX_REASON),
)
#: The measure that is the win rate of the list that is shown first: 0.5 without a position bias.
_FIRST_LIST = "win_rate of the first list"
#: The preference for the list that is shown first.
_VALUES = {"A": 1.0, "tie": 0.0, "B": -1.0}


@dataclass(frozen=True, slots=True)
class ListComparison:
    """The queries to compare two engines on.

    `to_ask` has two questions for each of the `different` queries, by query and by the engine that is shown
    first. `equal` are the queries where both engines returned the same texts in the same order.
    """

    a: str
    b: str
    equal: tuple[str, ...]
    to_ask: Mapping[tuple[str, str], Pair]

    @property
    def different(self) -> list[str]:
        """Return the queries where the lists differ."""
        return list(dict.fromkeys(query_id for query_id, _ in self.to_ask))


def plan_comparison(run: JudgedRun, a: str, b: str) -> ListComparison:
    """Return the comparison of the engines on the queries that neither failed on.

    The engines of the comparison are sorted by name. Raises InputError when one is not in the run.
    """
    for engine in (a, b):
        if engine not in run.data.engines:
            raise InputError(
                "engine {engine!r} is not in the run; it has {names}",
                engine=engine,
                names=NameList(run.data.engines),
            )
    if a == b:
        raise InputError("engine {engine!r} is named twice; name two engines to compare", engine=a)
    a, b = sorted((a, b))
    rankings = {each.key: each for each in run.data.rankings if each.error is None}
    equal = []
    to_ask: dict[tuple[str, str], Pair] = {}
    for query_id, query in run.data.queries.items():
        first, second = rankings.get((a, query_id)), rankings.get((b, query_id))
        if first is None or second is None:
            continue
        ids_by_list = [
            [snippet.id for snippet in each.snippets[: run.pool.depth]] for each in (first, second)
        ]
        if ids_by_list[0] == ids_by_list[1]:
            equal.append(query_id)
            continue
        for order in ((first, second), (second, first)):
            pair = make_question_pair(query, _show_lists(order, run.pool.depth))
            to_ask[query_id, order[0].engine] = pair
    return ListComparison(a, b, tuple(equal), to_ask)


def _show_lists(order: Sequence[Ranking], depth: int) -> list[str]:
    return [
        show_snippet(f"{name}{rank}", snippet)
        for name, ranking in zip("AB", order, strict=True)
        for rank, snippet in enumerate(ranking.snippets[:depth], start=1)
    ]


def measure_win_rates(run: JudgedRun, plan: ListComparison, asker: Asker) -> DimensionResult:
    """Return the win rate of each engine: over queries, 1 where it is preferred, 0.5 for a tie.

    An engine that only one of the two orders prefers has 0.75. A query without both answers has no value.
    """
    answers = asker.ask(COMPARE_LISTS, plan.to_ask)
    #: By query: the preference for a, from -1 to 1, and for the list that is shown first.
    preferences, positions = dict.fromkeys(plan.equal, 0.0), []
    notes, contradictions = [], 0
    for query_id in plan.different:
        one, two = (answers.get((query_id, engine)) for engine in (plan.a, plan.b))
        if one is None or two is None:
            continue
        first, second = _VALUES[one.better], _VALUES[two.better]
        preferences[query_id] = (first - second) / 2
        positions.append((first + second) / 2)
        contradictions += first * second > 0
        winner = plan.a if first > second else plan.b if first < second else None
        shown_first, answer = (plan.a, one) if first == np.sign(first - second) else (plan.b, two)
        shown_last = plan.b if shown_first == plan.a else plan.a
        text = f"A = {shown_first} / B = {shown_last} – {answer.reason.strip()}"
        notes.append(make_note(run.data.queries[query_id], winner, text))
    notes.sort(key=lambda note: -abs(preferences[note.query_id]))
    values: dict[ListKey, QueryValues] = {}
    for query_id, value in preferences.items():
        values[plan.a, query_id] = {"win_rate": (1 + value) / 2}
        values[plan.b, query_id] = {"win_rate": (1 - value) / 2}
    remarks = (
        _describe_preferences(plan, preferences, contradictions),
        _compare_with_measure(run, plan, preferences),
    )
    engines = (plan.a, plan.b)
    position = average_values(((1 + value) / 2 for value in positions), most=1.0)
    engine_pairs = (EnginePair(plan.a, plan.b, _FIRST_LIST, position),)
    return summarise_dimension(
        values, engines, remarks, tuple(notes[:_MAX_NOTES]), pairs=engine_pairs, largest=1.0
    )


def _describe_preferences(
    plan: ListComparison, preferences: dict[str, float], contradictions: int
) -> Message:
    """Return which engine is preferred, and on how many queries."""
    wins = sum(value > 0 for value in preferences.values())
    losses = sum(value < 0 for value in preferences.values())
    mean = average_values(preferences.values(), least=-1.0, most=1.0)
    outcome = Message("not separated")
    # Without an interval, all queries have the same preference.
    low, high = mean.ci95 or (mean.mean or 0.0, mean.mean or 0.0)
    if wins + losses >= MIN_DIFFERING and (low > 0 or high < 0):
        outcome = Message("{engine} is preferred", engine=plan.a if low > 0 else plan.b)
    return Message(
        "{outcome}; {wins:,} queries prefer {plan.a}, {losses:,} prefer {plan.b}, {ties:,} are ties, of"
        " them {equal:,} equal lists and {contradictions:,} where the two orders contradict each other;"
        " {missing:,} have no answer.",
        outcome=outcome,
        wins=wins,
        losses=losses,
        ties=len(preferences) - wins - losses,
        equal=len(plan.equal),
        contradictions=contradictions,
        missing=len(plan.different) + len(plan.equal) - len(preferences),
        plan=plan,
    )


def _compare_with_measure(run: JudgedRun, plan: ListComparison, preferences: dict[str, float]) -> Message:
    """Return on how many queries the first measure prefers the same engine."""
    measure = run.spec.measures[0]
    scores = score_lists(run, measure)
    products = []
    for query_id, preference in preferences.items():
        a, b = (scores.get((engine, query_id)) for engine in (plan.a, plan.b))
        if a is not None and b is not None:
            products.append((a - b) * preference)
    return Message(
        "{measure} prefers the same engine on {same:,} of the {of:,} queries where both prefer one.",
        measure=str(measure),
        same=sum(product > 0 for product in products),
        of=sum(abs(product) > 0 for product in products),
    )
