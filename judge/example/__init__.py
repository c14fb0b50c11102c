"""The shipped example: twelve queries, half Chinese and half English, answered by three engines.

Engines, pages and addresses are invented. `lantern` returns what the query asks for, `compass` mostly does
and has one error (an HTTP 503), `magpie` prefers shops and keyword lists and returns nothing once. Among the
results are near-duplicate addresses, an answer that contradicts the reference, error pages, keyword lists,
and one text that addresses the assessor. One query has several meanings.

The data is made so that the engines differ: it shows what a result looks like and proves nothing about a
model.
"""

from pathlib import Path


def find_dataset() -> Path:
    """Return the path of the dataset, nested JSONL: one query a line with the results of each engine."""
    return Path(__file__).resolve().parent / "queries.jsonl"
