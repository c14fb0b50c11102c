"""What a user can do about missing grades, by the kinds of failures."""

from collections.abc import Mapping
from dataclasses import replace

from judge.analysis.failure_advice import advise_on_finished_run
from tests.support.cases import check_each
from tests.unit.report.summaries import BASE

AGAIN = "run the judge run or judge nightly command of this folder again to get the rest"


@check_each(
    ("failures", "waiting", "expected"),
    [
        ({"transport": 1}, 0, AGAIN),
        # A run that stopped has no failures, only pairs that wait.
        ({}, 1, AGAIN),
        (
            {"no_text": 1},
            1,
            f"{AGAIN}, except for 1 without a text: add the missing texts to the dataset and",
        ),
        ({"no_text": 1, "text_cut": 1}, 0, "add the missing texts to the dataset and judge it again (judge"),
        ({"text_cut": 1}, 0, "raise max_chars and judge it again (judge run needs another --out): stored"),
        ({"content_filter": 2}, 0, "the refusal of a content filter is final: judge them with another model"),
        (
            {"content_filter": 2, "no_text": 1},
            0,
            "add the missing texts to the dataset and judge it again (judge run needs another --out); the"
            " refusal of a content filter is final: judge them with another model",
        ),
        (
            {"content_filter": 2, "transport": 1},
            0,
            f"{AGAIN}, except for 2 that a content filter refused: judge them with another model",
        ),
        ({"content_filter": 2}, 1, f"{AGAIN}, except for 2 that a content filter refused: judge them"),
        ({"no_quorum": 1}, 0, f"{AGAIN}; the refusals of a content filter are final"),
        ({"malformed": 1, "ambiguous": 1}, 0, f"{AGAIN}; if the model replies so again, judge them with"),
        ({"bad_request": 1}, 0, f"{AGAIN}; if the server refuses these again, judge them with another"),
        ({"malformed": 1, "bad_request": 1}, 0, AGAIN),
        ({"truncated": 1}, 0, "raise --max-tokens and judge it again (judge run needs another --out)"),
        ({"too_long": 1}, 0, "lower max_chars and judge it again (judge run needs another --out): stored"),
        ({"too_long": 1}, 1, AGAIN),
    ],
)
def test_what_gets_the_missing_grades_depends_on_why_they_are_missing(
    failures: Mapping[str, int], waiting: int, expected: str
) -> None:
    missing = sum(failures.values()) + waiting
    summary = replace(BASE, judgments=missing + 5, judged=5, failures=failures)
    advice = advise_on_finished_run(summary)
    assert advice.startswith(expected)
    assert advice == expected or expected != AGAIN
