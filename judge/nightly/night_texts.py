"""The texts about nights in English and Chinese, for the banner, the page of the trend and the terminal.

An English sentence of night.json is shown as it is, unless the record's data give it in Chinese too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from judge.messages import Text, Translator, text
from judge.nightly.record import BannerSentence, NightRecord, RegressionOutcome, Status
from judge.nightly.trend import Change, Kind
from judge.report.charts.svg import format_number
from judge.report.display_text import isolate, truncate_with_ellipsis

STATUS_TEXTS: Mapping[Status, Text] = {
    "fine": text("fine"),
    "regression": text("regression"),
    "incomplete": text("incomplete"),
    "assessor drift": text("assessor drift"),
    "no baseline": text("no baseline"),
    "queries changed": text("queries changed"),
    "engine settings changed": text("engine settings changed"),
}
#: The letter and the text of each change from one night to the next.
CHANGE_TEXTS: Mapping[Change, tuple[str, Text]] = {
    "model": ("M", text("another model")),
    "prompt": ("P", text("another prompt")),
    "scale": ("S", text("another scale or depth")),
    "baseline": ("B", text("new baseline and pool")),
    "queries": ("Q", text("other queries")),
}
#: The most characters of a stored sentence that are shown.
SENTENCE_LENGTH = 300
_NO_BASELINE = "还没有基线，因此不做比较；使用 judge baseline set 设置基线"


def headline(nights: Sequence[NightRecord]) -> Text:
    """Return the status of the last night, for how long nights are fine, and the last alarm."""
    if not nights:
        return text("No night can be read.")
    last = nights[-1]
    status = STATUS_TEXTS[last.status]
    en, zh = f"{last.date}: {status.en}", f"{last.date}：{status.zh}"
    fine = sum(1 for _ in takewhile(lambda night: night.status == "fine", reversed(nights)))
    if fine > 1:
        en, zh = f"{en} for {fine:,} nights", f"{last.date}：连续 {fine:,} 晚{status.zh}"
    alarm = next((night for night in reversed(nights) if night.status == "regression"), None)
    if alarm:
        names = [isolate(engine) for engine in sorted(alarm.regressed)]
        engines = Text(", ".join(names), "、".join(names))
        if alarm is last:
            en, zh = f"{en} of {engines.en}", f"{zh}：{engines.zh}"
        else:
            en = f"{en}; last alarm {alarm.date}: {engines.en}"
            zh = f"{zh}；上次告警 {alarm.date}：{engines.zh}"
    return Text(f"{en}.", f"{zh}。")


def describe_reasons(night: NightRecord) -> tuple[Text, ...]:
    """Return the reasons of the night; both texts are the same where only the English sentence is known."""
    return tuple(
        Text(
            truncate_with_ellipsis(stored, SENTENCE_LENGTH),
            chinese or truncate_with_ellipsis(stored, SENTENCE_LENGTH),
        )
        for stored, chinese in zip(night.reasons, _chinese_reasons(night), strict=False)
    )


def _chinese_reasons(night: NightRecord) -> Iterator[str]:
    """Yield each reason in Chinese, empty where the data do not give it; regressions come first."""
    for outcome in night.outcomes:
        if outcome.verdict == "regression":
            yield f"{isolate(outcome.engine)}：{_chinese_drop(outcome)}"
    if night.status == "no baseline":
        yield _NO_BASELINE
    while True:
        yield ""


def _chinese_drop(outcome: RegressionOutcome) -> str:
    change, before = outcome.change, outcome.baseline
    if change is None or before is None:
        return f"{outcome.measure} 下降"
    drop, start, end = (format_number(number) for number in (-change, before, before + change))
    p = format_number(outcome.p_holm, ".2g")
    return f"{outcome.measure} 下降 {drop}，从 {start} 到 {end}，{outcome.n:,} 个查询（p = {p}）"


def make_banner(night: NightRecord) -> tuple[BannerSentence, ...]:
    """Return the sentences above the report of the night: its status, then each reason.

    They are stored in night.json, so that a report that is drawn again has them.
    """
    return tuple(
        BannerSentence(en=text.en, zh=text.zh) for text in (headline([night]), *describe_reasons(night))
    )


def describe_unfinished(t: Translator, day: str) -> str:
    """Return that a night was begun and has no record, and the command that resumes it."""
    command = f"judge nightly judge.toml --date {day}"
    return t("{day} was begun and not finished: {command}", day=day, command=command)


def describe_shown_nights(nights: Sequence[NightRecord], most: int) -> Text | None:
    """Return which nights the charts show, None when they show all."""
    left_out = len(nights) - most
    if left_out <= 0:
        return None
    first = nights[left_out].date
    return text(
        "Charts show the last {most:,} of {nights:,} nights, from {first} on; the table has all.",
        most=most,
        nights=len(nights),
        first=first,
    )


def describe_trend(mean: str, kind: Kind, changes: Sequence[Sequence[Change]]) -> Text:
    """Return the description of the chart of a measure, whose mean is called `mean`."""
    letters = describe_letters(changes)
    if kind == "change":
        en = (
            f"{mean} depends on what all engines found, so nights cannot be compared directly: this is each"
            " night's difference from the frozen baseline, both on one pool."
        )
        zh = f"{mean} 取决于所有引擎返回的结果，各晚不能直接比较：图中是每晚与冻结基线在同一个池上的差值。"
    else:
        en = f"Mean {mean} of each engine; this measure needs no pool, so nights compare."
        zh = f"各引擎的 {mean} 均值；该指标不依赖池，各晚可以直接比较。"
    return Text(
        f"{en} All rows have the same span, so slopes compare.{letters.en}",
        f"{zh}各行纵轴跨度相同，斜率可以比较。{letters.zh}",
    )


def describe_letters(changes: Sequence[Sequence[Change]]) -> Text:
    """Return the meaning of the letters of the changes that occur, empty without any."""
    present = {change for changed in changes for change in changed}
    texts = [(letter, text) for change, (letter, text) in CHANGE_TEXTS.items() if change in present]
    if not texts:
        return Text("", "")
    return Text(
        f" Dotted lines: {', '.join(f'{letter} {text.en}' for letter, text in texts)}.",
        f"竖线：{'，'.join(f'{letter} {text.zh}' for letter, text in texts)}。",
    )
