"""The stored results of self-tests: their records, and the figures that a run shows of its assessors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from judge.analysis.summary import SelfTestEntry, SelfTestFigures
from judge.errors import InputError
from judge.files.json_text import dump_json, hash_parts
from judge.pricing.costs import Cost
from judge.records import DECISION_MODEL, EXPECTED, RERANKER, LangChoice, Params, ScaleName
from judge.runs.folder import RunFolder
from judge.selftest.probes import SelfTestMetrics

if TYPE_CHECKING:
    from judge.assess.assessor import Assessor
    from judge.config.run import Config

#: The folder of results, beside the verdict store that the self-tests were paid into.
SELFTEST_FOLDER = "selftests"
#: What the names of models without reasons begin with: they have no self-test.
NOT_TESTED = (RERANKER, DECISION_MODEL, EXPECTED)
_ODD = re.compile(r"[^A-Za-z0-9.]+")


@dataclass(frozen=True, slots=True)
class PromptResult(SelfTestMetrics):
    """The metrics with one prompt, the versions of the prompt by language, and what the calls cost."""

    versions: Mapping[str, str]
    cost: Cost


@dataclass(frozen=True, slots=True)
class PromptResults:
    """The result with the prompt that runs use, and with a plain one without any defence."""

    shipped: PromptResult
    plain: PromptResult


@dataclass(frozen=True, slots=True)
class ProbeSet:
    """The number of probes, and a hash of them."""

    count: int
    sha256: str


@dataclass(frozen=True, slots=True)
class SelfTestResult:
    """What the file of a self-test holds: the identity of the assessor and the results of both prompts."""

    id: str
    assessor: str
    model: str
    endpoint: str
    params: Params
    scale: ScaleName
    lang: LangChoice
    repeat: int
    probes: ProbeSet
    prompts: PromptResults

    @property
    def figures(self) -> SelfTestFigures:
        """The main figures."""
        shipped = self.prompts.shipped
        return SelfTestFigures(
            probes=self.probes.count,
            repeat=self.repeat,
            too_high=shipped.hostile,
            plain_too_high=self.prompts.plain.hostile,
            too_low=shipped.strict,
            language=shipped.language,
            obedient=shipped.obedient,
            irrelevant_too_high=shipped.too_high.get("irrelevant"),
        )


def find_results_folder(store: Path) -> RunFolder:
    """Return the folder of the results that belong to the verdict store at `store`."""
    return RunFolder(store.parent / SELFTEST_FOLDER)


def make_result_file_name(assessor: str, identity: str) -> str:
    """Return the name of the file with an assessor's result."""
    # Both can be from the files of another person: no separator leads to another folder.
    return f"{_ODD.sub('_', assessor)[:80]}-{_ODD.sub('_', identity)}.json"


def identify_assessor(assessor: Assessor, config: Config) -> str:
    """Return what identifies an assessor: model, server, parameters, prompts, scale, language."""
    model = assessor.model
    parts = [
        model.name,
        model.endpoint,
        dump_json(dict(sorted(model.params.items()))),
        dump_json(assessor.prompts.versions),
        assessor.name,
        config.lang,
    ]
    return hash_parts(parts, 12)


def identify_assessors(assessors: Iterable[Assessor], config: Config) -> dict[str, SelfTestEntry]:
    """Return an entry without figures of each assessor by its name; none for those without such prompts."""
    entries = {}
    for assessor in assessors:
        model = assessor.model
        if config.assessor == "judge" and not model.name.startswith(NOT_TESTED):
            options = {
                "base_url": model.endpoint,
                "scale": config.scale,
                "lang": config.lang,
                "prompts": ", ".join(assessor.prompts.versions.values()),
                **{
                    name: value if isinstance(value, str) else dump_json(value)
                    for name, value in model.params.items()
                },
            }
            entries[assessor.name] = SelfTestEntry(identify_assessor(assessor, config), None, options)
    return entries


def look_up_selftests(store: Path, entries: Mapping[str, SelfTestEntry]) -> dict[str, SelfTestEntry]:
    """Return the entries with the figures that are stored for their ids.

    Raises InputError for a broken file with figures.
    """
    folder = find_results_folder(store)
    complete = {}
    for name, entry in entries.items():
        result = _read_result(folder, make_result_file_name(name, entry.id))
        complete[name] = replace(entry, figures=result.figures if result else None)
    return complete


def update_selftests(store: Path, entries: Mapping[str, SelfTestEntry]) -> dict[str, SelfTestEntry]:
    """Return the self-tests of a finished run, with results that were since stored beside `store`.

    A run that was moved away from its store keeps its own figures.
    """
    now = look_up_selftests(store, entries)
    return {name: row if row.figures else entries[name] for name, row in now.items()}


def _read_result(folder: RunFolder, name: str) -> SelfTestResult | None:
    """Return the self-test in a file, None where there is no file; raise InputError for another content."""
    value = folder.read_if_there(name)
    if value is None:
        return None
    try:
        return msgspec.convert(value, SelfTestResult)
    except (msgspec.ValidationError, RecursionError) as error:
        raise InputError(
            "{file}: this version of judge cannot read this self-test ({error}); delete the file, or make it"
            " again with: judge selftest",
            file=folder.path / name,
            error=error,
        ) from error
