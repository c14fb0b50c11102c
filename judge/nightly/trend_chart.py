"""Owns the charts of the trend: every engine by a measure, night by night, and the canaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from markupsafe import Markup

from judge.messages import Text
from judge.nightly import history
from judge.nightly.history import EXITS, Kind, Night, Value
from judge.nightly.trend_strips import Mark, Point, Strip, picture
from judge.nightly.trend_window import Window, windows
from judge.nightly.trend_words import CHANGED, STATUS
from judge.report import display_text
from judge.report.charts import svg
from judge.report.charts.svg import MAX_ENGINES, NOTHING, Caption, Chart, name_element, tag, text_element

#: The most nights that a picture shows.
NIGHTS = 366
#: So many times the usual way from night to night is a gap.
_GAP = 3
#: Where no line may join two nights, for the values mean something else.
_APART: Mapping[Kind, frozenset[history.Change]] = {
    "mean": frozenset({"model", "prompt", "scale"}),
    "change": frozenset({"model", "prompt", "scale", "baseline"}),
}
_NIGHT = Text("night", "日期")

_DOT = tag("circle", cx=9, cy=0, r=3, class_="dot")
_HOLLOW = tag("circle", cx=9, cy=0, r=3, class_="dot hollow")
_ALARM = tag("path", d="M3 -5H15L9 5Z", class_="alarm")
_BAND = tag("rect", x=1, y=-6, width=16, height=12, class_="band")
_BASE = tag("line", x1=1, x2=17, y1=0, y2=0, class_="base")


@dataclass(frozen=True, slots=True)
class _Row:
    """What a strip is made of, night by night: the values, the baseline's, and whether there is an alarm."""

    label: Markup
    who: str
    values: Sequence[Value | None]
    base: Sequence[float | None]
    alarms: Sequence[bool]

    @property
    def known(self) -> list[Value]:
        """The values that there are."""
        return [value for value in self.values if value]


def chart(nights: Sequence[Night], measure: str, kind: Kind) -> Chart | None:
    """Every engine's trend by the measure; None when no night has a value."""
    shown = nights[-NIGHTS:]
    rows = [_row(shown, engine, measure, kind) for engine in history.engines(shown)]
    rows = [row for row in rows if row.known]
    if not rows:
        return None
    mean, change = svg.mean_name(measure), kind == "change"
    title = Text(f"{mean}, night by night", f"逐晚的 {mean}")
    if change:
        title = Text(f"{mean}, change from the baseline", f"{mean} 相对基线的变化")
    caption = Caption(_id(measure), title, _said(shown, mean, kind))
    drawn = rows[:MAX_ENGINES]
    frames = windows([row.known for row in drawn], alike=True, zero=change)
    strips = [_strip(shown, row, frame, kind) for row, frame in zip(drawn, frames, strict=True)]
    form = _form(kind)
    table = tuple(
        (each.day.isoformat(), *(cell for row in rows for cell in _cells(row.values[at], form)))
        for at, each in enumerate(shown)
    )
    head = (_NIGHT, *(part for row in rows for part in _heads(row.who)))
    days = shown[0].day, shown[-1].day
    drawing = picture(caption, _keys(rows, kind), strips, _marks(shown), days, len(rows) - len(drawn))
    return Chart(caption.id, title, caption.desc, drawing, head, table)


def canaries(nights: Sequence[Night]) -> Chart | None:
    """How the canaries were graded: as in the baseline or not, and their mean grade; None without any."""
    shown = nights[-NIGHTS:]
    found = [each.canaries for each in shown]
    if not any(found):
        return None
    title = Text("The judge: canaries", "评测员：金丝雀样本")
    desc = Text(
        "The same pairs, graded anew every night. When their grades move, the judge has moved, not an engine."
        f" Above: the share graded as in the baseline; below: the mean grade.{_letters(shown, 'en')}",
        "同一批样本每晚重新判定：等级变了，变的是评测员而不是引擎。上：与基线等级相同的比例；下：平均等级。"
        f"{_letters(shown, 'zh')}",
    )
    caption = Caption("trend-canaries", title, desc)
    labels = Text("graded as in the baseline", "与基线相同"), Text("mean grade", "平均等级")
    shares = [each.unchanged if each else None for each in found]
    grades = [each.mean_grade if each else None for each in found]
    rows = [_canary_row(shown, labels[0], shares), _canary_row(shown, labels[1], grades)]
    rows = [row for row in rows if row.known]
    frames = windows([row.known for row in rows], alike=False, zero=False)
    strips = [_strip(shown, row, frame, "mean") for row, frame in zip(rows, frames, strict=True)]
    keys = [(_DOT, Text("a night", "一晚")), (_ALARM, Text("judge drift", "评测员漂移"))]
    head = (_NIGHT, *labels, Text("pairs", "样本数"), Text("drift", "漂移"))
    table = tuple(
        (each.day.isoformat(), svg.format_number(share), svg.format_number(grade), *_told(each.canaries))
        for each, share, grade in zip(shown, shares, grades, strict=True)
    )
    drawing = picture(caption, keys, strips, _marks(shown), (shown[0].day, shown[-1].day))
    return Chart(caption.id, title, desc, drawing, head, table)


def _row(nights: Sequence[Night], engine: str, measure: str, kind: Kind) -> _Row:
    gate = [each.gate.get((engine, measure)) for each in nights]
    return _Row(
        name_element(engine, 18, class_="head", x=0, y=13),
        display_text.one_line(engine),
        history.series(nights, engine, measure, kind),
        [row.baseline if row and kind == "mean" else None for row in gate],
        [bool(row and row.verdict == "regression") for row in gate],
    )


