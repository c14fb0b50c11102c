"""The figures of a run that a night records."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

from judge.analysis.summary import Summary
from judge.measure.engine_summary import EngineResult
from judge.measure.measures import parse_measure
from judge.nightly.night_cost import read_cost
from judge.nightly.record import CallCost, NightEngineResult, NightMean


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
    measures = {
        name: NightMean(mean=mean.mean, ci95=mean.ci95, n=mean.n, pool_free=parse_measure(name).pool_free)
        for name, mean in result.measures.items()
    }
    names = (each.name for each in fields(NightEngineResult) if each.name != "measures")
    return NightEngineResult(**{name: getattr(result, name) for name in names}, measures=measures)
