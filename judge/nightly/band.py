"""Owns what a night's report says on top of the run: how the night went, and why, in two languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.nightly import history
from judge.nightly.trend_words import headline, reasons


def band(record: Mapping[str, Any]) -> list[dict[str, str]]:
    """The sentences as JSON objects: first how the night of `record` went, then each reason for it.

    They are kept in night.json, so that whoever draws the report anew has them.
    """
    night = history.night(record["date"], record)
    return [said._asdict() for said in (headline([night]), *reasons(night))]
