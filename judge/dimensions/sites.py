"""Sites of an engine's results: who writes there, by the classes of site_classes.toml. It makes no call."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

from judge.analysis.judged_run import JudgedRun
from judge.analysis.summary import DimensionResult, QueryValues, summarise_dimension
from judge.dataset.pool import canonicalise_url
from judge.dimensions import DimensionOptions
from judge.messages import Message, SeparatedNames
from judge.records import Dataset

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
            for each in names:
                if each in self.by_name:
                    return self.by_name[each]
        return UNKNOWN


@cache
def load_classes() -> SiteClasses:
    """Return the classes of the shipped table."""
    table = tomllib.loads(_CLASSES_FILE.read_text(encoding="utf-8"))
    by_name = {name: each for each, names in table["classes"].items() for name in names}
    return SiteClasses(by_name, frozenset(table["low_quality"]))


def measure_sites(run: JudgedRun, _: DimensionOptions) -> DimensionResult:
    """Return the share of each class in each list, down to the depth of the run."""
    hosts_by_list = list_hosts(run.data, run.pool.depth)
    classes = load_classes()
    counts = Counter(host for hosts in hosts_by_list.values() for host in hosts if host)
    values = measure_classes(hosts_by_list, classes.classify, run.pool.depth)
    unknown: Counter[str] = Counter()
    for host, count in counts.items():
        if classes.classify(host) == UNKNOWN:
            unknown[find_domain(host)] += count
    remarks = () if counts else (NO_URL,)
    if unknown:
        most = sorted(unknown.items(), key=lambda item: (-item[1], item[0]))[:_NAMED]
        names = SeparatedNames(f"{site} ({count:,})" for site, count in most)
        remarks = (Message("sites without a class, by number of results: {sites}", sites=names),)
    return summarise_dimension(values, run.data.engines, remarks, largest=1.0)


def list_hosts(data: Dataset, depth: int) -> dict[tuple[str, str], list[str | None]]:
    """Return the hosts of the results, None without one, by (engine, query_id), of lists without an error."""
    return {
        ranking.key: [read_host(snippet.url) for snippet in ranking.snippets[:depth]]
        for ranking in data.rankings
        if ranking.error is None
    }


def measure_classes(
    hosts_by_list: Mapping[tuple[str, str], Sequence[str | None]], classify: Callable[[str], str], depth: int
) -> dict[tuple[str, str], QueryValues]:
    """Return the shares of low quality, of `UNKNOWN` and of each class that occurs, None without a host."""
    table = load_classes()
    counts = {key: Counter(classify(host) for host in hosts if host) for key, hosts in hosts_by_list.items()}
    occurring = {name for count in counts.values() for name in count}
    columns = [UNKNOWN, *(name for name in dict.fromkeys(table.by_name.values()) if name in occurring)]
    values: dict[tuple[str, str], QueryValues] = {}
    for key, count in counts.items():
        shares = {"low quality": sum(count[name] for name in table.low_quality)}
        shares |= {name: count[name] for name in columns}
        total = count.total()
        values[key] = {f"{name}@{depth}": part / total if total else None for name, part in shares.items()}
    return values


def find_site(url: str) -> str | None:
    """Return the registrable domain of a URL by the public suffix list, else its host, None without one."""
    host = read_host(url)
    return host and find_domain(host)


def read_host(url: str) -> str | None:
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


@cache
def _load_suffixes() -> PublicSuffixList:
    return PublicSuffixList()
