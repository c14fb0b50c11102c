"""Small datasets for tests of measures: lists of names, and their grades.

A result is written `document` or `document/wording`; two wordings of one document are two snippets.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from judge.measure.columns import ResultColumns, tabulate_results
from judge.measure.engine_summary import EngineSummary, summarise_engines
from judge.measure.measures import parse_measures
from judge.measure.score import Scores, score_rankings
from judge.records import GRADED, Judgment, Ranking, Scale, Score, Snippet

#: What an engine returned for each query: results best first, or None where it broke.
Returned = Mapping[str, Mapping[str, Sequence[str] | None]]
#: (repeat, query, name) of the pairs without a grade.
UnjudgedCells = Sequence[tuple[int, str, str]]


def make_snippet(name: str) -> Snippet:
    return Snippet(id=name, text=name)


def make_judgment(query: str, name: str, grade: int | None, repeat: int = 0) -> Judgment:
    return Judgment(
        query_id=query,
        snippet_id=name,
        repeat=repeat,
        grade=grade,
        reason="",
        error=None if grade is not None else "rate_limit",
        assessor="someone",
        prompt_version="",
        params={},
        reply="",
        usage=None,
    )


@dataclass(frozen=True)
class JudgedDataset:
    """What engines returned, and the grade of each (query, result) in each repeat."""

    returned: Returned
    grades: Sequence[Mapping[tuple[str, str], int | None]]
    scale: Scale = GRADED
    depth: int = 10
    measures: str = "nDCG@10"
    extra: Sequence[Judgment] = field(default_factory=list)

    def make_rankings(self) -> list[Ranking]:
        return [
            Ranking(
                engine,
                query,
                tuple(map(make_snippet, results or ())),
                error="timeout" if results is None else None,
                documents=tuple(name.split("/")[0] for name in (results or ())[: self.depth]),
            )
            for engine, queries in self.returned.items()
            for query, results in queries.items()
        ]

    def make_judgments(self) -> list[Judgment]:
        return [
            make_judgment(query, name, grade, repeat)
            for repeat, grades in enumerate(self.grades)
            for (query, name), grade in grades.items()
        ] + list(self.extra)

    def summarise(self) -> dict[str, EngineSummary]:
        return summarise_engines(self.compute_scores(), self.tabulate())

    def tabulate(self) -> ResultColumns:
        return tabulate_results(self.make_rankings(), self.depth)

    def compute_scores(self) -> Scores:
        return score_rankings(
            self.make_rankings(),
            self.make_judgments(),
            parse_measures(self.measures),
            self.scale,
            depth=self.depth,
        )

    def iter_scores(self) -> Iterator[Score]:
        return self.compute_scores().to_records()


def make_one_list(
    grades: Sequence[int | None], measures: str, *, scale: Scale = GRADED, depth: int = 10
) -> JudgedDataset:
    """One engine, one query, every result a document of its own."""
    return make_side_by_side({"engine": grades}, measures, scale=scale, depth=depth)


def make_side_by_side(
    lists: Mapping[str, Sequence[int | None]], measures: str, *, scale: Scale = GRADED, depth: int = 10
) -> JudgedDataset:
    """Several engines on one query, no document in common."""
    returned = {
        engine: {"q": [f"{engine}{rank}" for rank in range(len(grades))]} for engine, grades in lists.items()
    }
    graded = {
        ("q", f"{engine}{rank}"): grade
        for engine, grades in lists.items()
        for rank, grade in enumerate(grades)
    }
    return JudgedDataset(returned, [graded], scale, depth, measures)


def compute_values(
    dataset: JudgedDataset, engine: str = "engine", query: str = "q"
) -> dict[str, float | None]:
    """The values of all measures for one engine on one query, in the first repeat."""
    return {
        row.measure: row.value
        for row in dataset.iter_scores()
        if (row.engine, row.query_id) == (engine, query)
    }


def compute_value(dataset: JudgedDataset, engine: str = "engine", query: str = "q") -> float | None:
    """The value of the dataset's only measure."""
    (only,) = compute_values(dataset, engine, query).values()
    return only


def iter_completions(dataset: JudgedDataset, unjudged: UnjudgedCells) -> Iterator[JudgedDataset]:
    """Yield the dataset with each combination of grades of the `unjudged` pairs."""
    for chosen in itertools.product(range(dataset.scale.top + 1), repeat=len(unjudged)):
        grades = [dict(each) for each in dataset.grades]
        for (at, query, name), grade in zip(unjudged, chosen, strict=True):
            grades[at][query, name] = grade
        yield replace(dataset, grades=grades)
