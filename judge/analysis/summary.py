"""Owns summary.json: what a run comes to, in numbers, without the queries."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from judge.analysis import findings
from judge.analysis.findings import Findings
from judge.dataset.injection import INJECTION_FLAGS
from judge.measure import engine_summary
from judge.measure.engine_summary import EngineSummary, Mean
from judge.measure.measures import Measure
from judge.measure.served_models import ServedModel, count_served_models
from judge.records import Dataset, Judgment, Pool, Scale


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What was asked of a run and can't be told from its records; `cost` is JSON (see `Cost`).

    `selftest` says of each assessor what summary.json does: its `id`, and the `figures` of its self-test.
    """

    assessor: str
    scale: Scale
    repeats: int
    measures: tuple[Measure, ...]
    cost: Mapping[str, Any]
    selftest: Mapping[str, Any] = field(default_factory=dict)


def summary(
    data: Dataset,
    pool: Pool,
    judgments: Sequence[Judgment],
    engines: Sequence[EngineSummary],
    found: Findings,
    asked: RunSpec,
) -> dict[str, Any]:
    """The summary of a run, as JSON values."""
    judged = sum(judgment.grade is not None for judgment in judgments)
    wanted = len(pool.pairs) * asked.repeats
    return {
        "assessor": asked.assessor,
        "scale": asked.scale.name,
        "relevant_from": asked.scale.relevant_from,
        "dates": data.dates,
        "depth": pool.depth,
        "repeats": asked.repeats,
        "queries": len(data.queries),
        "results": pool.results,
        "pairs": len(pool.pairs),
        "saved": 1 - len(pool.pairs) / pool.results if pool.results else 0.0,
        "judgments": wanted,
        "judged": judged,
        "grades": fingerprint_grades(judgments, asked.scale),
        "coverage": judged / wanted if wanted else 1.0,
        "served": {
            each.model: _served(each)
            for each in count_served_models(data.rankings, pool.documents, judgments, asked.scale)
        },
        "failures": _count(judgment.error for judgment in judgments if judgment.error is not None),
        "empty_snippets": _empty(data, pool),
        "flagged": _flagged(data, pool),
        "selftest": dict(asked.selftest),
        "remarks": list(data.warnings),
        "measures": [str(measure) for measure in asked.measures],
        "notes": {str(measure): measure.note for measure in asked.measures if measure.note},
        "undefined": _undefined(engines),
        "engines": {
            engine.engine: {**_engine(engine), **_took(data, engine, pool.depth)} for engine in engines
        },
        **findings.as_json(found, data.queries),
        "cost": dict(asked.cost),
    }


def fingerprint_grades(judgments: Iterable[Judgment], scale: Scale) -> str:
    """A hash of every grade and of what counts as relevant: what other files can be about."""
    given = sorted(
        (j.query_id, j.snippet_id, j.repeat, -1 if j.grade is None else j.grade) for j in judgments
    )
    return hashlib.sha256(json.dumps([scale.relevant_from, given]).encode()).hexdigest()[:16]


def _served(by: ServedModel) -> dict[str, Any]:
    return {name: getattr(by, name) for name in ("judgments", "relevant", "mean_grade", "engines")}


def _engine(engine: EngineSummary) -> dict[str, Any]:
    row = {name: getattr(engine, name) for name in ("queries", "answered", "empty", "errors", "absent")}
    return {
        **row,
        "judged": engine.judged,
        "duplicates": engine.duplicates,
        "unique": engine.unique,
        "measures": {name: _mean(mean) for name, mean in engine.measures.items()},
    }


def _took(data: Dataset, engine: EngineSummary, depth: int) -> dict[str, Any]:
    """How long the engine took, and how many tokens its results down to `depth` are."""
    rankings = [ranking for ranking in data.rankings if ranking.engine == engine.engine]
    latency, tokens = engine_summary.measure_latency(rankings), engine_summary.measure_tokens(rankings, depth)
    return {
        "latency_ms": None if latency is None else asdict(latency),
        "tokens": None if tokens is None else asdict(tokens),
        "textless": engine_summary.compute_no_snippet_share(rankings, depth),
    }


def _mean(mean: Mean) -> dict[str, Any]:
    return {
        "mean": mean.mean,
        "n": mean.n,
        "ci95": mean.interval and list(mean.interval),
        "bounds": [mean.low, mean.high],
        "undefined": mean.undefined,
        "unknown": mean.unknown,
        "paired": mean.paired,
        "paired_n": mean.paired_n,
    }


def _undefined(engines: Iterable[EngineSummary]) -> dict[str, int]:
    """For each measure, on how many queries it is undefined (the most of any engine), where any."""
    most: Counter[str] = Counter()
    for engine in engines:
        for name, mean in engine.measures.items():
            most[name] = max(most[name], mean.undefined)
    return {name: count for name, count in most.items() if count}


def _empty(data: Dataset, pool: Pool) -> int:
    """How many results, down to the depth, show nothing that could be read."""
    shown = (snippet for ranking in data.rankings for snippet in ranking.snippets[: pool.depth])
    return sum("empty_snippet" in snippet.flags for snippet in shown)


def _flagged(data: Dataset, pool: Pool) -> dict[str, int]:
    """How many of each engine's snippets, down to the depth, try to sway the grader."""
    counts = Counter(
        ranking.engine
        for ranking in data.rankings
        for snippet in ranking.snippets[: pool.depth]
        if not INJECTION_FLAGS.isdisjoint(snippet.flags)
    )
    return dict(sorted(counts.items()))


def _count(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))
