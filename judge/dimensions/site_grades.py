"""Grades of sites by the first model, and a class for the sites that site_classes.toml does not name.

The grades are those of SourceBench (Jin et al. 2026) that do not depend on a query. A site is
asked about once: its answer is stored under its name, whatever examples of its results were shown.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from judge.analysis.dimension_summary import DimensionResult, QueryValues, summarise_dimension
from judge.analysis.judged_run import JudgedRun
from judge.assess.question_assessor import QuestionKind
from judge.dimensions.dimension import DimensionOptions, QuestionCount, make_question_pair
from judge.dimensions.sources import (
    NO_URL,
    UNKNOWN,
    find_domain,
    find_site,
    list_hosts,
    load_classes,
    measure_classes,
)
from judge.messages import Message, SeparatedNames
from judge.records import Dataset, Pair, Pool, Query, Snippet

_GRADES = ("authority", "freshness", "clarity", "objectivity")
#: The results of a site that the model sees, and the characters of each.
_EXAMPLES, _EXAMPLE_CHARS = 3, 300
#: The ranks down to which `quality` is averaged, beside the depth of the run.
_CUTOFFS = (1, 3)
#: How many sites a remark names.
_NAMED = 5
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
    """What the model says of a site; a grade is None where it cannot tell."""

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
