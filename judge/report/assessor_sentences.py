"""Sentences about assessors: models that answered, a panel, self-tests, a vendor shared with an engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from judge.analysis.summary import SelfTestFigures, SelfTestShare, Summary
from judge.measure.bias import SharedVendor
from judge.measure.panel_agreement import Member, MemberPair, PanelResult
from judge.messages import Translator
from judge.report import sentences
from judge.report.number_texts import format_interval
from judge.report.stability_sentences import name_strength


def describe_served_models(t: Translator, summary: Summary) -> str:
    """Return that several models answered in one run, with the grades of each; empty for one model."""
    if len(summary.served) < 2:
        return ""
    parts = [
        t.plural(
            "{name} ({count:,} judgment, mean grade {mean:.2f})",
            "{name} ({count:,} judgments, mean grade {mean:.2f})",
            grades.judgments,
            name=name or t("one without a name"),
            mean=grades.mean_grade,
        )
        for name, grades in summary.served.items()
    ]
    return t(
        "{count} models answered: {models}; their grades may not be comparable.",
        count=len(summary.served),
        models=t.join(parts),
    )


def describe_labels(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield how many pairs have the grade of a person, and how the assessor agrees on the sample."""
    labels = summary.labels
    if labels is None:
        return
    yield t(
        "{labels.pairs:,} of {pairs:,} pairs have the grade of a person ({labels.source}).",
        labels=labels,
        pairs=summary.pairs,
    )
    if labels.unmatched:
        yield t("{labels.unmatched:,} labels match no pair and are not used.", labels=labels)
    check = labels.check
    if check is None:
        return
    if check.same_grade.value is None:
        yield t(
            "The assessor gave no grade to the {check.pairs:,} labelled pairs of the sample.", check=check
        )
        return
    yield t(
        "On a sample of {check.judged:,} labelled pairs, the assessor gives the grade of the person to"
        " {same:.1%}{interval}; the mean of assessor - person is {bias:+.2f}.",
        check=check,
        same=check.same_grade.value,
        interval=format_interval(t, check.same_grade.ci95, ".1%"),
        bias=check.bias.value or 0.0,
    )


