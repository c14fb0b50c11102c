"""The texts about nights in English and Chinese, for the banner, the page of the trend and the terminal.

An English sentence of night.json is shown as it is, unless the record's data give it in Chinese too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice, takewhile

from judge.messages import CHINESE, Message, Text, Translator, in_both, text
from judge.nightly.decision import describe_drop
from judge.nightly.record import BannerSentence, NightRecord, Status
from judge.nightly.trend import Change, Kind
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


def headline(nights: Sequence[NightRecord]) -> Text:
    """Return the status of the last night, for how long nights are fine, and the last alarm."""
    return in_both(_write_headline, nights)


def _write_headline(t: Translator, nights: Sequence[NightRecord]) -> str:
    if not nights:
        return t("No night can be read.")
    last = nights[-1]
    fine = sum(1 for _ in takewhile(lambda night: night.status == "fine", reversed(nights)))
    if fine > 1:
        sentence = t("{date}: fine for {nights:,} nights", date=last.date, nights=fine)
    else:
        sentence = t("{date}: {status}", date=last.date, status=t(last.status))
    alarm = next((night for night in reversed(nights) if night.status == "regression"), None)
    if alarm:
        engines = t.list_names(isolate(engine) for engine in sorted(alarm.regressed))
        if alarm is last:
            sentence = t("{sentence} of {engines}", sentence=sentence, engines=engines)
        else:
            sentence += t("; last alarm {date}: {engines}", date=alarm.date, engines=engines)
    return t("{sentence}.", sentence=sentence)


def describe_reasons(night: NightRecord) -> tuple[Text, ...]:
    """Return the reasons of the night; both texts are the same where only the English sentence is known.

    Regressions come first; their Chinese is made from the record's data, with the engine's name isolated.
    """
    texts = [
        Text(*(truncate_with_ellipsis(reason, SENTENCE_LENGTH) for reason in both))
        for both in zip(night.reasons, translate_reasons(night, CHINESE), strict=True)
    ]
    drops = (outcome for outcome in night.outcomes if outcome.verdict == "regression")
    for position, drop in enumerate(islice(drops, len(texts))):
        if None not in (drop.baseline, drop.tonight, drop.p_holm):
            message = describe_drop(replace(drop, engine=isolate(drop.engine)))
            texts[position] = Text(texts[position].en, CHINESE(message))
    return tuple(texts)


def translate_reasons(night: NightRecord, t: Translator) -> tuple[str, ...]:
    """Return the reasons of the night in the language of `t`.

    A record that was read from a file has its reasons in English, and in Chinese in its banner. Those of a
    record without a banner stay in English.
    """
    if t.language == "en":
        return night.reasons
    stored = [sentence.zh for sentence in night.banner[1:]]
    pairs = zip(night.reasons, [*stored, *night.reasons[len(stored) :]], strict=False)
    return tuple(t(reason) if isinstance(reason, Message) else chinese for reason, chinese in pairs)


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
    if kind == "change":
        description = text(
            "{mean} depends on what all engines found, so nights cannot be compared directly: this is each"
            " night's difference from the frozen baseline, both on one pool.",
            mean=mean,
        )
    else:
        description = text(
            "Mean {mean} of each engine; this measure needs no pool, so nights compare.", mean=mean
        )
    return text(
        "{description} All rows have the same span, so slopes compare.{letters}",
        description=description,
        letters=describe_letters(changes),
    )


def describe_letters(changes: Sequence[Sequence[Change]]) -> Text:
    """Return the meaning of the letters of the changes that occur, empty without any."""
    return in_both(_write_letters, {change for changed in changes for change in changed})


def _write_letters(t: Translator, present: Collection[Change]) -> str:
    meanings = [
        f"{letter} {t(meaning.en)}" for change, (letter, meaning) in CHANGE_TEXTS.items() if change in present
    ]
    return t(" Dotted lines: {letters}.", letters=t(", ").join(meanings)) if meanings else ""
