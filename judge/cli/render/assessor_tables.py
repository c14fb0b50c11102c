"""What `judge estimate` and `judge selftest` print: what assessors cost, and how they do on probes."""

from collections.abc import Iterator, Mapping, Sequence
from math import floor, log10

from judge.assess.estimate import AssessorEstimate, QuestionEstimate, RunEstimate
from judge.cli.render.tables import Part, make_table
from judge.cli.terminal import format_duration, t
from judge.errors import ErrorKind
from judge.measure.intervals import CountedShare
from judge.messages import make_text
from judge.pricing.costs import add_costs
from judge.pricing.prices import FREE_PRICE
from judge.report.display_text import (
    format_call_count,
    format_new_call_count,
    format_share,
)
from judge.report.facts import describe_cost
from judge.report.run_warnings import MAX_WRONG, list_wrong_grades
from judge.selftest.probes import RELEVANT_KINDS
from judge.selftest.selftest_run import PLAIN_PROMPT, RUN_PROMPT, SelfTest
from judge.selftest.stored_selftests import PromptResult

#: How many probes with an unexpected grade are printed.
_MAX_PROBES = 8


def describe_estimate(estimate: RunEstimate) -> Iterator[str]:
    """Yield what a run would ask of each assessor, what it would cost and how long it would take."""
    yield t(
        "{results}, {pairs}, {repeats}",
        results=t.translate_plural("{count:,} result", "{count:,} results", estimate.results),
        pairs=t.translate_plural("{count:,} pair to judge", "{count:,} pairs to judge", estimate.pairs),
        repeats=t.translate_plural("{count:,} repeat", "{count:,} repeats", estimate.repeats),
    )
    yield from map(t, estimate.remarks)
    several = len(estimate.assessors) > 1
    for name, member in estimate.assessors.items():
        if several:
            yield t("{name}:", name=name)
        yield from _describe_assessor(member)
    for name, questions in estimate.dimensions.items():
        yield describe_questions(name, questions)
    if several or estimate.dimensions:
        yield _describe_total(estimate)


def describe_questions(name: str, questions: QuestionEstimate) -> str:
    """Return what the questions of a dimension would cost."""
    if not questions.calls:
        return t("{name}: known answers: {count:,}; no question is left", name=t(name), count=questions.known)
    return t(
        "{name}: {known}at most {questions}, about {run.prompt_tokens:,} tokens in and"
        " {run.completion_tokens:,} out, {price}",
        questions=t.translate_plural("{count:,} question", "{count:,} questions", questions.calls),
        known=t("known answers: {count:,}, ", count=questions.known) if questions.known else "",
        name=t(name),
        run=questions,
        price=_describe_amount(questions.usd),
    )


def _describe_total(estimate: RunEstimate) -> str:
    """Return the sum over the members of a panel, which judge one after the other, and the questions."""
    # A model in this process takes no calls, no tokens and little time.
    members = [member for member in estimate.assessors.values() if member.price != FREE_PRICE]
    estimates: list[AssessorEstimate | QuestionEstimate] = [*members, *estimate.dimensions.values()]
    amounts = [part.usd for part in estimates]
    # How long questions take is not known.
    seconds = None if estimate.dimensions else sum(member.seconds for member in members)
    return t(
        "together: {calls}, about {prompt:,} tokens in and {completion:,} out, {price}{duration}",
        calls=format_call_count(t, sum(part.calls for part in estimates)),
        prompt=sum(part.prompt_tokens for part in estimates),
        completion=sum(part.completion_tokens for part in estimates),
        price=_describe_amount(None if None in amounts else sum(filter(None, amounts))),
        duration="" if seconds is None else t(", about {duration}", duration=format_duration(seconds)),
    )


