"""Self-test of an assessor: resistance to prompt injection, strictness, and format of its replies.

Results are stored, and a run shows the figures of its assessors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.analysis.summary import SelfTestEntry, SelfTestFigures
from judge.errors import InputError
from judge.files.json_text import dump_json, hash_parts
from judge.records import DECISION_MODEL, EXPECTED, RERANKER
from judge.runs.folder import RunFolder
from judge.runs.record_json import from_json

if TYPE_CHECKING:
    from judge.assess.assessor import Assessor
    from judge.config.run import Config

#: The folder of results, beside the verdict store that the self-tests were paid into.
SELFTEST_FOLDER = "selftests"
#: What the names of models without reasons begin with: they have no self-test.
NOT_TESTED = (RERANKER, DECISION_MODEL, EXPECTED)
_ODD = re.compile(r"[^A-Za-z0-9.]+")


def find_results_folder(store: Path) -> RunFolder:
    """Return the folder of the results that belong to the verdict store at `store`."""
    return RunFolder(store.parent / SELFTEST_FOLDER)


def make_result_file_name(assessor: str, identity: str) -> str:
    """Return the name of the file with an assessor's result."""
    # Both can be from the files of another person: no separator leads to another folder.
    return f"{_ODD.sub('_', assessor)[:80]}-{_ODD.sub('_', identity)}.json"


def list_identity_options(
    endpoint: str, params: Mapping[str, Any], versions: Mapping[str, str], scale: str, lang: str
) -> dict[str, str]:
    """Return the options that identify an assessor of a model, each as text."""
    return {
        "base_url": endpoint,
        "scale": scale,
        "lang": lang,
        "prompts": ", ".join(versions.values()),
        **{name: value if isinstance(value, str) else dump_json(value) for name, value in params.items()},
    }


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
    return {
        assessor.name: SelfTestEntry(
            identify_assessor(assessor, config),
            None,
            list_identity_options(
                assessor.model.endpoint,
                assessor.model.params,
                assessor.prompts.versions,
                config.scale,
                config.lang,
            ),
        )
        for assessor in assessors
        if config.assessor == "judge" and not assessor.model.name.startswith(NOT_TESTED)
    }


def look_up_selftests(store: Path, entries: Mapping[str, SelfTestEntry]) -> dict[str, SelfTestEntry]:
    """Return the entries with the figures that are stored for their ids, else with a similar self-test.

    Raises InputError for a broken file with figures.
    """
    folder = find_results_folder(store)
    complete = {}
    for name, entry in entries.items():
        figures = _read_figures(folder.read_if_there(make_result_file_name(name, entry.id)))
        similar = {} if figures or not entry.options else _find_similar(folder, name, entry.options)
        complete[name] = replace(entry, figures=figures, similar=similar)
    return complete


def _find_similar(folder: RunFolder, name: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return how the most similar stored self-test of the same model differs from `options`; {} for none."""
    model = name.rpartition("/")[0]
    differing = [
        {
            key: other.get(key, "")
            for key in (*options, *(key for key in other if key not in options))
            if options.get(key, "") != other.get(key, "")
        }
        for other in _read_options(folder, model)
    ]
    return min(differing, key=len, default={})


def _read_options(folder: RunFolder, model: str) -> Iterator[dict[str, str]]:
    """Yield the options of each stored self-test of `model`; files that cannot be read are left out."""
    for path in sorted(folder.path.glob(f"{_ODD.sub('_', model)[:80]}*.json")):
        with suppress(InputError, KeyError, TypeError, AttributeError):
            result = folder.read(path.name)
            if result["model"] == model:
                versions = result["prompts"]["shipped"]["versions"]
                yield list_identity_options(
                    str(result["endpoint"]),
                    result["params"],
                    versions,
                    str(result["scale"]),
                    str(result["lang"]),
                )


def update_selftests(store: Path, entries: Mapping[str, SelfTestEntry]) -> dict[str, SelfTestEntry]:
    """Return the self-tests of a finished run, with results that were since stored beside `store`.

    A run that was moved away from its store keeps its own figures.
    """
    now = look_up_selftests(store, entries)
    return {name: row if row.figures else entries[name] for name, row in now.items()}


def _read_figures(result: Mapping[str, Any] | None) -> SelfTestFigures | None:
    if result is None:
        return None
    try:
        shipped, plain = result["prompts"]["shipped"], result["prompts"]["plain"]
        figures = {
            "probes": result["probes"]["count"],
            "repeat": result["repeat"],
            "too_high": shipped["hostile"],
            "plain_too_high": plain["hostile"],
            "too_low": shipped["strict"],
            "language": shipped["language"],
            "obedient": shipped["obedient"],
            "irrelevant_too_high": shipped["too_high"]["irrelevant"],
        }
    except (KeyError, TypeError) as error:
        raise InputError(
            "this version of judge cannot read the self-test in {folder}/ ({error!r}); delete it, or make"
            " it again with: judge selftest",
            folder=SELFTEST_FOLDER,
            error=error,
        ) from error
    return from_json(SelfTestFigures, figures, f"a result in {SELFTEST_FOLDER}")
