"""The input of a run by its options: dataset, measures and labels of people."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from judge.config.run import Config
from judge.dataset.clean import TextOptions
from judge.dataset.label_files import load_labels
from judge.dataset.labels import LabelSet, draw_sample, label_expected
from judge.dataset.rows import COLUMN_FIELDS, FIELDS, InputRecord, RowFormat
from judge.dataset.stored_dataset import (
    PooledDataset,
    QueryReader,
    load_pooled,
    open_dataset,
    open_trec_dataset,
    store_dataset,
)
from judge.errors import InputError, name_option_in_errors, suggest_name
from judge.files.cache import FileCache, hash_data, hash_file, make_cache_path, make_key
from judge.measure.measures import Measure, resolve_measures
from judge.messages import Message, NameList, OptionName, SeparatedNames
from judge.records import EXPECTED
from judge.run_identity import choose_store_path

#: Smaller files, in bytes, are not cached: reading them takes no longer than hashing the code of judge.
_MIN_CACHED = 200_000
#: A dataset in this process instead of a file: one mapping per result.
DatasetRows = Iterable[InputRecord]


def resolve_source(data: Any) -> tuple[str | None, DatasetRows | None]:  # noqa: ANN401
    """Return the path of a dataset, else its rows: those of a data frame, or `data`, or None without any.

    Raise InputError for anything else.
    """
    if isinstance(data, str | Path):
        return str(data), None
    if hasattr(data, "iloc") and hasattr(data, "columns"):  # a DataFrame; pandas may not be imported
        repeated = data.columns[data.columns.duplicated()]
        if len(repeated):
            raise InputError("the data frame has several columns {name!r}; keep one", name=repeated[0])
        # A named index is a column that pandas keeps apart.
        names = [name for name in ("query", "query_id", "engine") if name not in data.columns]
        levels = [name for name in names if list(data.index.names).count(name) == 1]
        return None, (data.reset_index(level=levels) if levels else data).to_dict("records")
    if data is not None and not isinstance(data, Iterable):
        raise InputError(
            "the dataset is {value:.80}; give the path of a file, a data frame, or rows that are mappings",
            value=" ".join(repr(data).split()),  # that of a table has several lines
        )
    return None, data


def load_pooled_dataset(config: Config, rows: DatasetRows | None = None) -> PooledDataset:
    """Return the dataset and its pool; files that have not changed are read from the cache.

    Raises InputError when the dataset is invalid.
    """
    with config.source.name_keys_in_errors():
        reader = replace(open_reader(config, rows), is_complete=config.complete)
        paths = [Path(path) for path in (config.data, config.topics, config.docs, *config.trec_runs) if path]
        if rows is not None or sum(path.stat().st_size for path in paths if path.is_file()) < _MIN_CACHED:
            return store_dataset(reader, config.depth, None)
        cache = FileCache(make_cache_path(choose_store_path(config)))
        key = _make_dataset_key(config, paths)
        if key and (lines := cache.read(key)) is not None:
            with suppress(ValueError, RecursionError):
                return load_pooled(lines, config.depth, key)
        pooled = store_dataset(reader, config.depth, cache.make_folder())
        if key is None or key != _make_dataset_key(config, paths):  # a file changed while it was read
            return pooled
        cache.write(key, pooled.lines)
        return replace(pooled, pool=replace(pooled.pool, cache_key=key))


def _make_dataset_key(config: Config, paths: Sequence[Path]) -> str | None:
    """Return the key of the cache for the content of the files; None where one is not a regular file."""
    texts = config.lang, config.max_chars, config.shows_dates
    rows = config.columns, config.complete, config.model == EXPECTED
    try:
        files = [(str(path), hash_file(path, follow=True)) for path in paths]
        # Flags of snippets follow from the weights of a model, which are data.
        return make_key("dataset", hash_data(), config.depth, *texts, *rows, files)
    except OSError:
        return None


def open_reader(config: Config, rows: DatasetRows | None) -> QueryReader:
    """Return the reader of `rows`, else of the files in `config`; raise InputError for unfit options."""
    options = make_text_options(config)
    row_format = _make_row_format(config)
    if rows is not None:
        keys = [name for name in ("data", "topics", "docs", "trec_runs") if getattr(config, name)]
        if keys:
            raise InputError("the dataset is the rows; omit {names}", names=NameList(keys))
        return open_dataset(rows, row_format, options)
    with config.source.add_error_context("data", "topics", "docs", "trec_runs"):
        files = {"--topics": config.topics, "--docs": config.docs, "--run": config.trec_runs}
        if any(files.values()) and (not all(files.values()) or config.data):
            missing = [OptionName(option) for option, value in files.items() if not value]
            raise InputError(
                "TREC input is --topics, --docs and --run, and no other dataset; {what}",
                what=Message("add {options}", options=NameList(missing))
                if missing
                else Message("omit data, which is {file!r}", file=config.data),
            )
        if not (config.trec_runs or config.data):
            raise InputError(
                "no dataset was named; give a .jsonl, .csv, .xlsx or .parquet file (see judge run --help)"
            )
    if config.trec_runs:
        (topics,), (docs,), runs = (
            list_existing_files(config, name) for name in ("topics", "docs", "trec_runs")
        )
        return open_trec_dataset(topics, docs, runs, options)
    (data,) = list_existing_files(config, "data")
    return open_dataset(data, row_format, options)


def make_text_options(config: Config) -> TextOptions:
    """Return how the prompts of a run show texts."""
    return TextOptions(config.lang, config.max_chars, config.shows_dates)


def _make_row_format(config: Config) -> RowFormat:
    """Return the format of the rows; raise InputError for an unknown or repeated name in `columns`."""
    columns = config.column_names
    taken = [*columns.values(), *({"query", "snippet"} - columns.keys())]
    with config.source.add_error_context("columns"):
        for option in config.columns:
            name, _, column = option.partition("=")
            name = name.strip()
            if not column or name not in COLUMN_FIELDS:
                raise InputError(
                    "--columns has {option!r}; it must name a field and its column, such as {example}; a"
                    " field is one of {fields}{suggestion}",
                    option=option,
                    example=OptionName("--columns snippet=COLUMN"),
                    fields=SeparatedNames(COLUMN_FIELDS),
                    suggestion=Message("; did you mean {name!r}?", name=f"{column}={name}")
                    if column in COLUMN_FIELDS
                    else suggest_name(name, COLUMN_FIELDS if column else ()),
                )
            if columns[name] != column or taken.count(column) > 1:
                raise InputError(
                    "--columns has {option!r} and another column for {name}, or another field in {column!r};"
                    " a field is in one column, and a column holds one field",
                    option=option,
                    name=name,
                    column=column,
                )
        if columns and config.trec_runs:
            raise InputError("--columns is for a dataset of rows; TREC files have no columns")
    return RowFormat(columns, FIELDS | {"expected"} if config.model == EXPECTED else FIELDS)


def list_existing_files(config: Config, name: str) -> list[Path]:
    """Return the files in option `name`; raise InputError when one does not exist."""
    value = getattr(config, name)
    paths = [Path(path) for path in (value if isinstance(value, tuple) else (value,))]
    config.source.check_exists(name, *paths)
    return paths


def choose_measures(config: Config) -> tuple[Measure, ...]:
    """Return the measures of `config`, or the defaults; raise InputError as `resolve_measures` does."""
    with config.source.add_error_context("measures"), name_option_in_errors("--measures"):
        return resolve_measures(config.measures, config.depth, config.grading)


def load_run_labels(config: Config, pooled: PooledDataset) -> LabelSet | None:
    """Return the labels that are grades of the run: of `--qrels`, or with `-m expected` of the dataset.

    None without either. Raises InputError when the file cannot be read, no label is about the dataset, the
    labels are on another scale than the run, or a query has no expected documents.
    """
    if config.model == EXPECTED:
        try:
            return label_expected(pooled.dataset)
        except InputError as error:
            if config.data is None:
                raise
            raise InputError("{file}: {error}", file=config.data, error=error) from None
    if config.qrels is None:
        return None
    (path,) = list_existing_files(config, "qrels")
    labels = load_labels(path, pooled.dataset, pooled.pool, config.grading, option="scale")
    grades, scale = labels.grades, labels.scale
    if scale != config.grading:
        raise InputError(
            "{file}: the labels are {labels} (0-{labels_top}) and the run is {scale} (0-{top}); add {option}",
            file=path,
            option=OptionName(f"--scale {scale.name}"),
            labels=scale.name,
            labels_top=scale.top,
            scale=config.grading.name,
            top=config.grading.top,
        )
    # Thresholds are fitted on the labelled pairs that have a score.
    fits = config.rerank_thresholds is None and config.has_reranker
    return replace(labels, sample=draw_sample(grades, config.check or (len(grades) if fits else 0)))
