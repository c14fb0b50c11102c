"""Owns what findings look like in summary.json: comparisons, slices, stability, own lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from judge.analysis import assessor_findings, warnings
from judge.measure.bias import SharedVendor
from judge.measure.compare import Comparison, Contribution
from judge.measure.panel_agreement import PanelAgreement
from judge.measure.resampling import IntervalEstimate
from judge.measure.segments import Contrast, Segment
from judge.measure.sensitivity import FlaggedSensitivity, OwnListCheck
from judge.measure.stability import EQUIVALENCE_MARGIN, EngineRepeats, MeasureRepeats, Stability
from judge.records import Query
from judge.report import words


@dataclass(frozen=True, slots=True)
class Findings:
    """What is found in scores, besides means."""

    comparisons: tuple[Comparison, ...]
    slices: tuple[Segment, ...]
    within: OwnListCheck | None
    stability: Stability | None
    panel: PanelAgreement | None = None
    kin: tuple[SharedVendor, ...] = ()
    flagged: FlaggedSensitivity | None = None
    contributions: tuple[Contribution, ...] = ()


def as_json(findings: Findings, queries: Mapping[str, Query]) -> dict[str, Any]:
    """Return the findings as JSON values; `queries` are the dataset's by id."""
    deciding = findings.comparisons[0].measure if findings.comparisons else None
    return {
        "comparisons": [comparison(each, each.measure == deciding) for each in findings.comparisons],
        "within_lists": _within(findings.within, findings.comparisons),
        "slices": _slices(findings.slices),
        "stability": _stability(findings.stability),
        "panel": assessor_findings.as_json(findings.panel, _stability),
        "kin": assessor_findings.kinship(findings.kin),
        "without_flagged": warnings.as_json(findings.flagged),
        "deciding_queries": _deciding_queries(findings, queries),
    }


def _deciding_queries(findings: Findings, queries: Mapping[str, Query]) -> dict[str, Any] | None:
    """Return the queries that make most of the difference between the two best engines."""
    if not findings.contributions:
        return None
    pair = findings.comparisons[0]
    rows = [{**asdict(each), "query": queries[each.query_id].text} for each in findings.contributions]
    return {"measure": pair.measure, "a": pair.a, "b": pair.b, "n": pair.n, "queries": rows}


def comparison(found: Comparison, decides: bool) -> dict[str, Any]:
    """Return one pair of engines by one measure; `winner` is None unless one is named.

    `decides` marks the first measure: what the others say is descriptive.
    """
    return {
        "measure": found.measure,
        "decides": decides,
        "a": found.a,
        "b": found.b,
        "verdict": words.verdict(found),
        "winner": found.a if found.outcome == "better" else None,
        "outcome": found.outcome,
        "n": found.n,
        "difference": found.difference,
        "ci95": ends(found.low, found.high),
        "bounds": ends(found.least, found.most),
        "sd": found.sd,
        "d_z": found.effect,
        "wins": found.wins,
        "ties": found.ties,
        "losses": found.losses,
        "robust": found.robust,
        "p_adjusted": found.p_adjusted,
        "detectable": found.detectable,
        "detectable_doubled": found.detectable_doubled,
        "at_least_queries": found.at_least,
    }


def estimate(found: IntervalEstimate) -> dict[str, Any]:
    """A statistic, its interval, and why it is unknown where it is."""
    row = {"value": found.value, "ci95": ends(found.low, found.high)}
    return {**row, "why": found.why} if found.why else row


def ends(low: float | None, high: float | None) -> list[float] | None:
    """Both ends of an interval, or None."""
    return None if low is None or high is None else [low, high]


def _within(found: OwnListCheck | None, comparisons: Iterable[Comparison]) -> dict[str, Any] | None:
    """The swap, and whether the pool's own order is `sure`: the comparison names the better engine."""
    if found is None:
        return None
    sure = any(
        (pair.measure, pair.outcome) == (found.measure, "better")
        and (pair.a, pair.b) == (found.better, found.worse)
        for pair in comparisons
    )
    row = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(found).items()}
    row["sure"] = sure
    return {**row, "why": words.within_lists(row)}


def _slices(found: Iterable[Segment]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for each in found:
        columns.setdefault(each.column, {})[each.value] = {
            "queries": each.queries,
            "engines": {
                engine.engine: {
                    name: {"mean": mean.mean, "ci95": mean.interval and list(mean.interval), "n": mean.n}
                    for name, mean in engine.measures.items()
                }
                for engine in each.engines
            },
            "comparisons": [comparison(pair, decides=True) for pair in each.comparisons],
            "contrasts": [_contrast(contrast) for contrast in each.contrasts],
        }
    return columns


def _contrast(contrast: Contrast) -> dict[str, Any]:
    """Return how a difference between two engines differs between a segment and the other queries."""
    return {
        "a": contrast.a,
        "b": contrast.b,
        "inside": contrast.inside,
        "outside": contrast.outside,
        "difference": contrast.difference,
        "ci95": ends(contrast.low, contrast.high),
        "p_adjusted": contrast.p_adjusted,
        "differs": contrast.differs,
    }


def _stability(found: Stability | None) -> dict[str, Any]:
    if found is None:
        return {}
    return {
        "repeats": found.repeats,
        "pairs": found.pairs,
        "flip_rate": estimate(found.flips),
        "grade_change_rate": estimate(found.changes),
        "ever_flipped": estimate(found.ever),
        "alpha": estimate(found.alpha),
        "fleiss_kappa": found.kappa,
        "margin": EQUIVALENCE_MARGIN,
        "measures": {each.measure: _repeated(each) for each in found.measures},
    }


def _repeated(found: MeasureRepeats) -> dict[str, Any]:
    return {
        "engines": {engine.engine: _engine(engine) for engine in found.engines},
        "largest_difference": found.spread,
        "smallest_tau": found.tau,
        "variance": None if found.components is None else asdict(found.components),
        "tost_p": found.p,
        "equivalent": found.equivalent,
    }


def _engine(found: EngineRepeats) -> dict[str, Any]:
    return {
        "means": list(found.means),
        "mean": found.mean,
        "sd": found.sd,
        "range": found.spread,
        "icc": found.icc,
        "tost_p": found.p,
    }
