"""Names in TREC files and spreadsheets are escaped and read back."""

from hypothesis import given
from hypothesis import strategies as st

from judge.dataset.field_values import escape_cell, escape_column, protect_cell, unescape_candidates
from tests.support.cases import check_each

AWKWARD = st.text(st.sampled_from("'=+-@＝ \t\n0159.e%/:abA狗\ufeff\ud800"), max_size=8)


@check_each("text", ["=1+1", "+86", "-1", "@x", " =1", "\t-2", "\n=1", "＝1", "\ufeff=1", "'=1", "''=1"])
def test_a_formula_gets_an_apostrophe(text: str) -> None:
    assert escape_cell(text) == protect_cell(text) == "'" + text


@check_each(
    "text",
    ["007", "'007", "1.10", "3-2", "12:30", "1e5", "50%", "2024-05-01", "123456789012", "1234567890123e45"],
)
def test_what_a_spreadsheet_would_write_anew_gets_one_too(text: str) -> None:
    assert escape_cell(text) == text
    assert protect_cell(text) == "'" + text


@check_each("text", ["", "0", "17", "12345678901", "q1", "3fa9", "e5", "小狗", "it's", "'tis", "1 dog"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert protect_cell(text) == escape_cell(text) == text
    assert unescape_candidates(text)[0] == text


@given(AWKWARD, AWKWARD)
def test_no_two_texts_become_one_cell(one: str, other: str) -> None:
    assert (protect_cell(one) == protect_cell(other)) == (one == other)


@given(AWKWARD)
def test_a_cell_is_read_back_whether_or_not_the_apostrophe_is_kept(text: str) -> None:
    assert unescape_candidates(protect_cell(text))[0] == text
    dropped = protect_cell(text).removeprefix("'") if protect_cell(text) != text else text
    assert text in unescape_candidates(dropped)


@given(st.text(st.characters()))
def test_a_column_has_no_blank_and_different_texts_different_columns(text: str) -> None:
    assert escape_column(text).split() == ([escape_column(text)] if text else [])
    escape_column(text).encode()
    assert escape_column("a b/狗") == "a%20b%2F狗"
