"""Owns the flow of a self-test: the probes are judged under two prompts, measured, and kept."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from judge import factory
from judge.assess.assessor import Assessor
from judge.assess.progress import NullProgress, ProgressListener
from judge.assess.runner import JudgingResult, judge_with_panel, plan_requests
from judge.client.cancel import CancelToken
from judge.config.run import Config
from judge.errors import ASSESSOR_ERRORS, InputError, RunIncomplete
from judge.records import Pool
from judge.runs.folder import RunFolder, dump_json
from judge.selftest import probes, stored_results
from judge.selftest.metrics import ProbeShare, SelfTestMetrics, Surprise, compute_metrics
from judge.selftest.undefended_prompt import plain
from judge.store.store import VerdictStore

#: The two prompts that are compared: the one that runs use, and one without any defence.
PROMPTS = ("shipped", "plain")


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What came of a self-test: the file that keeps it, what it holds, and the calls made this time.

    `incomplete` says that too few probes got a grade, None when enough did.
    """

    path: Path
    result: Mapping[str, Any]
    calls_made: int
    incomplete: RunIncomplete | None


@dataclass(frozen=True, slots=True)
class _Test:
    """A self-test about to be made: one assessor for each of `PROMPTS`."""

    config: Config
    pool: Pool
    assessors: tuple[Assessor, ...]
    store: Path


def calls(config: Config) -> tuple[int, int]:
    """How many calls a self-test needs in all, and how many of them are to be paid for now."""
    test = _prepared(config)
    keys = [
        key
        for assessor in test.assessors
        for key in plan_requests(test.pool, assessor, test.config.repeats)[1]
    ]
    with VerdictStore(test.store) if test.store.exists() else nullcontext() as store:
        return len(keys), len(keys) - (len(store.find_verdicts(keys)) if store else 0)


def selftest(
    config: Config, *, progress: ProgressListener | None = None, cancel_token: CancelToken | None = None
) -> SelfTest:
    """Asks the assessor of `config` about every shipped probe and keeps the result.

    With several repeats the last one counts: another one asks anew. What is known already isn't asked
    again. Raises InputError before anything is paid, Incomplete when the account, the budget or the server
    left probes without an answer (nothing is written, and the same call goes on), StoreError when verdicts
    can't be kept, Interrupted after Ctrl-C.
    """
    test = _prepared(config)
    folder = stored_results.folder(test.store)
    shipped = test.assessors[0]
    with folder.locked():
        clients = factory.build_clients(test.config, test.assessors, cancel_token or CancelToken())
        with VerdictStore(test.store) as store:
            judgings = asyncio.run(
                judge_with_panel(test.pool, clients, store, test.config.repeats, progress or NullProgress())
            )
        for judging in judgings:
            _check(judging, test.config)
        result = _result(test, stored_results.identity(shipped, test.config), judgings)
        name = stored_results.file_name(shipped.name, result["id"])
        path = folder.write(name, [dump_json(result, indent=2), "\n"])
    return SelfTest(path, result, judgings[-1].calls_made, _too_few(judgings[0], test.config))


def _too_few(judging: JudgingResult, config: Config) -> RunIncomplete | None:
    graded = sum(judgment.grade is not None for judgment in judging.judgments)
    if graded >= config.min_coverage * len(judging.judgments):
        return None
    return RunIncomplete(
        f"only {graded:,} of {len(judging.judgments):,} probes got a grade with the shipped prompt, less than"
        f" --min-coverage {config.min_coverage:.0%}"
    )


def _prepared(config: Config) -> _Test:
    if config.assessor != "judge" or config.panel:
        raise InputError("a self-test asks one model with judge's own prompts: name one -m, no --assessor")
    config = replace(config, dates=False, as_of=None)
    model = factory.build_model(config)
    pool = probes.pool(probes.shipped(), config.lang, config.max_chars)
    shipped = factory.build_assessor(config, model)
    undefended = Assessor(model, plain(config.grading), config.grading)
    store = factory.store_path(config, RunFolder(Path(config.out or Path("runs") / stored_results.FOLDER)))
    return _Test(config, pool, (shipped, undefended), store)


def _check(judging: JudgingResult, config: Config) -> None:
    """Raises Incomplete when too many probes are without an answer for a reason that isn't the model's."""
    if judging.stopped is not None:
        raise RunIncomplete(f"the self-test stopped: {judging.stopped}; the same command goes on with it")
    lost = [each for each in judging.judgments if each.error and each.error not in ASSESSOR_ERRORS]
    if len(lost) > (1 - config.min_coverage) * len(judging.judgments):
        raise RunIncomplete(
            f"{len(lost):,} of {len(judging.judgments):,} probes got no answer, first for {lost[0].error!r};"
            " the same command asks again for these alone"
        )


def _result(test: _Test, identity: str, judgings: Sequence[JudgingResult]) -> dict[str, Any]:
    asked, config = probes.shipped(), test.config
    model = test.assessors[0].model
    text = dump_json([asdict(probe) for probe in asked])
    figures = {
        prompt: _as_json(
            compute_metrics(
                asked, (each for each in judging.judgments if each.repeat == config.repeats), config.grading
            )
        )
        | {"versions": assessor.prompt_versions, "cost": asdict(judging.cost)}
        for prompt, assessor, judging in zip(PROMPTS, test.assessors, judgings, strict=True)
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
        "probes": {"count": len(asked), "sha256": hashlib.sha256(text.encode()).hexdigest()},
        "prompts": figures,
    }


def _as_json(found: Any) -> Any:  # noqa: ANN401 - figures and what they are made of
    if isinstance(found, SelfTestMetrics):
        return {name: _as_json(getattr(found, name)) for name in SelfTestMetrics.__slots__}
    if isinstance(found, ProbeShare):
        interval = found.interval and list(found.interval)
        return {"count": found.count, "of": found.of, "value": found.value, "ci95": interval}
    if isinstance(found, Surprise):
        return {**asdict(found.probe), "grade": found.grade, "reason": found.reason}
    if isinstance(found, Mapping):
        return {name: _as_json(part) for name, part in found.items()}
    return [_as_json(part) for part in found] if isinstance(found, tuple) else found
