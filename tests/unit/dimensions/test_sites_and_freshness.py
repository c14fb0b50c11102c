"""Sites and freshness: registrable domains, classes of hosts and dates as engines write them, by hand."""

from collections import Counter
from datetime import date
from pathlib import Path

import pytest

import judge
from judge.dimensions.freshness import measure_ages, parse_day
from judge.dimensions.sites import find_site, load_classes, measure_classes
from tests.support.cases import check_each
from tests.support.factories import list_rows

TODAY = date(2026, 11, 20)


@check_each(
    ("url", "site"),
    [
        ("https://www.bbc.co.uk/news", "bbc.co.uk"),
        ("https://a.edu.cn", "a.edu.cn"),
        ("https://name.github.io/x", "name.github.io"),
        ("http://WWW.Example.com:8080/", "example.com"),
        ("http://10.0.0.1/x", "10.0.0.1"),
        ("http://[::1]/x", "::1"),
        ("http://localhost/", "localhost"),
        ("www.gov.uk/a", "www.gov.uk"),
        ("//news.example.com/a", "example.com"),
        ("example.com:8080/a?b=c", "example.com"),
        ("no address", None),
        ("192.168.0.1/path", "192.168.0.1"),
        ("localhost:8000/x", "localhost"),
        ("wiki.corp/page", "wiki.corp"),
        ("see chapter 3.4", None),
        ("1.2", None),
        ("report.2024.pdf", None),
        ("the end of a.com", None),
        ("http://[broken", None),
    ],
)
def test_a_site_is_the_registrable_domain(url: str, site: str | None) -> None:
    assert find_site(url) == site


@check_each(
    ("host", "name"),
    [
        ("www.gov.cn", "government"),
        ("gov.uk", "government"),
        ("data.cdc.gov", "government"),
        ("gov.example.com", "unknown"),
        ("shop.gov.company", "unknown"),
        ("math.pku.edu.cn", "education"),
        ("www.ox.ac.uk", "education"),
        ("plato.stanford.edu", "encyclopaedia"),
        ("zh.wikipedia.org", "encyclopaedia"),
        ("baike.baidu.com", "encyclopaedia"),
        ("baijiahao.baidu.com", "aggregator"),
        ("www.baidu.com", "unknown"),
        ("zhuanlan.zhihu.com", "forum"),
        ("blog.csdn.net", "forum"),
        ("notwikipedia.org", "unknown"),
        ("kknews.cc", "content farm"),
        ("news.qq.com.", "news"),
        ("10.0.0.1", "unknown"),
        ("::1", "unknown"),
    ],
)
def test_the_longest_name_gives_the_class(host: str, name: str) -> None:
    assert load_classes().classify(host) == name


def test_the_table_names_each_host_once_in_a_known_class() -> None:
    classes = load_classes()
    assert classes.low_quality < set(classes.by_name.values())
    text = (Path(judge.__file__).parent / "dimensions" / "site_classes.toml").read_text(encoding="utf-8")
    names = Counter(part for part in text.split('"')[1::2] if "." in part)
    assert [name for name, count in names.items() if count > 1] == []
    assert all(name == name.lower() for name in classes.by_name)


def test_shares_are_of_the_results_with_a_host() -> None:
    hosts = {("a", "q"): ["kknews.cc", "msn.com", "gov.cn", "somewhere.example"], ("b", "q"): []}
    values = measure_classes(hosts, load_classes().classify, 5)
    assert values["a", "q"] == {
        "low quality@5": 0.5,
        "unknown@5": 0.25,
        "government@5": 0.25,
        "content farm@5": 0.25,
        "aggregator@5": 0.25,
    }
    assert set(values["b", "q"].values()) == {None}


def test_a_run_without_urls_or_dates_says_so(tmp_path: Path) -> None:
    rows = list_rows({"q": {"x": ("one", "two")}})
    result = judge.run(rows, "lexical", out=str(tmp_path / "run"), sites=True, freshness=True)
    dimensions = result.summary.dimensions
    assert dimensions["sites"].remarks == ("no result has a URL",)
    assert dimensions["freshness"].remarks[-1] == "no result has a date that can be read"


def test_a_run_shows_the_classes_that_occur_and_names_unknown_sites(tmp_path: Path) -> None:
    urls = (
        "https://en.wikipedia.org/a",
        "https://a.example.com/",
        "https://b.example.com/",
        "https://x.org",
        "",
    )
    rows = [
        {"query": "a", "engine": "one", "url": url, "snippet": f"text {rank}"}
        for rank, url in enumerate(urls)
    ]
    result = judge.run(rows, "lexical", out=str(tmp_path / "run"), sites=True)
    dimension = result.summary.dimensions["sites"]
    assert dimension.measures == ["low quality@10", "unknown@10", "encyclopaedia@10"]
    assert [dimension.find_mean("one", name).mean for name in dimension.measures] == pytest.approx(
        [0, 0.75, 0.25]
    )
    assert all((mean.ci95 or (0, 0))[1] <= 1 for mean in dimension.engines["one"].values())
    assert dimension.remarks == ("sites without a class, by number of results: example.com (2), x.org (1)",)


