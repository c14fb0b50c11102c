"""What can be asked for, and what is said about the rest."""

import re

import pytest

from judge.errors import InputError
from judge.measure.measures import (
    DEFAULT_MEASURES,
    MEASURE_KINDS,
    list_default_measures,
    parse_measure,
    parse_measures,
)
from tests.support.cases import check_each

EVERYTHING = (
    "nDCG@10 nDCG nDCG(dcg='exp-log2')@10 nDCG(own)@10 nDCG(own,dcg='exp-log2') AP@10 AP AP(own)@10 "
    "AP(rel=2)@10 AP(own,rel=1)@5 P@5 P(rel=1)@5 R@10 R RR@10 RR RR(granular,rel=1)@5 "
    "Success@1 Success(rel=2)@3 SetP SetP(rel=1) sDCG@10 DCG@5 DCG(dcg='exp-log2')@5 RBP(p=0.8) "
    "RBP(p=0.95)@10 RBP(rel=1,p=0.5)@3 ERR ERR@10 Judged@10"
)


def test_every_measure_prints_as_it_is_written() -> None:
    names = EVERYTHING.split()
    measures = parse_measures(EVERYTHING)
    assert [str(measure) for measure in measures] == names
    assert {measure.name for measure in measures} == set(MEASURE_KINDS)
    assert parse_measures(map(str, measures)) == measures


@check_each(
    ("written", "canonical"),
    [
        ("ndcg@10", "nDCG@10"),
        ("SDCG@3", "sDCG@3"),
        ("success@1", "Success@1"),
        (" AP ( rel = 2 ) @ 10 ", "AP(rel=2)@10"),
        ("nDCG(dcg='log2')@10", "nDCG@10"),
        ('nDCG(dcg="exp-log2")@10', "nDCG(dcg='exp-log2')@10"),
        ("AP(rel=2, own)@10", "AP(own,rel=2)@10"),
        ("RBP", "RBP(p=0.8)"),
        ("RBP(p=.5)@3", "RBP(p=0.5)@3"),
        ("AP()@10", "AP@10"),
    ],
)
def test_spelling_is_lenient_and_printing_is_not(written: str, canonical: str) -> None:
    assert str(parse_measure(written)) == canonical


def test_the_names_are_those_of_ir_measures() -> None:
    import ir_measures

    shared = [
        name
        for name in EVERYTHING.split()
        if not re.search(r"own|granular", name) and "DCG" not in name.replace("nDCG", "")
    ]
    for name in shared:
        theirs = eval(name, vars(ir_measures))  # noqa: S307  # its parser does not work in Python 3.14
        assert (theirs.NAME, theirs.params.get("cutoff")) == (
            parse_measure(name).name,
            parse_measure(name).cutoff,
        )


@check_each(
    ("alias", "measure"),
    [
        *(("MAP@10", "AP@10"), ("map(rel=1)", "AP(rel=1)"), ("MRR", "RR"), ("mrr@5", "RR@5")),
        *(("Precision@5", "P@5"), ("Recall(rel=2)@10", "R(rel=2)@10"), ("NDCG@10", "nDCG@10")),
    ],
)
def test_an_alias_of_ir_measures_names_its_measure(alias: str, measure: str) -> None:
    assert str(parse_measure(alias)) == measure


@check_each(
    ("written", "says"),
    [
        (
            "Bpref",
            "there is no measure 'Bpref'; write one of nDCG, AP, P, R, RR, Success, SetP, sDCG, DCG, RBP",
        ),
        ("nDCG@", "is not a measure"),
        ("nDCG(10", "is not a measure"),
        ("", "is not a measure"),
        ("nDCG@ten", "a cutoff is a rank, 1 or more, not 'ten'"),
        ("nDCG@1.5", "1 or more, not '1.5'"),
        ("nDCG@0", "a cutoff is a rank, 1 or more"),
        ("nDCG@-3", "a cutoff is a rank, 1 or more"),
        ("P", "P needs a cutoff, e.g. P@10"),
        ("SetP@10", "takes no cutoff"),
        ("nDCG(rel=2)@10", "nDCG has no parameter 'rel'; its parameters: own, dcg"),
        ("AP(cutof=3)", "AP has no parameter 'cutof'"),
        ("ERR(p=0.5)", "its parameters: none"),
        ("P(own)@5", "P has no parameter 'own'"),
        ("AP(own=1)@10", "own is written without a value"),
        ("AP(rel)@10", "rel is a grade, 1 or more, e.g. rel=1"),
        ("AP(rel=1,rel=2)@10", "rel is given twice"),
        ("AP(rel=0)@10", "grade 0 is never relevant"),
        ("AP(rel=two)@10", "rel is a grade, 1 or more, e.g. rel=1"),
        ("nDCG(dcg='exp')@10", "dcg is one of 'log2', 'exp-log2'"),
        ("RBP(p=1)", "between 0 and 1"),
        ("RBP(p=0)", "between 0 and 1"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(written: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_measure(written)
    assert says in str(refused.value)


def test_lists_split_at_spaces_and_commas_outside_brackets_and_drop_repeats() -> None:
    text = "nDCG(own, dcg='exp-log2')@10, AP@10;P@5\n ndcg@10 nDCG@10 "
    assert [str(m) for m in parse_measures(text)] == [
        "nDCG(own,dcg='exp-log2')@10",
        "AP@10",
        "P@5",
        "nDCG@10",
    ]
    assert list(map(str, parse_measures("P@5，R@5、AP@5"))) == ["P@5", "R@5", "AP@5"]
    with pytest.raises(InputError, match="no measure is named"):
        parse_measures(" ")


def test_a_measure_is_a_key() -> None:
    assert {parse_measure("ndcg@10"): 1}[parse_measure("nDCG@10")] == 1


def test_own_list_measures_say_that_engines_cannot_be_compared_by_them() -> None:
    own, pooled, free = parse_measures("AP(own)@10 AP@10 P@5")
    assert own.note == "order within the list only; not for comparing engines"
    assert parse_measure("SetP").note
    assert (pooled.note, free.note) == ("", "")
    assert [measure.pool_free for measure in (own, pooled, free)] == [True, False, True]


def test_defaults_never_look_deeper_than_the_pool() -> None:
    assert tuple(map(str, list_default_measures(10))) == DEFAULT_MEASURES
    assert tuple(map(str, list_default_measures(100))) == DEFAULT_MEASURES
    assert tuple(map(str, list_default_measures(3))) == ("nDCG@3", "AP@3", "P@3", "RR@3", "sDCG@3")


def test_the_catalogue_explains_every_measure() -> None:
    kinds = tuple(MEASURE_KINDS.values())
    assert [kind.name for kind in kinds] == list(MEASURE_KINDS)
    assert all(kind.meaning and kind.source for kind in kinds)
    syntax = {kind.name: kind.syntax for kind in kinds}
    assert syntax["AP"] == "AP[(own, rel=1)][@k]"
    assert syntax["P"] == "P[(rel=1)]@k"
    assert syntax["ERR"] == "ERR[@k]"
    assert syntax["Judged"] == "Judged@k"
