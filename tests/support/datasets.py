"""Datasets in memory, read as a run reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from judge.dataset.read import open_dataset, open_trec_dataset
from judge.records import Dataset


def read_dataset(source: Path | Iterable[Mapping[str, Any]], **options: Any) -> Dataset:
    return open_dataset(source, **options).collect()


def read_trec_dataset(topics: Path, docs: Path, runs: list[Path], **options: Any) -> Dataset:
    return open_trec_dataset(topics, docs, runs, **options).collect()
