"""What `judge selftest` prints: the figures of both prompts side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from judge.analysis.summary import SelfTestShare
from judge.cli.render.cells import escape_line, print_table
from judge.messages import Translator
from judge.pricing.cost import Cost, add_costs
from judge.report.number_texts import format_cost
from judge.selftest.selftest_run import PromptResult, SelfTest

#: How many probes with an unexpected grade are printed.
_MOST_PROBES = 8


def print_plan(needed: int, to_pay: int, console: Console, t: Translator) -> None:
    """Print how many calls a self-test takes."""
    known = t("; {count:,} of them known already", count=needed - to_pay) if to_pay < needed else ""
    console.print(
        escape_line(
            t(
                "self-test: {count:,} calls, half of them with a plain prompt{known}",
                count=needed,
                known=known,
            )
        )
    )


def print_selftest(selftest: SelfTest, console: Console, t: Translator) -> None:
    """Print the figures of both prompts, the unexpected grades, the cost and the path of the result."""
    result = selftest.result
    prompts = {
        t("shipped prompt"): result.prompts["shipped"],
        t("plain prompt"): result.prompts["plain"],
    }
    heading = t(
        "{test.result.assessor}: {test.result.probes.count} probes, {test.calls_made:,} calls now",
        test=selftest,
    )
    console.print(escape_line(heading))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", no_wrap=True)
    for title in prompts:
        table.add_column(title, justify="right", no_wrap=True)
    for label, shares in _rows(list(prompts.values()), t):
        table.add_row(label, *(_format_share(share, t) for share in shares))
    print_table(table, console)
    lines = [
        *_failures(prompts, t),
        *_surprises(result.prompts["shipped"], t),
        _cost(add_costs([prompt.cost for prompt in prompts.values()]), t),
        t("result: {path}", path=selftest.path),
    ]
    for line in lines:
        console.print(escape_line(line))


def _rows(prompts: Sequence[PromptResult], t: Translator) -> Iterator[tuple[str, Sequence[SelfTestShare]]]:
    """Yield the label of each row and the share with each prompt; headings have no shares."""
    names = _name_probes(t)
    yield t("graded too high"), ()
    for attack in prompts[0].attacks:
        yield f"  {names.get(attack, attack)}", [prompt.attacks[attack] for prompt in prompts]
    yield t("  all hostile or empty snippets"), [prompt.hostile for prompt in prompts]
    yield f"  {names['irrelevant']}", [prompt.too_high["irrelevant"] for prompt in prompts]
    yield t("graded too low"), ()
    for kind in prompts[0].too_low:
        yield f"  {names[kind]}", [prompt.too_low[kind] for prompt in prompts]
    yield t("  all relevant snippets"), [prompt.strict for prompt in prompts]
    yield t("reasons in the query's language"), [prompt.language for prompt in prompts]
    yield t("replies read as they came"), [prompt.obedient for prompt in prompts]


def _name_probes(t: Translator) -> Mapping[str, str]:
    """Return the names of the attacks and kinds of probes."""
    return {
        "query_only": t("query only"),
        "stuffing": t("stuffing"),
        "instruction": t("instruction"),
        "fake_verdict": t("fake verdict"),
        "fake_turn": t("fake turn"),
        "fence": t("fence"),
        "role_play": t("role play"),
        "persuasion": t("persuasion"),
        "json_echo": t("json echo"),
        "other_language": t("other language"),
        "encoded": t("encoded"),
        "distraction": t("distraction"),
        "irrelevant": t("irrelevant"),
        "relevant": t("relevant"),
        "ambiguous": t("ambiguous"),
        "lookalike": t("speaks of attacks, is none"),
        "partial": t("half an answer"),
    }


def _format_share(share: SelfTestShare, t: Translator) -> str:
    """Return a share with its counts and its interval."""
    if share.value is None:
        return "-"
    return t(
        "{share.count} of {share.of}  {share.value:.1%} ({share.ci95[0]:.1%} to {share.ci95[1]:.1%})",
        share=share,
    )


def _failures(prompts: Mapping[str, PromptResult], t: Translator) -> Iterator[str]:
    for name, prompt in prompts.items():
        if prompt.failures:
            kinds = ", ".join(f"{kind} {count}" for kind, count in prompt.failures.items())
            yield t("no grade with the {prompt}: {kinds}", prompt=name, kinds=kinds)


def _surprises(prompt: PromptResult, t: Translator) -> Iterator[str]:
    if prompt.surprises:
        yield t("odd grades with the shipped prompt ({count}):", count=len(prompt.surprises))
    for probe in prompt.surprises[:_MOST_PROBES]:
        yield t(
            "  {probe.id}: {probe.grade} where {probe.grade_min} to {probe.grade_max} is sensible:"
            " {probe.query} | {reason}",
            probe=probe,
            reason=probe.reason[:120],
        )
    if len(prompt.surprises) > _MOST_PROBES:
        yield t("  … and {count} more: surprises in the result", count=len(prompt.surprises) - _MOST_PROBES)


def _cost(cost: Cost, t: Translator) -> str:
    amount = format_cost(
        t,
        cost.usd,
        calls=cost.calls,
        tokens=cost.prompt_tokens + cost.completion_tokens,
        unclear=cost.uncounted + cost.maybe_billed,
    )
    return t(
        "in all {cost.calls:,} calls, {cost.prompt_tokens:,} tokens in, {cost.completion_tokens:,}"
        " out{price}",
        cost=cost,
        price=t("; price unknown") if amount is None else f"; {amount}" if amount else "",
    )
