"""Owns what makes two runs the same run: what was asked, of whom, about which data."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from judge.assess.assessor import Assessor
from judge.config.run import FREE, Config
from judge.records import Dataset

# Named by the fingerprint of what they hold, so that a file may be moved between two runs.
_PLACES = frozenset({"data", "topics", "docs", "trec_runs", "columns", "base_url"})
#: The name on the Python package index, where `judge` is another project.
_DISTRIBUTION = "search-judge"
_LIBRARIES = ("openai", "dashscope", "langchain", "numpy")


def identity(config: Config, data: Dataset, assessors: Sequence[Assessor]) -> dict[str, Any]:
    """All that must be equal for a run to go on in a folder, as JSON values."""
    options = {name: value for name, value in config.options().items() if name not in FREE | _PLACES}
    return {
        **options,
        "dates": config.shows_dates,
        "dataset": fingerprint(data),
        "endpoint": ", ".join(dict.fromkeys(assessor.model.endpoint for assessor in assessors)),
        "prompts": assessors[0].prompt_versions,
    }


def fingerprint(data: Dataset) -> str:
    """A hash of everything that was read: queries, rankings, snippets and errors."""
    digest = hashlib.sha256()
    for query in data.queries.values():
        _feed(
            digest,
            ("query", query.id, query.raw_text, query.lang, query.reference, sorted(query.extra.items())),
        )
    for ranking in sorted(data.rankings, key=lambda ranking: (ranking.query_id, ranking.engine)):
        shown = [
            (snippet.id, snippet.url, snippet.docno, snippet.raw_title, snippet.raw_text)
            for snippet in ranking.snippets
        ]
        took = [] if ranking.latency_ms is None else [ranking.latency_ms]
        _feed(digest, ("ranking", ranking.query_id, ranking.engine, ranking.error, shown, *took))
    return digest.hexdigest()[:16]


def _feed(digest: hashlib._Hash, value: object) -> None:
    digest.update(json.dumps(value).encode())


def versions() -> Mapping[str, str]:
    """The versions that a run was made with."""
    found = {"judge": importlib.metadata.version(_DISTRIBUTION), "python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def short_name(identity: Mapping[str, Any]) -> str:
    """Eight letters that name a run which was given no name."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]
