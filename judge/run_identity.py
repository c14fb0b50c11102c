"""The identity of a run, which must be equal for a run to resume, and the folder that records it."""

import hashlib
import importlib.metadata
import json
import platform
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from judge.assess.assessor import Assessor
from judge.config.environment import copy_environment
from judge.config.option_checks import list_options
from judge.config.option_record import INPUT
from judge.config.run import Config
from judge.dataset.labels import LabelSet
from judge.dataset.stored_dataset import PooledDataset
from judge.errors import InputError
from judge.flags import EMPTY_SNIPPET
from judge.messages import Message, SeparatedNames, join_messages
from judge.models.providers import PROVIDERS, split_address, strip_provider
from judge.models.redaction import find_secrets
from judge.models.server import redact_url
from judge.records import SCALES
from judge.runs.folder import RunFolder
from judge.runs.load import CONFIG_FILE, RunIdentity, read_config_if_there, read_judgments

#: Options that change neither the requests nor the measures: a resumed run may have other values.
CHANGEABLE_OPTIONS = frozenset(
    name for name, option_record in list_options(Config).items() if option_record.is_changeable
)
#: Options whose effect is in the identity in another form: the data, so files may move between two runs, the
#: labels and the server.
_REPLACED_OPTIONS = frozenset(
    {
        "base_url",
        "near_duplicates",
        *(name for name, option_record in list_options(Config).items() if option_record.group == INPUT),
    }
)
#: Options that name files which a run reads.
_INPUT_FILES = ("data", "topics", "docs", "trec_runs", "qrels", "examples", "feedback")
#: The names of the files that a run writes.
_WRITTEN_FILE = re.compile(
    r"(?:config|results|summary)\.json|(?:judgments|members)\.jsonl|scores\.csv|qrels\.txt|report\.html"
    r"|run\..+\.trec",
    re.IGNORECASE,
)
#: Parts of a run's identity that are hashes of content, and their texts in messages.
_HASHED = {
    "dataset": Message("the dataset, --columns or --complete changed"),
    "labels": Message("the labels or the sample of --check changed"),
    "prompts": Message("the prompts changed"),
}
#: Options that change another part by themselves: it is not named beside them.
_CHANGED_BY = {
    "dataset": {"dates", "lang", "max_chars"},
    "max_tokens": {"thinking"},
    "prompts": {"scale", "assessor"},
    "relevant_from": {"scale"},
}
#: The name on the Python package index, where `judge` is another project.
_DISTRIBUTION = "search-judge"
#: The folder of runs without `--out`.
_RUNS_FOLDER = Path("runs")


def make_identity(
    config: Config, pooled: PooledDataset, assessors: Sequence[Assessor], labels: LabelSet | None
) -> RunIdentity:
    """Return everything that must be equal for a run to resume in its folder, without keys in addresses."""
    model, *panel = config.mask_models()
    options = {
        name: value
        for name, value in config.to_dict().items()
        if name not in CHANGEABLE_OPTIONS | _REPLACED_OPTIONS
    }
    return {
        **options,
        "model": model,
        "panel": panel,
        "dates": config.shows_dates,
        "dataset": pooled.fingerprint,
        "endpoint": ", ".join(dict.fromkeys(assessor.model.endpoint for assessor in assessors)),
        "prompts": _merge_prompt_versions(assessors),
        **({} if labels is None else {"labels": labels.fingerprint()}),
        # Only where it is chosen, as runs of older versions do not name it.
        **({"near_duplicates": True} if config.near_duplicates else {}),
    }


def _merge_prompt_versions(assessors: Sequence[Assessor]) -> dict[str, str]:
    """Return the version of the prompt in each language; those of a panel, where its members have several."""
    by_lang: dict[str, dict[str, None]] = {}
    for assessor in assessors:
        for lang, version in assessor.prompts.versions.items():
            by_lang.setdefault(lang, {})[version] = None
    return {lang: ", ".join(versions) for lang, versions in by_lang.items()}


def choose_run_folder(
    config: Config, pooled: PooledDataset, assessors: Sequence[Assessor], labels: LabelSet | None
) -> tuple[RunFolder, RunIdentity]:
    """Return the run's folder and identity; without `--out` the folder is named after the identity.

    Raises InputError for a folder in which the run would overwrite a file that it reads.
    """
    identity = make_identity(config, pooled, assessors, labels)
    if config.out:
        _check_inputs(config, Path(config.out).resolve())
        return RunFolder(Path(config.out)), identity
    stem = Path(config.data or config.topics or "rows").name.split(".")[0]
    stem = stem.encode("utf-8", "replace")[:150].decode(errors="ignore")  # a name has at most 255 bytes
    model_name = strip_provider(split_address(config.model)[0])
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]
    name = "-".join(re.sub(r"[^\w.]+", "_", word) for word in (stem, model_name, digest))
    return RunFolder(_RUNS_FOLDER / name), identity


