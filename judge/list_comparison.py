"""Comparing the lists of two engines of a finished run with a model, and adding the result to its files."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from judge import factory
from judge.analysis.judged_run import JudgedRun
from judge.analysis.summary import DimensionResult, DimensionSummary
from judge.assess.estimate import QuestionEstimate
from judge.assess.progress import NullProgress, ProgressListener
from judge.assess.text_assessor import DimensionQuestions
from judge.characters import estimate_tokens
from judge.client.budget import SpendLimit
from judge.client.cancel import CancelToken
from judge.completeness import check_answers, describe_unanswered_questions
from judge.config.run import Config
from judge.config.run_checks import check_text_model
from judge.dimensions.side_by_side import (
    COMPARE_LISTS,
    REPLY_TOKENS,
    ListComparison,
    measure_win_rates,
    plan_comparison,
)
from judge.finished_run import export_run, measure_run
from judge.messages import Message
from judge.pricing.costs import Cost, add_costs, combine_costs, make_run_cost, subtract_cost
from judge.runs.folder import RunFolder, translate_run_errors
from judge.runs.load import find_store, load_run
from judge.store.store import VerdictStore


def estimate_comparison(config: Config, path: Path, a: str, b: str) -> QuestionEstimate:
    """Return what the comparison of two engines of the run in the folder `path` would cost."""
    _, plan = _plan(config, path, a, b)
    store_file = find_store(RunFolder(path), config.store)
    with VerdictStore(store_file) if store_file.exists() else nullcontext() as store:
        estimator = factory.build_question_estimator(config, store)
        estimator.ask(COMPARE_LISTS, plan.to_ask)
    count = len(plan.to_ask)
    tokens = sum(estimate_tokens(pair.snippet.text) for pair in plan.to_ask.values()) / max(count, 1)
    return estimator.estimate(COMPARE_LISTS, count, tokens, REPLY_TOKENS)


def _plan(config: Config, path: Path, a: str, b: str) -> tuple[JudgedRun, ListComparison]:
    check_text_model(config, "sidebyside")
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
    folder.read("summary.json")  # before a lock file appears in a folder that is not a run's
    with folder.lock():
        loaded, plan = _plan(config, path, a, b)
        with VerdictStore(find_store(folder, config.store)) as store:
            asker = factory.build_text_asker(
                config,
                store,
                progress or NullProgress(),
                cancel_token or CancelToken(),
                SpendLimit(config.max_calls, config.budget),
            )
            result = measure_win_rates(loaded, plan, asker)
        dimension = COMPARE_LISTS.dimension
        price = factory.look_up_price(config, factory.build_model(config, needs_key=False))
        no_questions = DimensionQuestions(0, (), make_run_cost(add_costs(()), price))
        questions = asker.questions.get(dimension, no_questions)
        if stopped := asker.stopped or check_answers(dimension, questions, config.min_coverage):
            raise stopped
        cost = questions.cost
        remarks = (*result.summary.remarks, _describe_cost(cost, loaded.spec.cost))
        if questions.failures:
            remarks = (*remarks, describe_unanswered_questions(dimension, questions))
        result = replace(result, summary=replace(result.summary, remarks=remarks, cost=cost))
        export_run(folder, measure_run(path, _add_comparison(loaded, plan, result)))
    return result.summary


def _add_comparison(run: JudgedRun, plan: ListComparison, result: DimensionResult) -> JudgedRun:
    """Return the run with the comparison instead of an earlier one of the same engines, and its cost."""
    # A comma separates the names, so names with a comma stand in quotes.
    names = [plan.a, plan.b]
    separated = json.dumps(names, ensure_ascii=False) if "," in "".join(names) else ", ".join(names)
    name = f"sidebyside: {separated}"
    earlier = run.dimensions.get(name)
    cost, added = run.spec.cost, result.summary.cost
    if cost and earlier and earlier.summary.cost:
        cost = subtract_cost(cost, earlier.summary.cost)
    if cost and added:
        cost = combine_costs(cost, [added])
    return replace(run, dimensions={**run.dimensions, name: result}, spec=replace(run.spec, cost=cost))


def _describe_cost(cost: Cost, of_run: Cost | None) -> Message:
    """Return what was spent on the questions; the cost `of_run` contains it, if that is known."""
    spent = Message(
        "The questions took {calls:,} calls and {tokens:,} tokens{cost}",
        calls=cost.calls,
        tokens=cost.prompt_tokens + cost.completion_tokens,
        cost="" if cost.usd is None else f", ${cost.usd:.4f}",
    )
    if of_run is None:
        return Message("{spent}; the run's files do not say what the run cost.", spent=spent)
    return Message("{spent}; the cost of the run contains them.", spent=spent)