@check_each(
    ("text", "day"),
    [
        ("2026-11-03", date(2026, 11, 3)),
        ("2026-11-03T10:00:00Z", date(2026, 11, 3)),
        ("2026/1/3", date(2026, 1, 3)),
        ("2026年11月3日", date(2026, 11, 3)),
        ("Nov 3, 2026", date(2026, 11, 3)),
        ("3 November 2026", date(2026, 11, 3)),
        ("Tue, 03 Nov 2026 10:00:00 GMT", date(2026, 11, 3)),
        ("17 days ago", date(2026, 11, 3)),
        ("5 hours ago", TODAY),
        ("2 周前", date(2026, 11, 6)),
        ("9999 years ago", None),
        ("2026-13-40", None),
        ("1 Jan 2020 00:00:00 +99999999999999", None),
        ("last spring", None),
        ("", None),
    ],
)
def test_dates_are_read_as_engines_write_them(text: str, day: date | None) -> None:
    assert parse_day(text, TODAY) == day


def test_relative_dates_need_a_day() -> None:
    assert parse_day("3 days ago") is None


def test_the_values_of_a_list() -> None:
    texts = ["2026-11-19", "2026-10-01", "2020-01-01", "sometime", "2026-12-24"]
    # Ages 1, 50, 2515 and, for a date after the day, 0.
    assert measure_ages(texts, TODAY, 5) == {
        "median age in days@5": 25.5,
        "older than 7 days@5": 0.5,
        "older than 30 days@5": 0.5,
        "older than 365 days@5": 0.25,
        "undated@5": pytest.approx(0.2),
    }
    assert measure_ages([], TODAY, 5)["undated@5"] is None
    assert measure_ages(["", ""], None, 5) == {**dict.fromkeys(measure_ages([], TODAY, 5)), "undated@5": 1.0}


def test_only_marked_queries_count_each_on_its_day(tmp_path: Path) -> None:
    rows = [
        {
            "query_id": query,
            "query": query,
            "engine": "e",
            "snippet": f"text {day}",
            "date": day,
            "fresh": fresh,
        }
        for query, day, fresh in (
            ("one", "2026-11-10", "yes"),
            ("two", "2026-11-10", "2026-11-12"),
            ("three", "2026-11-20", "no"),
            ("four", "2026-11-14", "1"),
        )
    ]
    result = judge.run(rows, "lexical", out=str(tmp_path / "run"), freshness=True)
    dimension = result.summary.dimensions["freshness"]
    mean = dimension.find_mean("e", "median age in days@10")
    assert (mean.mean, mean.queries) == ((4 + 2 + 0) / 3, 3)
    assert dimension.remarks == (
        "ages are on 2026-11-14, the newest date of a result, unless 'fresh' names a day",
    )
    again = judge.score(tmp_path / "run", dimensions=["freshness"])
    assert again.summary.dimensions["freshness"] == dimension


def test_without_the_column_every_query_counts(tmp_path: Path) -> None:
    rows = [{"query": "a", "snippet": "text", "date": "2026-11-10"}, {"query": "a", "snippet": "other"}]
    dimension = judge.run(rows, "lexical", out=str(tmp_path / "run"), freshness=True).summary.dimensions[
        "freshness"
    ]
    assert dimension.find_mean("engine", "undated@10").mean == 0.5
    assert dimension.remarks[0] == "no query has the column 'fresh', so every query counts"


@pytest.mark.parametrize(("last", "is_remarked"), [("2026-12-20", False), ("2099-12-31", True)])
def test_a_date_far_from_all_others_is_remarked(tmp_path: Path, last: str, is_remarked: bool) -> None:
    rows = [
        {"query": "q", "engine": "e", "snippet": f"text {day}", "date": day, "fresh": "yes"}
        for day in ("2026-11-18", "2026-11-20", last)
    ]
    result = judge.run(rows, "lexical", out=str(tmp_path / "run"), freshness=True)
    remarks = [str(remark) for remark in result.summary.dimensions["freshness"].remarks]
    assert remarks[0].startswith(f"ages are on {last}, the newest date of a result")
    expected = f"{last} may be no date of publication, because the next date of a result is 2026-11-20; "
    assert [remark.startswith(expected) for remark in remarks[1:]] == [True] * is_remarked
