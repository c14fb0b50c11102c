"""What a night works with: its options, how they differ from earlier ones, and its lock.

A night that was killed or ended early continues with the same command, and pays for nothing twice.
"""

import shlex
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from os import getpid
from pathlib import Path

from judge import run_identity, run_input
from judge.characters import escape_controls
from judge.config.nightly import NightlyConfig
from judge.config.run import Config
from judge.config.toml_file import read_section
from judge.errors import InputError
from judge.files.filesystem import hold_lock, read_text
from judge.measure.measures import Measure, parse_measures, resolve_measures
from judge.messages import Message, NameList, join_messages
from judge.nightly.baseline import Baseline
from judge.nightly.night_dataset import CollectionInfo
from judge.nightly.record import EngineSource
from judge.records import EXPECTED
from judge.runs.folder import RunFolder
from judge.runs.load import RunIdentity

#: The files of a dataset in TREC's form.
_TREC_FILES = ("topics", "docs", "trec_runs")
#: Options that may differ between nights of one assessor; canaries show whether the endpoint changed it.
_IGNORED_OPTIONS = frozenset({"dataset", "labels", "depth", "endpoint", "repeats", "as_of"})
#: Parts of a run's identity that change no request to a model.
_NOT_IN_REQUESTS = frozenset(
    {"dataset", "labels", "depth", "repeats", "relevant_from", "rerank_thresholds", "near_duplicates"}
)
_FIRST_TOML = Message(
    'write two lines into it to begin: model = "openai:NAME" and data = "results.jsonl" (or a table'
    " [collect] with queries and engine, to ask engines every night)"
)


@dataclass(frozen=True, slots=True)
class NightContext:
    """The file of options of a night, its day and folder, the options of its run, and those of its decision.

    `collection` is empty where the night did not ask engines, `baseline` is None when there is none.
    """

    toml: Path
    day: str
    folder: RunFolder
    config: Config
    options: NightlyConfig
    measures: tuple[Measure, ...]
    baseline: Baseline | None = None
    collection: CollectionInfo = field(default_factory=CollectionInfo)

    @property
    def nights(self) -> Path:
        """The folder of all nights."""
        return self.folder.path.parent

    @property
    def command(self) -> str:
        """The command that continues the night, on any day."""
        return shlex.join(["judge", "nightly", str(self.toml), "--date", self.day])

    @property
    def is_collected(self) -> bool:
        """Whether the night asked engines for its dataset, which is a file of the user otherwise."""
        return self.collection.engine_settings is not None


def load_options(toml: Path) -> NightlyConfig:
    """Return the options of the nights in `toml`; raise InputError when one is wrong."""
    if not toml.exists():
        raise InputError("{file}: no such file; {advice}", file=toml, advice=_FIRST_TOML)
    return NightlyConfig.load(read_section(toml, "nightly"), toml)


def load_context(toml: Path, day: str, options: NightlyConfig) -> NightContext:
    """Return what `toml` asks for on `day`; raise InputError when an option of its runs is wrong."""
    config = load_run_options(toml)
    folder = RunFolder(Path(options.folder) / day)
    folder.check_no_link()
    if folder.path.is_file():
        raise InputError(
            "{file}: is a file, not the folder of a night; rename or remove it", file=folder.path
        )
    source = replace(config.source, table="nightly", keys={key: key for key in ("folder", "measures")})
    with source.add_error_context("folder"):
        if folder.path.parent.is_file():
            raise InputError("{file}: is a file, not a folder; name another one", file=folder.path.parent)
    with source.add_error_context("measures"):
        measures = choose_test_measures(options.measures, config)
    names = dict.fromkeys(map(str, (*run_input.choose_measures(config), *measures)))
    dated = {
        name: text.replace("{date}", day)
        for name in ("data", "topics", "docs")
        if (text := getattr(config, name))
    }
    config = replace(
        config,
        **dated,
        trec_runs=tuple(name.replace("{date}", day) for name in config.trec_runs),
        out=str(folder.path),
        source=replace(config.source, keys={key: key for key in config.source.keys if key != "out"}),
        measures=tuple(names),
        min_coverage=config.min_coverage if options.min_coverage is None else options.min_coverage,
    )
    return NightContext(toml, day, folder, config, options, measures)


def load_run_options(toml: Path) -> Config:
    """Return the options of the runs of nights; raise InputError for those of no night."""
    config = Config.load(toml)
    _check_dataset(toml, config)
    if config.batch:
        raise InputError("{file}: a night judges in realtime; omit 'batch'", file=toml)
    if config.model == EXPECTED:
        raise InputError(
            "{file}: a night judges canaries, so it needs a model; replace 'expected'", file=toml
        )
    if config.has_reranker and config.rerank_thresholds is None:
        raise InputError(
            "{file}: a night with a reranker needs 'rerank_thresholds': those that are fitted on 'qrels' may"
            " differ from night to night",
            file=toml,
        )
    return config