def _check_inputs(config: Config, folder: Path) -> None:
    """Raise InputError for a file of the dataset, of labels or of examples that a run in `folder` writes."""
    for option in _INPUT_FILES:
        value = getattr(config, option) or ()
        for name in (value,) if isinstance(value, str) else value:
            path = Path(name).resolve()
            if path.parent == folder and _WRITTEN_FILE.fullmatch(path.name):
                raise InputError(
                    "{file}: the run reads this file, and would overwrite it in {folder}; name another --out",
                    file=name,
                    folder=config.out,
                )


def write_config(folder: RunFolder, config: Config, identity: RunIdentity) -> None:
    """Write config.json into a new folder or that of the same run; raise InputError for another run's.

    Keys in addresses are masked.
    """
    check_identity(folder, identity)
    options = {name: value for name, value in config.to_dict().items() if name != "out"}
    secrets = find_secrets(copy_environment())
    options["base_url"] = redact_url(config.base_url, *secrets) if config.base_url else None
    options["model"], *options["panel"] = config.mask_models()
    versions = list_library_versions()
    file = {"options_file": str(config.source.file)} if config.source.file else {}
    folder.write_json(CONFIG_FILE, {"identity": identity, "options": options, **file, "versions": versions})


def _resolve_scale(identity: RunIdentity) -> RunIdentity:
    """Return the identity with the grade from which a pair is relevant, which may be left to the scale."""
    by_scale: dict[str, int] = {name: scale.relevant_from for name, scale in SCALES.items()}
    given = identity.get("relevant_from")
    by_default = by_scale.get(str(identity.get("scale")))
    return {**identity, "relevant_from": by_default if given is None else given}


def check_identity(folder: RunFolder, identity: RunIdentity) -> None:
    """Raise InputError when `folder` holds a run with other options than `identity` and with a result.

    A finished run without one, such as one with a wrong model or key, gives its folder to the next run.
    """
    config = read_config_if_there(folder)
    if config is None or not config.identity:
        return
    changes = list(describe_identity_changes(config.identity, identity))
    if changes and _may_have_result(folder):
        raise InputError(
            "{file}: holds another run: {changes}. Name another --out",
            file=folder.path,
            changes=join_messages(changes),
        )


def describe_identity_changes(
    before: RunIdentity, now: RunIdentity, ignored: Container[str] = ()
) -> Iterator[Message]:
    """Yield how the identity of a run differs from an earlier one, without the parts in `ignored`."""
    before, now = _resolve_scale(before), _resolve_scale(now)
    names = [name for name in {**before, **now} if name not in ignored]
    differing = [name for name in names if before.get(name) != now.get(name)]
    for name in differing:
        if not _CHANGED_BY.get(name, set()).isdisjoint(differing):
            continue
        if name in _HASHED:
            yield _HASHED[name]
        elif name == "endpoint":
            yield from describe_option_change("base_url", *map(_list_addresses, (before, now)))
        else:
            yield from describe_option_change(name, before.get(name), now.get(name))


def _list_addresses(identity: RunIdentity) -> str | None:
    """Return the addresses of the models of a run; a model without a server has an empty one."""
    return ", ".join(filter(None, str(identity.get("endpoint") or "").split(", "))) or None


def _may_have_result(folder: RunFolder) -> bool:
    """Return whether a pair has a reply or a grade; True, too, without a readable file of judgments.

    The grade of an empty snippet is none: it needs neither a model nor a person.
    """
    try:
        return any(
            judgment.reply or (judgment.grade is not None and EMPTY_SNIPPET not in judgment.flags)
            for judgment in read_judgments(folder)
        )
    except InputError:
        return True


def describe_option_change(name: str, before: object, now: object) -> Iterator[Message]:
    """Yield that an option has another value; nothing for equal values."""
    if before != now:
        yield Message(
            "{name} was {before}, now {now}",
            name=name,
            before=_format_option(before),
            now=_format_option(now),
        )


def _format_option(value: object) -> str:
    if value is None:
        return Message("not set")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return SeparatedNames(map(repr, value)) or Message("none")
    return repr(value)


def update_identity(folder: RunFolder, identity: RunIdentity) -> None:
    """Give the run that was begun in `folder`, if any, the identity of now.

    Verdicts are stored under their whole request, so none of another request is used.
    """
    config = read_config_if_there(folder)
    if config is not None and config.identity != identity:
        folder.write_json(CONFIG_FILE, {**folder.read(CONFIG_FILE), "identity": identity})


@cache
def list_library_versions() -> Mapping[str, str]:
    """Return the versions of judge, of Python and of the installed libraries that a run depends on."""
    versions = {"judge": importlib.metadata.version(_DISTRIBUTION), "python": platform.python_version()}
    for library in (*filter(None, (provider.library for provider in PROVIDERS.values())), "numpy"):
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[library] = importlib.metadata.version(library)
    return versions


def choose_store_path(config: Config) -> Path:
    """Return the file of the verdict store: beside the run's folder, so that all runs there share it.

    Raises InputError for a folder.
    """
    if config.store is None:
        return RunFolder(Path(config.out) if config.out else _RUNS_FOLDER / "run").own_store
    path = Path(config.store)
    if path.is_dir():
        with config.source.add_error_context("store"):
            raise InputError(
                "--store is {path!r}, a folder; name a file such as runs/verdicts.sqlite", path=config.store
            )
    return path
