"""Messages that files hold in English are shown in Chinese, and other texts as they are."""

import re
from collections.abc import Mapping
from cProfile import Profile
from string import Formatter
from types import SimpleNamespace

import pytest

from judge.messages import (
    CHINESE,
    ENGLISH,
    MeasureName,
    Message,
    NameList,
    SeparatedNames,
    join_messages,
)
from judge.messages.catalogue import fill_chinese, format_chinese
from judge.messages.recognition import MessageIndex
from tests.support.cases import check_each
from tests.unit.test_messages_catalogue import load_catalogue

TEMPLATES = sorted(
    text
    for text, context in load_catalogue()
    if context is None and not load_catalogue()[text, context].pluralizable
)


def sample_values(template: str) -> dict[str, str]:
    """Return a value for each field of a template: a number where its format is that of numbers."""
    return {
        name: "12" if not conversion and re.search(r"[,f%gd]$", spec or "") else f"<value-{number}>"
        for number, (_, name, spec, conversion) in enumerate(Formatter().parse(template))
        if name is not None
    }


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return an English template, which has no space that `fill_chinese` drops, with its values."""
    return fill_chinese(template, lambda field, *_: values[field])


@check_each(
    ("place", "expected"),
    [
        ("d.csv:3", "d.csv:3"),
        ("row 7", "第 7 行"),
        ("d.parquet: row 7", "d.parquet：第 7 行"),
        ("d.xlsx: sheet '甲 乙' row 4", "d.xlsx：工作表 '甲 乙' 第 4 行"),
        ("d.json: record 2: engine 'a': result 1", "d.json：第 2 条记录：引擎 'a'：第 1 条结果"),
    ],
)
def test_a_place_in_a_dataset_is_in_the_language_of_the_message(place: str, expected: str) -> None:
    message = Message("{place}: column {name!r:.80} is given twice; rename one", place=place, name="query")
    assert CHINESE(message).startswith(f"{expected}：")
    assert ENGLISH(message) == message


def test_each_template_is_recognised_in_its_text() -> None:
    index = MessageIndex(TEMPLATES)
    others = []
    for template in TEMPLATES:
        text = fill(template, sample_values(template))
        literals = "".join(literal for literal, *_ in Formatter().parse(template))
        if sum(map(str.isalpha, literals)) < 8:
            continue
        message = index.recognise(text)
        assert message is not None, template
        assert fill(message.template, message.values) == text
        others += [template] if message.template != template else []
    # Templates with the same words and other names of fields, or without their last field.
    assert len(others) < 8, others


@check_each(
    "message",
    [
        Message("the dataset, --columns or --complete changed"),
        join_messages(
            [
                Message("the prompts changed"),
                Message("{name} was {before}, now {now}", name="depth", before=3, now=4),
            ]
        ),
        Message(
            "not relevant at {engine}: {classes}",
            engine="other",
            classes=join_messages(
                [
                    Message("{name} {count:,}", name=MeasureName(name), count=2)
                    for name in ("off_topic", "outdated", "other")
                ],
                "{left}, {right}",
            ),
        ),
        Message("{name}: {value}", name=MeasureName("perfect"), value="Paris"),
        Message("{name}: {value}", name=MeasureName("missing"), value="Paris – it is"),
        Message("not in the baseline, so not compared: {engines}", engines=SeparatedNames(["a", "b"])),
        Message("{name}: {value}", name="x", value=Message("the prompts changed")),
        # What stands in quotation marks is of a model or a server: it has no parts.
        Message("no verdict in {text}", text="""'{"reason": "It: is (one)'"""),
        Message("HTTP {status:d}{code}: no message", status=429, code=" slow_down"),
        Message(
            "stopped with {missing:,} of {total:,} unjudged: {reason}",
            missing=9,
            total=9,
            reason=Message(
                "{count:,} requests in a row to {model} have no answer: {advice}",
                count=5,
                model="m",
                advice="x",
            ),
        ),
        Message(
            "{count:,} of {replies:,} replies to the canaries have no verdict; {reference}:"
            " {count_before:,} of {replies_before:,}",
            count=3,
            replies=9,
            reference=Message("at the baseline"),
            count_before=1,
            replies_before=9,
        ),
        Message(
            "{engines} returned no result for any query; correct its settings, or leave it out",
            engines=NameList(["a", "b", "c"]),
        ),
        Message("not in the baseline, so not compared: {engines}", engines=NameList(["必应 国际版", "b c"])),
        Message(
            "no price is known for {names}; --costs ENGINE=USD gives one",
            names=NameList(map(repr, ["必应 国际版", "b"])),
        ),
        Message(
            "sites without a class, by number of results: {sites}",
            sites=SeparatedNames(["a.example (1,200)", "b.example (3)"]),
        ),
        Message(
            "engines are not compared by {name}; name one of these measures: {names}",
            name="x(a, b)",
            names="c",
        ),
    ],
)
def test_a_message_that_was_read_is_the_one_that_was_written(message: Message) -> None:
    assert CHINESE(str(message)) == CHINESE(message) != str(message)
    assert ENGLISH(str(message)) == message


@check_each(
    "text",
    [
        *("", "lantern", "Gold; silver", "how to be a judge", "a: b", "{name} {x", "50%", "a, b"),
        "HTTP 400: no, it is odd",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert CHINESE(text) == text


@check_each("reason", ["verify failed: unable to get the issuer", "one and the other: a", "a to b and (c) d"])
def test_words_behind_a_message_stay_as_they_are(reason: str) -> None:
    message = Message("no TLS connection: {reason}", reason=reason)
    assert CHINESE(f"https://a/v1: {message}") == f"https://a/v1：无法建立 TLS 连接：{reason}"


@pytest.mark.parametrize("part", ["; ", ": ", " and ", "{", "a "])
def test_a_long_text_of_another_person_takes_no_longer_than_its_length(part: str) -> None:
    assert CHINESE(part * 20_000)


def test_values_that_many_templates_give_are_looked_up_once() -> None:
    """The same words are values of many short templates, such as "{name}: {value}" and "{a} is {b}"."""
    text = (
        "If each list is compared with its own best order alone, HTTP 400 comes first (a and b: no text the"
        " prompts changed, :  ; , on (x) with a value of both): this shows how well a list is ordered, not"
        " what it contains, and one good result on top is enough for the highest value. 'q; r' shows bing,"
        " baidu relevant results a query and 0.5% bing, baidu; measured against what all engines found"
        " (HTTP 400),  is ahead, no text to : a."
    )
    profile = Profile()
    assert profile.runcall(MessageIndex(TEMPLATES).recognise, text) is None
    calls = sum(entry.callcount for entry in profile.getstats())
    assert calls < 1_000_000  # for 1,100 templates and 300 values


@check_each(
    ("template", "values", "expected"),
    [
        ("按指标衡量，{a} 最好", {"a": "百度"}, "按指标衡量，百度最好"),
        ("按指标衡量，{a} 最好", {"a": "bing"}, "按指标衡量，bing 最好"),
        ("{a} 与 {b}：差异不显著", {"a": "百度", "b": "搜狗 搜索"}, "百度与搜狗 搜索：差异不显著"),
        ("{a} 与 {b}：差异不显著", {"a": "百度", "b": "B2"}, "百度与 B2：差异不显著"),
        ("由 {a} 评定", {"a": "\u2068百度\u2069"}, "由\u2068百度\u2069评定"),
        ("在 {n:,} 条中有 {part:.1%}", {"n": 1234, "part": 0.5}, "在 1,234 条中有 50.0%"),
        ("引擎 {a!r} 有", {"a": "百度"}, "引擎 '百度' 有"),
        ("{a} {b}", {"a": "百度", "b": "必应"}, "百度 必应"),
        ("运行 {a} 中的引擎", {"a": "runs/今晚"}, "运行 runs/今晚 中的引擎"),
        ("见 {night.day} 的{{}}", {"night": SimpleNamespace(day="今日")}, "见今日的{}"),
        ("", {}, ""),
    ],
)
def test_no_space_stands_between_chinese_and_a_chinese_value(
    template: str, values: dict[str, object], expected: str
) -> None:
    assert format_chinese(template, values) == expected
