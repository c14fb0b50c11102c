"""Owns what a collection came to: how each engine did, and the words for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from judge.collect import raw_log
from judge.collect.assemble import CollectedResults, answer
from judge.collect.query_file import QueryRow
from judge.collect.sources import ResultSource
from judge.config.collect import CollectConfig
from judge.errors import RunIncomplete


@dataclass(frozen=True, slots=True)
class EngineTally:
    """How one engine did, in queries and in `results`.

    `empty` of the `answered` queries found nothing. `broke` has the reasons why others have no answer,
    the most frequent first. `textless` results have no text but their title, although the answers were
    searched for one in the fields `looked_for`.
    """

    answered: int
    empty: int
    broke: Mapping[str, int]
    results: int
    textless: int
    looked_for: Sequence[str]

    @property
    def failed(self) -> int:
        """How many queries have no answer."""
        return sum(self.broke.values())

    def line(self) -> str:
        """It all in one line."""
        said = [f"answered {self.answered:,} of {self.answered + self.failed:,}"]
        if self.empty:
            said[0] += f", {self.empty:,} of them with nothing"
        if self.textless:
            fields = ", ".join(map(repr, self.looked_for))
            have = "have no text but their" if self.textless > 1 else "has no text but its"
            said.append(
                f"{self.textless:,} of {self.results:,} results {have} title (looked for in {fields})"
            )
        for reason, count in [*self.broke.items()][:1]:
            often = "" if count == self.failed else f", {count:,} of them"
            said.append(f"broke on {self.failed:,}{often}: {reason}")
        return "; ".join(said)


@dataclass(frozen=True, slots=True)
class CollectResult:
    """What a collection came to.

    `data` is the dataset, `journal` the raw answers, `engines` how each did. `incomplete` says what is
    missing, None when nothing is. `remarks` say who can't be asked for so many results.
    """

    data: Path
    journal: Path
    calls_made: int
    engines: Mapping[str, EngineTally]
    incomplete: RunIncomplete | None
    remarks: tuple[str, ...] = ()


def outcome(
    asked: CollectConfig,
    calls: int,
    queries: Sequence[QueryRow],
    sources: Sequence[ResultSource],
    held: CollectedResults,
) -> CollectResult:
    """What asking `sources` about `queries` in `calls` calls came to, from all that is there."""
    data = Path(asked.out)
    engines = {source.name: _tally(source, queries, asked.depth, held) for source in sources}
    incomplete = None
    if any(tally.failed for tally in engines.values()):
        each = ", ".join(f"{name} on {tally.failed:,}" for name, tally in engines.items() if tally.failed)
        incomplete = RunIncomplete(
            f"no answer of {each} of {len(queries):,} queries, each with its reason in {data}; the same"
            " command asks again for these alone"
        )
    remarks = tuple(
        f"{source.name} gives at most {source.most} of the {asked.depth} results that are asked for; ask for"
        " fewer (--depth), or see its own options"
        for source in sources
        if source.most is not None and source.most < asked.depth
    )
    return CollectResult(data, raw_log.path_of(data), calls, engines, incomplete, remarks)


def _tally(
    source: ResultSource, queries: Sequence[QueryRow], depth: int, held: CollectedResults
) -> EngineTally:
    found = [(query, answer(source, query, depth, held)) for query in queries]
    answers = [each.results for _, each in found if each.missing is None]
    broke = Counter(held.error(source.name, query.id) for query, each in found if each.missing is not None)
    return EngineTally(
        answered=len(answers),
        empty=sum(not results for results in answers),
        broke=dict(broke.most_common()),
        results=sum(map(len, answers)),
        textless=sum(not result["snippet"] for results in answers for result in results),
        looked_for=source.shape.snippet,
    )
