"""The flow of a self-test: the probes are judged with two prompts, measured, and the result is stored."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import get_args

from judge import factory, run_identity
from judge.assess.assessor import Assessor
from judge.assess.assignment_plan import list_request_keys
from judge.assess.judging import JudgingResult, judge_with_panel
from judge.assess.prompts import Prompts, Template, make_answer_schema
from judge.client.budget import SpendLimit
from judge.client.cancel import CancelToken
from judge.client.progress import ProgressListener
from judge.completeness import advise_on_failed_pairs, explain_stop
from judge.config.run import Config
from judge.config.run_checks import check_one_model
from judge.errors import ASSESSOR_ERRORS, ErrorKind, InputError, RunIncomplete
from judge.files.json_text import dump_json
from judge.messages import ENGLISH, OptionName, Translator, make_text
from judge.records import Lang, Pair, Scale
from judge.runs.record_json import to_json
from judge.selftest import probes
from judge.selftest.probes import SelfTestMetrics, compute_metrics
from judge.selftest.stored_selftests import (
    NOT_TESTED,
    ProbeSet,
    PromptResult,
    PromptResults,
    SelfTestResult,
    find_results_folder,
    identify_assessor,
    make_result_file_name,
)
from judge.store.store import VerdictStore

_REASK_TEXTS: Mapping[Lang, str] = {
    "zh": "上次的答复无法读取，请只回复一个 JSON 对象。",
    "en": "The last reply could not be read. Reply with one JSON object and nothing else.",
}
_LABELS: Mapping[Lang, tuple[str, str]] = {"zh": ("查询：", "摘要："), "en": ("Query: ", "Snippet: ")}
#: The names of the two prompts that are compared: the one that runs use, and one without any defence.
RUN_PROMPT, PLAIN_PROMPT = make_text("run prompt"), make_text("plain prompt")


def make_plain_prompts(scale: Scale) -> Prompts:
    """Return prompts of `scale` without any defence against prompt injection."""
    templates = {lang: _make_template(lang, scale) for lang in get_args(Lang)}
    return Prompts(scale, make_answer_schema(scale), templates)


def _make_template(lang: Lang, scale: Scale) -> Template:
    file = files("judge.selftest") / "plain" / f"{lang}-{scale.name}.txt"
    system = file.read_text(encoding="utf-8").strip()
    query, snippet = _LABELS[lang]
    digest = hashlib.sha256("\0".join((system, _REASK_TEXTS[lang], query, snippet)).encode()).hexdigest()
    return Template(
        lang=lang,
        version=f"{lang}-{scale.name}-plain-{digest[:10]}",
        digest=digest,
        system=system,
        reask_text=_REASK_TEXTS[lang],
        render_user=lambda values: f"{query}{values['query']}\n{snippet}{values['snippet']}",
    )


@dataclass(frozen=True, slots=True)
class SelfTest:
    """The result of a self-test: its file, its content, and the calls made this time.

    `incomplete` says that too few probes got a grade, None when enough did.
    """

    path: Path
    result: SelfTestResult
    calls_made: int
    incomplete: RunIncomplete | None


@dataclass(frozen=True, slots=True)
class _PreparedTest:
    """A self-test before it runs: the assessor with the prompt of runs, and the one with the plain prompt."""

    config: Config
    pairs: Sequence[Pair]
    assessors: tuple[Assessor, ...]
    store: Path


def count_selftest_judgments(config: Config) -> tuple[int, int]:
    """Return how many judgments a self-test takes, and how many of them are to be paid."""
    test = _prepare_test(config)
    keys = [
        key
        for assessor in test.assessors
        for key in list_request_keys(test.pairs, assessor, test.config.repeats)
    ]
    with VerdictStore(test.store) if test.store.exists() else nullcontext() as store:
        return len(keys), len(keys) - (len(store.find_answers(keys)) if store else 0)


def run_selftest(
    config: Config, progress: ProgressListener | None = None, t: Translator = ENGLISH
) -> SelfTest:
    """Judge every shipped probe with the assessor of `config` and store the result.

    `progress` gets the names of the prompts from `t`. With several repeats the last one counts. Verdicts in
    the store are not paid again. Raises InputError before anything is paid, RunIncomplete when the account,
    the budget or the server left probes without an answer (nothing is written, and the same call resumes),
    StoreError when verdicts cannot be stored, Interrupted after Ctrl-C.
    """
    test = _prepare_test(config)
    folder = find_results_folder(test.store)
    with folder.lock():
        spend_limit = SpendLimit(test.config.max_calls, test.config.budget)
        members = factory.build_panel(test.config, test.assessors, CancelToken(), spend_limit)
        titles = f"1/2 {t(RUN_PROMPT.en)}", f"2/2 {t(PLAIN_PROMPT.en)}"
        panel = [replace(member, title=title) for member, title in zip(members, titles, strict=True)]
        progress = progress or ProgressListener()
        with VerdictStore(test.store) as store:
            judgings = asyncio.run(judge_with_panel(test.pairs, panel, store, test.config.repeats, progress))
        for judging in judgings:
            _check_judging(judging, test.config)
        result = _make_result(test, judgings)
        name = make_result_file_name(result.assessor, result.id)
        path = folder.write_json(name, to_json(result))
    graded, total, min_coverage = judgings[0].graded, len(judgings[0].judgments), test.config.min_coverage
    incomplete = None
    if graded < min_coverage * total:
        incomplete = RunIncomplete(
            "only {graded:,} of {total:,} probes got a grade with the run prompt, less than --min-coverage"
            " {min_coverage:.0%}; {advice}",
            graded=graded,
            total=total,
            min_coverage=min_coverage,
            advice=advise_on_failed_pairs(judgings[0].failures),
        )
    return SelfTest(path, result, spend_limit.calls, incomplete)


def check_testable(model: str) -> None:
    """Raise InputError for the name of a model that gives no reasons."""
    if model.startswith(NOT_TESTED):
        raise InputError(
            "a self-test is for models that give reasons; name one, such as -m openai:NAME or -m lexical"
        )


def _prepare_test(config: Config) -> _PreparedTest:
    with config.source.add_error_context("assessor"):
        if config.assessor != "judge":
            raise InputError(
                "a self-test has judge's own prompts; omit {option}",
                option=OptionName(f"--assessor {config.assessor}"),
            )
    check_one_model(config, "judge selftest")
    check_testable(config.model)
    config = replace(config, dates=False, as_of=None, batch=False)
    model = factory.build_model(config)
    pairs = probes.make_probe_pairs(probes.load_probes(), config.lang, config.max_chars)
    shipped = factory.build_assessor(config, model)
    undefended = Assessor(model, make_plain_prompts(config.grading), config.grading)
    store = run_identity.choose_store_path(config)
    return _PreparedTest(config, pairs, (shipped, undefended), store)


def _check_judging(judging: JudgingResult, config: Config) -> None:
    """Raise RunIncomplete when too many probes have no answer for a reason that is not the model's."""
    if judging.stopped is not None:
        raise RunIncomplete("the self-test stopped: {reason}", reason=explain_stop(judging.stopped))
    failures = [
        judgment for judgment in judging.judgments if judgment.error and judgment.error not in ASSESSOR_ERRORS
    ]
    if len(failures) > (1 - config.min_coverage) * len(judging.judgments):
        raise RunIncomplete(
            "{count:,} of {total:,} probes have no answer, the first because of {error!r}; run the same"
            " command again to ask for these only",
            count=len(failures),
            total=len(judging.judgments),
            error=ErrorKind(str(failures[0].error)),
        )


def _make_result(test: _PreparedTest, judgings: Sequence[JudgingResult]) -> SelfTestResult:
    shipped_probes, config, shipped = probes.load_probes(), test.config, test.assessors[0]
    text = dump_json([asdict(probe) for probe in shipped_probes])

    def measure(assessor: Assessor, judging: JudgingResult) -> PromptResult:
        judgments = (judgment for judgment in judging.judgments if judgment.repeat == config.repeats)
        metrics = compute_metrics(shipped_probes, judgments, config.grading)
        values = {name: getattr(metrics, name) for name in SelfTestMetrics.__slots__}
        return PromptResult(**values, versions=assessor.prompts.versions, cost=judging.cost)

    return SelfTestResult(
        id=identify_assessor(shipped, config),
        assessor=shipped.name,
        model=shipped.model.name,
        endpoint=shipped.model.endpoint,
        params=dict(shipped.model.params),
        scale=config.scale,
        lang=config.lang,
        repeat=config.repeats,
        probes=ProbeSet(len(shipped_probes), hashlib.sha256(text.encode()).hexdigest()),
        prompts=PromptResults(*map(measure, test.assessors, judgings)),
    )