def describe_near_duplicates(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield how many pairs take the judgment of another snippet."""
    if summary.near_duplicates:
        yield t(
            "{count:,} of {pairs:,} pairs are near-duplicates: each takes the judgment of another snippet of"
            " its query.",
            count=summary.near_duplicates,
            pairs=summary.pairs,
        )


def describe_assessors(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield what to know of a panel, and of vendors that assessors share with engines or each other."""
    if summary.panel:
        yield from _describe_panel(t, summary, summary.panel)
    yield from (_describe_vendor(t, shared, summary) for shared in summary.self_preference)


def _describe_panel(t: Translator, summary: Summary, panel: PanelResult) -> Iterator[str]:
    for member in panel.members:
        yield from _describe_member(t, member)
    for pair in panel.pairs:
        yield _describe_pair(t, pair)
    yield t(
        "The panel takes the middle grade of its {size} members: they differ on {panel.split:,} of"
        " {panel.judged:,} judgments, and {panel.ties:,} are ties, of which it takes the lower grade (for"
        " {panel.deciding_ties:,} the other would be relevant).",
        size=len(panel.members),
        panel=panel,
    )
    yield from _compare_orders(t, summary, panel, sentences.find_main_measure(summary))


def _describe_member(t: Translator, member: Member) -> Iterator[str]:
    """Yield which pairs a member did not judge, and that several models answered in its name."""
    if not member.judged and not member.failed:
        yield t("{name} was not asked before the run stopped.", name=member.name)
    elif member.failed:
        yield t(
            "{member.name} judged only {member.judged:,} of the {asked:,} pairs that it was asked about:"
            " there the panel is the others.",
            member=member,
            asked=member.judged + member.failed,
        )
    if len(member.served) > 1:
        models = (t("{name} ({count:,})", name=name, count=count) for name, count in member.served.items())
        yield t(
            "{name} was answered by {count} models: {models}; their grades may not be comparable.",
            name=member.name,
            count=len(member.served),
            models=t.join(models),
        )


def _describe_pair(t: Translator, pair: MemberPair) -> str:
    if pair.same is None:
        return t("{pair.a} and {pair.b} judged no pair both.", pair=pair)
    if pair.kappa is None:
        agreement = t("kappa says nothing")
    else:
        strength = name_strength(t, pair.kappa)
        agreement = t("they agree {strength}, kappa {kappa:.3f}", strength=strength, kappa=pair.kappa)
    return t(
        "{pair.a} and {pair.b} give the same grade to {pair.same:.1%} of {pair.n:,} pairs ({agreement}).",
        pair=pair,
        agreement=agreement,
    )


def _compare_orders(t: Translator, summary: Summary, panel: PanelResult, measure: str) -> Iterator[str]:
    """Yield whether every member, and the other way to break ties, would order the engines alike."""
    repeats = panel.agreement.measures.get(measure) if panel.agreement else None
    engines = repeats.engines if repeats else {}
    ranked = {
        name: sentences.rank_means(t, {engine: row.means[at] for engine, row in engines.items()})
        for at, name in enumerate(panel.responded)
    }
    # A member without judgments has no order of engines.
    orders = {name: order for name, order in ranked.items() if order}
    if len(engines) > 1 and len(orders) > 1:
        yield _compare_members(t, orders, len(orders) == len(panel.members), measure)
    means = {engine: row.measures[measure].mean for engine, row in summary.engines.items()}
    high = sentences.rank_means(t, panel.ties_high.get(measure, {}))
    if high and high != sentences.rank_means(t, means):
        yield t("With the higher grade of each tie the order would be {high}.", high=high)


def _compare_members(t: Translator, orders: Mapping[str, str], all_members: bool, measure: str) -> str:
    if len(set(orders.values())) > 1:
        return t(
            "The members order the engines differently by {measure}: {orders}.",
            measure=measure,
            orders=t("; ").join(
                t("{name}: {value}", name=name, value=order) for name, order in orders.items()
            ),
        )
    if all_members:
        return t("Every member puts the engines in the same order by {measure}.", measure=measure)
    return t("Every member that judged puts the engines in the same order by {measure}.", measure=measure)


def _describe_vendor(t: Translator, shared: SharedVendor, summary: Summary) -> str:
    if shared.other in summary.engines:
        return t(
            "By their names {pair.assessor} and {pair.other} are both from {pair.vendor}; {pair.assessor} may"
            " favour {pair.other} (self-preference). Check with another model or human labels.",
            pair=shared,
        )
    return t(
        "{pair.assessor} and {pair.other} are both from {pair.vendor}: they are not two independent"
        " assessors.",
        pair=shared,
    )


def describe_selftests(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield how each assessor of the run did in its self-test, or that it never had one."""
    for name, entry in summary.selftest.items():
        if entry.figures is None:
            yield t(
                "{name} was never self-tested as it was asked here: judge selftest -m {model}, with "
                "this run's options.",
                name=name,
                model=name.rpartition("/")[0],
            )
        else:
            yield _describe_selftest(t, name, entry.figures)


def _describe_selftest(t: Translator, name: str, figures: SelfTestFigures) -> str:
    high, low = figures.too_high, figures.too_low
    if not high.of and not low.of:
        return t(
            "Self-test of {name}: not one of {probes:,} probes got a grade.", name=name, probes=figures.probes
        )
    return t(
        "Self-test of {name}: {high.count:,} of {high.of:,} hostile or empty snippets got a good"
        " grade{high_range}, {plain.count:,} of {plain.of:,} with a plain prompt and {low.count:,} of"
        " {low.of:,} relevant ones got a poor grade{low_range}; {language} of its reasons were in the query's"
        " language, {obedient} of its replies as asked.",
        name=name,
        high=high,
        high_range=_format_share(t, high),
        plain=figures.plain_too_high,
        low=low,
        low_range=_format_share(t, low),
        language=_format_percentage(figures.language.value),
        obedient=_format_percentage(figures.obedient.value),
    )


def _format_percentage(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _format_share(t: Translator, share: SelfTestShare) -> str:
    """Return a share with its interval in brackets; empty where it is unknown."""
    if share.value is None:
        return ""
    return t(" ({share.value:.1%}; 95 %: {share.ci95[0]:.1%} to {share.ci95[1]:.1%})", share=share)
