"""Sources of an engine's results: the class of each site, and the age of dated results. They make no call.

Sites have the classes of site_classes.toml. Ages are for queries about current affairs: those whose column
`fresh` says so. Its value can be a day, such as 2026-11-20: then ages are counted on that day, else on the
newest date of all results.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cache, lru_cache
from ipaddress import ip_address
from math import inf
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

from judge.analysis.dimension_summary import DimensionResult, QueryValues, summarise_dimension
from judge.analysis.judged_run import JudgedRun
from judge.dataset.pool import canonicalise_url
from judge.messages import Message, SeparatedNames
from judge.records import Dataset, ListKey

_CLASSES_FILE = Path(__file__).with_name("site_classes.toml")
#: The class of a host that no name fits.
UNKNOWN = "unknown"
NO_URL = Message("no result has a URL")
#: How many sites without a class a remark names.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class SiteClasses:
    """The class of each name in site_classes.toml, and the classes that count as low quality."""

    by_name: Mapping[str, str]
    low_quality: frozenset[str]

    def classify(self, host: str) -> str:
        """Return the class of the longest name that fits `host`, `UNKNOWN` where none fits."""
        labels = host.rstrip(".").split(".")
        for start in range(len(labels)):
            name = ".".join(labels[start:])
            names = (name, f"{name[:-2]}*") if len(labels[-1]) == 2 else (name,)
            for domain in names:
                if domain in self.by_name:
                    return self.by_name[domain]
        return UNKNOWN


@cache
def load_classes() -> SiteClasses:
    """Return the classes of the shipped table."""
    table = tomllib.loads(_CLASSES_FILE.read_text(encoding="utf-8"))
    by_name = {name: source_class for source_class, names in table["classes"].items() for name in names}
    return SiteClasses(by_name, frozenset(table["low_quality"]))


def measure_sites(run: JudgedRun, _: object) -> DimensionResult:
    """Return the share of each class in each list, down to the depth of the run."""
    hosts_by_list = list_hosts(run.dataset, run.pool.depth)
    classes = load_classes()
    counts = Counter(host for hosts in hosts_by_list.values() for host in hosts if host)
    values = measure_classes(hosts_by_list, classes.classify, run.pool.depth)
    unknown: Counter[str] = Counter()
    for host, count in counts.items():
        if classes.classify(host) == UNKNOWN:
            unknown[find_domain(host)] += count
    remarks = [] if counts else [NO_URL]
    if unknown:
        most = sorted(unknown.items(), key=lambda item: (-item[1], item[0]))[:_NAMED]
        names = SeparatedNames(f"{site} ({count:,})" for site, count in most)
        remarks.append(Message("sites without a class, by number of results: {sites}", sites=names))
    return summarise_dimension(values, run.dataset.engines, remarks)


def list_hosts(dataset: Dataset, depth: int) -> dict[ListKey, list[str | None]]:
    """Return the hosts of the results, None without one, by (engine, query_id), of lists without an error."""
    return {
        ranking.key: [_read_host(snippet.url) for snippet in ranking.snippets[:depth]]
        for ranking in dataset.rankings
        if ranking.error is None
    }


def measure_classes(
    hosts_by_list: Mapping[ListKey, Sequence[str | None]], classify: Callable[[str], str], depth: int
) -> dict[ListKey, QueryValues]:
    """Return the shares of low quality, of `UNKNOWN` and of each class that occurs, None without a host."""
    table = load_classes()
    counts = {key: Counter(classify(host) for host in hosts if host) for key, hosts in hosts_by_list.items()}
    occurring = {name for count in counts.values() for name in count}
    columns = [UNKNOWN, *(name for name in dict.fromkeys(table.by_name.values()) if name in occurring)]
    values: dict[ListKey, QueryValues] = {}
    for key, count in counts.items():
        shares = {"low quality": sum(count[name] for name in table.low_quality)}
        shares |= {name: count[name] for name in columns}
        total = count.total()
        values[key] = {f"{name}@{depth}": part / total if total else None for name, part in shares.items()}
    return values


def find_site(url: str) -> str | None:
    """Return the registrable domain of a URL by the public suffix list, else its host, None without one."""
    host = _read_host(url)
    return host and find_domain(host)


def _read_host(url: str) -> str | None:
    """Return the host of a URL, with or without a scheme, None for another text."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return None
    if host is None and canonicalise_url(url):
        host = urlsplit(f"//{url.strip().removeprefix('//')}").hostname or ""
        if not _is_host(host, is_followed="/" in url.strip().strip("/")):
            return None
    return host or None


def _is_host(text: str, *, is_followed: bool) -> bool:
    """Return whether a text without a scheme is a host; `is_followed` tells whether a path follows it."""
    with suppress(ValueError):
        ip_address(text)
        return True
    is_number = text.rpartition(".")[2].isdigit()
    is_known = _load_suffixes().publicsuffix(text, accept_unknown=False) is not None
    return not re.search(r"\s", text) and not is_number and (is_known or is_followed)


def find_domain(host: str) -> str:
    """Return the registrable domain of a host; an address of a machine, which has none, stays."""
    if ":" in host or host.rpartition(".")[2].isdigit():
        return host
    return _load_suffixes().privatesuffix(host) or host


_load_suffixes = cache(PublicSuffixList)


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
    for form in _DAY_FORMATS:
        with suppress(ValueError):
            return datetime.strptime(text, form).date()
    with suppress(
        ValueError, OverflowError
    ):  # the latter for an offset of more digits than a number of C has
        return parsedate_to_datetime(text).date()
    return None
