"""Sentences about self-tests: their figures, a warning where they are bad, and what to do without one."""

import shlex
from collections.abc import Iterator

from judge.analysis.summary import SelfTestEntry, SelfTestFigures, Summary
from judge.measure.intervals import CountedShare
from judge.messages import Translator, make_text
from judge.records import MIN_COVERAGE
from judge.report.display_text import format_counted_share, format_share

#: Grades of the assessor on a smaller share of the pairs hardly change a result.
_FEW_PAIRS = 0.05


def describe_selftests(
    t: Translator, summary: Summary, run: str = "", min_coverage: float = MIN_COVERAGE
) -> Iterator[str]:
    """Yield how each assessor of the run did in its self-test, or that it never had one.

    `run` is the folder of the run, unknown if empty. A self-test that is missing does not matter where people
    gave nearly all grades, nor where less than `min_coverage` has a grade; where the assessor gave none, no
    self-test does.
    """
    if not summary.pairs:
        return
    labelled = summary.labels.pairs / summary.pairs if summary.labels and not summary.labels.check else 0.0
    if labelled == 1:
        return
    missing = {name: entry for name, entry in summary.selftest.items() if entry.figures is None}
    if labelled > 1 - _FEW_PAIRS or summary.coverage < min_coverage:
        missing = {}
    for name, entry in summary.selftest.items():
        if entry.figures is not None:
            yield _describe_selftest(t, name, entry.figures)
    if missing:
        run = run or t("FOLDER_OF_THIS_PAGE")
        yield t(
            "There is no self-test of {names} with the options of this run. To add one, run {commands} with"
            " the same options, then judge score {run} --save (with --store, if the run has it).",
            names=t.join(missing),
            run=run,
            commands=t.join(_make_command(name, entry, run) for name, entry in missing.items()),
        )


def _make_command(name: str, entry: SelfTestEntry, run: str) -> str:
    """Return the command for a self-test of an assessor, with the address of another server than OpenAI's."""
    model, address = name.partition(" at ")[0].rpartition("/")[0], entry.options.get("base_url", "")
    needs_address = model.startswith("openai:") and not address.startswith("https://api.openai.com/")
    server = f" --base-url {shlex.quote(address)}" if address and needs_address else ""
    return f"judge selftest -m {shlex.quote(model)}{server} --out {run}"


def _describe_selftest(t: Translator, name: str, figures: SelfTestFigures) -> str:
    high, irrelevant, low = figures.too_high, figures.irrelevant_too_high, figures.too_low
    if not high.of and not low.of:
        return t(
            "Self-test of {name}: none of {probes:,} probes has a grade.", name=name, probes=figures.probes
        )
    return t(
        "Self-test of {name}: too high on {high.count:,} of {high.of:,} hostile or empty"
        " snippets{high_range}{irrelevant}; too low on {low.count:,} of {low.of:,} relevant ones{low_range}."
        " Reasons in the query's language: {language}. Replies in the requested form: {obedient}.",
        name=name,
        high=high,
        high_range=t(
            " ({share.value:.1%}; 95%: {share.ci95[0]:.1%} to {share.ci95[1]:.1%}; plain prompt:"
            " {plain.count:,})",
            share=high,
            plain=figures.plain_too_high,
        )
        if high.value is not None
        else "",
        irrelevant=t(
            " and on {share.count:,} of {share.of:,} irrelevant ones{range}",
            share=irrelevant,
            range=format_counted_share(t, irrelevant),
        )
        if irrelevant
        else "",
        low=low,
        low_range=format_counted_share(t, low),
        language=format_share(figures.language.value, "-"),
        obedient=format_share(figures.obedient.value, "-"),
    )


#: An assessor with a larger share of wrong grades in its self-test, for certain, is not reliable.
MAX_WRONG = 0.1


def list_wrong_grades(
    t: Translator, too_high: CountedShare, irrelevant: CountedShare | None, too_low: CountedShare
) -> list[str]:
    """Return a clause on each share of wrong grades whose interval is above `MAX_WRONG`."""
    shares = (
        (make_text("{share.value:.0%} of hostile or empty snippets got too high a grade"), too_high),
        (make_text("{share.value:.0%} of irrelevant snippets got too high a grade"), irrelevant),
        (make_text("{share.value:.0%} of relevant snippets got too low a grade"), too_low),
    )
    return [
        t(text.en, share=share)
        for text, share in shares
        if share and share.ci95 and share.ci95[0] > MAX_WRONG
    ]


def warn_unreliable(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield the caveat about each assessor whose self-test has too many wrong grades."""
    if summary.labels and summary.labels.pairs == summary.pairs:
        return
    for name, entry in summary.selftest.items():
        figures = entry.figures
        wrong = figures and list_wrong_grades(
            t, figures.too_high, figures.irrelevant_too_high, figures.too_low
        )
        if wrong:
            yield t(
                "This assessor is not reliable: in its self-test, {wrong}; do not choose an engine by it."
                if len(summary.selftest) == 1
                else "The assessor {name} is not reliable: in its self-test, {wrong}; do not choose an engine"
                " by it."
                if summary.runs
                else "The assessor {name} is not reliable: in its self-test, {wrong}; leave it out of the"
                " panel.",
                name=name,
                wrong=t.join(wrong, "clauses"),
            )
