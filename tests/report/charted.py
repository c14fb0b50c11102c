"""Owns runs as charts get them: the summary and the queries of results.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from judge.analysis.findings import Findings
from judge.analysis.summary import summary
from judge.measure.compare import compare_engines
from judge.measure.engine_summary import summarise_engines
from judge.measure.score import Scores, score_rankings
from judge.measure.stability import measure_stability
from judge.runs import results
from judge.runs.load import LoadedRun


def scored(run: LoadedRun) -> Scores:
    """The run's scores."""
    asked = run.asked
    return score_rankings(
        run.data.rankings,
        run.pool.documents,
        run.judgments,
        asked.measures,
        asked.scale,
        depth=run.pool.depth,
    )


def summary_of(run: LoadedRun) -> dict[str, Any]:
    """What summary.json holds of the run, but for slices and own lists."""
    scores = scored(run)
    found = Findings(
        compare_engines(scores), (), None, measure_stability(scores, run.judgments, run.asked.scale)
    )
    return summary(run.data, run.pool, run.judgments, summarise_engines(scores), found, run.asked)


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
    said = results.said(run.judgments, run.members, run.asked.scale)
    return results.queries(run.data, run.pool, said, table)
