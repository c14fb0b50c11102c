"""Owns results whose text nobody has: they are told from those that showed nothing, and counted.

What an engine showed as empty is no answer, grade 0. What it showed is unknown where a dataset says
null, or a TREC document is not in the documents file: that is never judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from judge.dataset.validation import short_hash
from judge.records import Ranking, Snippet

#: What a snippet without a text is flagged with: it has a title alone, or nothing, or nobody knows what.
TITLE_ONLY, EMPTY_SNIPPET, TEXT_MISSING = "textless", "empty_snippet", "no_text"
#: What a snippet is flagged with of whose text our own limit of length leaves nothing to read.
TEXT_CUT = "text_cut"


def mark_missing_text(shown: Snippet, place: str) -> Snippet:
    """The snippet of a result whose text nobody has: never the same as one that showed nothing.

    Nor as another one whose text is missing; `place` in the query's lists tells apart what has neither
    docno nor URL.
    """
    name = [TEXT_MISSING, shown.docno or shown.url or place]
    flags = {*shown.flags, TEXT_MISSING} - {EMPTY_SNIPPET}
    return replace(shown, id=short_hash(name, 16), flags=tuple(sorted(flags)))


def describe_missing(rankings: Iterable[Ranking], depth: int, source: str) -> Iterator[str]:
    """One line where results down to `depth` have no text in the file called `source`."""
    missing = [
        (ranking, rank, snippet.docno)
        for ranking in rankings
        for rank, snippet in enumerate(ranking.snippets[:depth], start=1)
        if TEXT_MISSING in snippet.flags
    ]
    if not missing:
        return
    ranking, rank, docno = missing[0]
    documents = len({docno for _, _, docno in missing})
    if docno:
        lack = f"{documents:,} document{'s are' if documents > 1 else ' is'} not in {source}"
        first = f"{docno!r} of topic {ranking.query_id!r}"
    else:
        have = "results have" if len(missing) > 1 else "result has"
        lack = f"{len(missing):,} {have} no text or title in {source}"
        first = f"rank {rank} of engine {ranking.engine!r} for query {ranking.query_id!r}"
    yield f"{lack}, first {first}: left unjudged, as missing is not grade 0"
