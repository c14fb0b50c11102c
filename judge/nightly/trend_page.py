"""The page of the trend (`trend.html`): one file with every night and what changed when, without requests.

The same nights give the same bytes. Names are untrusted: text is escaped where it enters the page.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from os.path import relpath
from pathlib import Path, PurePath
from urllib.parse import quote

from markupsafe import Markup

from judge.errors import InputError
from judge.measure.measures import name_mean
from judge.measure.resampling import MIN_DIFFERING
from judge.messages import Bilingual, Translator, build_text, build_texts, join_sentences, make_text
from judge.nightly import night_texts, trend
from judge.nightly.night_texts import SENTENCE_LENGTH, STATUS_TEXTS
from judge.nightly.record import EXIT_CODES, NightRecord
from judge.nightly.trend import TrendValue
from judge.nightly.trend_changes import CHANGE_TEXTS, Change, Kind, find_changes
from judge.nightly.trend_drawing import Timeline, TrendRow, choose_number_format, draw_rows
from judge.report import display_text
from judge.report.charts.svg import (
    MAX_ENGINES,
    Chart,
    describe_omitted,
    draw_label,
    draw_text,
    make_chart,
    make_tag,
)
from judge.report.display_text import format_number, truncate_with_ellipsis
from judge.report.pages import render_page
from judge.report.result_tables import INTERVAL, Column, ResultTable
from judge.runs.folder import RunFolder

PAGE_FILE = "trend.html"
_STYLE = (
    *(("judge.report", f"{name}.css") for name in ("look", "report", "charts")),
    ("judge.nightly", "trend.css"),
)
#: Package and name of each script, in the order of the page; `.ci/javascript/trend.json` lists them too.
TREND_SCRIPTS = (
    *(("judge.report", f"{name}.js") for name in ("dom", "messages", "display")),
    ("judge.nightly", "trend.js"),
)


#: The most nights that a picture shows.
MAX_NIGHTS_ON_PAGE = 366
_NIGHT = make_text("night")
_DOT = make_tag("circle", cx=9, cy=0, r=3, class_="dot")
_HOLLOW = make_tag("circle", cx=9, cy=0, r=3, class_="dot hollow")
_ALARM = make_tag("path", d="M3 -5H15L9 5Z", class_="alarm")
_INTERVAL = make_tag("rect", x=1, y=-6, width=16, height=12, class_="interval")
_BASE = make_tag("line", x1=1, x2=17, y1=0, y2=0, class_="base")


def write_trend_page(folder: Path, out: Path | None = None) -> Path:
    """Write trend.html of the nights in `folder`, there or as `out`, and return its path.

    Raises InputError when there is no night or no folder to write to, StoreError when the disk is full.
    """
    path = out or folder / PAGE_FILE
    if path.is_dir():
        raise InputError("{file}: is a folder; name a file", file=path)
    if not path.parent.is_dir():
        raise InputError(
            "{file}: there is no folder {folder!r}; make it first", file=path, folder=str(path.parent)
        )
    history = trend.read_history(folder)
    nights = history.nights
    timeline = Timeline(nights[-MAX_NIGHTS_ON_PAGE:])
    measures = trend.list_trend_measures(nights)
    charts = [_draw_measure(timeline, measure, kind) for measure, kind in measures.items()]
    text = render_page(
        "judge.nightly",
        "trend.html.jinja",
        _STYLE,
        TREND_SCRIPTS,
        headline=build_text(night_texts.write_headline, nights),
        reasons=night_texts.shorten_reasons(nights[-1]) if nights else (),
        drops=build_texts(night_texts.describe_nonsignificant_drops, nights[-1]) if nights else (),
        shown_nights=describe_shown_nights(nights),
        charts=[chart for chart in (*charts, _draw_canaries(timeline)) if chart],
        nights=list(zip(nights, find_changes(nights), strict=True))[::-1],
        prefix=make_link_prefix(folder.absolute(), path.parent.absolute()),
        exit_codes=EXIT_CODES,
        status_texts=STATUS_TEXTS,
        change_texts=CHANGE_TEXTS,
        shorten_reasons=night_texts.shorten_reasons,
        describe_drops=lambda night: build_texts(night_texts.describe_nonsignificant_drops, night),
        format_number=format_number,
        has_stored=any(text.en == text.zh for night in nights for text in night_texts.shorten_reasons(night)),
        damaged=[build_text(_shorten, sentence) for sentence in history.damaged],
        unfinished=[build_text(trend.describe_unfinished, *each) for each in history.resume_commands.items()],
    )
    return RunFolder(path.parent).write(path.name, text)


def make_link_prefix(folder: PurePath, page_folder: PurePath) -> str:
    """Return what the links to files in `folder` begin with, on a page in `page_folder`: absolute paths."""
    if folder.drive != page_folder.drive:  # no path leads from one drive of Windows to another one
        return f"{folder.as_uri()}/"
    path = Path(relpath(folder, page_folder)).as_posix()
    return "" if path == "." else f"{quote(path)}/"


def _shorten(t: Translator, sentence: str) -> str:
    return truncate_with_ellipsis(t(sentence), SENTENCE_LENGTH)


# The charts: every engine by a measure, night by night, and the canaries


def _draw_measure(timeline: Timeline, measure: str, kind: Kind) -> Chart | None:
    """Return the chart of every engine's trend by the measure, None when no night has a value."""
    engines = trend.list_engines(timeline.nights)
    rows = [_make_engine_row(timeline, engine, measure, kind) for engine in engines]
    rows = [row for row in rows if row.measured]
    if not rows:
        return None
    mean = name_mean(measure)
    title = make_text(
        "{mean}, change from the baseline" if kind == "change" else "{mean}, night by night", mean=mean
    )
    id_ = "trend-" + "".join(char if char.isascii() and char.isalnum() else "-" for char in measure)
    picture = draw_rows(_make_keys(rows, kind), timeline, rows, kind, same_span=True)
    format_spec = choose_number_format(kind)
    columns = list(chain.from_iterable(_iter_columns(row, format_spec) for row in rows))
    table = ResultTable(title, _NIGHT, timeline.dates, columns)
    description = [_describe_chart(mean, kind, rows, timeline), *describe_omitted(len(rows), MAX_ENGINES)]
    return make_chart(id_, title, join_sentences(description), picture, table)


