"""The flow of a self-test: the probes are judged with two prompts, measured, and the result is stored."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from judge import factory
from judge.assess.assessor import Assessor
from judge.assess.judging import Judging, split
from judge.assess.prompts import Prompts, Template, answer_schema
from judge.assess.sitting import judge_in_turn
from judge.assess.stop import Stop
from judge.assess.store import Store
from judge.assess.watch import Unwatched, Watch
from judge.config.run import Config
from judge.errors import ASSESSOR_ERRORS, InputError, RunIncomplete
from judge.records import Lang, Pool, Scale
from judge.runs.folder import RunFolder, dump_json
from judge.selftest import probes, stored_results
from judge.selftest.metrics import ProbeShare, SelfTestMetrics, Surprise, compute_metrics

_REASK_TEXTS: Mapping[Lang, str] = {
    "zh": "上次的答复无法读取，请只回复一个 JSON 对象。",
    "en": "The last reply could not be read. Reply with one JSON object and nothing else.",
}
_LABELS: Mapping[Lang, tuple[str, str]] = {"zh": ("查询：", "摘要："), "en": ("Query: ", "Snippet: ")}


def make_plain_prompts(scale: Scale) -> Prompts:
    """Return prompts of `scale` without any defence against prompt injection."""
    templates = {lang: _make_template(lang, scale) for lang in get_args(Lang)}
    return Prompts(scale, answer_schema(scale), templates)


def _make_template(lang: Lang, scale: Scale) -> Template:
    file = files("judge.selftest") / "plain" / f"{lang}-{scale.name}.txt"
    system = file.read_text(encoding="utf-8").strip()
    digest = hashlib.sha256("\0".join((system, _REASK_TEXTS[lang], *_LABELS[lang])).encode()).hexdigest()
    return Template(
        lang=lang,
        version=f"{lang}-{scale.name}-plain-{digest[:10]}",
        digest=digest,
        system=system,
        reask_text=_REASK_TEXTS[lang],
        render_user=_make_renderer(*_LABELS[lang]),
    )


def _make_renderer(query: str, snippet: str) -> Callable[[Mapping[str, str]], str]:
    return lambda values: f"{query}{values['query']}\n{snippet}{values['snippet']}"


#: The two prompts that are compared: the one for runs, and one without any defence.
PROMPT_NAMES = ("shipped", "plain")


@dataclass(frozen=True, slots=True)
class SelfTest:
    """The result of a self-test, the `path` of its file, and the number of calls made now.

    `incomplete` is an error when too few probes have a grade, else None.
    """

    path: Path
    result: Mapping[str, Any]
    calls_made: int
    incomplete: RunIncomplete | None


@dataclass(frozen=True, slots=True)
class _PreparedTest:
    """A self-test that is ready to run, with one assessor for each of `PROMPT_NAMES`."""

    config: Config
    pool: Pool
    assessors: tuple[Assessor, ...]
    store: Path


def count_calls(config: Config) -> tuple[int, int]:
    """Return the number of calls of a self-test, and how many of them are not in the store."""
    test = _prepare_test(config)
    keys = [key for assessor in test.assessors for key in split(test.pool, assessor, test.config.repeats)[1]]
    with Store(test.store) if test.store.exists() else nullcontext() as store:
        return len(keys), len(keys) - (len(store.lookup(keys)) if store else 0)


def run_selftest(config: Config, *, watch: Watch | None = None, stop: Stop | None = None) -> SelfTest:
    """Judge every shipped probe with the assessor of `config` and store the result.

    Of several repeats the last one counts, so one more repeat is a new test. Stored verdicts are not asked
    again. Raise InputError before any call; RunIncomplete when the account, the budget or the server left
    probes without a reply (no result is written, and the same call resumes); StoreError when verdicts
    cannot be stored; Interrupted after Ctrl-C.
    """
    test = _prepare_test(config)
    folder = stored_results.results_folder(test.store)
    assessor = test.assessors[0]
    with folder.locked():
        desks = factory.desks(test.config, test.assessors, stop or Stop())
        with Store(test.store) as store:
            judgings = asyncio.run(
                judge_in_turn(test.pool, desks, store, test.config.repeats, watch or Unwatched())
            )
        for judging in judgings:
            _check_judging(judging, test.config)
        result = _make_result(test, stored_results.identify_assessor(assessor, test.config), judgings)
        name = stored_results.result_file_name(assessor.name, result["id"])
        path = folder.write(name, [dump_json(result, indent=2), "\n"])
    return SelfTest(path, result, judgings[-1].calls_made, _check_graded(judgings[0], test.config))


def _check_graded(judging: Judging, config: Config) -> RunIncomplete | None:
    graded = sum(judgment.grade is not None for judgment in judging.judgments)
    if graded >= config.min_coverage * len(judging.judgments):
        return None
    return RunIncomplete(
        f"only {graded:,} of {len(judging.judgments):,} probes got a grade with the shipped prompt, less than"
        f" --min-coverage {config.min_coverage:.0%}"
    )


def _prepare_test(config: Config) -> _PreparedTest:
    if config.assessor != "judge" or config.panel:
        raise InputError("a self-test asks one model with judge's own prompts: name one -m, no --assessor")
    config = replace(config, dates=False, as_of=None)
    model = factory.model(config)
    pool = probes.build_probe_pool(probes.load_probes(), config.lang, config.max_chars)
    shipped = factory.assessor(config, model)
    undefended = Assessor(model, make_plain_prompts(config.grading), config.grading)
    store = factory.store(
        config, RunFolder(Path(config.out or Path("runs") / stored_results.SELFTEST_FOLDER))
    )
    return _PreparedTest(config, pool, (shipped, undefended), store)


def _check_judging(judging: Judging, config: Config) -> None:
    """Raise RunIncomplete when too many probes have no reply for a reason other than the model."""
    if judging.stopped is not None:
        raise RunIncomplete(f"the self-test stopped: {judging.stopped}; the same command resumes it")
    unanswered = [
        judgment for judgment in judging.judgments if judgment.error and judgment.error not in ASSESSOR_ERRORS
    ]
    if len(unanswered) > (1 - config.min_coverage) * len(judging.judgments):
        raise RunIncomplete(
            f"{len(unanswered):,} of {len(judging.judgments):,} probes got no answer,"
            f" first for {unanswered[0].error!r};"
            " the same command asks again for these alone"
        )


def _make_result(test: _PreparedTest, identity: str, judgings: Sequence[Judging]) -> dict[str, Any]:
    shipped_probes, config = probes.load_probes(), test.config
    model = test.assessors[0].model
    text = dump_json([asdict(probe) for probe in shipped_probes])
    by_prompt = {
        prompt: _to_json(
            compute_metrics(
                shipped_probes,
                (judgment for judgment in judging.judgments if judgment.repeat == config.repeats),
                config.grading,
            )
        )
        | {"versions": assessor.prompt_versions, "cost": asdict(judging.cost)}
        for prompt, assessor, judging in zip(PROMPT_NAMES, test.assessors, judgings, strict=True)
    }
    return {
        "id": identity,
        "assessor": test.assessors[0].name,
        "model": model.name,
        "endpoint": model.endpoint,
        "params": dict(model.params),
        "scale": config.scale,
        "lang": config.lang,
        "repeat": config.repeats,
        "probes": {"count": len(shipped_probes), "sha256": hashlib.sha256(text.encode()).hexdigest()},
        "prompts": by_prompt,
    }


def _to_json(value: Any) -> Any:  # noqa: ANN401 - metrics and their parts
    if isinstance(value, SelfTestMetrics):
        return {name: _to_json(getattr(value, name)) for name in SelfTestMetrics.__slots__}
    if isinstance(value, ProbeShare):
        interval = value.interval and list(value.interval)
        return {"count": value.count, "of": value.of, "value": value.value, "ci95": interval}
    if isinstance(value, Surprise):
        return {**asdict(value.probe), "grade": value.grade, "reason": value.reason}
    if isinstance(value, Mapping):
        return {name: _to_json(part) for name, part in value.items()}
    return [_to_json(part) for part in value] if isinstance(value, tuple) else value
