"""Stored results of self-tests, and which of them belongs to the assessor of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.analysis.summary import SelfTestEntry, SelfTestFigures
from judge.assess.assessor import Assessor
from judge.config.run import Config
from judge.dataset.validation import short_hash
from judge.errors import InputError
from judge.pricing.cost import Cost
from judge.records import LangChoice, ScaleName
from judge.runs.folder import RunFolder, dump_json
from judge.runs.record_json import from_json
from judge.selftest.metrics import SelfTestMetrics

#: The folder of results, beside the verdict store that the self-tests were paid into.
SELFTEST_FOLDER = "selftests"


@dataclass(frozen=True, slots=True)
class PromptResult(SelfTestMetrics):
    """The metrics with one prompt, the versions of the prompt by language, and what the calls cost."""

    versions: Mapping[str, str]
    cost: Cost


@dataclass(frozen=True, slots=True)
class ProbeSet:
    """The number of probes, and a hash of them."""

    count: int
    sha256: str


@dataclass(frozen=True, slots=True)
class SelfTestResult:
    """What the file of a self-test holds: the identity of the assessor and the result of each prompt."""

    id: str
    assessor: str
    model: str
    endpoint: str
    params: Mapping[str, Any]
    scale: ScaleName
    lang: LangChoice
    repeat: int
    probes: ProbeSet
    prompts: Mapping[str, PromptResult]


def identify_assessor(assessor: Assessor, config: Config) -> str:
    """Return what identifies an assessor: model, server, parameters, prompts, scale, language."""
    model = assessor.model
    parts = [
        model.name,
        model.endpoint,
        dump_json(dict(sorted(model.params.items()))),
        dump_json(assessor.prompt_versions),
        assessor.name,
        config.lang,
    ]
    return short_hash(parts, 12)


def identify_assessors(assessors: Iterable[Assessor], config: Config) -> dict[str, str]:
    """Return the identity of each assessor by its name; without those that have no prompt of judge."""
    return {
        each.name: identify_assessor(each, config)
        for each in assessors
        if config.assessor == "judge" and not each.model.name.startswith("rerank:")
    }


def results_folder(store: Path) -> RunFolder:
    """Return the folder of the results that belong to the verdict store at `store`."""
    return RunFolder(store.parent / SELFTEST_FOLDER)


def result_file_name(assessor: str, identity: str) -> str:
    """Return the name of the file with an assessor's result."""
    return f"{re.sub(r'[^A-Za-z0-9.]+', '_', assessor)[:80]}-{identity}.json"


def look_up_results(store: Path, identities: Mapping[str, str]) -> dict[str, SelfTestEntry]:
    """Return the id and the figures for each assessor, figures None without a self-test.

    Raises InputError when a stored result cannot be read.
    """
    folder = results_folder(store)
    return {
        name: SelfTestEntry(each, _read_figures(folder.read_if_there(result_file_name(name, each))))
        for name, each in identities.items()
    }


def update_results(run: RunFolder, known: Mapping[str, SelfTestEntry]) -> dict[str, SelfTestEntry]:
    """Return the self-tests of a finished run, with results that were stored since.

    A run that was moved away from its store keeps its own figures.
    """
    store_option = (run.read_if_there("config.json") or {}).get("options", {}).get("store")
    store = Path(store_option) if store_option else run.path.parent / "verdicts.sqlite"
    now = look_up_results(store, {name: row.id for name, row in known.items()})
    return {name: row if row.figures else known[name] for name, row in now.items()}


def _read_figures(result: Mapping[str, Any] | None) -> SelfTestFigures | None:
    if result is None:
        return None
    try:
        return _select_figures(result)
    except (KeyError, TypeError) as error:
        raise InputError(
            "the self-test kept in {folder}/ is not as this version of judge writes it ({error!r}); delete"
            " it, or make it anew: judge selftest",
            folder=SELFTEST_FOLDER,
            error=error,
        ) from error


def _select_figures(result: Mapping[str, Any]) -> SelfTestFigures:
    shipped, plain = result["prompts"]["shipped"], result["prompts"]["plain"]
    figures = {
        "probes": result["probes"]["count"],
        "repeat": result["repeat"],
        "too_high": shipped["hostile"],
        "plain_too_high": plain["hostile"],
        "too_low": shipped["strict"],
        "language": shipped["language"],
        "obedient": shipped["obedient"],
    }
    return from_json(SelfTestFigures, figures, f"a result in {SELFTEST_FOLDER}")
