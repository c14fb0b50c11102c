"""Owns night.json: all that was found and decided in a night, for notices, trends and people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from judge.config.nightly import NightlyConfig
from judge.dataset.validation import short_hash
from judge.measure.measures import Measure, parse_measure
from judge.nightly.baseline import Baseline
from judge.nightly.canaries import CanaryCheck
from judge.nightly.decision import Decision, Found
from judge.nightly.drift import QueryDrift
from judge.runs.result import RunResult


def gate(found: Found, rules: NightlyConfig, measures: Sequence[Measure]) -> dict[str, Any]:
    """The gate's rows and what they were decided by."""
    return {
        "ran": not found.suspended,
        "alpha": rules.alpha,
        "min_drop": rules.min_drop,
        "measures": list(map(str, measures)),
        "rows": [
            {
                **asdict(row.change),
                "p_holm": row.p_holm,
                "verdict": row.verdict,
                "detectable": row.detectable,
            }
            for row in found.rows
        ],
    }


def checked(check: CanaryCheck) -> dict[str, Any]:
    """What tonight's canaries came to."""
    summary, graded, steady = check.run.summary, check.graded, check.steadiness
    means = [sum(grades) / len(grades) for grades in graded.grades.values()]
    names = ("changed", "up", "down", "p_changed", "p_shift", "shift")
    return {
        "id": _fingerprint(check.run),
        "pairs": summary["pairs"],
        "repeats": summary["repeats"],
        "judged": graded.judged,
        "failed": graded.asked - graded.judged,
        "mean_grade": sum(means) / len(means) if means else None,
        "flips": check.flips,
        "compared": steady.compared if steady else 0,
        "baseline_mean": steady.before if steady else None,
        **{name: getattr(steady, name) if steady else None for name in names},
        "unchanged": 1 - steady.changed / steady.compared if steady else None,
        "drift": bool(check.reasons),
        "because": list(check.reasons),
    }


def _fingerprint(outcome: RunResult) -> str:
    """Which pairs the canaries are: nights with other ones share only some."""
    pairs = sorted((pair.query.id, pair.snippet.id) for pair in outcome.pool.pairs)
    return short_hash([part for pair in pairs for part in pair], 8)


def queries(found: QueryDrift) -> dict[str, Any]:
    """How tonight's queries differ from the baseline's."""
    tonight, baseline = found.no_relevant
    return {
        **{name: getattr(found, name) for name in ("tonight", "baseline", "shared", "new", "gone")},
        "shared_share": found.shared_share,
        "no_relevant": {"tonight": tonight, "baseline": baseline},
        "distance": found.distance,
        "distance_by_chance": found.by_chance,
        "p": found.p,
    }


def frozen(baseline: Baseline) -> dict[str, Any]:
    """Which baseline the night was held against."""
    return {
        "name": baseline.name,
        "id": baseline.id,
        "assessor": baseline.held.asked.assessor,
        "prompts": baseline.identity["prompts"],
        "served": sorted(baseline.served),
        "queries": len(baseline.held.data.queries),
    }


def tonight(summary: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the night's own run came to; all of it unknown when it never began."""
    if summary is None:
        nothing = dict.fromkeys(("judgments", "judged", "coverage"))
        return {"queries": 0, **nothing, "failures": {}, "engines": {}}
    names = ("queries", "judgments", "judged", "coverage", "failures")
    engines = {engine: _engine(row) for engine, row in summary["engines"].items()}
    return {**{name: summary[name] for name in names}, "engines": engines}


def _engine(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("queries", "answered", "empty", "errors", "absent", "judged")
    measures = {
        name: {
            **{key: mean[key] for key in ("mean", "ci95", "n")},
            "pool_free": parse_measure(name).pool_free,
        }
        for name, mean in row["measures"].items()
    }
    return {**{name: row[name] for name in names}, "measures": measures}


def decided(decision: Decision) -> dict[str, Any]:
    """The night's word, why, the exit code, and what may yet become of it."""
    return {
        "status": decision.status,
        "exit": decision.exit,
        "because": list(decision.because),
        "finished": decision.finished,
        "whole": decision.whole,
    }


def cost(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The costs of several runs as one; US dollars are unknown where one of them is."""
    total: dict[str, Any] = {}
    for name in (
        "calls",
        "prompt_tokens",
        "cached_tokens",
        "completion_tokens",
        "usd",
        "uncounted",
        "maybe_billed",
    ):
        amounts = [run.get(name) for run in runs]
        total[name] = None if None in amounts else sum(amount for amount in amounts if amount is not None)
    return total
