"""Owns turning what was asked into the things a run works with."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

from judge.assess.allowance import Allowance
from judge.assess.assessor import Assessor
from judge.assess.desk import Desk
from judge.assess.prompts import default_directory, load_prompts
from judge.assess.schedule import Limits
from judge.assess.stop import Stop
from judge.config.loader import tables
from judge.config.run import Config, did_you_mean, disable_deepeval_telemetry_in_environment, environment
from judge.dataset.clean import describe_missing
from judge.dataset.labels import Label
from judge.dataset.pool import describe_differing_dates
from judge.dataset.read import read_dataset, read_trec_dataset
from judge.dataset.rows import COLUMN_FIELDS
from judge.errors import InputError, SetupError
from judge.identity import identity, short_name, versions
from judge.measure.measures import Measure, check_depth, default_measures, parse_measures
from judge.models import Model, open_model
from judge.models.endpoint import public_part
from judge.models.redaction import mask, secrets_in
from judge.pricing import prices as pricing
from judge.pricing.prices import Price
from judge.records import BINARY, GRADED, Dataset, LangChoice, Scale, ScaleName
from judge.runs.folder import RunFolder, dump_json

#: A dataset in this process instead of a file: one mapping a result.
Rows = Iterable[Mapping[str, Any]]


def dataset(config: Config, rows: Rows | None = None) -> Dataset:
    """The dataset that was asked for; raises InputError when it is missing or bad."""
    data = _dataset(config, rows)
    source = Path(config.docs if config.trec_runs and config.docs else config.data or "the dataset").name
    missing, dated = (
        describe_missing(data.rankings, config.depth, source),
        describe_differing_dates(data, config.depth),
    )
    return replace(data, warnings=(*data.warnings, *missing, *dated))


class _Reading(TypedDict):
    """The options of a run that say how its dataset is read."""

    lang: LangChoice
    max_chars: int
    dates: bool


def _dataset(config: Config, rows: Rows | None) -> Dataset:
    how = _Reading(lang=config.lang, max_chars=config.max_chars, dates=config.shows_dates)
    columns = _columns(config)
    if rows is not None:
        return read_dataset(rows, **how, columns=columns)
    _check_inputs(config)
    if config.trec_runs:
        (topics,), (docs,), runs = (_files(config, name) for name in ("topics", "docs", "trec_runs"))
        return read_trec_dataset(topics, docs, runs, **how)
    (data,) = _files(config, "data")
    return read_dataset(data, **how, columns=columns)


def _columns(config: Config) -> Mapping[str, str]:
    """The dataset's own names of fields; raises InputError for a field that there isn't."""
    with config.written.about("columns"):
        columns = config.column_names
        for given in config.columns:
            name = given.partition("=")[0].strip()
            if not given.partition("=")[2]:
                example = f"{name}=COLUMN" if name in COLUMN_FIELDS else "snippet=text"
                raise InputError(f"--columns is {given!r}; it is FIELD=COLUMN, such as {example}")
            if name not in COLUMN_FIELDS:
                raise InputError(
                    f"--columns is {given!r}; it is FIELD=COLUMN, and a field is one of"
                    f" {', '.join(COLUMN_FIELDS)}{did_you_mean(name, COLUMN_FIELDS)}"
                )
        for column, count in Counter(columns.values()).items():
            if count > 1:
                fields = " and ".join(name for name in columns if columns[name] == column)
                raise InputError(
                    f"--columns names the column {column!r} for {fields}; a column holds one field"
                )
        if columns and config.trec_runs:
            raise InputError("--columns go with a dataset of rows; TREC files have none")
    return columns


def _check_inputs(config: Config) -> None:
    with config.written.about("data", "topics", "docs", "trec_runs"):
        if config.trec_runs and (not (config.topics and config.docs) or config.data):
            raise InputError("TREC input is --topics FILE --docs FILE --run FILE…, and no other dataset")
        if not (config.trec_runs or config.data):
            raise InputError(
                "no dataset was named; give a .jsonl, .csv, .xlsx or .parquet file (see judge run --help)"
            )


def _files(config: Config, name: str) -> list[Path]:
    """The files that option `name` names; raises InputError when one isn't there."""
    value = getattr(config, name)
    paths = [Path(each) for each in (value if isinstance(value, tuple) else (value,))]
    config.written.check(name, *paths)
    return paths


