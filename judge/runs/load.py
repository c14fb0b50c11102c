"""Read a run's folder back: its config.json, its records, and all that scoring needs."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from sys import intern

import msgspec

from judge.analysis.dimension_summary import DimensionResult, QueryValues
from judge.analysis.judged_run import JudgedRun, RunSpec, fingerprint_grades
from judge.analysis.label_agreement import LabelAgreement
from judge.analysis.planned_order import PlannedComparison
from judge.analysis.summary import Summary
from judge.dataset.pool import iter_pairs
from judge.errors import InputError
from judge.files.stored_records import StoredRankings, StoredRecords
from judge.measure.columns import ResultColumns, TabulatedJudgments, tabulate_judgments, tabulate_queries
from judge.measure.measures import parse_measures
from judge.messages import NameList
from judge.records import (
    MIN_COVERAGE,
    SCALES,
    Dataset,
    JsonDict,
    Judgment,
    ListKey,
    Params,
    Pool,
    Query,
    Ranking,
    Snippet,
)
from judge.runs.folder import RunFolder, make_damage_error, translate_run_errors
from judge.runs.record_json import RenamedKey, decode_json, from_json, load_record, summary_from_json
from judge.runs.results_file import QueryEntry, SnippetEntry, open_results, read_query_entries

CONFIG_FILE = "config.json"
#: Texts that many judgments share.
_SHARED_FIELDS = ("query_id", "snippet_id", "assessor", "prompt_version", "served_model", "judged_snippet_id")
#: One mapping for the many judgments with equal parameters, by its repr; emptied above `_MAX_SHARED`.
_shared_params: dict[str, Params] = {}
_MAX_SHARED = 64
#: What a snippet consists of, besides its rank, its document and its judgments.
_get_text_fields = attrgetter("snippet_id", "title", "snippet", "url", "docno", "date", "flags", "shown")


@dataclass(frozen=True, slots=True)
class RecordedOptions:
    """The options of a run that other commands use."""

    model: str | None = None
    base_url: str | None = None
    data: str | None = None
    topics: str | None = None
    store: str | None = None
    as_of: str | None = None
    min_coverage: float = MIN_COVERAGE


#: Everything that must be equal for a run to resume, by name: options and digests, as JSON values.
RunIdentity = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class RecordedInputs:
    """What the identity of a run says of its prompts, by language, and the digest of its dataset."""

    prompts: Mapping[str, str] = field(default_factory=dict)
    dataset: str = ""


@dataclass(frozen=True, slots=True)
class RecordedConfig:
    """The content of config.json: the identity of the run, of which `inputs` are parts, and its options.

    `options_file` is the file that the options came from, None where there was none.
    """

    identity: RunIdentity = field(default_factory=dict)
    options: RecordedOptions = field(default_factory=RecordedOptions)
    options_file: str | None = None
    inputs: RecordedInputs = field(default_factory=RecordedInputs)


def read_config(folder: RunFolder) -> RecordedConfig:
    """Return the config.json of the run in `folder`; raise InputError when it is missing or damaged."""
    place = str(folder.path / CONFIG_FILE)
    config = from_json(RecordedConfig, folder.read(CONFIG_FILE), place)
    return replace(config, inputs=parse_inputs(config.identity, place))


def parse_inputs(identity: RunIdentity, place: str) -> RecordedInputs:
    """Return the prompts and the dataset of an identity; raise InputError with `place` for other values."""
    return from_json(RecordedInputs, identity, place)


def read_config_if_there(folder: RunFolder) -> RecordedConfig | None:
    """Return the config.json of the run in `folder`, None where there is none; raise as `read_config`."""
    return read_config(folder) if (folder.path / CONFIG_FILE).exists() else None


def read_options(folder: RunFolder) -> RecordedOptions:
    """Return the options of the run in `folder`, the defaults without config.json; raise as `read_config`."""
    return (read_config_if_there(folder) or RecordedConfig()).options


def find_store(folder: RunFolder, chosen: str | Path | None) -> Path:
    """Return the file of the verdict store: the one that the user has `chosen`, else that of the run.

    Where that is gone, it is the one beside the run. Raises InputError when config.json names a file in
    another folder. The run can come from another person, who must not choose which store judge reads and
    writes, and caches are beside a store.
    """
    if chosen:
        return Path(chosen)
    recorded_store = read_options(folder).store
    with translate_run_errors(folder.path):
        if not recorded_store or not Path(recorded_store).exists():
            return folder.own_store
    if Path(recorded_store).parent.resolve() == folder.path.parent.resolve():
        return folder.path.parent / Path(recorded_store).name
    raise InputError(
        "{file}: the verdict store of the run is {store!r}; add --store {words} if judge may use it",
        file=folder.path / CONFIG_FILE,
        store=recorded_store,
        words=shlex.quote(recorded_store),
    )


def load_summary(folder: RunFolder) -> Summary:
    """Return the summary of the run in `folder`; raise InputError when it is missing or damaged."""
    return summary_from_json(folder.read("summary.json"), str(folder.path / "summary.json"))


def load_agreement(folder: RunFolder) -> LabelAgreement | None:
    """Return the agreement with people in `folder`, None where there is none yet.

    Raises InputError when the file is damaged.
    """
    renamed = RenamedKey(("calibration", "*", "comparisons", "*"), "verdict", "conclusion")
    return load_record(folder, "agreement.json", LabelAgreement, [renamed])


def load_labelled_order(folder: RunFolder) -> PlannedComparison | None:
    """Return the order by labels on drawn pairs, None where there is none; raise as `load_agreement`."""
    return load_record(folder, "labelled_order.json", PlannedComparison)


def load_run(folder: RunFolder, *, in_memory: bool = True) -> JudgedRun:
    """Return the run in `folder`; raise InputError when a file is missing or damaged.

    Without `in_memory` only columns stay in memory: texts, reasons and documents are read from the folder
    again whenever they are used.
    """
    with translate_run_errors(folder.path):
        return _load(folder, *open_results(folder.path / "results.json"), in_memory=in_memory)


def load_run_without_labels(folder: RunFolder) -> JudgedRun:
    """Return the run in `folder`; raise InputError when its grades are labels or from expected documents."""
    run = load_run(folder)
    if labels := run.spec.labels:
        raise InputError(
            "{run}: grades of this run come from {file!r}, not from an assessor, so agreement with people"
            " cannot be measured on it; judge the dataset with a model and without --qrels in another --out,"
            " or a sample with judge run --check N",
            run=folder.path,
            file=labels.source,
        )
    return run


def load_runs(paths: Sequence[Path]) -> dict[str, JudgedRun]:
    """Return several runs by the names of their folders, or by their paths where two share a name."""
    names = [path.resolve().name for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    if len({path.resolve() for path in paths}) < len(paths):
        raise InputError("a run is named twice among {names}; compare different runs", names=NameList(names))
    return {name: load_run(RunFolder(path)) for name, path in zip(names, paths, strict=True)}


def _load(
    folder: RunFolder, summary: Summary, queries: Iterable[QueryEntry], *, in_memory: bool = True
) -> JudgedRun:
    """Return the run of a results.json with this summary and these `queries`."""
    values: dict[str, dict[ListKey, QueryValues]] = {name: {} for name in summary.dimensions}
    # The dataset is loaded from all of the queries, which fills `values`, too: results.json is read once.
    queries = _read_dimensions(queries, values)
    data, pool, columns = _load_dataset(folder, queries, summary, in_memory=in_memory)
    scale = replace(SCALES[summary.scale], relevant_from=summary.relevant_from)
    measures = parse_measures(summary.measures)
    spec = RunSpec(
        summary.assessor,
        scale,
        summary.repeats,
        measures,
        cost=summary.cost,
        selftest=summary.selftest,
        labels=summary.labels,
        controls=summary.controls,
        stopped=summary.stopped,
    )
    read: Callable[[], Iterator[Judgment]] = partial(read_judgments, folder)
    if in_memory:
        read = tuple(map(_share_values, read())).__iter__
    judgments = TabulatedJudgments(read, columns, tabulate_judgments(read(), columns))
    dimensions = {
        name: DimensionResult(dimension, values[name]) for name, dimension in summary.dimensions.items()
    }
    run = JudgedRun(data, pool, judgments, spec, _read_members(folder, summary), dimensions)
    _check_grades(folder, run, summary)
    return run


def _load_dataset(
    folder: RunFolder, entries: Iterable[QueryEntry], summary: Summary, *, in_memory: bool
) -> tuple[Dataset, Pool, ResultColumns]:
    """Return the dataset that a results.json was made from, its pool, and its columns."""
    queries: dict[str, Query] = {}
    first_pass: Iterable[Ranking] = _load_rankings(_load_queries(entries, queries))
    if in_memory:
        first_pass = tuple(first_pass)
    columns = tabulate_queries(first_pass, summary.depth)

    def read_rankings() -> Iterator[Ranking]:
        if in_memory:
            return iter(first_pass)
        return _load_rankings(read_query_entries(folder.path / "results.json"))

    rankings = StoredRankings(read_rankings, int((~columns.absent).sum()))
    rankings.columns = columns
    data = Dataset(queries, rankings, columns.engines, summary.remarks, summary.dates)
    pairs = StoredRecords(partial(iter_pairs, data, summary.depth), len(columns.snippet_ids))
    pool = Pool(summary.depth, summary.results, tuple(pairs) if in_memory else pairs)
    return data, pool, columns


def _load_queries(entries: Iterable[QueryEntry], queries: dict[str, Query]) -> Iterator[QueryEntry]:
    """Yield the entries, and add the query of each to `queries`."""
    for entry in entries:
        text = entry.query if entry.shown is None else entry.shown
        more = entry.reference, entry.extra, entry.expected
        queries[entry.query_id] = Query(entry.query_id, text, entry.query, entry.lang, *more)
        yield entry


def _load_rankings(entries: Iterable[QueryEntry]) -> Iterator[Ranking]:
    for entry in entries:
        distinct: dict[tuple[object, ...], Snippet] = {}
        for engine, engine_entry in entry.engines.items():
            # A snippet that several engines returned becomes one object.
            snippets = tuple(
                distinct.get(key) or distinct.setdefault(key, _load_snippet(snippet))
                for snippet in engine_entry.snippets
                for key in [_get_text_fields(snippet)]
            )
            documents = tuple(
                snippet.document for snippet in engine_entry.snippets if snippet.document is not None
            )
            error, latency = engine_entry.error, engine_entry.latency_ms
            yield Ranking(engine, entry.query_id, snippets, error, latency, documents)


def _load_snippet(entry: SnippetEntry) -> Snippet:
    cleaned = entry.shown
    return Snippet(
        id=intern(entry.snippet_id),
        text=cleaned.snippet if cleaned else entry.snippet,
        title=cleaned.title if cleaned else entry.title,
        date=entry.date,
        url=entry.url,
        raw=(entry.title, entry.snippet) if cleaned else None,
        docno=entry.docno,
        flags=entry.flags,
    )


def _read_dimensions(
    queries: Iterable[QueryEntry], values: Mapping[str, dict[ListKey, QueryValues]]
) -> Iterator[QueryEntry]:
    """Yield the queries, and add what they say of each dimension to `values`."""
    for entry in queries:
        for engine, engine_entry in entry.engines.items():
            for name, row in engine_entry.dimensions.items():
                values[name][engine, entry.query_id] = row
        yield entry


def _check_grades(folder: RunFolder, run: JudgedRun, summary: Summary) -> None:
    """Raise InputError when the judgments are not those that results.json was made from."""
    fingerprint = fingerprint_grades(*run.tabulate(), run.spec.scale)
    if summary.grades not in ("", fingerprint):
        raise make_damage_error(
            "{place}: holds {count:,} of {total:,} judgments, fingerprint {fingerprint!r}; results.json says"
            " 'grades' {other_fingerprint!r}. The file was cut off or changed",
            place=folder.path / "judgments.jsonl",
            count=len(run.judgments),
            total=summary.judgments,
            fingerprint=fingerprint,
            other_fingerprint=summary.grades,
        )


def _read_members(folder: RunFolder, summary: Summary) -> dict[str, tuple[Judgment, ...]]:
    """Return the judgments of each member of a panel; snippets without text are the same for all of them."""
    if not summary.members:
        return {}
    members: dict[str, list[Judgment]] = {member.name: [] for member in summary.members}
    for place, text in folder.read_texts("members.jsonl"):
        line = folder.parse_object(place, text)
        members[line.pop("member")].append(_share_values(parse_judgment(line, place)))
    return {name: tuple(judgments) for name, judgments in members.items()}


def read_judgments(folder: RunFolder) -> Iterator[Judgment]:
    """Yield the judgments of judgments.jsonl; raise InputError for a line that is none."""
    for place, text in folder.read_texts("judgments.jsonl"):
        yield decode_json(Judgment, text) or parse_judgment(folder.parse_object(place, text), place)


def _share_values(judgment: Judgment) -> Judgment:
    """Return `judgment`, which was just made, with the objects of others for values that many share."""
    for name in _SHARED_FIELDS:
        if isinstance(value := getattr(judgment, name), str):
            object.__setattr__(judgment, name, intern(value))
    if len(_shared_params) > _MAX_SHARED:
        _shared_params.clear()
    params = _shared_params.setdefault(repr(judgment.params), judgment.params)
    object.__setattr__(judgment, "params", params)
    return judgment


def parse_judgment(line: JsonDict, place: str) -> Judgment:
    """Return the judgment in a JSON object; raise InputError, which names `place`, for another object."""
    try:
        return msgspec.convert(line, Judgment)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the latter for half a surrogate pair
        field = re.search(r"`\$\.(\w+)", str(error))
        if not field:
            raise make_damage_error("{place}: is no judgment ({error})", place=place, error=error) from None
        raise make_damage_error(
            "{place}: {name!r} of a judgment is {value!r:.60}",
            place=place,
            name=field[1],
            value=line[field[1]],
        ) from None