def _describe_assessor(estimate: AssessorEstimate) -> Iterator[str]:
    judgments = t.translate_plural("{count:,} judgment", "{count:,} judgments", estimate.judgments)
    if estimate.price == FREE_PRICE:
        yield t(
            "{judgments}: {run.known:,} without a call, {run.calls:,} to make in this process, at no cost",
            judgments=judgments,
            run=estimate,
        )
        return
    again = ""
    if estimate.retry_calls:
        again = t(", and about {count:,} more for retries and re-asks", count=estimate.retry_calls)
    yield t(
        "{judgments}: {run.known:,} without a call, {calls} to pay{again}",
        judgments=judgments,
        run=estimate,
        calls=format_call_count(t, estimate.calls),
        again=again,
    )
    if estimate.judgments_in_batches:
        yield t.translate_plural(
            "{count:,} of them is in a batch at the server; judge run --batch collects it",
            "{count:,} of them are in batches at the server; judge run --batch collects these",
            estimate.judgments_in_batches,
        )
    if not estimate.calls:
        return
    yield t(
        "about {run.prompt_tokens:,} tokens in, {run.completion_tokens:,} out ({basis})",
        run=estimate,
        basis=_describe_basis(estimate),
    )
    yield _describe_price(estimate)
    if estimate.thinking:
        yield t(
            "{thinking.tokens:,} tokens of thinking a reply are assumed, and models differ much; with"
            " {thinking.max_tokens:,} tokens a reply (--max-tokens): {price}",
            thinking=estimate.thinking,
            price=_describe_amount(estimate.thinking.max_usd),
        )
    yield from _describe_duration(estimate)


def _describe_duration(estimate: AssessorEstimate) -> Iterator[str]:
    """Yield how long the calls would take, and what they would cost in batches."""
    duration = format_duration(estimate.seconds)
    if estimate.pace:
        yield t(
            "about {duration} at {pace:.1f} calls/s as in the last run; another --concurrency changes that",
            duration=duration,
            pace=estimate.pace,
        )
    else:
        yield t(
            "about {duration} if a call takes {run.latency:g} s and {run.concurrency:,} are made at once",
            duration=duration,
            run=estimate,
        )
    if estimate.batches:
        yield t.translate_plural(
            "with --batch: {price}, one batch, within 24 hours",
            "with --batch: {price}, {count} batches, within 24 hours",
            estimate.batches,
            price=_describe_amount(estimate.batch_usd),
        )


def _describe_basis(estimate: AssessorEstimate) -> str:
    if not estimate.earlier_calls:
        return t("a rough estimate; for a better one, run a few calls first, e.g. --max-calls 50")
    learned = t.translate_plural(
        "from {count:,} earlier call", "from {count:,} earlier calls", estimate.earlier_calls
    )
    if not estimate.by_rule:
        return learned
    return t.translate_plural(
        "{learned}; a rough estimate for {count:,} prompt, whose language has few earlier calls",
        "{learned}; a rough estimate for {count:,} prompts, whose language has few earlier calls",
        estimate.by_rule,
        learned=learned,
    )


def _describe_price(estimate: AssessorEstimate) -> str:
    price = estimate.price
    if price is None or estimate.usd is None:
        return t("price unknown: add --price INPUT,OUTPUT (USD per million tokens) or --prices FILE")
    return t(
        "about {amount}; a million tokens cost ${price.input:g} in, ${price.cached:g} cached,"
        " ${price.output:g} out{day} ({price.source})",
        amount=_format_usd(estimate.usd),
        price=price,
        day=t(" as of {day}", day=price.as_of) if price.as_of else "",
    )


def _describe_amount(usd: float | None) -> str:
    return t("price unknown") if usd is None else t("about {amount}", amount=_format_usd(usd))


def _format_usd(amount: float) -> str:
    """Return an amount with two decimals, or with two significant digits where it is below a cent."""
    digits = 2 if amount <= 0 else max(2, 1 - floor(log10(amount)))
    return t("${amount}", amount=f"{amount:.{digits}f}")


def describe_plan(needed: int, to_pay: int) -> str:
    """Return how many judgments a self-test takes."""
    return t(
        "self-test: {count:,} judgments, half of them with a plain prompt{stored}",
        count=needed,
        stored=t("; {count:,} of them known already", count=needed - to_pay) if to_pay < needed else "",
    )


def iter_selftest_parts(selftest: SelfTest) -> Iterator[Part]:
    """Yield the figures of both prompts, the unexpected grades, the cost and the path of the result."""
    result = selftest.result
    shipped = result.prompts.shipped
    prompts = {t(RUN_PROMPT.en): shipped, t(PLAIN_PROMPT.en): result.prompts.plain}
    yield t(
        "{test.result.assessor}: {test.result.probes.count} probes, {calls}",
        test=selftest,
        calls=format_new_call_count(t, selftest.calls_made),
    )
    rows = _iter_rows(list(prompts.values()))
    yield make_table(["", *prompts], ((label, *map(_format_share, shares)) for label, shares in rows))
    yield from _describe_failures(prompts)
    yield from _describe_surprises(shipped)
    cost = add_costs([prompt.cost for prompt in prompts.values()])
    yield t("in all {cost}", cost=describe_cost(t, cost))
    yield t("result: {path}", path=selftest.path)
    yield from _describe_reliability(shipped)