def _draw_canaries(timeline: Timeline) -> Chart | None:
    """Return the chart of the canaries: the unchanged share and the mean grade; None without any grade."""
    canaries = [night.canaries for night in timeline.nights]
    title = make_text("The assessor: canaries")
    desc = make_text(
        "The same pairs, graded again every night. When their grades change, the assessor has changed, not"
        " an engine. Top: the share with the same grade as in the baseline; bottom: the mean"
        " grade.{letters}",
        letters=build_text(_list_letters, timeline.changes),
    )
    labels = make_text("graded as in the baseline"), make_text("mean grade")
    kinds: tuple[Kind, Kind] = ("change", "mean")  # the share depends on the baseline
    shares = [night.unchanged if night else None for night in canaries]
    grades = [night.mean_grade if night else None for night in canaries]
    alarms = [bool(night and night.drift) for night in canaries]
    rows = [
        TrendRow(
            draw_text(label, "head", 0, 13),
            "",
            [None if figure is None else TrendValue(figure, None, 0) for figure in figures],
            [None] * len(canaries),
            alarms,
            [EXIT_CODES[night.status] != 3 for night in timeline.nights],
            timeline.find_breaks(kind),
        )
        for label, figures, kind in zip(labels, (shares, grades), kinds, strict=True)
    ]
    rows = [row for row in rows if row.measured]
    if not rows:
        return None
    keys = [
        (_DOT, make_text("a night")),
        (_ALARM, STATUS_TEXTS["assessor drift"]),
        (_HOLLOW, make_text("not decided")),
    ]
    picture = draw_rows(keys, timeline, rows, "mean", same_span=False)
    columns = [
        Column(labels[0], shares, ".3f"),
        Column(labels[1], grades, ".3f"),
        Column(make_text("pairs"), [night.pairs if night else None for night in canaries], "d"),
        Column(make_text("drift"), ["!" if alarm else "" for alarm in alarms]),
    ]
    table = ResultTable(title, _NIGHT, timeline.dates, columns)
    return make_chart("trend-canaries", title, desc, picture, table)


