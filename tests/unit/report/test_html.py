"""The report as text: it is the same each time, carries every pair once, and nothing in it can act."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import judge
from judge import example
from judge.report import result_tables
from judge.report.display_text import (
    END,
    ISOLATE,
    escape_hidden,
    fit_on_line,
    isolate,
    make_labels,
    mark_names,
    truncate,
    use_display_names,
)
from judge.report.facts import ReportExtras, iter_facts
from judge.runs.folder import RunFolder
from judge.runs.load import load_summary
from tests.support.cases import check_each
from tests.support.factories import make_rows, read_judgments
from tests.unit.report.pages import (
    make_entries,
    read_data,
    read_object,
    render_page,
    render_queries,
    run_lexical,
)

#: What a blank or a joiner may be; all else that can't be seen is shown as an escape.
SEEN = "\n\u200c\u200d"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped example, judged by the lexical model."""
    return run_lexical(tmp_path_factory.mktemp("runs") / "demo", example.find_dataset())


class Outline(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


# --- the file


def test_the_same_run_gives_the_same_bytes(demo: Path) -> None:
    assert render_page(demo) == render_page(demo)


def test_the_policy_names_the_one_style_and_the_one_script_and_nothing_else(demo: Path) -> None:
    text = render_page(demo)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)

    def hash_block(block: str) -> str:
        return f"&#39;sha256-{base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()}&#39;"

    assert policy == (
        f"default-src &#39;none&#39;; script-src {hash_block(script)}; style-src {hash_block(style)};"
        " base-uri &#39;none&#39;; form-action &#39;none&#39;"
    )


def test_nothing_in_the_file_needs_another_file_or_acts_by_itself(demo: Path) -> None:
    for tag, attributes in Outline(render_page(demo)).elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form"), tag
        assert not [
            each for each in attributes if each.startswith("on") or each in ("style", "src", "srcset")
        ]
        assert (attributes.get("href") or "#").startswith("#")


def test_ids_are_unique_and_every_label_has_its_element(demo: Path) -> None:
    elements = Outline(render_page(demo)).elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = [
        attributes[key]
        for _, attributes in elements
        for key in attributes
        if key.startswith("aria-labelledby")
    ]
    assert named
    assert set(named) <= set(ids)


def test_everything_is_said_in_both_languages(demo: Path) -> None:
    text = render_page(demo)
    assert text.count('<span class="en">') == text.count('<span class="zh" lang="zh-Hans">') > 40
    assert "No engine is best by nDCG@10" in text
    assert "按 nDCG@10 衡量，无法确定最好的引擎" in text
    assert "Do not choose an engine by these figures" in text
    assert "请勿根据这些数值选择引擎" in text
    # The answer has all three pairs of the three engines.
    (answer,) = re.findall(r'<ul class="differences">.*?</ul>', text, re.DOTALL)
    assert [answer.count(f"<bdi>{name}</bdi>") for name in ("compass", "lantern", "magpie")] == [4, 4, 4]


def test_the_facts_name_assessor_prompt_scale_depth_and_dataset(demo: Path) -> None:
    text = render_page(demo)
    config = read_object(demo, "config.json")
    for each in (*config["identity"]["prompts"].values(), config["identity"]["dataset"], "lexical/graded"):
        assert each in text
    assert "queries.jsonl" in text
    assert "down to rank 10, each pair judged once" in text


def test_the_facts_name_no_prompt_of_a_language_without_queries(tmp_path: Path) -> None:
    run = run_lexical(tmp_path / "run", [{"query": "社保断缴的影响", "snippet": "社保断缴影响医保报销"}])
    prompts = read_object(run, "config.json")["identity"]["prompts"]
    text = render_page(run)
    assert [lang for lang in ("en", "zh") if prompts[lang] in text] == ["zh"]


def test_engines_with_equal_means_stand_in_the_same_order_everywhere(tmp_path: Path) -> None:
    # Isolated, the longer name would sort before the shorter; numbered, the first after the second.
    engines = ["a\u00a0b", "a b", "x", "xy", "engine-28", "engine-3"]
    rows = [
        {
            "query_id": f"q{number}",
            "query": "same words",
            "engine": engine,
            "rank": 1,
            "snippet": "same words",
        }
        for number in range(3)
        for engine in engines
    ]
    folder = run_lexical(tmp_path / "tied", rows)
    summary = load_summary(RunFolder(folder))
    order = summary.sort_engines("nDCG@10")
    assert order == ["a b", "a\u00a0b", "engine-3", "engine-28", "x", "xy"]
    assert [{row.a, row.b} for row in summary.select_comparisons("nDCG@10")][:2] == [
        {"a b", "a\u00a0b"},
        {"a b", "engine-3"},
    ]
    labels = make_labels(summary.engines)
    shown = use_display_names(summary).sort_engines("nDCG@10")
    assert shown == [isolate(labels[engine]) for engine in order]
    text = render_page(folder)
    heads = re.findall(r'<th scope="row"><bdi class="whole">(.*?)</bdi>', text.partition("</table>")[0])
    data = read_data(text)["header"]
    assert (
        heads == [labels[engine] for engine in order] == [data["engines"][place] for place in data["order"]]
    )
    assert f"<bdi>{heads[0]}</bdi> shares the highest mean" in text
    assert f"<bdi>{heads[0]}</bdi> 并列均值最高" in text


