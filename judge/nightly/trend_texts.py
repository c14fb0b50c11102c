"""The texts of the trend in English and Chinese: what changed from night to night, and what charts show."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from judge.measure.resampling import MIN_DIFFERING
from judge.messages import Text, Translator, build_text, make_text
from judge.nightly.record import NightRecord
from judge.nightly.trend import Change, Kind

#: The letter and the text of each change from one night to the next.
CHANGE_TEXTS: Mapping[Change, tuple[str, Text]] = {
    "model": ("M", make_text("another model")),
    "prompt": ("P", make_text("another prompt")),
    "scale": ("S", make_text("another scale, depth or number of repeats")),
    "assessor": ("A", make_text("another assessor")),
    "baseline": ("B", make_text("first night compared with a new baseline")),
    "queries": ("Q", make_text("other queries")),
}


def describe_unfinished(t: Translator, day: str) -> str:
    """Return that a night was begun and has no record, and the command that resumes it."""
    command = f"judge nightly judge.toml --date {day}"
    return t("{day} was begun and not finished: {command}", day=day, command=command)


def describe_shown_nights(nights: Sequence[NightRecord], most: int) -> Text | None:
    """Return which nights the charts show, None when they show all."""
    if (left_out := len(nights) - most) <= 0:
        return None
    return make_text(
        "Charts show the last {most:,} of {nights:,} nights, from {first.date} on; the table has all.",
        most=most,
        nights=len(nights),
        first=nights[left_out],
    )


def describe_trend(
    mean: str, kind: Kind, changes: Sequence[Sequence[Change]], *, lacks_intervals: bool
) -> Text:
    """Return the description of the chart of a measure, whose mean is called `mean`.

    It says why some points have no interval, where one `lacks_intervals`.
    """
    if kind == "change":
        description = make_text(
            "{mean} depends on what all engines found, so nights cannot be compared directly: this is each"
            " night's difference from the baseline, both on one pool.",
            mean=mean,
        )
    else:
        description = make_text(
            "Mean {mean} of each engine; this measure does not depend on the pool, so nights of one assessor"
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
        if kind == "change" and lacks_intervals
        else "",
        letters=describe_letters(changes),
    )


def describe_letters(changes: Sequence[Sequence[Change]]) -> Text:
    """Return the meaning of the letters of the changes that occur, empty without any."""
    return build_text(_write_letters, {change for changed in changes for change in changed})


def _write_letters(t: Translator, present: Collection[Change]) -> str:
    meanings = [
        f"{letter} = {t(meaning.en)}"
        for change, (letter, meaning) in CHANGE_TEXTS.items()
        if change in present
    ]
    return t(" Dotted lines: {letters}.", letters=t(", ").join(meanings)) if meanings else ""
