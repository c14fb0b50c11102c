"""Owns runs as charts get them: the summary and the queries of results.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from judge.analysis.loaded_run import LoadedRun
from judge.analysis.run_analysis import analyse
from judge.measure.score import Scores, score_rankings
from judge.runs import results
from judge.runs.record_json import to_json


def scored(run: LoadedRun) -> Scores:
    """The run's scores."""
    asked = run.spec
    return score_rankings(
        run.data.rankings,
        run.pool.documents,
        run.judgments,
        asked.measures,
        asked.scale,
        depth=run.pool.depth,
    )


def summary_of(run: LoadedRun) -> dict[str, Any]:
    """Return the summary of the run as the report takes it."""
    return to_json(analyse(run)[1])


def entries_of(run: LoadedRun) -> Iterator[dict[str, Any]]:
    """The queries of the run's results.json, once."""
    scores = scored(run)
    value, _, _ = scores.average_repeats()
    table = {
        (engine, query): {
            str(measure): None if np.isnan(value[e, q, m]) else float(value[e, q, m])
            for m, measure in enumerate(scores.measures)
        }
        for e, engine in enumerate(scores.engines)
        for q, query in enumerate(scores.queries)
    }
    judgments = results.judgment_entries(run.judgments, run.members, run.spec.scale)
    return map(to_json, results.query_entries(run.data, run.pool, judgments, table))
