"""The texts about nights in English and Chinese: the headline, the banner, the message of a night.

An English sentence of night.json is shown as it is, unless the record's data give it in Chinese too. Names
from outside are between `ISOLATE` and `END`, and each format escapes them and the rest in its own way.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from judge.errors import ErrorKind
from judge.measure.measures import name_mean
from judge.measure.resampling import count_fewest_queries
from judge.messages import ENGLISH, Bilingual, Translator, build_text, build_texts, join_sentences, make_text
from judge.nightly.decision import list_reasons
from judge.nightly.record import (
    EXIT_CODES,
    CanaryResults,
    NightCost,
    NightRecord,
    RegressionOutcome,
    RegressionTest,
    Status,
)
from judge.nightly.trend import NightTrend
from judge.report.display_text import (
    END,
    ISOLATE,
    describe_unanswered_calls,
    format_call_count,
    format_cost,
    format_p_value,
    format_pair_count,
    format_plain_number,
    format_plain_range,
    format_query_count,
    format_share,
    isolate,
    truncate_with_ellipsis,
)

STATUS_TEXTS: Mapping[Status, Bilingual] = {status: make_text(status) for status in EXIT_CODES}
#: The most characters of a stored sentence that are shown, and of one in a message: there is room for the
#: advice of a reason, so that no command is cut.
SENTENCE_LENGTH = 1_000
#: The most engines that the title of a message names.
_ENGINES_IN_TITLE = 2
#: How changes and the ends of their intervals are printed.
_CHANGE_FORMAT = "+.3f"
#: A name, and characters that could begin markup within a line, and HTML.
_NAME = re.compile(f"{ISOLATE}(.*?){END}")
_ESCAPED = re.compile(rf"{_NAME.pattern}|[\\`*_\[\]<>&~#|]")


def write_headline(t: Translator, nights: Sequence[NightRecord | NightTrend]) -> str:
    """Return the status of the last night, for how long nights are fine, and the last regression."""
    if not nights:
        return t("No night can be read.")
    last = nights[-1]
    fine = sum(1 for _ in takewhile(lambda night: night.status == "fine", reversed(nights)))
    if fine > 1:
        sentence = t("{date}: fine for {nights:,} nights", date=last.date, nights=fine)
    else:
        sentence = t("{date}: {status}", date=last.date, status=_describe_status(t, last.status))
    alarm = next((night for night in reversed(nights) if night.status == "regression"), None)
    engines = t.list_names(map(isolate, alarm.regressed)) if alarm else ""
    if alarm is last:
        sentence = t("{sentence} of {engines}", sentence=sentence, engines=engines)
    elif alarm:
        sentence += t("; last regression {date}: {engines}", date=alarm.date, engines=engines)
    return t("{sentence}.", sentence=sentence)


def _describe_status(t: Translator, status: Status) -> str:
    return t("fine: no significant drop") if status == "fine" else t(status)


def describe_nonsignificant_drops(t: Translator, night: NightRecord | NightTrend) -> Iterator[str]:
    """Yield which engines to look at, and when there is an alarm; nothing without such a drop."""
    drops = [
        t(
            "{engine}: {measure} {change}, p (Holm) {p}",
            engine=isolate(drop.engine),
            measure=drop.mean_name,
            change=_format_signed(drop.change),
            p=format_p_value(drop.p_holm),
        )
        for drop in night.nonsignificant_drops
    ]
    if drops:
        yield t(
            "Look at {drops}; an alarm needs p below {alpha:g}, the option [nightly] alpha",
            drops=t("; ").join(drops),
            alpha=night.alpha,
        )


def shorten_reasons(night: NightRecord, *, is_last: bool = True) -> tuple[Bilingual, ...]:
    """Return the reasons of the night as the page and the banner show them, each as `shorten_reason` does."""
    return list_reasons(night, partial(shorten_reason, is_last=is_last))


def shorten_reason(reason: str, *, is_last: bool) -> str:
    """Return the reason without the advice after it, except on the last night: later, it is out of date."""
    text = reason if is_last else re.split("; |；", reason)[0]
    return truncate_with_ellipsis(text, SENTENCE_LENGTH)


def make_banner(night: NightRecord) -> tuple[Bilingual, ...]:
    """Return the sentences above the report of the night: its status, each reason, what was compared.

    They are stored in night.json, so that a report that is written again has them.
    """
    looks = build_texts(describe_nonsignificant_drops, night)
    headline = join_sentences(
        [build_text(write_headline, [night]), *(make_text("{sentence}.", sentence=look) for look in looks)]
    )
    return headline, *shorten_reasons(night), *build_texts(_describe_comparison, night)


def _describe_comparison(t: Translator, night: NightRecord) -> Iterator[str]:
    test, baseline = night.regression_test, night.baseline
    if night.status == "fine" and test and baseline:
        yield from _describe_fine_night(night, test, baseline.name, t)
    elif test and test.ran and baseline:
        yield t("compared with the baseline {baseline}", baseline=isolate(baseline.name))
    if night.canaries and night.canaries.judged:  # the reasons say why none is
        yield _describe_canaries(night.canaries, t, has_baseline=night.baseline is not None)


# The message about a night: a few lines that fit a phone's notification


@dataclass(frozen=True, slots=True)
class NightMessage:
    """The message: the title says what happened, `lines` how much and how certain, `remarks` the rest."""

    title: str
    lines: tuple[str, ...]
    remarks: tuple[str, ...]


def make_message(record: NightRecord, t: Translator = ENGLISH) -> NightMessage:
    """Return the message about a night in the language of `t`."""
    worst = [drops[0] for drops in group_regressions(record)]
    names = [
        f"{isolate(drop.engine)} {drop.mean_name} {_format_signed(drop.change)}"
        for drop in worst[:_ENGINES_IN_TITLE]
    ]
    if len(worst) > _ENGINES_IN_TITLE:
        names.append(t("{count:,} more", count=len(worst) - _ENGINES_IN_TITLE))
    title = t("judge {date}: {status}", date=record.date, status=_describe_status(t, record.status))
    if record.status == "fine":
        for look in describe_nonsignificant_drops(t, record):
            title = t("{title}. {sentence}", title=title, sentence=look)
    if names:
        title = t("{title}: {engines}", title=title, engines=t.list_names(names))
    remarks = tuple(_shorten_sentence(t(remark)) for remark in record.remarks)
    return NightMessage(title, tuple(_describe_night(record, t)), remarks)


def group_regressions(record: NightRecord) -> list[list[RegressionOutcome]]:
    """Return the regressions of each engine, the largest drop first, and the engines in the same order."""
    by_engine: dict[str, list[RegressionOutcome]] = {}
    drops = record.select_outcomes("regression")
    for outcome in sorted(drops, key=lambda row: (row.change or 0.0, row.engine)):
        by_engine.setdefault(outcome.engine, []).append(outcome)
    return list(by_engine.values())


def describe_regression_outcome(outcome: RegressionOutcome, t: Translator) -> str:
    """Return a line about an engine by a measure: by how much it changed, and how certain that is."""
    subject = {"engine": isolate(outcome.engine), "outcome": t(outcome.outcome), "measure": outcome.mean_name}
    if outcome.change is None:
        return t("{engine} {outcome}: {measure} has no value on both nights", **subject)
    interval, p = "", outcome.p_holm
    if outcome.ci95:
        interval = t("; 95%: {range}", range=format_plain_range(t, outcome.ci95, _CHANGE_FORMAT))
    certainty = "" if p is None else t(", p (Holm) {p}", p=format_p_value(p))
    return t(
        "{engine} {outcome}: {measure} {change} ({before} to {after} on the pool of both nights{interval})"
        "{certainty}, {queries}",
        **subject,
        change=_format_signed(outcome.change),
        before=format_plain_number(outcome.baseline),
        after=format_plain_number(outcome.tonight),
        interval=interval,
        certainty=certainty,
        queries=format_query_count(t, outcome.n),
    )


def iter_other_reasons(record: NightRecord, t: Translator) -> Iterator[str]:
    """Yield the reasons of the night except its regressions, which come first and have lines of their own."""
    regressions = len(record.select_outcomes("regression"))
    for reason in list_reasons(record)[regressions:]:
        yield _shorten_sentence(reason.choose(t))


def _describe_night(record: NightRecord, t: Translator) -> Iterator[str]:
    yield from (describe_regression_outcome(outcome, t) for outcome in record.select_outcomes("regression"))
    if record.status != "fine":  # on a fine night, the title says this
        yield from describe_nonsignificant_drops(t, record)
    yield from iter_other_reasons(record, t)
    yield from (describe_regression_outcome(outcome, t) for outcome in record.select_outcomes("improvement"))
    yield from _describe_comparison(t, record)
    if record.coverage is not None:
        kinds = t.list_names(
            t("{name} ({count:,})", name=isolate(t(ErrorKind(kind))), count=count)
            for kind, count in record.failures.items()
            if count
        )
        yield t(
            "{night.judged:,} of {night.judgments:,} judged ({coverage}), {queries}{failures}",
            night=record,
            coverage=format_share(record.coverage, format_spec=".1%"),
            queries=format_query_count(t, record.queries),
            failures=t("; failed: {kinds}", kinds=kinds) if kinds else "",
        )
    if record.cost_total:
        yield _describe_cost(record.cost_total, t)


def _describe_fine_night(
    record: NightRecord, test: RegressionTest, baseline: str, t: Translator
) -> Iterator[str]:
    """Yield what was compared, the drops it could have missed, and a line with the scores of each engine.

    A value over the pool of both nights is that of no night, so it is left out.
    """
    pooled = [name_mean(measure) for measure in test.measures if not record.has_own_value(measure)]
    yield t(
        "compared with the baseline {baseline}: {comparisons} by {measures} (below, the change is in brackets"
        "{pooled})",
        baseline=isolate(baseline),
        comparisons=t.translate_plural("{count:,} comparison", "{count:,} comparisons", len(test.rows)),
        measures=t.list_names(map(name_mean, test.measures)),
        pooled=t(
            "; of {measures} only the change is shown, because it is measured over the results of both"
            " nights together",
            measures=t.list_names(pooled),
        )
        if pooled
        else "",
    )
    yield from _describe_detectable_drops(test, t)
    engines: dict[str, list[str]] = {}
    for outcome in test.rows:
        if outcome.change is not None:
            is_own = record.has_own_value(outcome.measure)
            value = f" {format_plain_number(outcome.tonight)}" if is_own else ""
            score = f"{outcome.mean_name}{value} ({_format_signed(outcome.change)})"
            engines.setdefault(outcome.engine, []).append(score)
    for engine, scores in engines.items():
        yield t("{name}: {value}", name=isolate(engine), value=t(", ").join(scores))


def _describe_detectable_drops(test: RegressionTest, t: Translator) -> Iterator[str]:
    """Yield which drops the test finds; records of version 1 may lack them."""
    largest: dict[str, float] = {}
    counts = set[int]()
    for outcome in test.rows:
        if outcome.detectable is not None:
            largest[outcome.mean_name] = max(largest.get(outcome.mean_name, 0.0), outcome.detectable)
            counts.add(outcome.n)
    if not counts:
        return
    queries = format_query_count(t, min(counts))
    if len(counts) > 1:
        queries = t("{count:,} or more queries", count=min(counts))
    drops = t(" or ").join(
        t("of {measure} by about {drop}", measure=measure, drop=format_plain_number(drop))
        for measure, drop in largest.items()
    )
    yield t(
        "on these {queries} the test detects a drop {drops} with a probability of 80%, if"
        " it is similar on all of them; it can miss a smaller one, or one on a part of the queries, and"
        " detects none on fewer than {fewest} queries",
        drops=drops,
        fewest=count_fewest_queries(sum(row.p_holm is not None for row in test.rows), test.alpha),
        queries=queries,
    )


def _describe_canaries(canaries: CanaryResults, t: Translator, *, has_baseline: bool) -> str:
    """Return the grades of the canaries; without a baseline, the first ones of the night are compared."""
    parts = [format_pair_count(t, canaries.pairs)]
    if canaries.failed:
        requested = canaries.judged + canaries.failed
        parts.append(t("{judged:,} of {requested:,} judged", judged=canaries.judged, requested=requested))
    mean = t("mean grade {grade}", grade=format_plain_number(canaries.mean_grade, ".2f"))
    if canaries.compared:
        mean += t(
            " (baseline {canaries.baseline_mean:.2f})"
            if has_baseline
            else " (first start of this night {canaries.baseline_mean:.2f})",
            canaries=canaries,
        )
    parts.append(mean)
    # The reasons of a drift say how many changed.
    if canaries.compared and not canaries.drift:
        changed = t(
            "{canaries.changed:,} of {canaries.compared:,} changed (median of the repeats)", canaries=canaries
        )
        parts.append(changed)
    return t("canaries: {parts}", parts=t(", ").join(parts))


def _describe_cost(cost: NightCost, t: Translator) -> str:
    """Return what this night itself paid: the verdicts of earlier nights cost nothing again."""
    calls = format_call_count(t, cost.calls)
    if cost.lost:
        calls = t(
            "{least:,} to {calls} (a process ended early: {unanswered})",
            least=cost.calls - cost.lost,
            calls=calls,
            unanswered=describe_unanswered_calls(t, cost.lost),
        )
    amount = format_cost(t, cost)
    price = t(": price unknown") if amount is None else t(": {amount}", amount=amount) if amount else ""
    return t("this night made {calls}, canaries included{price}", calls=calls, price=price)


def _shorten_sentence(text: str) -> str:
    return " ".join(truncate_with_ellipsis(text, SENTENCE_LENGTH).split())


def _format_signed(value: float | None) -> str:
    return format_plain_number(value, _CHANGE_FORMAT)


def format_terminal(message: NightMessage, link: str, t: Translator) -> list[str]:
    """Return the message as lines to print; `link` leads to the report, empty without one."""
    lines = [message.title, *(f"- {line}" for line in message.lines)]
    lines += [f"- {t('report: {link}', link=link)}"] if link else []
    if message.remarks:
        lines += [t("Remarks:"), *(f"- {remark}" for remark in message.remarks)]
    return list(map(format_plain, lines))


def format_markdown(message: NightMessage, link: str, t: Translator = ENGLISH) -> str:
    """Return the message as Markdown without tables; `link` leads to the report, empty without one."""
    lines = [f"# {_escape(message.title)}", "", *(f"- {_escape(line)}" for line in message.lines)]
    if link:
        target = re.sub(r"[\\<>]", r"\\\g<0>", link.replace("\n", " "))
        lines.append(f"- [{t('report')}](<{target}>)")
    if message.remarks:
        lines += ["", t("Remarks:"), "", *(f"- {_escape(remark)}" for remark in message.remarks)]
    return "\n".join((*lines, ""))


def format_plain(text: str) -> str:
    """Return the text without the marks around names."""
    return _NAME.sub(r"\1", text)


def _escape(text: str) -> str:
    """Return the text as Markdown that shows it as it is: names in code spans, the rest escaped."""
    return _ESCAPED.sub(
        lambda match: f"\\{match[0]}" if match[1] is None else _format_code_span(match[1]), text
    )


def _format_code_span(name: str) -> str:
    """Return a code span: its fence is longer than any run of backticks in the name."""
    fence = "`" * (1 + max(map(len, re.findall("`+", name)), default=0))
    pad = " " if not name.strip() or name[0] in "` " or name[-1] in "` " else ""
    return f"{fence}{pad}{name}{pad}{fence}"
