"""Owns reading a run's folder back, with all that scoring needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any

from judge.dataset.pool import make_pair
from judge.errors import InputError
from judge.measure.measures import parse_measures
from judge.measure.panel_agreement import PanelMembers
from judge.records import BINARY, GRADED, Dataset, Judgment, Pair, Pool, Scale, Usage
from judge.runs.results import load as load_results
from judge.runs.folder import DAMAGED_FILE_ADVICE, RunFolder, reading_run
from judge.analysis.summary import RunSpec, fingerprint_grades

#: The types of a judgment's fields, as far as something is computed from them.
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("query_id", "snippet_id", "reason", "assessor", "reply", "detail"), str),
    "repeat": int,
    "grade": (int, NoneType),
    "error": (str, NoneType),
    "served_model": (str, NoneType),
}


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """What a run's folder holds; `members` are the judgments of a panel's members, empty without one."""

    data: Dataset
    pool: Pool
    judgments: tuple[Judgment, ...]
    asked: RunSpec
    members: PanelMembers = field(default_factory=dict)


def load(folder: RunFolder) -> LoadedRun:
    """The run in `folder`; raises InputError when a file is missing or from another format."""
    found = folder.read("results.json")
    with reading_run(folder.path):
        return _held(folder, found)


def load_all(paths: Sequence[Path]) -> dict[str, LoadedRun]:
    """Several runs by the names of their folders, or by their paths where two share a name."""
    names = [path.resolve().name for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    if len(set(names)) < len(names):
        raise InputError(f"a run is named twice among {', '.join(names)}; compare different runs")
    return {name: load(RunFolder(path)) for name, path in zip(names, paths, strict=True)}


def _held(folder: RunFolder, found: dict[str, Any]) -> LoadedRun:
    totals = found["summary"]
    data, documents = load_results(found)
    pool = Pool(totals["depth"], totals["results"], _pairs(data, documents), documents)
    scale = Scale(
        totals["scale"], (BINARY if totals["scale"] == "binary" else GRADED).top, totals["relevant_from"]
    )
    measures = parse_measures(totals["measures"])
    tests = totals.get("selftest", {})
    asked = RunSpec(totals["assessor"], scale, totals["repeats"], measures, totals["cost"], tests)
    judgments = tuple(map(_judgment, folder.lines("judgments.jsonl")))
    _check_grades(folder, judgments, totals, scale)
    return LoadedRun(data, pool, judgments, asked, _members(folder, totals))


def _check_grades(
    folder: RunFolder, judgments: Sequence[Judgment], totals: dict[str, Any], scale: Scale
) -> None:
    """Raise InputError when the judgments are not those that results.json was made from."""
    expected, actual = totals.get("grades"), fingerprint_grades(judgments, scale)
    if expected not in (None, actual):
        raise InputError(
            f"{folder.path / 'judgments.jsonl'}: holds {len(judgments):,} of {totals['judgments']:,}"
            f" judgments, fingerprint {actual!r}; results.json says 'grades' {expected!r}. The file was cut"
            f" off or changed; {DAMAGED_FILE_ADVICE}"
        )


def _members(folder: RunFolder, totals: dict[str, Any]) -> dict[str, tuple[Judgment, ...]]:
    """The judgments of each member of a panel; snippets without text are the same for all of them."""
    if not totals.get("panel"):
        return {}
    members: dict[str, list[Judgment]] = {each["name"]: [] for each in totals["panel"]["members"]}
    for line in folder.lines("members.jsonl"):
        members[line.pop("member")].append(_judgment(line))
    return {name: tuple(judgments) for name, judgments in members.items()}


def _pairs(data: Dataset, documents: dict[tuple[str, str], tuple[str, ...]]) -> tuple[Pair, ...]:
    """The pool's pairs: every snippet that has a document, each once a query."""
    pairs = {}
    for ranking in data.rankings:
        judged = len(documents[ranking.engine, ranking.query_id])
        for snippet in ranking.snippets[:judged]:
            pairs[ranking.query_id, snippet.id] = make_pair(data, ranking.query_id, snippet)
    place = {query_id: number for number, query_id in enumerate(data.queries)}
    return tuple(pairs[key] for key in sorted(pairs, key=lambda key: (place[key[0]], key[1])))


def _judgment(line: dict[str, Any]) -> Judgment:
    usage = line.pop("usage")
    flags = tuple(line.pop("flags"))
    judgment = Judgment(**line, usage=Usage(**usage) if usage else None, flags=flags)
    for name, types in _TYPES.items():
        value = getattr(judgment, name)
        if not isinstance(value, types) or isinstance(value, bool):
            raise TypeError(f"{name!r} of a judgment is {value!r:.60}")
    return judgment
