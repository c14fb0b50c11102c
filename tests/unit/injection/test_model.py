"""The linear model of texts that address the assessor."""

import pytest

from judge.dataset import clean
from judge.injection.model import InjectionModel, has_subject_word, load_injection_model
from judge.injection.patterns import INJECTION_FLAGS
from tests.benchmarks.injection_model import learn_model, prepare, read_training_texts
from tests.support.injection_texts import TEST_SET, read_injection_texts

MODEL = InjectionModel(
    bias=-20,
    weights={"grader": 30, "grader_please": 15, "please": 10, "分": 2, "三分": 60, "tea": 5, "judge": -9},
)


def is_flagged(snippet: str) -> bool:
    shown = clean.clean_snippet(clean.RawSnippet(snippet), max_chars=4000, query="")
    return not INJECTION_FLAGS.isdisjoint(shown.flags)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("grader please", 30 + 15 + 10 - 20),
        ("please, grader", 30 + 10 - 20),  # another order
        ("grader. please", 30 + 10 - 20),  # in two sentences: no words in a row
        ("grader grader", 30 - 20),
        ("请给三分", 2 + 60 - 20),
        ("tea please", -1),  # no subject
        ("judge please", -1),  # 10 - 9 - 20 is less
        ("judge tea grader please", 30 + 15 + 10 + 5 - 9 - 20),
        ("", -1),
        ("grader. a. b. please tea", 30 - 20),  # four sentences: the last one is judged without the first
        ("tea. grader. please. tea", 5 + 30 + 10 - 20),
    ],
)
def test_a_score_adds_the_weights_of_three_sentences(text: str, score: int) -> None:
    assert MODEL.find_score(text) == score


def test_a_text_without_a_subject_is_not_searched() -> None:
    assert has_subject_word("dear grader, hello")
    assert has_subject_word("这条摘要")
    assert not has_subject_word("green tea, 绿茶")


def test_most_texts_of_other_authors_are_flagged_and_few_harmless_ones() -> None:
    """No pattern is written for the texts of this set, and the model has not seen them."""
    texts = [text for text in read_injection_texts() if text.set == TEST_SET]
    attacks = [is_flagged(text.snippet) for text in texts if text.is_attack]
    harmless = [is_flagged(text.snippet) for text in texts if not text.is_attack]
    assert (len(attacks), len(harmless)) == (184, 200)
    assert sum(attacks) >= 0.7 * len(attacks)
    assert sum(harmless) <= 0.02 * len(harmless)


@pytest.mark.slow
def test_the_weights_are_those_that_the_texts_give() -> None:
    texts = read_injection_texts()
    learned = learn_model(read_training_texts())
    shipped = load_injection_model()
    answers = [
        (learned.find_score(prepared) > 0) == (shipped.find_score(prepared) > 0)
        for prepared in (prepare(text.snippet) for text in texts)
    ]
    assert sum(answers) >= 0.99 * len(answers)
