"""Side by side: a model says which of two engines' whole lists helps the user more.

Each query is asked twice, with either engine first, and the two answers are averaged: a preference for the
list that is shown first cancels out, and is reported. The result is added to the files of a finished run.
"""

import json
import shlex
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from judge import factory
from judge.analysis.dimension_summary import (
    DimensionResult,
    DimensionSummary,
    EnginePair,
    QueryValues,
    average_values,
    make_note,
    summarise_dimension,
)
from judge.analysis.judged_run import JudgedRun, score_lists
from judge.assess.estimate import QuestionEstimate
from judge.assess.question_assessor import Asker, DimensionQuestions, QuestionKind
from judge.characters import estimate_tokens
from judge.client.budget import SpendLimit
from judge.client.cancel import CancelToken
from judge.client.progress import ProgressListener
from judge.completeness import check_answers, describe_unanswered_questions, explain_stop
from judge.config.run import Config
from judge.config.run_checks import check_one_model, check_text_model
from judge.dimensions.dimension import is_readable, make_question_pair, show_snippets
from judge.errors import CallError, InputError, RunIncomplete
from judge.finished_run import export_run, measure_run
from judge.measure.resampling import MIN_DIFFERING
from judge.messages import Message, NameList, OptionName
from judge.models.providers import split_address
from judge.pricing.costs import Cost, add_costs, combine_costs, make_run_cost, subtract_cost
from judge.records import ListKey, Pair
from judge.runs.folder import RunFolder, translate_run_errors
from judge.runs.load import CONFIG_FILE, find_store, load_run, read_options
from judge.store.store import VerdictStore

#: The most characters of a reason, and the tokens that two sentences of it and the preference take.
_MAX_REASON, _REPLY_TOKENS = 2_000, 100
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
    lambda answer, _: is_readable(answer.reason, _MAX_REASON),
)
#: The measure that is the win rate of the list that is shown first: 0.5 without a position bias.
_FIRST_LIST = "win_rate of the first list"
#: The preference for the list that is shown first.
_VALUES = {"A": 1.0, "tie": 0.0, "B": -1.0}


@dataclass(frozen=True, slots=True)
class ListComparison:
    """The queries to compare two engines on.

    `to_ask` has two questions for each of the queries where the lists are `different`, by query and by the
    engine that is shown first. On the `equal` ones both returned the same texts in the same order.
    """

    a: str
    b: str
    equal: tuple[str, ...]
    to_ask: Mapping[tuple[str, str], Pair]

    @property
    def different(self) -> list[str]:
        """The queries where the lists differ."""
        return list(dict.fromkeys(query_id for query_id, _ in self.to_ask))


def plan_comparison(run: JudgedRun, a: str, b: str) -> ListComparison:
    """Return the comparison of the engines on the queries that neither failed on.

    The engines of the comparison are sorted by name. Raises InputError when one is not in the run, or there
    is no such query.
    """
    if len({a, b}.intersection(run.dataset.engines)) < 2:
        raise InputError(
            "{a!r} and {b!r} are not two engines of the run; it has {names}",
            a=a,
            b=b,
            names=NameList(run.dataset.engines),
        )
    a, b = sorted((a, b))
    rankings = {ranking.key: ranking for ranking in run.dataset.rankings if ranking.error is None}
    equal = []
    to_ask: dict[tuple[str, str], Pair] = {}
    for query_id, query in run.dataset.queries.items():
        first, second = rankings.get((a, query_id)), rankings.get((b, query_id))
        if first is None or second is None:
            continue
        lists = [ranking.snippets[: run.pool.depth] for ranking in (first, second)]
        if [snippet.id for snippet in lists[0]] == [snippet.id for snippet in lists[1]]:
            equal.append(query_id)
            continue
        for engine, order in ((a, lists), (b, lists[::-1])):
            lines = [*show_snippets(order[0], "A"), *show_snippets(order[1], "B")]
            to_ask[query_id, engine] = make_question_pair(query, lines)
    if not (equal or to_ask):
        raise InputError(
            "there is nothing to compare: on each query, {a!r} or {b!r} failed or has no row; collect the"
            " results again, or name two other engines",
            a=a,
            b=b,
        )
    return ListComparison(a, b, tuple(equal), to_ask)


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
        # The reason is that of an answer that says what both together say.
        agrees = first == (first > second) - (first < second)
        engines, answer = ((plan.a, plan.b), one) if agrees else ((plan.b, plan.a), two)
        text = f"A = {engines[0]} / B = {engines[1]} – {answer.reason.strip()}"
        notes.append(make_note(run.dataset.queries[query_id], winner, text))
    notes.sort(key=lambda note: -abs(preferences[note.query_id]))
    values: dict[ListKey, QueryValues] = {}
    for query_id, value in preferences.items():
        values[plan.a, query_id] = {"win_rate": (1 + value) / 2}
        values[plan.b, query_id] = {"win_rate": (1 - value) / 2}
    remarks = (
        _describe_preferences(plan, preferences, contradictions),
        _compare_with_measure(run, plan, preferences),
    )
    position = average_values(((1 + value) / 2 for value in positions), largest=1.0)
    engine_pairs = [EnginePair(plan.a, plan.b, _FIRST_LIST, position)]
    return summarise_dimension(
        values, (plan.a, plan.b), remarks, notes[:_MAX_NOTES], engine_pairs=engine_pairs
    )


