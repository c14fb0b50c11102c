"""Owns the shipped example: twelve queries, half Chinese and half English, answered by three engines.

Engines, pages and addresses are invented. `lantern` finds what was asked, `compass` mostly does and
broke once (an HTTP 503), `magpie` likes shops and keyword piles and returned nothing once. Among the
results are near-duplicate addresses, an answer that contradicts the reference, error pages, piles of
keywords, and one text that speaks to the assessor instead of the reader. One query has several meanings.

The engines' order was written into the data: it shows what a table looks like, and proves no model.
"""

from __future__ import annotations

from pathlib import Path


def path() -> Path:
    """The example's dataset, nested JSONL: one query a line with the results of each engine."""
    return Path(__file__).resolve().parent / "queries.jsonl"
