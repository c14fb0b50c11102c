"""Self-test of an assessor: resistance to prompt injection, strictness, and format of its replies.

Results are stored, and a run shows the figures of its assessors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judge.analysis.summary import SelfTestEntry, SelfTestFigures
from judge.errors import InputError
from judge.runs.folder import RunFolder
from judge.runs.record_json import from_json

#: The folder of results, beside the verdict store that the self-tests were paid into.
SELFTEST_FOLDER = "selftests"
_ODD = re.compile(r"[^A-Za-z0-9.]+")


def find_results_folder(store: Path) -> RunFolder:
    """Return the folder of the results that belong to the verdict store at `store`."""
    return RunFolder(store.parent / SELFTEST_FOLDER)


def make_result_file_name(assessor: str, identity: str) -> str:
    """Return the name of the file with an assessor's result."""
    # Both can be from the files of another person: no separator leads to another folder.
    return f"{_ODD.sub('_', assessor)[:80]}-{_ODD.sub('_', identity)}.json"


def look_up_selftests(store: Path, identities: Mapping[str, str]) -> dict[str, SelfTestEntry]:
    """Return the id and figures of each assessor, None without any; raise InputError for a broken file."""
    folder = find_results_folder(store)
    return {
        name: SelfTestEntry(each, _read_figures(folder.read_if_there(make_result_file_name(name, each))))
        for name, each in identities.items()
    }


def update_selftests(store: Path, entries: Mapping[str, SelfTestEntry]) -> dict[str, SelfTestEntry]:
    """Return the self-tests of a finished run, with results that were since stored beside `store`.

    A run that was moved away from its store keeps its own figures.
    """
    now = look_up_selftests(store, {name: row.id for name, row in entries.items()})
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
        }
    except (KeyError, TypeError) as error:
        raise InputError(
            "this version of judge cannot read the self-test in {folder}/ ({error!r}); delete it, or make"
            " it again with: judge selftest",
            folder=SELFTEST_FOLDER,
            error=error,
        ) from error
    return from_json(SelfTestFigures, figures, f"a result in {SELFTEST_FOLDER}")
