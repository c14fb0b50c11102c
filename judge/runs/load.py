"""Read a run's folder back, with all that scoring needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from sys import intern
from types import NoneType
from typing import Any

from judge.analysis.dimension_result import DimensionResult, QueryValues
from judge.analysis.label_agreement import LabelAgreement
from judge.analysis.loaded_run import LoadedRun, RunSpec, fingerprint_grades
from judge.analysis.pair_plan import PlannedComparison
from judge.analysis.summary import Summary
from judge.dataset.pool import make_pair
from judge.errors import InputError
from judge.measure.measures import parse_measures
from judge.records import BINARY, GRADED, Dataset, Judgment, Pair, Pool, Scale, Snippet, Usage, share_params
from judge.runs.folder import DAMAGED_FILE_ADVICE, RunFolder, reading_run
from judge.runs.record_json import (
    agreement_from_json,
    check_version,
    decode_json,
    from_json,
    summary_from_json,
)
from judge.runs.results import OtherLayout, QueryEntry, read_dataset, read_results

#: The types of a judgment's fields that figures are computed from.
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("query_id", "snippet_id", "reason", "assessor", "reply", "detail"), str),
    "repeat": int,
    "grade": (int, NoneType),
    "error": (str, NoneType),
    "served_model": (str, NoneType),
    "judged_snippet_id": (str, NoneType),
}
_get_values = attrgetter(*_TYPES)
#: Texts that many judgments share.
_SHARED_FIELDS = ("query_id", "snippet_id", "assessor", "prompt_version", "served_model", "judged_snippet_id")


def load_summary(folder: RunFolder) -> Summary:
    """Return the summary of the run in `folder`; raise InputError when it is missing or damaged."""
    return summary_from_json(folder.read("summary.json"), str(folder.path / "summary.json"))


def load_agreement(folder: RunFolder) -> LabelAgreement | None:
    """Return the agreement with people in `folder`, None where there is none yet.

    Raises InputError when the file is damaged.
    """
    value, place = folder.read_if_there("agreement.json"), str(folder.path / "agreement.json")
    return None if value is None else agreement_from_json(value, place)


def load_labelled_order(folder: RunFolder) -> PlannedComparison | None:
    """Return the order by labels on drawn pairs in `folder`, None where there is none; raises as above."""
    value, place = folder.read_if_there("labelled_order.json"), str(folder.path / "labelled_order.json")
    if value is None:
        return None
    check_version(value, place)
    return from_json(PlannedComparison, value, place)


def load_run(folder: RunFolder) -> LoadedRun:
    """Return the run in `folder`; raise InputError when a file is missing or damaged."""
    with reading_run(folder.path):
        with suppress(OtherLayout):
            return _load(folder, *read_results(folder.path / "results.json"))
        results = folder.read("results.json")
        return _load(folder, results, None)


def load_runs(paths: Sequence[Path]) -> dict[str, LoadedRun]:
    """Return several runs by the names of their folders, or by their paths where two share a name."""
    names = [path.resolve().name for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    if len(set(names)) < len(names):
        raise InputError("a run is named twice among {names}; compare different runs", names=", ".join(names))
    return {name: load_run(RunFolder(path)) for name, path in zip(names, paths, strict=True)}


def read_queries(results: Mapping[str, Any], place: str) -> list[QueryEntry]:
    """Return the queries of a results.json that is read already; raise InputError when one is damaged."""
    queries = results.get("queries")
    if not isinstance(queries, list):
        raise InputError(
            "{place}: field 'queries' is {queries!r:.60}, not a list; {advice}",
            place=place,
            queries=queries,
            advice=DAMAGED_FILE_ADVICE,
        )
    return [
        from_json(QueryEntry, value, f"{place}: queries[{number}]") for number, value in enumerate(queries)
    ]


def _load(folder: RunFolder, results: Mapping[str, Any], queries: Iterable[QueryEntry] | None) -> LoadedRun:
    """Return the run; `queries` are those of results.json, None where `results` holds them."""
    place = str(folder.path / "results.json")
    check_version(results, place)
    value = results.get("summary")
    if not isinstance(value, dict):
        raise InputError(
            "{place}: field 'summary' is {value!r:.60}, not an object; {advice}",
            place=place,
            value=value,
            advice=DAMAGED_FILE_ADVICE,
        )
    summary = summary_from_json(value, f"{place}: summary")
    queries = read_queries(results, place) if queries is None else queries
    values: dict[str, dict[tuple[str, str], QueryValues]] = {name: {} for name in summary.dimensions}
    data, documents = read_dataset(_read_dimensions(queries, values), summary)
    scale = Scale(summary.scale, (BINARY if summary.scale == "binary" else GRADED).top, summary.relevant_from)
    measures = parse_measures(summary.measures)
    spec = RunSpec(
        summary.assessor,
        scale,
        summary.repeats,
        measures,
        summary.cost,
        summary.selftest,
        summary.labels,
        summary.controls,
    )
    judgments = tuple(_read_judgments(folder))
    pool = Pool(summary.depth, summary.results, _pairs(data, documents), documents)
    dimensions = {name: DimensionResult(each, values[name]) for name, each in summary.dimensions.items()}
    run = LoadedRun(data, pool, judgments, spec, _members(folder, summary), dimensions)
    _check_grades(folder, run, summary)
    return run


def _read_dimensions(
    queries: Iterable[QueryEntry], values: Mapping[str, dict[tuple[str, str], QueryValues]]
) -> Iterator[QueryEntry]:
    """Yield the queries, and add what they say of each dimension to `values`."""
    for entry in queries:
        for engine, answer in entry.engines.items():
            for name, row in answer.dimensions.items():
                values[name][engine, entry.query_id] = row
        yield entry


def _check_grades(folder: RunFolder, run: LoadedRun, summary: Summary) -> None:
    """Raise InputError when the judgments are not those that results.json was made from."""
    fingerprint = fingerprint_grades(*run.tabulate(), run.spec.scale)
    if summary.grades not in ("", fingerprint):
        raise InputError(
            "{file}: holds {count:,} of {total:,} judgments, fingerprint {fingerprint!r}; results.json says"
            " 'grades' {other_fingerprint!r}. The file was cut off or changed; {advice}",
            file=folder.path / "judgments.jsonl",
            count=len(run.judgments),
            total=summary.judgments,
            fingerprint=fingerprint,
            other_fingerprint=summary.grades,
            advice=DAMAGED_FILE_ADVICE,
        )


def _members(folder: RunFolder, summary: Summary) -> dict[str, tuple[Judgment, ...]]:
    """Return the judgments of each member of a panel; snippets without text are the same for all of them."""
    if summary.panel is None:
        return {}
    members: dict[str, list[Judgment]] = {member.name: [] for member in summary.panel.members}
    for place, text in folder.texts("members.jsonl"):
        line = folder.parse_object(place, text)
        members[line.pop("member")].append(_share_values(_judgment(line, place)))
    return {name: tuple(judgments) for name, judgments in members.items()}


def _pairs(data: Dataset, documents: Mapping[tuple[str, str], tuple[str, ...]]) -> tuple[Pair, ...]:
    """Return the pool's pairs: every snippet that has a document, each once a query."""
    snippets: dict[str, dict[str, Snippet]] = {query_id: {} for query_id in data.queries}
    for ranking in data.rankings:
        judged = len(documents[ranking.engine, ranking.query_id])
        snippets[ranking.query_id].update({snippet.id: snippet for snippet in ranking.snippets[:judged]})
    return tuple(
        make_pair(data, query_id, snippet)
        for query_id, of_query in snippets.items()
        for _, snippet in sorted(of_query.items())
    )