def measures(names: Iterable[str] | None, depth: int) -> tuple[Measure, ...]:
    """The measures called `names`, or the defaults; raises InputError for unknown or too deep ones.

    A name may be a text of several.
    """
    chosen = default_measures(depth) if names is None else parse_measures(", ".join(names))
    check_depth(chosen, depth)
    return chosen


def measures_of(config: Config) -> tuple[Measure, ...]:
    """The measures that were asked for, or the defaults; raises InputError for unknown or too deep ones."""
    with config.written.about("measures"):
        return measures(config.measures, config.depth)


def labels_scale(
    grades: Iterable[int], run: Scale | None, asked: ScaleName | None, labels: Iterable[Label] = ()
) -> Scale:
    """The scale that people graded on: what was `asked`, else the `run`'s own where their grades fit it.

    They don't where one is above it, or where `labels`, what the file holds, say yes or no of a graded
    run. Then, and without a run, up to 1 is yes or no and above it is 0-3. A scale called like the
    run's is the run's, with its `relevant_from`. Raises InputError for a grade above the scale.
    """
    top, labels = max(grades), tuple(labels)
    fits = run is not None and top <= run.top and not any(label.word for label in labels)
    name = asked or (run.name if run and fits else "graded" if top > 1 else "binary")
    scale = run if run and name == run.name else BINARY if name == "binary" else GRADED
    if top > scale.top:
        high = next((label for label in labels if label.grade > scale.top), None)
        said = f"{high.location}: has grade {high.grade}" if high else f"a label has grade {top}"
        raise InputError(f"{said}; the {scale.name} scale ends at {scale.top}")
    return scale


def models(config: Config, *, calls: bool = True) -> tuple[Model, ...]:
    """The models that were asked for, one unless there is a panel; without `calls` they need no key.

    Raises SetupError when a key, an extra or the name of one is missing.
    """
    return tuple(model(config, name, calls=calls) for name in (config.model, *config.panel))


def model(config: Config, name: str | None = None, *, calls: bool = True) -> Model:
    """The model called `name`, or the first that was asked for; `NAME@https://…` names its server, too.

    Raises SetupError when a key, an extra or the name is missing.
    """
    with config.written.about("model", "base_url"):
        return _model(config, name or config.model, environment() if calls else _with_keys(environment()))


