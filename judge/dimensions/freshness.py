"""Freshness: the age of an engine's dated results, for queries about current affairs. It makes no call.

The column `fresh` says which queries these are. Its value can be a day, such as 2026-11-20: then ages are
counted on that day, else on the newest date of all results.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from math import inf
from statistics import median

from judge.analysis.dimension_summary import DimensionResult, QueryValues, summarise_dimension
from judge.analysis.judged_run import JudgedRun
from judge.messages import Message

#: The column of queries that need fresh results, and its values that say no.
_FRESH = "fresh"
_NOT_FRESH = frozenset(("", "0", "0.0", "false", "no", "n", "否"))
#: Ages in days: a measure is the share of results that are older, and another one their median.
_AGE_BOUNDS, _MEDIAN = (7, 30, 365), "median age in days"
#: When no result is from this many days before the newest date, the date may be wrong.
_MAX_GAP = 60
_DAY = re.compile(r"(\d{4})(?:[-/.]|\s*年\s*)(\d{1,2})(?:[-/.]|\s*月\s*)(\d{1,2})(?!\d)")
_DAY_FORMATS = ("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%b %d %Y")
_AGO = re.compile(
    r"(\d{1,4})\s*(minute|hour|day|week|month|year|分钟|小时|天|周|个月|年)s?\s*(?:ago|前)", re.IGNORECASE
)
_DAYS = {"day": 1, "天": 1, "week": 7, "周": 7, "month": 30, "个月": 30, "year": 365, "年": 365}


def measure_freshness(run: JudgedRun, _: object) -> DimensionResult:
    """Return the ages of each list for the queries that count, down to the depth of the run."""
    queries, depth = run.dataset.queries, run.pool.depth
    marks = {query.id: query.extra[_FRESH] for query in queries.values() if _FRESH in query.extra}
    chosen = {key: mark for key, mark in marks.items() if mark.strip().casefold() not in _NOT_FRESH}
    remarks = []
    if not marks:
        chosen = dict.fromkeys(queries, "")
        remarks.append(Message("no query has the column {column!r}, so every query counts", column=_FRESH))
    dates_by_list = {
        key: [snippet.date for snippet in snippets] for key, snippets in run.lists.items() if key[1] in chosen
    }
    days = sorted({day for texts in dates_by_list.values() for text in texts if (day := parse_day(text))})
    newest = days[-1] if days else None
    if newest is None:
        remarks.append(Message("no result has a date that can be read"))
    else:
        remarks.append(
            Message(
                "ages are on {day}, the newest date of a result, unless {column!r} names a day",
                day=newest.isoformat(),
                column=_FRESH,
            )
        )
        if len(days) > 1 and (newest - days[-2]).days > _MAX_GAP:
            remarks.append(
                Message(
                    "{day} may be no date of publication, because the next date of a result is {other_day};"
                    " if so, write the right day into the column {column!r}",
                    day=newest.isoformat(),
                    other_day=days[-2].isoformat(),
                    column=_FRESH,
                )
            )
    values = {
        key: measure_ages(texts, parse_day(chosen[key[1]]) or newest, depth)
        for key, texts in dates_by_list.items()
    }
    ranges = {f"{_MEDIAN}@{depth}": (0.0, inf)}
    return summarise_dimension(values, run.dataset.engines, remarks, ranges=ranges)


def measure_ages(texts: Sequence[str], today: date | None, depth: int) -> QueryValues:
    """Return the values of a list with the dates `texts`; without any, only `undated` is known."""
    days = [day for text in texts if (day := parse_day(text, today))] if today else []
    ages = [max(0, (today - day).days) for day in days] if today else []
    return {
        f"{_MEDIAN}@{depth}": float(median(ages)) if ages else None,
        **{
            f"older than {bound} days@{depth}": sum(age > bound for age in ages) / len(ages) if ages else None
            for bound in _AGE_BOUNDS
        },
        f"undated@{depth}": 1 - len(days) / len(texts) if texts else None,
    }


@lru_cache(maxsize=4096)
def parse_day(text: str, today: date | None = None) -> date | None:
    """Return the day in a date as engines write it, None for another text; "3 days ago" needs `today`."""
    text = text.strip()
    if not text:
        return None
    try:
        if match := _DAY.search(text):
            return date(*map(int, match.groups()))
        if match := _AGO.search(text):
            return today and today - timedelta(days=int(match[1]) * _DAYS.get(match[2].lower(), 0))
    except (ValueError, OverflowError):
        return None
    for day_format in _DAY_FORMATS:
        with suppress(ValueError):
            return datetime.strptime(text, day_format).date()
    # OverflowError is for an offset of more digits than a number of C has.
    with suppress(ValueError, OverflowError):
        return parsedate_to_datetime(text).date()
    return None