def _read_judgments(folder: RunFolder) -> Iterator[Judgment]:
    for place, text in folder.texts("judgments.jsonl"):
        yield _share_values(decode_json(Judgment, text) or _judgment(folder.parse_object(place, text), place))


def _share_values(judgment: Judgment) -> Judgment:
    """Return `judgment`, which was just made, with the objects of others for values that many share."""
    for name in _SHARED_FIELDS:
        if isinstance(value := getattr(judgment, name), str):
            object.__setattr__(judgment, name, intern(value))
    object.__setattr__(judgment, "params", share_params(judgment.params))
    return judgment


def _judgment(line: dict[str, Any], place: str) -> Judgment:
    """Return the judgment in a JSON object; raise InputError, which names `place`, where it is none."""
    try:
        usage, flags = line.pop("usage"), tuple(line.pop("flags"))
        judgment = Judgment(**line, usage=Usage(**usage) if usage else None, flags=flags)
    except (KeyError, TypeError) as error:
        raise InputError(
            "{place}: is no judgment ({error}); {advice}",
            place=place,
            error=error,
            advice=DAMAGED_FILE_ADVICE,
        ) from None
    values = _get_values(judgment)
    if all(map(isinstance, values, _TYPES.values())) and bool not in map(type, values):
        return judgment
    name, value = next(
        (name, value)
        for (name, types), value in zip(_TYPES.items(), values, strict=True)
        if not isinstance(value, types) or isinstance(value, bool)
    )
    raise InputError(
        "{place}: {name!r} of a judgment is {value!r:.60}; {advice}",
        place=place,
        name=name,
        value=value,
        advice=DAMAGED_FILE_ADVICE,
    )
