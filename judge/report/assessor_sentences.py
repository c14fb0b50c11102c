"""Sentences about assessors: served models, panels, shared vendors, agreement with people and of repeats."""

from collections.abc import Iterator
from dataclasses import asdict

from judge.analysis.label_agreement import LabelAgreement
from judge.analysis.summary import Summary
from judge.measure.grading_models import Member, MemberPair, PanelResult
from judge.measure.measures import name_mean
from judge.measure.stability import MeasureStability, RepeatStability, VarianceComponents
from judge.messages import Translator
from judge.records import ScaleName
from judge.report.comparison_sentences import rank_means
from judge.report.display_text import format_counted_share, format_interval, format_p_value, format_pair_count


def describe_served_models(t: Translator, summary: Summary) -> str:
    """Return the models that answered, with the grades of each; "" for one model."""
    if len(summary.served) < 2:
        return ""
    parts = [
        t.translate_plural(
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
    if labels.unreturned is not None:
        yield t("Every grade comes from the column 'expected' of the dataset.")
        if labels.unreturned:
            yield t(
                "Expected documents that no engine returned: {labels.unreturned:,}; nDCG, AP and R count"
                " them.",
                labels=labels,
            )
        return
    yield t(
        "People graded {labels.pairs:,} of {pairs:,} pairs ({labels.source}).",
        labels=labels,
        pairs=summary.pairs,
    )
    yield describe_unmatched_labels(t, labels.unmatched)
    check = labels.check
    if check is None:
        return
    if check.same_grade.value is None:
        yield t(
            "The assessor gave no grade to {pairs} that people labelled.",
            pairs=format_pair_count(t, check.pairs),
        )
        return
    yield t(
        "On a sample of {pairs} that people labelled, the assessor gives the same grade to"
        " {same:.1%}{interval}, kappa {kappa}; the mean of assessor - person is {bias:+.2f}.",
        pairs=format_pair_count(t, check.judged),
        kappa=t("unknown") if check.kappa.value is None else f"{check.kappa.value:.3f}",
        same=check.same_grade.value,
        interval=format_interval(t, check.same_grade.ci95, ".1%"),
        bias=check.bias.value or 0.0,
    )


def describe_unmatched_labels(t: Translator, count: int) -> str:
    """Return how many labels are ignored; "" for none."""
    return t("Labels that match no pair of this run are ignored: {count:,}.", count=count) if count else ""


def describe_controls(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield the means of the ideal order, and the assessor's false-positive rate."""
    controls = summary.controls
    if controls is None:
        return
    means = [
        f"{name_mean(name)} {mean.mean:.4f}" for name, mean in controls.ideal.items() if mean.mean is not None
    ]
    if means:
        yield t("control:ideal (the best order of the pool): {means}", means=t(", ").join(means))
        if summary.coverage < 1:
            name, mean = next(iter(controls.ideal.items()))
            yield t(
                "control:ideal is not a ceiling: pairs without a grade could raise it. {measure} is over"
                " {count:,} of {queries:,} queries.",
                measure=name_mean(name),
                count=mean.queries,
                queries=summary.queries,
            )
    share = controls.false_positives
    if share.value is None:
        yield t(
            "control:mismatched: no snippet of another query was judged."
            if controls.pairs
            else "control:mismatched: no snippet of another query was judged. A snippet is of a query in the"
            " same language that has no term in common, and is not in the pool already."
        )
        return
    yield t(
        "control:mismatched: the assessor grades {share.count:,} of {share.of:,} snippets of other queries"
        " as relevant{interval}.",
        share=share,
        interval=format_counted_share(t, share),
    )


def warn_false_positives(t: Translator, summary: Summary) -> str:
    """Return the warning that the assessor calls too many snippets of other queries relevant, else ""."""
    controls = summary.controls
    if controls is None or not controls.too_generous:
        return ""
    return t(
        "The assessor grades {share.value:.0%} of the snippets of other queries as relevant, more than the"
        " {bound:.0%} of --max-false-positives. Scores are too high, because irrelevant results add to them."
        " Check with another model or labels of people.",
        share=controls.false_positives,
        bound=controls.bound,
    )


def describe_near_duplicates(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield how many pairs take the judgment of another snippet."""
    if summary.near_duplicates:
        yield t(
            "Near-duplicates, which take the judgment of another snippet of their query: {count:,} of"
            " {pairs:,}.",
            count=summary.near_duplicates,
            pairs=summary.pairs,
        )


def describe_panel(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield how far the members of a panel agree on grades and on the order of the engines."""
    panel = summary.panel
    if panel is None:
        return
    for pair in panel.pairs:
        yield _describe_member_pair(t, pair, summary.scale)
    ties = ""
    if panel.ties:
        ties = t.translate_plural(
            "; {count:,} of these is a tie, where it takes the lower grade",
            "; {count:,} of these are ties, where it takes the lower grade",
            panel.ties,
        )
    if panel.deciding_ties:
        ties += t(" (with the higher grade, {count:,} more would be relevant)", count=panel.deciding_ties)
    yield t(
        "The panel takes the middle grade of its {size} members: they differ on {panel.split:,} of"
        " {panel.judged:,} judgments{ties}.",
        size=len(panel.members),
        panel=panel,
        ties=ties,
    )
    orders = _rank_by_member(t, panel, summary.main_measure)
    if len(orders) > 1 and len(set(orders.values())) == 1:
        yield t(
            "Every member puts the engines in the same order by {measure}."
            if len(orders) == len(panel.members)
            else "Every member that judged puts the engines in the same order by {measure}.",
            measure=name_mean(summary.main_measure),
        )


def warn_assessors(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield what limits a panel, and the vendors that assessors share with engines or each other."""
    if summary.panel:
        for member in summary.panel.members:
            yield from _describe_member(t, member)
        yield from _warn_orders(t, summary, summary.panel, summary.main_measure)
    for preference in summary.self_preference:
        yield t(
            "By their names {preference.assessor} and {preference.other} are both from {preference.vendor};"
            " {preference.assessor} may favour {preference.other} (self-preference). Check with another model"
            " or labels of people."
            if preference.other in summary.engines
            else "{preference.assessor} and {preference.other} are both from {preference.vendor}: they are"
            " not two independent assessors.",
            preference=preference,
        )


def _describe_member(t: Translator, member: Member) -> Iterator[str]:
    """Yield which pairs a member did not judge, and that several models answered in its name."""
    if not member.judged and not member.failed:
        yield t("{name} was not asked before the run stopped.", name=member.name)
    elif member.failed:
        yield t(
            "{member.name} made only {member.judged:,} of {asked:,} judgments; for the others the panel"
            " consists of the other members.",
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


def _describe_member_pair(t: Translator, member_pair: MemberPair, scale: ScaleName) -> str:
    if member_pair.same is None:
        return t("{member_pair.a} and {member_pair.b} judged no pair both.", member_pair=member_pair)
    if member_pair.kappa is None:
        agreement = t("kappa is undefined")
    else:
        strength = name_strength(t, member_pair.kappa)
        agreement = t("agreement: {strength}, kappa {kappa:.3f}", strength=strength, kappa=member_pair.kappa)
        if scale == "graded":
            agreement += t(", where large differences count more")
    return t(
        "{member_pair.a} and {member_pair.b} give the same grade in {member_pair.same:.1%} of"
        " {member_pair.n:,} judgments ({agreement}).",
        member_pair=member_pair,
        agreement=agreement,
    )


def _rank_by_member(t: Translator, panel: PanelResult, measure: str) -> dict[str, str]:
    """Return the order of two or more engines by each member; one without judgments has none."""
    repeats = panel.agreement.measures.get(measure) if panel.agreement else None
    engines = repeats.engines if repeats else {}
    if len(engines) < 2:
        return {}
    ranked = {
        name: rank_means(t, {engine: row.means[at] for engine, row in engines.items()})
        for at, name in enumerate(panel.responded)
    }
    return {name: order for name, order in ranked.items() if order}


def _warn_orders(t: Translator, summary: Summary, panel: PanelResult, measure: str) -> Iterator[str]:
    """Yield whether members, or the other way to break ties, order the engines differently."""
    orders = _rank_by_member(t, panel, measure)
    if len(set(orders.values())) > 1:
        ordered = (t("{name}: {value}", name=name, value=order) for name, order in orders.items())
        yield t(
            "The members order the engines differently by {measure}: {orders}.",
            measure=name_mean(measure),
            orders=t("; ").join(ordered),
        )
    means = {engine: row.measures[measure].mean for engine, row in summary.engines.items()}
    high = rank_means(t, panel.ties_high.get(measure, {}))
    if high and high != rank_means(t, means):
        yield t("With the higher grade of each tie the order would be {high}.", high=high)


#: Below this many queries a 95% BCa interval, as of a kappa, holds the truth clearly less often than that.
_FEW_FOR_BCA = 20


def describe_kappa(t: Translator, agreement: LabelAgreement) -> Iterator[str]:
    """Yield how far the assessor agrees with people on which pairs are relevant."""
    kappa, same = agreement.kappa_relevant, agreement.same_verdict
    if kappa.value is None or same.value is None:
        yield t("Agreement on relevant or not: {why}.", why=t(kappa.why or ""))
        return
    yield t(
        "Agreement on relevant or not: {strength}; the same on {same:.1%} of the pairs, kappa"
        " {kappa:.3f}{interval}, where 0 is chance and 1 is perfect.",
        strength=name_strength(t, kappa.value),
        same=same.value,
        kappa=kappa.value,
        interval=format_interval(t, kappa.ci95, "z.3f"),
    )
    if kappa.ci95 and agreement.queries < _FEW_FOR_BCA:
        yield t("With fewer than {few} queries, the 95% intervals are too narrow.", few=_FEW_FOR_BCA)


def name_strength(t: Translator, agreement: float) -> str:
    """Return words for a kappa or an alpha, at the lines of Landis & Koch (1977)."""
    if agreement >= 0.81:
        return t("almost perfect")
    if agreement >= 0.61:
        return t("substantial")
    if agreement >= 0.41:
        return t("moderate")
    if agreement >= 0.21:
        return t("fair")
    return t("slight") if agreement >= 0.01 else t("no better than chance")


def describe_repeats(t: Translator, stability: RepeatStability, deciding: str) -> Iterator[str]:
    """Yield how far the repeats agree, plain words first; `deciding` is the deciding measure."""
    yield from _describe_verdicts(t, stability)
    measure = stability.measures[deciding]
    yield _describe_means(t, deciding, measure, stability.margin)
    if measure.smallest_tau is not None:
        yield t(
            "the order of the engines is the same in every repeat"
            if measure.smallest_tau >= 1 - 1e-9
            else "the order of the engines changes between repeats (smallest tau {tau:.3f})",
            tau=measure.smallest_tau,
        )


def _describe_verdicts(t: Translator, stability: RepeatStability) -> Iterator[str]:
    flips, alpha = stability.flip_rate, stability.alpha
    if flips.value is None:
        yield t("stability is unknown: {why}", why=t(flips.why or ""))
        return
    yield t(
        "judged again, {flips:.1%} of the verdicts (relevant or not) change{range}; {ever:.1%} of"
        " {stability.pairs:,} pairs changed at least once in {stability.repeats} repeats",
        flips=flips.value,
        range=format_interval(t, flips.ci95, ".1%"),
        ever=stability.ever_flipped.value,
        stability=stability,
    )
    if alpha.value is None:
        yield t("the repeats agree, but alpha is undefined: {why}", why=t(alpha.why or ""))
        return
    yield t(
        "agreement of the grades between repeats: {strength}, alpha {value}, where 1 is perfect",
        strength=name_strength(t, alpha.value),
        value=f"{alpha.value:.3f}{format_interval(t, alpha.ci95, 'z.3f')}",
    )


def _describe_means(t: Translator, name: str, measure: MeasureStability, margin: float) -> str:
    if measure.equivalent is None:
        return t(
            "{name}: too few queries to decide whether the means of the repeats are the same",
            name=name_mean(name),
        )
    return t(
        "{name}: the repeats' means of an engine differ by up to {largest:.4f}; they stay within"
        " ±{margin} for every engine (equivalence test, p {p})"
        if measure.equivalent
        else "{name}: the repeats' means of an engine differ by up to {largest:.4f}; it is not shown"
        " that they stay within ±{margin} (equivalence test, p {p})",
        name=name_mean(name),
        largest=measure.largest_difference,
        margin=margin,
        p=format_p_value(measure.tost_p),
    )


def describe_variance(t: Translator, variance: VarianceComponents | None) -> str:
    """Return the shares of the variance of a measure by source."""
    if variance is None:
        return t("the sources of variance are unknown: they need at least 2 queries, 2 engines and 2 repeats")
    total = sum(asdict(variance).values())
    if total < 1e-12:
        return t("the values do not vary: every engine has the same value on every query")
    parts = {
        t("the query"): variance.query,
        t("the engine"): variance.engine,
        t("which engine suits which query"): variance.query_engine,
        t("judging it again"): variance.noise,
    }
    shares = t(", ").join(f"{name} {part / total:.0%}" for name, part in parts.items())
    return t("the values vary with {shares}", shares=shares)