def _with_keys(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return `environ` with a placeholder for each key that is missing, for models that are not called."""
    missing = (name for name in ("OPENAI_API_KEY", "DASHSCOPE_API_KEY") if not environ.get(name, "").strip())
    return {**environ, **dict.fromkeys(missing, "placeholder-of-a-missing-key")}


def _model(config: Config, name: str, environ: Mapping[str, str]) -> Model:
    if not name:
        raise InputError("no model was named; add -m openai:NAME, dashscope:NAME, langchain:… or lexical")
    spec, at, address = name.partition("@http")
    return open_model(
        spec,
        base_url=f"http{address}" if at else config.base_url,
        environ=environ,
        sampling=config.sampling,
        timeout=config.timeout,
        concurrency=config.concurrency,
    )


def assessor(config: Config, model: Model) -> Assessor:
    """The assessor: `model` with the prompts of the scale, or asked through DeepEval."""
    if config.assessor == "deepeval":
        return _deepeval(config, model)
    directory = Path(config.prompts) if config.prompts else default_directory()
    with config.written.about("prompts"):
        prompts = load_prompts(directory, config.grading)
    return Assessor(model, prompts, config.grading, config.as_of)


def assessors(config: Config, *, calls: bool = True) -> list[Assessor]:
    """The assessors that were asked for, one unless there is a panel, each with a name of its own.

    Without `calls` their models need no key.

    Raises SetupError when two would be the same model at the same server.
    """
    found = [assessor(config, each) for each in models(config, calls=calls)]
    named = Counter(each.name for each in found)
    for each in found:
        if named[each.name] > 1:
            each.name += f" at {each.model.endpoint}"
    if len({each.name for each in found}) < len(found):
        raise SetupError(f"the panel holds {found[0].name!r} twice; its members differ in model or server")
    return found


def _deepeval(config: Config, model: Model) -> Assessor:
    disable_deepeval_telemetry_in_environment()
    try:
        with redirect_stdout(io.StringIO()):  # it greets whoever imports it
            from judge.assess.deepeval_assessor import DeepEvalAssessor
    except ImportError as error:
        raise SetupError(f"--assessor deepeval needs the extra search-judge[deepeval] ({error})") from error
    return DeepEvalAssessor(model, config.as_of)


def price(config: Config, model: Model) -> Price | None:
    """The price of `model`'s tokens: what was asked for, else by the tables, None where they don't say.

    Cached input costs like fresh input unless said. Raises InputError for a bad row of --prices.
    """
    if config.price is not None:
        fresh, output, *cached = config.price
        return Price(fresh, output, cached[0] if cached else fresh)
    if not model.endpoint and model.name == "lexical":
        return pricing.FREE
    files = (*([Path(config.prices)] if config.prices else []), pricing.SHIPPED)
    with config.written.about("prices"):
        rows = [row for file in files for row in pricing.read(tables(file, "prices"), file.name)]
    return pricing.find(rows, model.name, model.endpoint)


def limits(config: Config, model: Model) -> Limits:
    """How hard the run may try; raises InputError when a budget can't be kept for want of a price."""
    known = price(config, model)
    with config.written.about("budget"):
        if config.budget is not None and known is None:
            raise InputError(
                f"budget needs a price, and none is known for {model.name} at"
                f" {model.endpoint or 'its server'}: add --price INPUT,OUTPUT (USD per million tokens) or"
                " --prices FILE"
            )
    return Limits(
        concurrency=config.concurrency,
        attempts=config.attempts,
        max_wait=config.max_wait,
        grace=config.grace,
        max_calls=config.max_calls,
        budget=config.budget,
        price=known,
    )


def desks(config: Config, assessors: Sequence[Assessor], stop: Stop) -> list[tuple[Assessor, Desk]]:
    """A desk for each assessor; together they spend what the run may spend."""
    asked = [limits(config, assessor.model) for assessor in assessors]
    allowance = Allowance(asked[0])
    return [
        (assessor, Desk(assessor.model, own, stop, allowance))
        for assessor, own in zip(assessors, asked, strict=True)
    ]


def folder(
    config: Config, data: Dataset, assessors: Sequence[Assessor]
) -> tuple[RunFolder, Mapping[str, Any]]:
    """The run's folder, named after what was asked unless `--out` names one, and the run's identity."""
    who = identity(config, data, assessors)
    if config.out:
        return RunFolder(Path(config.out)), who
    stem = Path(config.data or config.topics or "rows").name.split(".")[0]
    model_name = config.model.partition("@http")[0].rpartition(":")[2]
    words = (stem, model_name, short_name(who))
    return RunFolder(Path("runs") / "-".join(re.sub(r"[^\w.]+", "_", word) for word in words)), who


def claim(folder: RunFolder, config: Config, who: Mapping[str, Any]) -> None:
    """Makes `folder` this run's and writes config.json; raises InputError when it is another run's."""
    folder.claim(who)
    options = {name: value for name, value in config.options().items() if name != "out"}
    secrets = secrets_in(environment())
    options["base_url"] = public_part(config.base_url, *secrets) if config.base_url else None
    options["model"] = mask(config.model, *secrets) if "@http" in config.model else config.model
    options["panel"] = [mask(name, *secrets) if "@http" in name else name for name in config.panel]
    content = {"identity": who, "options": options, "versions": versions()}
    folder.write("config.json", [dump_json(content, indent=2), "\n"])


def store(config: Config, folder: RunFolder) -> Path:
    """Where verdicts are kept: beside the run's folder, so that all runs there share them."""
    return Path(config.store) if config.store else folder.path.parent / "verdicts.sqlite"