def _make_engine_row(timeline: Timeline, engine: str, measure: str, kind: Kind) -> TrendRow:
    nights = timeline.nights
    outcomes = [night.find_outcome(engine, measure) for night in nights]
    return TrendRow(
        draw_label(engine, "head single", 0, 0, 0.8),
        display_text.fit_on_line(engine),
        trend.list_trend_values(nights, engine, measure, kind),
        [outcome.baseline if outcome and kind == "mean" else None for outcome in outcomes],
        [bool(outcome and outcome.outcome == "regression") for outcome in outcomes],
        [EXIT_CODES[night.status] != 3 and trend.has_comparison(night, engine, measure) for night in nights],
        timeline.find_breaks(kind),
    )


def _make_keys(rows: Sequence[TrendRow], kind: Kind) -> list[tuple[Markup, Bilingual]]:
    """Return the marks of the picture with their meaning."""
    keys = [
        (_DOT, make_text("a night")),
        (_INTERVAL, make_text("95% interval")),
        (_HOLLOW, make_text("not decided")),
    ]
    if kind == "mean" and any(baseline is not None for row in rows for baseline in row.baselines):
        keys.append((_BASE, make_text("baseline")))
    if any(alarm for row in rows for alarm in row.alarms):
        keys.append((_ALARM, STATUS_TEXTS["regression"]))
    return keys


def _iter_columns(row: TrendRow, format_spec: str) -> Iterator[Column]:
    """Yield the values of an engine, and under them their intervals and numbers of queries."""
    name = Bilingual.repeat(display_text.isolate(row.engine))
    yield Column(name, [value.value if value else None for value in row.values], format_spec)
    intervals = [value.ci95 if value else None for value in row.values]
    yield Column(INTERVAL, intervals, format_spec, is_under=True)
    counts = [f"n = {value.n:,}" if value else None for value in row.values]
    yield Column(make_text("queries"), counts, is_under=True)


def describe_shown_nights(nights: Sequence[NightRecord]) -> Bilingual | None:
    """Return which nights the charts show, None when they show all."""
    if len(nights) <= MAX_NIGHTS_ON_PAGE:
        return None
    return make_text(
        "Charts show the last {most:,} of {nights:,} nights, from {first.date} on; the table has all.",
        most=MAX_NIGHTS_ON_PAGE,
        nights=len(nights),
        first=nights[-MAX_NIGHTS_ON_PAGE],
    )


def _describe_chart(mean: str, kind: Kind, rows: Sequence[TrendRow], timeline: Timeline) -> Bilingual:
    description = make_text(
        "{mean} depends on what all engines found, so nights cannot be compared directly: this is each"
        " night's difference from the baseline, both on one pool."
        if kind == "change"
        else "Mean {mean} of each engine; this measure does not depend on the pool, so nights of one assessor"
        " can be compared.",
        mean=mean,
    )
    return make_text(
        "{description}{intervals} Equal slopes mean equal changes.{letters}",
        description=description,
        intervals=make_text(
            " A point has no interval where fewer than {fewest} queries changed, or all by the same.",
            fewest=MIN_DIFFERING,
        )
        if kind == "change" and any(value.ci95 is None for row in rows for value in row.measured)
        else "",
        letters=build_text(_list_letters, timeline.changes),
    )


def _list_letters(t: Translator, changes: Sequence[Sequence[Change]]) -> str:
    """Return the meaning of the letters of the changes that occur, empty without any."""
    present = {change for changed in changes for change in changed}
    texts = [text for change, text in CHANGE_TEXTS.items() if change in present]
    meanings = [f"{letter} = {t(meaning.en)}" for letter, meaning in texts]
    return t(" Dotted lines: {letters}.", letters=t(", ").join(meanings)) if meanings else ""
