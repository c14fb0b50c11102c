"""Owns the Python calls: the same flow as the command line, from a script or a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge import api, pipeline
from judge.client.cancel import INTERRUPTED, CancelToken
from judge.config.run import Config
from judge.errors import Interrupted
from judge.runs.result import RunResult

if TYPE_CHECKING:
    import pandas as pd

    from judge.records import ScaleName


def run(
    data: str | Path | Iterable[Mapping[str, Any]] | pd.DataFrame,
    model: str,
    *,
    config: str | Path | None = None,
    **options: object,
) -> RunResult:
    """Judges `data` with `model`, scores every engine and writes the run's folder.

    `data` is a file, a DataFrame or an iterable of rows, one a result; `options` are those of
    `judge.Config` (`scale="binary"`, `repeats=3`, `out="runs/mine"`, …), over those of the TOML file
    `config`. Works where an event loop is running (notebooks). Raises InputError, StoreError and
    Interrupted; an `Outcome` with `incomplete` set means that pairs stayed unjudged.
    """
    path, rows = _source(data)
    asked = Config.load(Path(config) if config else None, data=path, model=model, **options)
    if not _loop_is_running():
        return pipeline.run(asked, rows=rows)
    return _aside(asked, rows)


def score(run: str | Path, measures: Iterable[str] | None = None, *, save: bool = False) -> RunResult:
    """Score the run in folder `run` again from its judgments, with `measures` or the run's own.

    The run's files change only to `save`; then the first measure decides from now on. Raises InputError
    when `run` is no finished run, or its files don't fit together.
    """
    return pipeline.rescore(Path(run), list(measures) if measures is not None else None, save=save)


def compare(*runs: str | Path) -> Mapping[str, Any]:
    """What one run says of its engines, or several runs side by side: see `summary.json`.

    `comparisons` has a row for each pair of engines by each measure. Raises InputError when a folder is
    no finished run, or the runs can't be compared.
    """
    return api.compare([Path(run) for run in runs])


def agree(run: str | Path, qrels: str | Path, labels_scale: ScaleName | None = None) -> Mapping[str, Any]:
    """How far people's labels in the file `qrels` bear out a run: what `agreement.json` holds.

    `labels_scale` says how people graded where their highest grade doesn't. Raises InputError when the
    folder or the labels can't be read, or not one label is about the run.
    """
    return api.agree(Path(run), Path(qrels), labels_scale)


def _source(data: Any) -> tuple[str | None, Iterable[Mapping[str, Any]] | None]:  # noqa: ANN401
    if isinstance(data, str | Path):
        return str(data), None
    if hasattr(data, "to_dict"):
        return None, data.to_dict("records")
    return None, data


def _aside(config: Config, rows: Iterable[Mapping[str, Any]] | None) -> RunResult:
    """The run in a thread of its own, because this one runs an event loop already; Ctrl-C ends it."""
    cancel_token = CancelToken()
    with ThreadPoolExecutor(1, thread_name_prefix="judge") as aside:
        running = aside.submit(pipeline.run, config, rows=rows, cancel_token=cancel_token)
        try:
            return running.result()
        except KeyboardInterrupt:
            cancel_token.cancel_from_thread(Interrupted(INTERRUPTED))
            raise


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