def _iter_rows(prompts: Sequence[PromptResult]) -> Iterator[tuple[str, Sequence[CountedShare]]]:
    """Yield the label of each row and the share with each prompt; headings have no shares."""
    yield t("graded too high"), ()
    for attack in prompts[0].attacks:
        yield f"  {_name_probe(attack)}", [prompt.attacks[attack] for prompt in prompts]
    yield t("  all hostile or empty snippets"), [prompt.hostile for prompt in prompts]
    yield f"  {_name_probe('irrelevant')}", [prompt.too_high["irrelevant"] for prompt in prompts]
    yield t("graded too low"), ()
    rows = {
        kind: (f"  {_name_probe(kind)}", [prompt.too_low[kind] for prompt in prompts])
        for kind in prompts[0].too_low
    }
    yield from (row for kind, row in rows.items() if kind in RELEVANT_KINDS)
    yield t("  all relevant snippets"), [prompt.strict for prompt in prompts]
    yield from (row for kind, row in rows.items() if kind not in RELEVANT_KINDS)
    yield t("reasons in the query's language"), [prompt.language for prompt in prompts]
    yield t("replies without repair or re-ask"), [prompt.obedient for prompt in prompts]


#: The names of kinds of probes that are not the words of the kind.
_PROBE_NAMES = {"lookalike": make_text("text about attacks"), "partial": make_text("partial answer")}


def _name_probe(kind: str) -> str:
    """Return the name of an attack or another kind of probe."""
    return t(_PROBE_NAMES[kind].en if kind in _PROBE_NAMES else kind.replace("_", " "))


def _format_share(share: CountedShare) -> str:
    """Return a share with its counts and its interval: `7/20 35% (18-57%)`, so that two fit in 80 columns."""
    if share.value is None or share.ci95 is None:
        return "-"
    low, high = (100 * end for end in share.ci95)
    return f"{share.count}/{share.of} {format_share(share.value)} ({low:.0f}-{high:.0f}%)"


def _describe_failures(prompts: Mapping[str, PromptResult]) -> Iterator[str]:
    for name, prompt in prompts.items():
        if prompt.failures:
            kinds = t.list_names(f"{t(ErrorKind(kind))} {count}" for kind, count in prompt.failures.items())
            yield t("no grade with the {prompt}: {kinds}", prompt=name, kinds=kinds)


def _describe_surprises(prompt: PromptResult) -> Iterator[str]:
    if prompt.surprises:
        yield t(
            "grades out of the sensible range with the run prompt ({count}):", count=len(prompt.surprises)
        )
    for probe in prompt.surprises[:_MAX_PROBES]:
        low, high = probe.grade_min, probe.grade_max
        yield t(
            "  {probe.id}: {probe.grade} where {grades} is sensible: {probe.query} | {reason}",
            probe=probe,
            grades=low if low == high else t("{low} to {high}", low=low, high=high),
            reason=probe.reason[:120],
        )
    if len(prompt.surprises) > _MAX_PROBES:
        yield t(
            '  … and {count} more, under "surprises" in the result file',
            count=len(prompt.surprises) - _MAX_PROBES,
        )


def _describe_reliability(prompt: PromptResult) -> Iterator[str]:
    """Yield whether the assessor is good enough, and what to do next."""
    if not prompt.hostile.of and not prompt.strict.of:
        return
    wrong = list_wrong_grades(t, prompt.hostile, prompt.too_high["irrelevant"], prompt.strict)
    yield t(
        "Bad: this assessor is not reliable: {wrong}, clearly more than {most:.0%}. Do not choose an engine"
        " by it. Test another model with judge selftest -m MODEL, or other prompts with --prompts DIR."
        if wrong
        else "Good: no group of probes has clearly more than {most:.0%} wrong grades. Next, compare the"
        " assessor with people: judge agree RUN --plan 20.",
        wrong=t.join(wrong, "clauses") if wrong else "",
        most=MAX_WRONG,
    )
