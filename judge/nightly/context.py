"""What a night works with, read from judge.toml."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from judge import factory
from judge.config.loader import ConfigSource, is_day, read_section
from judge.config.nightly import NightlyConfig
from judge.config.run import Config
from judge.errors import InputError
from judge.measure.measures import Measure, parse_measures
from judge.messages import Message, NameList
from judge.nightly.baseline import Baseline
from judge.nightly.record import EngineSettings
from judge.runs.folder import RunFolder

#: The files of a dataset in TREC's form.
_TREC_FILES = ("topics", "docs", "trec_runs")
_FIRST_TOML = Message(
    'write two lines into it to begin: model = "openai:NAME" and data = "results.jsonl" (or a table'
    " [collect] with queries and engine, to ask engines every night)"
)


@dataclass(frozen=True, slots=True)
class NightContext:
    """The day of a night, its folder, the options of its run, and the options of its decision.

    `remarks` tell what a reader must know of the dataset. `engine_settings` are None where they are
    unknown, `baseline` is None when there is none.
    """

    day: str
    folder: RunFolder
    config: Config
    rules: NightlyConfig
    measures: tuple[Measure, ...]
    baseline: Baseline | None = None
    remarks: tuple[str, ...] = ()
    engine_settings: EngineSettings | None = None

    @property
    def nights(self) -> Path:
        """The folder of all nights."""
        return self.folder.path.parent


def load_context(toml: Path, day: str) -> NightContext:
    """Return what `toml` asks for on `day`; raise InputError when an option or `day` is wrong."""
    if not is_day(day):
        raise InputError("--date is {day!r}; it is a day such as 2026-05-01", day=day)
    if not toml.exists():
        raise InputError("{file}: no such file; {advice}", file=toml, advice=_FIRST_TOML)
    rules, config = NightlyConfig.load(read_section(toml, "nightly"), f"{toml}: [nightly]"), Config.load(toml)
    _check_dataset(toml, config)
    if config.batch:
        raise InputError("{file}: a night judges in realtime; omit 'batch'", file=toml)
    folder = RunFolder(Path(rules.folder) / day)
    if folder.path.is_symlink():
        raise InputError(
            "{folder}: is a symbolic link; a night writes into a folder of its own: remove it",
            folder=folder.path,
        )
    with ConfigSource(toml, "nightly", {"measures": "measures"}).error_context("measures"):
        measures = choose_test_measures(rules.measures, config.depth)
    names = dict.fromkeys(map(str, (*factory.choose_measures(config), *measures)))
    config = replace(
        _fill_in_day(config, day),
        out=str(folder.path),
        measures=tuple(names),
        min_coverage=config.min_coverage if rules.min_coverage is None else rules.min_coverage,
    )
    return NightContext(day, folder, config, rules, measures)


def choose_test_measures(names: tuple[str, ...] | None, depth: int) -> tuple[Measure, ...]:
    """Return the measures of the regression test.

    At least one is independent of the pool, so that something can be compared when grades have shifted.
    Raises InputError for a measure by which engines cannot be compared.
    """
    if names is None:
        return tuple(
            replace(measure, cutoff=min(10, depth)) for measure in parse_measures(("AP@10", "sDCG@10"))
        )
    measures = factory.resolve_measures(names, depth)
    for measure in measures:
        if not measure.compares_engines:
            raise InputError(
                "[nightly] measures: engines cannot be compared by {measure}: {reason}",
                measure=measure,
                reason=measure.note or Message("it counts"),
            )
    if not any(measure.pool_free for measure in measures):
        raise InputError(
            '[nightly] measures: add one that does not depend on the pool, e.g. "sDCG@10" or "P@5"'
        )
    return measures


def _check_dataset(toml: Path, config: Config) -> None:
    """Raise InputError when `toml` names more than one dataset, or a part of one.

    `out` is ignored: it is for `judge run` and `judge collect`, and a night has a folder of its own.
    """
    named = [name for name in ("data", *_TREC_FILES) if getattr(config, name)]
    if read_section(toml, "collect") and named:
        raise InputError("{file}: set either {key!r} or [collect], not both", file=toml, key=named[0])
    if named and named not in (["data"], [*_TREC_FILES]):
        raise InputError(
            "{file}: {keys} are not a dataset: set data, or {trec_keys} together",
            file=toml,
            keys=NameList(named),
            trec_keys=NameList(_TREC_FILES),
        )


def _fill_in_day(config: Config, day: str) -> Config:
    """Return the options with the day in place of {date} in the names of files."""
    data, topics, docs = (
        name and name.replace("{date}", day) for name in (config.data, config.topics, config.docs)
    )
    runs = tuple(name.replace("{date}", day) for name in config.trec_runs)
    return replace(config, data=data, topics=topics, docs=docs, trec_runs=runs)
