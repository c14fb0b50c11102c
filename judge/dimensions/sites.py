"""Sites of an engine's results: who writes there, by the classes of site_classes.toml. It makes no call."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

from judge.analysis.dimension_result import DimensionResult, QueryValues, summarise_dimension
from judge.analysis.loaded_run import LoadedRun
from judge.messages import Message

_CLASSES_FILE = Path(__file__).with_name("site_classes.toml")
#: The class of a host that no name fits.
UNKNOWN = "unknown"
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


def measure_sites(run: LoadedRun) -> DimensionResult:
    """Return the share of each class in each list, down to the depth of the run."""
    hosts_by_list = {
        (ranking.engine, ranking.query_id): [
            host for snippet in ranking.snippets[: run.pool.depth] if (host := read_host(snippet.url))
        ]
        for ranking in run.data.rankings
        if ranking.error is None
    }
    classes = load_classes()
    counts = Counter(host for hosts in hosts_by_list.values() for host in hosts)
    occurring = {classes.classify(host) for host in counts}
    columns = [name for name in dict.fromkeys(classes.by_name.values()) if name in occurring]
    values = {key: measure_hosts(hosts, columns, run.pool.depth) for key, hosts in hosts_by_list.items()}
    unknown: Counter[str] = Counter()
    for host, count in counts.items():
        if classes.classify(host) == UNKNOWN:
            unknown[find_domain(host)] += count
    shares = dict.fromkeys((name for row in values.values() for name in row), (0.0, 1.0))
    return summarise_dimension(values, run.data.engines, tuple(_describe_unknown(unknown)), ranges=shares)


def measure_hosts(hosts: Sequence[str], columns: Iterable[str], depth: int) -> QueryValues:
    """Return the shares of low quality, of `UNKNOWN` and of the classes `columns`; None without a host."""
    classes = load_classes()
    counts = Counter(map(classes.classify, hosts))
    shares = {"low quality": sum(counts[name] for name in classes.low_quality)}
    shares |= {name: counts[name] for name in (UNKNOWN, *columns)}
    return {f"{name}@{depth}": count / len(hosts) if hosts else None for name, count in shares.items()}


def _describe_unknown(unknown: Mapping[str, int]) -> list[str]:
    if not unknown:
        return []
    most = sorted(unknown.items(), key=lambda item: (-item[1], item[0]))[:_NAMED]
    names = ", ".join(f"{site} ({count:,})" for site, count in most)
    return [Message("sites without a class, by number of results: {sites}", sites=names)]


def find_site(url: str) -> str | None:
    """Return the registrable domain of a URL by the public suffix list, else its host, None without one."""
    host = read_host(url)
    return host and find_domain(host)


def read_host(url: str) -> str | None:
    """Return the host of a URL, None without one."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def find_domain(host: str) -> str:
    """Return the registrable domain of a host; an address of a machine, which has none, stays."""
    if ":" in host or host.rpartition(".")[2].isdigit():
        return host
    return _load_suffixes().privatesuffix(host) or host


@cache
def _load_suffixes() -> PublicSuffixList:
    return PublicSuffixList()
