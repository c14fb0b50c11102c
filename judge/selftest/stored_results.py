"""Stored results of self-tests, and the look-up of the one for the assessor of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from judge.assess.assessor import Assessor
from judge.config.run import Config
from judge.dataset.validation import short_hash
from judge.errors import InputError
from judge.runs.folder import RunFolder, dump_json

#: The folder of results, beside the verdict store of the self-tests.
SELFTEST_FOLDER = "selftests"


def identify_assessor(assessor: Assessor, config: Config) -> str:
    """Return a hash of the assessor: model, server, parameters, prompts, scale and language."""
    model = assessor.model
    parts = [
        model.name,
        model.endpoint,
        dump_json(dict(sorted(model.params.items()))),
        dump_json(assessor.prompt_versions),
        assessor.name,
        config.lang,
    ]
    return short_hash(parts, 12)


def identify_assessors(assessors: Iterable[Assessor], config: Config) -> dict[str, str]:
    """Return the hash of each assessor by name; assessors of DeepEval have no self-test."""
    return {
        assessor.name: identify_assessor(assessor, config)
        for assessor in assessors
        if config.assessor == "judge"
    }


def results_folder(store: Path) -> RunFolder:
    """Return the folder of the results that belong to the verdict store at `store`."""
    return RunFolder(store.parent / SELFTEST_FOLDER)


def result_file_name(assessor: str, identity: str) -> str:
    """Return the name of the file with the result of an assessor."""
    return f"{re.sub(r'[^A-Za-z0-9.]+', '_', assessor)[:80]}-{identity}.json"


def look_up_results(store: Path, identities: Mapping[str, str]) -> dict[str, Any]:
    """Return by assessor the `id` and the `figures` of its self-test, None without a test.

    Raise InputError when a result exists and cannot be read.
    """
    results = results_folder(store)
    return {
        name: {"id": id_, "figures": _read_figures(results.read_if_there(result_file_name(name, id_)))}
        for name, id_ in identities.items()
    }


def update_results(run: RunFolder, earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return the self-tests of the assessors of a finished run, with newer results.

    Without the store beside the run the earlier figures stay.
    """
    store_option = (run.read_if_there("config.json") or {}).get("options", {}).get("store")
    store = Path(store_option) if store_option else run.path.parent / "verdicts.sqlite"
    newest = look_up_results(store, {name: row["id"] for name, row in earlier.items()})
    return {name: row if row["figures"] else earlier[name] for name, row in newest.items()}


def _read_figures(result: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if result is None:
        return None
    try:
        return _select_figures(result)
    except (KeyError, TypeError) as error:
        raise InputError(
            f"the self-test kept in {SELFTEST_FOLDER}/ is not as this version of judge writes it ({error!r});"
            " delete it, or make it anew: judge selftest"
        ) from error


def _select_figures(result: Mapping[str, Any]) -> dict[str, Any]:
    shipped, plain = result["prompts"]["shipped"], result["prompts"]["plain"]
    return {
        "probes": result["probes"]["count"],
        "repeat": result["repeat"],
        "too_high": shipped["hostile"],
        "plain_too_high": plain["hostile"],
        "too_low": shipped["strict"],
        "language": shipped["language"],
        "obedient": shipped["obedient"],
    }