# --- the data


def test_every_pair_is_there_once_and_engines_refer_to_it(demo: Path) -> None:
    results = read_object(demo, "results.json")
    data = read_data(render_page(demo))
    assert data["header"]["engines"] == sorted(results["summary"]["engines"])
    pairs = 0
    for entry, (query_id, _, _, _, _, answers, packed) in zip(
        results["queries"], data["queries"], strict=True
    ):
        assert entry["query_id"] == query_id
        known = {
            snippet["snippet_id"] for answer in entry["engines"].values() for snippet in answer["snippets"]
        }
        assert len(packed) == len(known)
        pairs += len(packed)
        for engine, answer in zip(data["header"]["engines"], answers, strict=True):
            numbers = [each[0] if isinstance(each, list) else each for each in (answer[1:2] or [[]])[0]]
            texts = [packed[number][1] for number in numbers]
            given = entry["engines"][engine]["snippets"]
            assert texts == [each.get("shown", each)["snippet"] for each in given]
    assert pairs == results["summary"]["pairs"]


def test_a_page_of_a_sample_says_so_and_stays_below_six_megabytes(demo: Path) -> None:
    summary = load_summary(RunFolder(demo))
    walk = make_entries(1200, list(summary.engines), 10, "小狗贫血的表现是牙龈发白精神不好" * 12)
    text = render_queries(summary, walk, "big")
    assert len(text.encode()) < 6_000_000
    shown = len(read_data(text)["queries"])
    assert f"A sample: {shown:,} of 1,200 queries" in text
    assert f"本页只展示样本：1,200 条查询中的 {shown:,} 条" in text


# --- texts


@given(st.text())
def test_nothing_hides_in_what_is_shown(text: str) -> None:
    shown = escape_hidden(text)
    assert all(char.isprintable() or char in SEEN or "\U0001f000" <= char <= "\U0001faff" for char in shown)
    assert shown.isascii() or set(shown) <= set(text) | set("\\x0123456789abcdef ")


@check_each(
    ("text", "shown"),
    [
        ("a\u202eb", "a\\x202eb"),
        ("a\x1b[31m\x00", "a\\x1b[31m\\x00"),
        ("a\ud800", "a\\xd800"),
        ("a\u3164b", "a\\x3164b"),
        ("全角\u3000空格\tand\u00a0more", "全角 空格 and more"),
        ("👩\u200d🚀 क\u094d\u200dष", "👩\u200d🚀 क\u094d\u200dष"),
        ("\U0001faef \U0001f6dc", "\U0001faef \U0001f6dc"),
        ("zero\u200dwidth", "zero\\x200dwidth"),
        ("one\ntwo", "one\ntwo"),
    ],
)
def test_controls_are_escapes_and_blanks_and_joiners_stay(text: str, shown: str) -> None:
    assert escape_hidden(text) == shown


def test_long_names_that_begin_alike_are_told_apart_in_sentences(tmp_path: Path) -> None:
    """Every hidden letter is shown as six."""
    names = ["\u3164" * 60 + last for last in "xy"]
    assert len(set(make_labels(names).values())) == 2
    rows = [
        {"query": f"tea {value}", "engine": name, "snippet": "tea", **dict.fromkeys(names, value)}
        for name in names
        for value in "12"
    ]
    summary = use_display_names(load_summary(RunFolder(run_lexical(tmp_path / "run", rows))))
    assert len(summary.engines) == len(summary.segments) == 2


@pytest.mark.parametrize(
    ("engines", "says"),
    [
        ("A", ("1 engine: nothing to compare.", "只有 1 个引擎，无法比较。")),
        ("AB", ("2 engines, and no measure that can compare engines.", "没有可用于比较引擎的指标")),
    ],
)
def test_the_page_says_why_there_is_nothing_to_compare(
    tmp_path: Path, engines: str, says: tuple[str, ...]
) -> None:
    rows = [{"query": "tea", "engine": engine, "rank": 1, "snippet": "green tea"} for engine in engines]
    judge.run(rows, model="lexical", measures=["AP(own)@10"], out=str(tmp_path / "run"))
    text = render_page(tmp_path / "run")
    assert all(line in text for line in says)


