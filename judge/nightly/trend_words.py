"""Owns how nights are said on the page of the trend, in English and in Chinese.

What night.json holds as an English sentence stays as it is, but for what its own data can say anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from judge.messages import Text
from judge.nightly.history import Change, Gated, Night, Status
from judge.report.charts.svg import format_number
from judge.report.display_text import isolate, truncate_with_ellipsis

STATUS: Mapping[Status, Text] = {
    "fine": Text("fine", "正常"),
    "regression": Text("regression", "退步"),
    "incomplete": Text("incomplete", "不完整"),
    "judge drift": Text("judge drift", "评测员漂移"),
    "no baseline": Text("no baseline", "没有基线"),
    "different queries": Text("different queries", "查询不同"),
    "asked otherwise": Text("engines asked otherwise", "引擎的问法不同"),
}
#: What can change from one night to the next: its letter, and in words.
CHANGED: Mapping[Change, tuple[str, Text]] = {
    "model": ("M", Text("another model", "换了模型")),
    "prompt": ("P", Text("another prompt", "换了提示词")),
    "scale": ("S", Text("another scale or depth", "换了等级或深度")),
    "baseline": ("B", Text("new baseline and pool", "新的基线和池")),
    "queries": ("Q", Text("other queries", "查询有变")),
}
#: How much of a stored sentence is shown.
SENTENCE = 300
_UNSET = "还没有基线，所以不作比较；用 judge baseline set 设定"


def headline(nights: Sequence[Night]) -> Text:
    """How the last night went, since when it is fine, and when there last was an alarm."""
    if not nights:
        return Text("No night can be read.", "没有一晚可以读取。")
    last = nights[-1]
    status = STATUS[last.status]
    en, zh = f"{last.day}: {status.en}", f"{last.day}：{status.zh}"
    fine = sum(1 for _ in takewhile(lambda each: each.status == "fine", reversed(nights)))
    if fine > 1:
        en, zh = f"{en} for {fine:,} nights", f"{last.day}：连续 {fine:,} 晚{status.zh}"
    alarm = next((each for each in reversed(nights) if each.status == "regression"), None)
    if alarm is last:
        who = _who(alarm)
        en, zh = f"{en} of {who.en}", f"{zh}：{who.zh}"
    elif alarm:
        who = _who(alarm)
        en, zh = f"{en}; last alarm {alarm.day}: {who.en}", f"{zh}；上次报警 {alarm.day}：{who.zh}"
    return Text(f"{en}.", f"{zh}。")


def _who(night: Night) -> Text:
    names = [isolate(engine) for engine in sorted(night.regressed)]
    return Text(", ".join(names), "、".join(names))


def reasons(night: Night) -> tuple[Text, ...]:
    """Why the night is not fine; both are the same where only the stored English sentence is known."""
    return tuple(
        Text(truncate_with_ellipsis(stored, SENTENCE), again or truncate_with_ellipsis(stored, SENTENCE))
        for stored, again in zip(night.because, _again(night), strict=False)
    )


def _again(night: Night) -> Iterator[str]:
    """What each of the night's reasons is in Chinese, empty where data don't tell; drops come first."""
    for (engine, measure), row in night.gate.items():
        if row.verdict == "regression":
            yield f"{isolate(engine)}：{_drop(measure, row)}"
    if night.status == "no baseline":
        yield _UNSET
    while True:
        yield ""


def _drop(measure: str, row: Gated) -> str:
    change = row.change
    if change is None or row.baseline is None:
        return f"{measure} 下降"
    now = format_number(row.baseline + change.value)
    return (
        f"{measure} 下降 {format_number(-change.value)}，从 {format_number(row.baseline)} 到 {now}，"
        f"{change.n:,} 个查询（p = {format_number(row.p_holm, '.2g')}）"
    )


def unfinished(day: str) -> Text:
    """That a night was begun and has no record, and how it is gone on with."""
    command = f"judge nightly judge.toml --date {day}"
    return Text(f"{day} was begun and not finished: {command}", f"{day} 开始后没有完成：{command}")


def drawn(nights: Sequence[Night], most: int) -> Text | None:
    """Which nights the charts show, when they leave out some."""
    left_out = len(nights) - most
    if left_out <= 0:
        return None
    first = nights[left_out].day
    return Text(
        f"Charts show the last {most:,} of {len(nights):,} nights, from {first} on; the table has all.",
        f"图表只显示 {len(nights):,} 晚中最近的 {most:,} 晚，自 {first} 起；下表列出全部。",
    )