def _canary_row(nights: Sequence[Night], label: Text, numbers: Sequence[float | None]) -> _Row:
    values = [None if number is None else Value(number, None, 0) for number in numbers]
    drift = [bool(each.canaries and each.canaries.drift) for each in nights]
    return _Row(text_element(label, class_="head", x=0, y=13), "", values, [None] * len(nights), drift)


def _told(canary: history.Canaries | None) -> tuple[str, str]:
    return (str(canary.pairs), "!" if canary.drift else "") if canary else (NOTHING, "")


def _strip(nights: Sequence[Night], row: _Row, frame: Window, kind: Kind) -> Strip:
    last = next((value for value in reversed(row.values) if value), None)
    return Strip(
        row.label,
        _value(last, _form(kind, short=True)),
        frame.ticks(signed=kind == "change"),
        frame.at(0.0) if kind == "change" else None,
        tuple(_runs(nights, row, frame, kind)),
    )


def _runs(nights: Sequence[Night], row: _Row, frame: Window, kind: Kind) -> Iterator[tuple[Point, ...]]:
    """The points that a line may join: not over nights without a value, nor over one that changed it."""
    run: list[Point] = []
    gaps = _gaps(nights)
    for at, changed in enumerate(history.changes(nights)):
        value = row.values[at]
        if run and (value is None or at in gaps or _APART[kind] & {*changed}):
            yield tuple(run)
            run = []
        if value:
            run.append(_point(nights, row, at, value, frame))
    if run:
        yield tuple(run)


def _gaps(nights: Sequence[Night]) -> set[int]:
    """The nights that come so long after the one before that nobody knows what was in between."""
    apart = [(after.day - before.day).days for before, after in pairwise(nights)]
    usual = median(apart) if apart else 0
    return {at for at, days in enumerate(apart, 1) if days > _GAP * usual}


def _point(nights: Sequence[Night], row: _Row, at: int, value: Value, frame: Window) -> Point:
    each, base, status = nights[at], row.base[at], STATUS[nights[at].status]
    low, high = value.interval or (value.value, value.value)
    return Point(
        _across(nights, at),
        frame.at(value.value),
        (frame.at(low), frame.at(high)) if value.interval else None,
        None if base is None else frame.at(base),
        f"{each.day} {row.who} {_value(value, '.4f')}: {status.en} / {status.zh}",
        row.alarms[at],
        EXITS[each.status] != 3,
    )


def _across(nights: Sequence[Night], at: int) -> float:
    """Where the night is, by its date."""
    first, last = nights[0].day, nights[-1].day
    return (nights[at].day - first).days / (last - first).days if last > first else 0.5


def _marks(nights: Sequence[Night]) -> list[Mark]:
    found = []
    for at, changed in enumerate(history.changes(nights)):
        if changed:
            letters = "".join(CHANGED[each][0] for each in changed)
            day = nights[at].day
            en, zh = (f"{day}: {', '.join(CHANGED[each][1][lang] for each in changed)}" for lang in (0, 1))
            found.append(Mark(_across(nights, at), letters, Text(en, zh)))
    return found


def _letters(nights: Sequence[Night], lang: str) -> str:
    """What the letters mean that occur."""
    there = {each for changed in history.changes(nights) for each in changed}
    words = [(letter, getattr(said, lang)) for change, (letter, said) in CHANGED.items() if change in there]
    if not words:
        return ""
    if lang == "zh":
        return f"竖线：{'，'.join(f'{letter} {text}' for letter, text in words)}。"
    return f" Dotted lines: {', '.join(f'{letter} {text}' for letter, text in words)}."


def _said(nights: Sequence[Night], mean: str, kind: Kind) -> Text:
    if kind == "change":
        en = (
            f"{mean} depends on what all engines found, so nights can't be set side by side: this is each"
            " night's difference from the frozen baseline, both on one pool."
        )
        zh = f"{mean} 取决于所有引擎找到了什么，各晚不能直接相比：这里是每晚与冻结基线在同一个池上的差。"
    else:
        en = f"Mean {mean} of each engine; this measure needs no pool, so nights compare."
        zh = f"各引擎的 {mean} 均值；此指标不依赖池，各晚可以直接相比。"
    en += " All strips have the same span, so slopes compare."
    zh += "各条纵轴跨度相同，斜率可比。"
    return Text(en + _letters(nights, "en"), zh + _letters(nights, "zh"))


def _keys(rows: Sequence[_Row], kind: Kind) -> list[tuple[Markup, Text]]:
    """The marks that the picture has, and what they mean."""
    keys = [
        (_DOT, Text("a night", "一晚")),
        (_BAND, Text("95 % interval", "95 % 区间")),
        (_HOLLOW, Text("gate not decided", "闸门未判")),
    ]
    if kind == "mean" and any(base is not None for row in rows for base in row.base):
        keys.append((_BASE, Text("baseline", "基线")))
    if any(alarm for row in rows for alarm in row.alarms):
        keys.append((_ALARM, Text("regression", "退步")))
    return keys


def _heads(engine: str) -> tuple[Text, ...]:
    return tuple(Text(text, text) for text in (engine, "95 %", "n"))


def _cells(value: Value | None, form: str) -> tuple[str, str, str]:
    if value is None:
        return NOTHING, NOTHING, NOTHING
    return svg.format_number(value.value, form), svg.format_range(value.interval, form), f"{value.n:,}"


def _form(kind: Kind, *, short: bool = False) -> str:
    return f"{'+' if kind == 'change' else ''}.{3 if short else 4}f"


def _value(value: Value | None, form: str) -> str:
    if value is None:
        return NOTHING
    mean = svg.format_number(value.value, form)
    return f"{mean} ({svg.format_range(value.interval, form)})" if value.interval else mean


def _id(measure: str) -> str:
    return "trend-" + "".join(char if char.isascii() and char.isalnum() else "-" for char in measure)