def _describe_preferences(
    plan: ListComparison, preferences: dict[str, float], contradictions: int
) -> Message:
    """Return which engine is preferred, and on how many queries."""
    wins = sum(value > 0 for value in preferences.values())
    losses = sum(value < 0 for value in preferences.values())
    mean = average_values(preferences.values(), smallest=-1.0, largest=1.0)
    outcome = Message("not separated")
    # Without an interval, all queries have the same preference.
    low, high = mean.ci95 or (mean.mean or 0.0, mean.mean or 0.0)
    if wins + losses >= MIN_DIFFERING and (low > 0 or high < 0):
        outcome = Message("{engine} is preferred", engine=plan.a if low > 0 else plan.b)
    return Message(
        "{outcome}; queries that prefer {plan.a}: {wins:,}, that prefer {plan.b}: {losses:,}, ties: {ties:,}"
        " (equal lists: {equal:,}, the two orders contradict each other: {contradictions:,}), without an"
        " answer: {missing:,}.",
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


def add_model(config: Config, run: Path) -> Config:
    """Return the options with the first model of the run in a folder, if they name none and its files do.

    Raises InputError when the run names its server and the options don't: the folder can come from another
    person, who must not choose the server that gets a key.
    """
    if config.model:
        return config
    options = read_options(RunFolder(run))
    model, address, place = options.model or "", options.base_url, run / CONFIG_FILE
    if split_address(model)[1]:
        raise InputError(
            "{file}: the model of the run is {model!r}; add -m {words}",
            file=place,
            model=model,
            words=shlex.quote(model),
        )
    if address and config.base_url is None:
        raise InputError(
            "{file}: the server of the run is {address!r}; add --base-url {words} if it may get your key",
            file=place,
            address=address,
            words=shlex.quote(address),
        )
    return replace(config, model=model)


def estimate_comparison(config: Config, path: Path, a: str, b: str) -> QuestionEstimate:
    """Return what the comparison of two engines of the run in the folder `path` would cost."""
    _, plan = _plan(config, path, a, b)
    store_file = find_store(RunFolder(path), config.store)
    with VerdictStore(store_file) if store_file.exists() else nullcontext() as store:
        estimator = factory.build_question_estimator(config, store)
        estimator.ask(COMPARE_LISTS, plan.to_ask)
    count = len(plan.to_ask)
    tokens = sum(estimate_tokens(pair.snippet.text) for pair in plan.to_ask.values()) / max(count, 1)
    return estimator.estimate(COMPARE_LISTS, count, tokens, _REPLY_TOKENS)


def _plan(config: Config, path: Path, a: str, b: str) -> tuple[JudgedRun, ListComparison]:
    check_one_model(config, "judge sidebyside")
    check_text_model(config, OptionName("sidebyside"))
    with translate_run_errors(path):
        loaded = load_run(RunFolder(path))
        return loaded, plan_comparison(loaded, a, b)


def add_comparison(
    config: Config,
    path: Path,
    a: str,
    b: str,
    progress: ProgressListener | None = None,
    cancel_token: CancelToken | None = None,
) -> DimensionSummary:
    """Compare the whole lists of two engines of the run in folder `path`, and add that to its files.

    Raises InputError when `path` is not a finished run, and the reason when asking stopped or too few
    questions have an answer.
    """
    folder = RunFolder(path)
    folder.check_finished()
    with folder.lock():
        loaded, plan = _plan(config, path, a, b)
        with VerdictStore(find_store(folder, config.store)) as store:
            asker = factory.build_question_asker(
                config,
                store,
                progress or ProgressListener(),
                cancel_token or CancelToken(),
                SpendLimit(config.max_calls, config.budget),
            )
            result = measure_win_rates(loaded, plan, asker)
        dimension = COMPARE_LISTS.dimension
        price = factory.look_up_price(config, factory.build_model(config, needs_key=False))
        no_questions = DimensionQuestions(0, (), make_run_cost(add_costs(()), price))
        questions = asker.questions.get(dimension, no_questions)
        if isinstance(asker.stopped, CallError):
            raise RunIncomplete(explain_stop(asker.stopped))
        if stopped := asker.stopped or check_answers(dimension, questions, config.min_coverage):
            raise stopped
        remarks = [*result.summary.remarks, _describe_cost(questions.cost)]
        if questions.failures:
            remarks.append(describe_unanswered_questions(dimension, questions))
        summary = replace(result.summary, remarks=tuple(remarks), cost=questions.cost)
        result = replace(result, summary=summary)
        export_run(folder, measure_run(folder, _add_comparison(loaded, plan, result)))
    return summary


def _add_comparison(run: JudgedRun, plan: ListComparison, result: DimensionResult) -> JudgedRun:
    """Return the run with the comparison instead of an earlier one of the same engines, and its cost."""
    names = f"{plan.a}, {plan.b}"
    if names.count(",") > 1:  # two pairs of engines with a comma in their names could have one name
        names = json.dumps([plan.a, plan.b], ensure_ascii=False)
    name = f"sidebyside: {names}"
    earlier = run.dimensions.get(name)
    cost, added = run.spec.cost, result.summary.cost
    if cost and earlier and earlier.summary.cost:
        cost = subtract_cost(cost, earlier.summary.cost)
    if cost and added:
        cost = combine_costs(cost, [added])
    return replace(run, dimensions={**run.dimensions, name: result}, spec=replace(run.spec, cost=cost))


def _describe_cost(cost: Cost) -> Message:
    """Return what was spent on the questions."""
    return Message(
        "The questions took {calls:,} calls and {tokens:,} tokens{cost}; the cost of the run, if it is known,"
        " contains them.",
        calls=cost.calls,
        tokens=cost.prompt_tokens + cost.completion_tokens,
        cost="" if cost.usd is None else f", ${cost.usd:.4f}",
    )
