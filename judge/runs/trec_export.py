"""The TREC files of a run, for trec_eval.

Exact as long as a document shows one text: where engines show different snippets of one page,
qrels can only say the page's best grade. A repeated document gets a name of its own that is in no
qrels, hence no gain. Grades of several repeats are the median, halves rounded up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from judge.dataset.spreadsheet import escape_column
from judge.filesystem import file_name
from judge.measure.agreement import median_grade
from judge.records import Judgment, Ranking


def qrels(
    rankings: Iterable[Ranking],
    documents: Mapping[tuple[str, str], Sequence[str]],
    judgments: Iterable[Judgment],
) -> Iterator[str]:
    """Yield lines `query_id 0 docno grade`: each judged document's best grade, sorted."""
    grades: dict[tuple[str, str], list[int]] = {}
    for judgment in judgments:
        if judgment.grade is not None:
            grades.setdefault((judgment.query_id, judgment.snippet_id), []).append(judgment.grade)
    best: dict[tuple[str, str], int] = {}
    for ranking in rankings:
        documents_of = documents.get((ranking.engine, ranking.query_id), ())
        for snippet, document in zip(ranking.snippets, documents_of, strict=False):
            repeats = grades.get((ranking.query_id, snippet.id))
            if repeats:
                key = (ranking.query_id, document)
                best[key] = max(best.get(key, 0), median_grade(repeats))
    for (query_id, document), grade in sorted(best.items()):
        yield f"{escape_column(query_id)} 0 {escape_column(document)} {grade}\n"


def run(
    engine: str, rankings: Iterable[Ranking], documents: Mapping[tuple[str, str], Sequence[str]]
) -> Iterator[str]:
    """Yield lines `query_id Q0 docno rank score tag` of one engine, scores falling with rank."""
    for ranking in rankings:
        if ranking.engine != engine:
            continue
        seen: dict[str, int] = {}
        documents_of = documents.get((engine, ranking.query_id), ())
        for rank, document in enumerate(documents_of, start=1):
            seen[document] = seen.get(document, 0) + 1
            docno = document if seen[document] == 1 else f"{document}#repeat{seen[document]}"
            score = len(documents_of) - rank + 1
            query_id, tag = escape_column(ranking.query_id), escape_column(engine)
            yield f"{query_id} Q0 {escape_column(docno)} {rank} {score} {tag}\n"


def file_names(engines: Iterable[str]) -> dict[str, str]:
    """Return `run.<engine>.trec` by engine; the names differ in more than case."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for engine in sorted(engines):
        stem = file_name(escape_column(engine))[:120]
        name = f"run.{stem}.trec"
        if name.casefold() in taken:
            name = f"run.{stem}-{hashlib.sha256(engine.encode()).hexdigest()[:8]}.trec"
        taken.add(name.casefold())
        names[engine] = name
    return names
