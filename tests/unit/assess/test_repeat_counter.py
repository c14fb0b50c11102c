"""The repeats of a run end in the order of their numbers, whatever the order of the answers."""

from judge.assess.progress import RepeatCounter, RepeatProgress
from judge.records import GRADED, Judgment


def judge_pair(repeat: int, grade: int | None) -> Judgment:
    return Judgment(
        query_id="q",
        snippet_id="s",
        repeat=repeat,
        grade=grade,
        reason="",
        error="server" if grade is None else None,
        assessor="openai:m/graded",
        prompt_version="en",
        params={},
        reply="",
        usage=None,
    )


def test_a_repeat_that_is_ready_before_an_earlier_one_ends_with_it() -> None:
    counter = RepeatCounter(repeats=3, pairs=2, scale=GRADED)
    assert counter.count_judgments([judge_pair(3, 3), judge_pair(2, 0), judge_pair(3, 2)]) == []
    assert counter.count_judgments([judge_pair(1, None), judge_pair(2, 1)]) == []
    assert counter.count_judgments([judge_pair(1, 2)]) == [
        RepeatProgress(number=1, repeats=3, judged=1, failed=1, relevant=1),
        RepeatProgress(number=2, repeats=3, judged=2, failed=0, relevant=0),
        RepeatProgress(number=3, repeats=3, judged=2, failed=0, relevant=2),
    ]


def test_a_run_with_one_repeat_has_no_repeats_that_end() -> None:
    assert RepeatCounter(repeats=1, pairs=1, scale=GRADED).count_judgments([judge_pair(1, 3)]) == []
