"""What `judge agree` prints of the assessor: how far it agrees with people, and which engines it favours."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.table import Table
from rich.text import Text

from judge.analysis.label_agreement import LabelAgreement
from judge.cli.render.order_tables import describe_orders, iter_correction_parts
from judge.cli.render.tables import Part, escape_line, make_table
from judge.cli.terminal import t
from judge.errors import InputError
from judge.measure.intervals import StatisticValue
from judge.measure.measures import parse_measure
from judge.measure.numeric import rank_engines
from judge.messages import Message, SeparatedNames
from judge.report.assessor_sentences import describe_kappa, describe_unmatched_labels
from judge.report.display_text import (
    format_interval,
    format_pair_count,
    format_plain_number,
    format_plain_range,
    format_query_count,
)


def iter_agreement_parts(agreement: LabelAgreement, run: Path, measure: str | None = None) -> Iterator[Part]:
    """Yield the answer, the table of grades, and what people's labels mean for the engines of a `run`.

    `measure` chooses whose order and correction is shown. Raises InputError when it compares no engines.
    """
    folder = shlex.quote(str(run))
    deciding = _choose(agreement, measure, folder)
    yield from _describe_agreement(agreement)
    yield from _describe_favoured(agreement)
    yield _make_confusion_table(agreement)
    yield make_table(
        [t("agreement"), "", t("95% interval")],
        (
            (name, format_plain_number(statistic.value), format_plain_range(t, statistic.ci95))
            for name, statistic in _list_statistics(agreement).items()
        ),
    )
    yield from _iter_reasons(agreement)
    if agreement.engines:
        yield _make_bias_table(agreement, agreement.orders[deciding].assessor if deciding else {})
        if sum(engine.results for engine in agreement.engines.values()) > agreement.pairs:
            yield t(
                "By engine, each result counts: a pair that several engines returned counts once for each of"
                " them here, and once in the table above."
            )
    if deciding is not None:
        yield from describe_orders(agreement, deciding)
        if deciding in agreement.calibration:
            yield from iter_correction_parts(agreement, deciding, folder)


def _choose(agreement: LabelAgreement, measure: str | None, folder: str) -> str | None:
    if measure is None:
        return next(iter(agreement.orders), None)
    parsed = parse_measure(measure)
    name = str(parsed)
    if name in agreement.orders:
        return name
    if agreement.grades is not None:
        raise InputError(
            "{name} compares no engines here; the measures that do: {names}; judge score {folder} --save"
            " --measures takes others",
            name=name,
            folder=folder,
            names=SeparatedNames(agreement.orders) or Message("none"),
        )
    # Two files of grades: every measure is computed for the engines of their lists.
    if parsed.compares_engines:
        raise InputError("--measure is for the engines of --run; add --run FILE, or omit it")
    raise InputError("{name} compares no engines; name nDCG@k, AP@k, P@k, RR@k or sDCG@k", name=name)


def _describe_agreement(agreement: LabelAgreement) -> Iterator[str]:
    graded = agreement.people_scale == "graded"
    yield t(
        "{pairs} of {queries} have a grade from people ({scale}) and one from {assessor}; of {whole} people"
        " graded every pair",
        pairs=format_pair_count(t, agreement.pairs),
        queries=format_query_count(t, agreement.queries),
        scale=t("0 to 3") if graded else t("yes or no"),
        assessor=agreement.assessor,
        whole=format_query_count(t, agreement.wholly_labelled_queries),
    )
    if agreement.grades is None:
        yield t(
            "Below, people's grades are those of {labels}, and the assessor's those of {assessor}.",
            labels=agreement.labels,
            assessor=agreement.assessor,
        )
    yield from map(t, agreement.warnings)
    yield from _describe_ignored(agreement)
    if not agreement.wholly_labelled_queries:
        yield t(
            "No query is wholly labelled, so the figures hold for the labelled pairs alone; for labels on the"
            " pairs of --plan-pairs, add --plan with its file"
        )
    yield from describe_kappa(t, agreement)
    side = _clear_side(agreement.bias_relevant)
    if side:
        people = sum(map(sum, agreement.confusion[agreement.people_relevant_from :]))
        assessor = sum(sum(row[agreement.relevant_from :]) for row in agreement.confusion)
        yield t(
            "The assessor is more {kind} than people: it grades {assessor:.1%} of the pairs as relevant,"
            " people {people:.1%}.",
            kind=t("generous") if side > 0 else t("strict"),
            assessor=assessor / agreement.pairs,
            people=people / agreement.pairs,
        )


def _describe_ignored(agreement: LabelAgreement) -> Iterator[str]:
    """Yield which labels and pairs the figures leave out."""
    yield describe_unmatched_labels(t, agreement.unmatched_labels)
    if agreement.empty_pairs:
        yield t("Pairs without text count as grade 0 on both sides: {count:,}.", count=agreement.empty_pairs)
    if agreement.unknown_texts:
        yield t(
            "Pairs whose text is unknown have imputed grades in the scores of both sides: {count:,}.",
            count=agreement.unknown_texts,
        )


def _clear_side(statistic: StatisticValue) -> int:
    """Return 1 or -1 when the whole interval is above or below 0, else 0."""
    low, high = statistic.ci95 or (0.0, 0.0)
    return (low > 0) - (high < 0)


def _describe_favoured(agreement: LabelAgreement) -> Iterator[str]:
    gap = agreement.widest_gap
    if gap is None:
        return
    if gap.difference.value == 0:
        yield t("On these pairs the assessor's bias is the same for all engines.")
        return
    of_grades = agreement.bias.value is not None and len(agreement.confusion[0]) > 2
    unit = t("grades per result") if of_grades else t("in the share of results called relevant")
    difference = gap.difference
    yield t(
        "The assessor favours {favoured} over {other} by {size} {unit}, which is statistically significant: a"
        " difference between engines may come from that."
        if _clear_side(difference) > 0
        else "The assessor favours no engine significantly over another. The largest gap of all pairs is"
        " {favoured} over {other}, {size} {unit}{why}.",
        favoured=gap.favoured,
        other=gap.other,
        size=format_plain_number(difference.value) + format_interval(t, difference.ci95, "z.3f"),
        unit=unit,
        why="" if difference.ci95 else t(" ({reason})", reason=t(difference.why or "")),
    )


def _make_confusion_table(agreement: LabelAgreement) -> Table:
    rows = agreement.confusion
    heading: str | Text = t("people's grade \\ the assessor's")
    if agreement.grades is None:
        heading = escape_line(f"{agreement.labels} \\ {agreement.assessor}")
    named_rows = zip(_name_grades(len(rows)), rows, strict=True)
    counts = ((grade, *(f"{count:,}" for count in row)) for grade, row in named_rows)
    return make_table([heading, *_name_grades(len(rows[0]))], counts)


def _name_grades(count: int) -> list[str]:
    """Return the names of the grades of a scale with `count` of them: words on the binary scale."""
    return [t("no"), t("yes")] if count == 2 else [str(grade) for grade in range(count)]


def _list_statistics(agreement: LabelAgreement) -> dict[str, StatisticValue]:
    """Return every statistic by its name in print."""
    differ = len(agreement.confusion) != len(agreement.confusion[0])
    return {
        t("same grade"): agreement.same_grade,
        t("kappa of bare numbers (scales differ)") if differ else "kappa": agreement.kappa,
        t("kappa, large differences count more (quadratic)"): agreement.kappa_quadratic,
        t("alpha, large differences count more (ordinal)"): agreement.alpha,
        t("mean of assessor's grade - people's"): agreement.bias,
        t("relevant or not: same"): agreement.same_verdict,
        t("relevant or not: kappa"): agreement.kappa_relevant,
        t("share relevant, assessor's - people's"): agreement.bias_relevant,
        t("of the assessor's relevant, relevant to people"): agreement.precision,
        t("of people's relevant, found by the assessor"): agreement.recall,
        **{
            t("kappa, relevant from grade {grade}", grade=grade): kappa
            for grade, kappa in agreement.kappa_at.items()
            if len(agreement.confusion) == len(agreement.confusion[0])  # else only the people's side has it
        },
    }


def _iter_reasons(agreement: LabelAgreement) -> Iterator[str]:
    """Yield why a number or its range is missing, each reason once."""
    missing: dict[str, list[str]] = {}
    for name, statistic in _list_statistics(agreement).items():
        if statistic.why:
            missing.setdefault(t(statistic.why or ""), []).append(name)
    for why, names in missing.items():
        listing = names if len(names) <= 3 else [names[0], t("{count:,} more", count=len(names) - 1)]
        yield t("- ({names}): {why}", names=t("; ").join(listing), why=why)


def _make_bias_table(agreement: LabelAgreement, means: Mapping[str, float]) -> Table:
    """Return one row an engine, that with the highest of the assessor's `means` first."""
    rows = []
    for name in rank_engines({engine: means.get(engine) for engine in agreement.engines}):
        engine = agreement.engines[name]
        bias, ends = engine.bias.value, engine.bias.ci95
        numbers = format_plain_number(bias, "+.3f"), format_plain_range(t, ends, "+.3f")
        rows.append((name, *numbers, f"{engine.results:,}"))
    titles = t("assessor's - people's, by engine"), t("mean"), t("95% interval"), t("results")
    return make_table(titles, rows)
