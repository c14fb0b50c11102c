"""Sites: registrable domains, the classes of hosts, and their shares in lists."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import judge
from judge.dimensions.sites import find_site, load_classes, measure_classes
from tests.support.cases import check_each
from tests.support.factories import list_rows


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
