"""The figures of a run that a night records, read from the run's summary in this module only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from judge.analysis.summary import Summary
from judge.measure.engine_summary import EngineResult
from judge.measure.measures import parse_measure
from judge.nightly.record import CallCost, NightEngineResult, NightMean

#: The amounts of a cost that are added up.
_AMOUNTS = (
    "calls",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "usd",
    "uncounted",
    "maybe_billed",
)


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What a run measured; `served` are the names of the models that answered, as far as servers gave one."""

    assessor: str
    repeats: int
    queries: int
    judgments: int
    judged: int
    coverage: float
    failures: dict[str, int]
    engines: dict[str, NightEngineResult]
    served: frozenset[str]
    cost: CallCost


def read_figures(summary: Summary) -> RunFigures:
    """Return the figures in a run's summary."""
    members = summary.panel.members if summary.panel else ()
    served = [*summary.served, *(name for member in members for name in member.served)]
    return RunFigures(
        assessor=summary.assessor,
        repeats=summary.repeats,
        queries=summary.queries,
        judgments=summary.judgments,
        judged=summary.judged,
        coverage=summary.coverage,
        failures=dict(summary.failures),
        engines={engine: _engine_result(result) for engine, result in summary.engines.items()},
        served=frozenset(filter(None, served)),
        cost=read_cost(asdict(summary.cost) if summary.cost else {}),
    )


def _engine_result(result: EngineResult) -> NightEngineResult:
    return NightEngineResult(
        queries=result.queries,
        answered=result.answered,
        empty=result.empty,
        errors=result.errors,
        absent=result.absent,
        judged=result.judged,
        no_snippet_share=result.no_snippet_share,
        measures={
            name: NightMean(mean=mean.mean, ci95=mean.ci95, n=mean.n, pool_free=parse_measure(name).pool_free)
            for name, mean in result.measures.items()
        },
    )


def read_cost(values: Mapping[str, Any]) -> CallCost:
    """Return the cost in a JSON object; amounts that it lacks are unknown."""
    return CallCost(**{name: values.get(name) for name in _AMOUNTS}, lost=values.get("lost", 0))


def add_costs(costs: Iterable[CallCost]) -> CallCost:
    """Return the sum; an amount is unknown where one of its parts is."""
    parts = list(costs)
    total: dict[str, Any] = {}
    for name in _AMOUNTS:
        amounts = [getattr(cost, name) for cost in parts]
        total[name] = None if None in amounts else sum(amounts)
    return CallCost(**total, lost=sum(cost.lost for cost in parts))