def choose_test_measures(names: tuple[str, ...] | None, config: Config) -> tuple[Measure, ...]:
    """Return the measures of the regression test.

    At least one is independent of the pool, so that something can be compared when grades have shifted.
    Raises InputError for a measure by which engines cannot be compared.
    """
    if names is None:
        return tuple(
            replace(measure, cutoff=min(10, config.depth)) for measure in parse_measures(("AP@10", "sDCG@10"))
        )
    measures = resolve_measures(names, config.depth, config.grading)
    for measure in measures:
        if not measure.compares_engines:
            raise InputError(
                "[nightly] measures: engines cannot be compared by {measure} ({reason}); omit it",
                measure=measure,
                reason=measure.note or Message("it counts grades"),
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
    keys = [name for name in ("data", *_TREC_FILES) if getattr(config, name)]
    if read_section(toml, "collect") and keys:
        raise InputError("{file}: set either {key!r} or [collect], not both", file=toml, key=keys[0])
    if keys and keys not in (["data"], [*_TREC_FILES]):
        raise InputError(
            "{file}: {keys} are not a dataset: set data, or {trec_keys} together",
            file=toml,
            keys=NameList(keys),
            trec_keys=NameList(_TREC_FILES),
        )


@contextmanager
def lock_nights(nights: Path, command: str) -> Iterator[None]:
    """Lock the folder of nights for this process, which runs `command`.

    Raises InputError at once when another process holds the lock, and names it; StoreError when the disk
    does not take the file with the owner's name.
    """
    owner_file, owner = nights / ".lock-owner", ""
    with suppress(OSError, UnicodeDecodeError):
        owner = escape_controls(read_text(owner_file)[:200])
    busy = Message("in use by {owner}; wait until it ends", owner=Message(owner or "another process"))
    with hold_lock(nights / ".lock", nights, busy, Message("cannot be the folder of nights")):
        try:
            text = Message(
                "{command} (process {process} on {host})",
                command=command,
                process=getpid(),
                host=socket.gethostname(),
            )
            # The name of a run can hold bytes that are not UTF-8.
            RunFolder(nights).write(owner_file.name, [escape_controls(str(text))])
            yield
        finally:
            with suppress(OSError):
                owner_file.unlink(missing_ok=True)


def find_assessor_setting_changes(tonight: RunIdentity, baseline: RunIdentity) -> list[str]:
    """Return how the assessor is configured differently than at the baseline, from two run identities."""
    if not (changes := _list_changes(baseline, tonight, _IGNORED_OPTIONS)):
        return []
    return [Message("the assessor settings changed: {changes}", changes=join_messages(changes))]


def has_same_requests(tonight: RunIdentity, baseline: RunIdentity) -> bool:
    """Return whether both ask the assessor the same about a pair, from two run identities."""
    return not _list_changes(baseline, tonight, _IGNORED_OPTIONS | _NOT_IN_REQUESTS)


def _list_changes(before: RunIdentity, now: RunIdentity, ignored: frozenset[str]) -> list[Message]:
    # An option that only one side has is unknown to the other version of judge.
    ignored |= before.keys() ^ now.keys()
    return list(run_identity.describe_identity_changes(before, now, ignored))


def find_engine_setting_changes(context: NightContext, baseline: Baseline) -> list[str]:
    """Return how engines are asked, or judged, differently than at the baseline, as far as this is known."""
    before_depth, depth = baseline.run.pool.depth, context.config.depth
    changed: list[str] = [*run_identity.describe_option_change("depth", before_depth, depth)]
    now, before = context.collection.engine_settings, baseline.collection.engine_settings
    if now and before:
        for name in ("depth", "lang", "country"):
            changed += run_identity.describe_option_change(name, getattr(before, name), getattr(now, name))
        for engine in sorted(before.engines.keys() & now.engines.keys()):
            changed += _describe_engine_source(engine, before.engines[engine], now.engines[engine])
    if not changed:
        return []
    changes = join_messages(dict.fromkeys(changed))
    return [Message("the settings of engines differ from those at the baseline: {changes}", changes=changes)]


def _describe_engine_source(engine: str, before: EngineSource, now: EngineSource) -> Iterator[str]:
    if before.address != now.address:
        yield Message(
            "{engine}'s address was {before.address}, now {now.address}",
            engine=engine,
            before=before,
            now=now,
        )
    parts = sorted(before.table.keys() | now.table.keys())
    if different := [part for part in parts if before.table.get(part) != now.table.get(part)]:
        names = NameList(different)
        yield Message("{names} changed in [collect.engines.{engine}]", names=names, engine=engine)
