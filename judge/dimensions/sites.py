"""Sites of an engine's results: the class of each, and their grades by the first model.

The classes are those of site_classes.toml, which needs no call; the model gives a class to the other sites.
The grades are those of SourceBench (Jin et al. 2026) that do not depend on a query. A site is asked about
once: its answer is stored under its name, whatever examples of its results were shown.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from statistics import fmean
from typing import Literal
from urllib.parse import urlsplit

from publicsuffixlist import PublicSuffixList

from judge.analysis.dimension_summary import DimensionResult, QueryValues, summarise_dimension
from judge.analysis.judged_run import JudgedRun
from judge.assess.question_assessor import QuestionKind
from judge.dataset.pool import canonicalise_url
from judge.dimensions.dimension import DimensionOptions, QuestionCount, make_question_pair
from judge.messages import Message, SeparatedNames
from judge.records import Dataset, ListKey, Pair, Pool, Query, Snippet

_CLASSES_FILE = Path(__file__).with_name("site_classes.toml")
#: The class of a host that no name fits.
UNKNOWN = "unknown"
NO_URL = Message("no result has a URL")
#: How many sites a remark names.
_NAMED = 5
_GRADES = ("authority", "freshness", "clarity", "objectivity")
#: The results of a site that the model sees, and the characters of each.
_EXAMPLES, _EXAMPLE_CHARS = 3, 300
#: The ranks down to which `quality` is averaged, beside the depth of the run.
_CUTOFFS = (1, 3)


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
        frequent = sorted(unknown.items(), key=lambda item: (-item[1], item[0]))[:_NAMED]
        names = SeparatedNames(f"{site} ({count:,})" for site, count in frequent)
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
    """Return whether a text without a scheme is a host; `is_followed` says whether a path follows it."""
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


SiteClass = Literal[
    "government",
    "education",
    "official",
    "encyclopaedia",
    "news",
    "forum",
    "content farm",
    "aggregator",
    "unknown",
]
SiteGrade = Literal[1, 2, 3, 4, 5]


@dataclass(frozen=True, slots=True)
class SiteGrades:
    """The class and the grades of a site by the model; a grade is None where the model gives none."""

    site_class: SiteClass
    authority: SiteGrade | None
    freshness: SiteGrade | None
    clarity: SiteGrade | None
    objectivity: SiteGrade | None
    may_be_ai_made: bool

    @property
    def quality(self) -> float | None:
        """The mean of the grades that are known."""
        grades = [grade for name in _GRADES if (grade := getattr(self, name)) is not None]
        return fmean(grades) if grades else None


GRADE_SITE = QuestionKind(
    "site_grades",
    "site_grades",
    Message("grades of sites"),
    SiteGrades,
    lambda _, __: True,
    is_keyed_by_query=True,
)


def count_site_questions(dataset: Dataset, pool: Pool, _: object) -> Iterable[QuestionCount]:
    """Return the most questions: one a site, of which those in the store are not asked again."""
    sites = {
        find_domain(host) for hosts in list_hosts(dataset, pool.depth).values() for host in hosts if host
    }
    return [QuestionCount(GRADE_SITE, len(sites), _EXAMPLES * _EXAMPLE_CHARS / 3, 50)]


def measure_site_grades(run: JudgedRun, options: DimensionOptions) -> DimensionResult:
    """Return the mean grades of each list, and its shares of classes, down to the depth of the run.

    A grade that the model leaves open enters no mean. A list with a site that has no answer has no value.
    """
    depth = run.pool.depth
    examples: dict[str, list[Snippet]] = {}
    for pair in run.pool.pairs:
        if site := find_site(pair.snippet.url):
            examples.setdefault(site, []).append(pair.snippet)
    hosts_by_list = list_hosts(run.dataset, depth)
    counts = Counter(find_domain(host) for hosts in hosts_by_list.values() for host in hosts if host)
    pairs = {site: _ask_site(site, examples.get(site, ())) for site in sorted(counts)}
    grades = options.ask(GRADE_SITE, pairs)
    table = load_classes()

    def classify(host: str) -> str:
        name, answer = table.classify(host), grades.get(find_domain(host))
        return answer.site_class if name == UNKNOWN and answer else name

    values = measure_classes(hosts_by_list, classify, depth)
    for key, hosts in hosts_by_list.items():
        ranked = [find_domain(host) if host else None for host in hosts]
        row = {
            **_average_grades([grades.get(site) if site else None for site in ranked], depth),
            **values[key],
        }
        has_answers = all(site in grades for site in ranked if site)
        values[key] = row if has_answers else dict.fromkeys(row)
    names = {name for row in values.values() for name in row}
    ranges = {name: (1.0, 5.0) for name in names if name.partition("@")[0] in ("quality", *_GRADES)}
    remarks = _describe_sites(grades, counts) if counts else [NO_URL]
    return summarise_dimension(values, run.dataset.engines, remarks, ranges=ranges)


def _ask_site(site: str, examples: Sequence[Snippet]) -> Pair:
    """Return the question about a site: its name as the query, and its first results as lines."""
    # The language follows from the site, so that runs in both languages have one question.
    query = Query(site, site, site, "zh" if site.endswith(".cn") else "en")
    lines = [
        f"{example.date} | {example.title} | {example.text}"[:_EXAMPLE_CHARS]
        for example in examples[:_EXAMPLES]
    ]
    return make_question_pair(query, lines or ["-"])


def _average_grades(ranked: Sequence[SiteGrades | None], depth: int) -> QueryValues:
    """Return the mean quality of the first results, and the mean of each grade, None where none is known.

    `ranked` has None for a result without a URL: it keeps its rank.
    """
    cutoffs = [("quality", cutoff) for cutoff in (*_CUTOFFS, depth) if cutoff <= depth]
    values: dict[str, float | None] = {}
    for name, cutoff in [*cutoffs, *((name, depth) for name in _GRADES)]:
        grades = [grade for site in ranked[:cutoff] if site and (grade := getattr(site, name)) is not None]
        values[f"{name}@{cutoff}"] = fmean(grades) if grades else None
    return values


def _describe_sites(grades: Mapping[str, SiteGrades], counts: Mapping[str, int]) -> Iterable[Message]:
    """Yield the sites with the lowest quality, and those whose content may be made by AI."""
    graded = sorted((grade.quality, -counts[site], site) for site, grade in grades.items() if grade.quality)
    if graded:
        names = SeparatedNames(f"{site} ({quality:.1f})" for quality, _, site in graded[:_NAMED])
        yield Message("lowest quality of {count:,} graded sites: {sites}", count=len(graded), sites=names)
    hinted = sorted((-counts[site], site) for site, grade in grades.items() if grade.may_be_ai_made)
    if hinted:
        yield Message(
            "the model's uncertain impression: content of {count:,} sites may be made by AI, such as {sites}",
            count=len(hinted),
            sites=SeparatedNames(site for _, site in hinted[:_NAMED]),
        )
