"""The record of a finished run: Python callers get it, and the files are written from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from judge.analysis.judged_run import JudgedRun, score_run
from judge.analysis.summary import Summary
from judge.errors import InputError, RunIncomplete
from judge.measure.compare import PairComparison
from judge.measure.engine_summary import EngineSummary, Latency, RerankRelevancy, TokenCount
from judge.measure.measures import parse_measure
from judge.measure.score import Scores
from judge.messages import NameList
from judge.records import Scale, shorten_repr

if TYPE_CHECKING:
    import pandas as pd

#: Columns of texts, pairs of numbers or yes and no, which can be without a value.
_NOT_NUMBERS = frozenset({"winner", "ci95", "bounds", "robust"})


@dataclass(frozen=True, kw_only=True)
class RunResult(JudgedRun):
    """A finished run: a judged run with its summary.

    `summary` is the content of summary.json. `computed_scores` are None where the summary was read from this
    file. `incomplete` says why too many pairs are unjudged and what to do, else it is None. `calls_made` is
    about this execution alone: scoring again makes none.
    """

    folder: Path
    summary: Summary
    computed_scores: Scores | None = field(default=None, compare=False)
    warnings: tuple[str, ...] = ()
    calls_made: int = 0
    incomplete: RunIncomplete | None = None

    @property
    def scale(self) -> Scale:
        """The scale of the grades."""
        return self.spec.scale

    @cached_property
    def scores(self) -> Scores:
        """The scores of each engine on each query; computed when they are used, if the summary was read."""
        scores = self.computed_scores
        return score_run(self, self.spec.measures) if scores is None else scores

    @cached_property
    def engines(self) -> pd.DataFrame:
        """One row an engine: the mean of every measure, and counts of what it returned."""
        import pandas as pd

        rows = {
            engine: {
                **{measure: mean.mean for measure, mean in row.measures.items()},
                **{
                    name: _summarise_cell(getattr(row, name))
                    for name in EngineSummary.__slots__
                    if name != "measures"
                },
            }
            for engine, row in self.summary.engines.items()
        }
        return _fill_empty_columns(pd.DataFrame.from_dict(rows, orient="index").rename_axis("engine"))

    @cached_property
    def queries(self) -> pd.DataFrame:
        """One row a score: engine, query_id, repeat, measure, value, low, high, judged."""
        import pandas as pd

        return pd.DataFrame([asdict(score) for score in self.scores.to_records()])

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """One row for each pair of engines by each measure: difference, interval, p, conclusion."""
        import pandas as pd

        rows = [asdict(comparison) for comparison in self.summary.comparisons]
        return _fill_empty_columns(pd.DataFrame(rows, columns=list(PairComparison.__slots__)))

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """One row a judgment: query_id, query, snippet_id, title, snippet, repeat, grade, reason, error."""
        import pandas as pd

        pairs = {pair.key: pair for pair in self.pool.pairs}
        judged = [(judgment, pairs[judgment.key]) for judgment in self.judgments]
        columns = {
            "query_id": [judgment.query_id for judgment, _ in judged],
            "query": [pair.query.raw_text for _, pair in judged],
            "snippet_id": [judgment.snippet_id for judgment, _ in judged],
            "title": [pair.snippet.title for _, pair in judged],
            "snippet": [pair.snippet.text for _, pair in judged],
            **{
                name: [getattr(judgment, name) for judgment, _ in judged]
                for name in ("repeat", "grade", "reason", "error", "flags")
            },
        }
        return pd.DataFrame(columns).astype({"repeat": "int64", "grade": "Int64"})

    def means(self, engine: str) -> dict[str, float]:
        """Return the engine's mean by each measure that has one, under names that experiment trackers accept.

        `mlflow.log_metrics(result.means("bing"))` logs `nDCG_10`, because MLflow refuses the `@` of
        `nDCG@10`. Raises InputError for an engine that is not in the run.
        """
        if engine not in self.summary.engines:
            raise InputError(
                "engine {engine!r} is not in the run; it has {names}",
                engine=engine,
                names=NameList(self.dataset.engines),
            )
        means = self.summary.engines[engine].measures
        return {
            parse_measure(name).export_name: mean.mean
            for name, mean in means.items()
            if mean.mean is not None
        }

    def __repr__(self) -> str:
        return (
            f"RunResult(folder={str(self.folder)!r}, engines={shorten_repr(self.dataset.engines)},"
            f" queries={len(self.dataset.queries)}, pairs={len(self.pool.pairs)},"
            f" judgments={len(self.judgments)})"
        )

    def _repr_html_(self) -> str:
        """Return the table of engines as a notebook shows it."""
        return str(self.engines.to_html())


def _fill_empty_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with NaN in each column of numbers that has no value, where pandas keeps None."""
    empty = [name for name in frame if name not in _NOT_NUMBERS and frame[name].isna().all()]
    return frame.astype(dict.fromkeys(empty, "float64"))


def _summarise_cell(value: object) -> object:
    """Return a cell of a table: the median of latencies, the mean of token counts, others unchanged."""
    if isinstance(value, Latency):
        return value.median
    return value.mean if isinstance(value, TokenCount | RerankRelevancy) else value