def test_the_page_shows_the_warnings_of_an_agreement_with_labels(tmp_path: Path) -> None:
    run = run_lexical(tmp_path / "run", make_rows(2, 1, 2))
    lines = [f"{each['query_id']},{each['snippet_id']},2,茶" for each in read_judgments(run)]
    labels = tmp_path / "labels.csv"
    labels.write_text("\n".join(["query_id,snippet_id,grade,注", *lines]), encoding="gb18030")
    judge.agree(run, labels)
    text = render_page(run)
    assert "is not UTF-8 and was read as GB18030" in text
    assert "不是 UTF-8" in text
    assert f"{len(lines)} pairs with labels of labels.csv" in text
    assert f"labels.csv：{len(lines)} 个查询-摘要对的标注" in text
    # The sentence of `judge agree`, also where there is no kappa.
    assert "Agreement on relevant or not: " in text
    assert "“是否相关”的一致性：" in text


def test_the_page_shows_the_remarks_of_an_assessor_in_both_languages(demo: Path) -> None:
    remark = "The prompts show labelled examples: 3 in English and 0 in Chinese."
    summary = replace(load_summary(RunFolder(demo)), remarks=(remark,))
    text = render_queries(summary, lambda places: iter(()))
    assert f'<span class="en">{remark}</span>' in text
    assert "提示词展示了已标注的示例：英文 3 个，中文 0 个。" in text


def test_a_prompt_of_both_languages_is_named_once(demo: Path) -> None:
    extras = ReportExtras(prompts={"zh": "rerank-1", "en": "rerank-1"})
    facts = {
        name.en: texts for name, texts in iter_facts(load_summary(RunFolder(demo)), extras, ("zh", "en"))
    }
    assert facts["prompt"] == [("rerank-1", "rerank-1")]


def test_the_legend_of_pairs_explains_the_columns_that_are_there(demo: Path) -> None:
    text = render_page(demo)
    (legend,) = (part for part in re.findall(r'<p class="muted legend">.*?</p>', text) if "decides" in part)
    terms = re.findall(r'<span class="en">([^:<]*?)(?::|</span>)', legend)
    assert terms == [
        "result", "95% interval of a difference", "detectable",
        "The first measure decides, the others are descriptive.",
    ]  # fmt: skip


def test_words_are_written_from_the_left_and_numbers_from_the_right(demo: Path) -> None:
    text = render_page(demo)
    assert re.findall(r'<th scope="col" class="words"><span class="en">(.*?)</span>', text) == [
        "text", *["result"] * 5, "separated"
    ]  # fmt: skip


def test_a_very_small_p_is_not_0(demo: Path) -> None:
    summary = load_summary(RunFolder(demo))
    row = replace(summary.comparisons[0], p_adjusted=8e-6)
    (table,) = result_tables.iter_comparison_tables(replace(summary, comparisons=(row,)))
    ((_, cells),) = table.rows
    shown = [text.en for text, _ in cells]
    assert shown[4] == "< 0.0001"


def test_a_mean_over_fewer_queries_than_its_segment_says_how_many(demo: Path) -> None:
    """In the example, compass fails on one of 6 English queries."""
    (table,) = result_tables.iter_segment_tables(load_summary(RunFolder(demo)))
    compass = [column.title.en for column in table.head].index("compass")
    counts = {
        lang: [lines[-1].en.partition("n = ")[2] if lines else "" for _, lines in cells]
        for lang, cells in table.rows
    }
    assert [counts[lang][compass] for lang in ("en", "zh")] == ["5", ""]
    assert sum(map(bool, counts["en"])) == 1


def test_names_are_cut_put_on_one_line_and_told_apart() -> None:
    assert truncate("abc", 2) == ("ab", 1)
    assert fit_on_line("a\nb" + "x" * 300) == "a\\nb" + "x" * 197 + "…"
    assert make_labels(["a b", "a\u00a0b", "c"]) == {"a b": "a b", "a\u00a0b": "a b (2)", "c": "c"}


def test_a_name_in_a_sentence_keeps_its_direction_and_stays_text() -> None:
    text = mark_names(f"{isolate('<b>' + END + 'x')} is best")
    assert text == "<bdi>&lt;b&gt;\\x2069x</bdi> is best"
    assert mark_names(f"{ISOLATE}a{END} > {ISOLATE}b{END}") == "<bdi>a</bdi> &gt; <bdi>b</bdi>"
