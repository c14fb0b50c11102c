"""Owns how a night comes by its dataset when engines are asked for it, and how they were asked.

The night's folder keeps what people must know of it: what was remarked, and all that shapes answers, so
that engines which were asked otherwise than at the baseline are not taken for worse ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.config.run import environment
from judge.dataset.validation import short_hash
from judge.models.endpoint import public_part
from judge.nightly.differences import different
from judge.nightly.history import RECORD
from judge.report.words import listed
from judge.runs.folder import RunFolder, dump_json

if TYPE_CHECKING:
    from judge.config.collect import CollectConfig

#: What is kept of a collection beside the dataset.
FILE = "collected.json"
#: Names of what is no part of a question: keys, which may be changed at any time.
_SECRET = re.compile(r"keys?$|token|secret|password|authorization|cookie", re.IGNORECASE)


def collected(toml: Path, folder: RunFolder) -> tuple[Path, Mapping[str, Any]]:
    """What the engines return now, as a dataset in the night's folder, and what is kept of asking them.

    Once judging has begun it stays as it is: what a night goes on with is of one moment. Only after a
    night came to be incomplete are engines asked again, for the answers that are missing.
    """
    path = folder.path / "data.jsonl"
    if not (folder.path / "config.json").exists() or (folder.path / RECORD).exists():
        from judge.collect.collection import collect
        from judge.config.collect import CollectConfig

        asked = CollectConfig.load(toml, out=str(path))
        found = collect(asked)
        kept = {"remarks": found.remarks, "asked": described(asked)}
        folder.write(FILE, [dump_json(kept, indent=2), "\n"])
    return path, folder.read_if_there(FILE) or {}


def described(asked: CollectConfig) -> dict[str, Any]:
    """All that shapes what engines answer, without a key: options, and each engine's address and table.

    Of a table there are digests alone, part by part: anything may stand in it.
    """
    from judge.collect.registry import sources

    engines = {
        source.name: {
            "address": public_part(source.requests("", asked.depth)[0].url, *source.secrets),
            "table": {
                part: short_hash([json.dumps(_public(value), sort_keys=True, default=str)], 16)
                for part, value in sorted(asked.described.get(source.name, {}).items())
                if not _SECRET.search(part)
            },
        }
        for source in sources(asked, environment())
    }
    return {"depth": asked.depth, "lang": asked.lang, "country": asked.country, "engines": engines}


def _public(value: object) -> object:
    """The value without what has the name of a secret."""
    if isinstance(value, Mapping):
        return {name: _public(part) for name, part in value.items() if not _SECRET.search(str(name))}
    return [_public(part) for part in value] if isinstance(value, list) else value


def otherwise(tonight: Mapping[str, Any] | None, baseline: Mapping[str, Any] | None) -> list[str]:
    """How engines were asked otherwise than at the baseline; nothing where one of both is not known."""
    if tonight is None or baseline is None:
        return []
    changed = list(_otherwise(tonight, baseline))
    return [f"engines were asked otherwise than at the baseline: {'; '.join(changed)}"] if changed else []


def _otherwise(tonight: Mapping[str, Any], baseline: Mapping[str, Any]) -> Iterator[str]:
    yield from different(baseline, tonight, free={"engines"})
    then, now = baseline["engines"], tonight["engines"]
    for engine in sorted(then.keys() & now.keys()):
        one, two = then[engine], now[engine]
        for said in different(one, two, free={"table"}):
            yield f"{engine}'s {said}"
        parts = sorted(one["table"].keys() | two["table"].keys())
        changed = [part for part in parts if one["table"].get(part) != two["table"].get(part)]
        if changed:
            yield f"{listed(changed)} changed in [collect.engines.{engine}]"
