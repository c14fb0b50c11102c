"""A label that was acknowledged is there after every kill; one that was taken back is not."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.annotate import label_log
from judge.annotate.label_log import LabelDecision, LabelLog
from judge.dataset.label_files import read_labels
from judge.errors import InputError
from judge.messages import CHINESE
from judge.records import Pool
from judge.runs import labelling_plan
from tests.support.cases import check_each, count_examples


def make_decision(
    number: int, grade: int | None = 2, snippet: str = "s1", comment: str = ""
) -> LabelDecision:
    return LabelDecision(f"{number:016x}", "q", snippet, grade, comment)


def list_grades(log: LabelLog) -> dict[str, int | None]:
    return {snippet: each.grade for (_, snippet), each in log.current.items()}


def test_what_was_said_is_there_again_and_the_last_word_counts(tmp_path: Path) -> None:
    with label_log.open_labels(tmp_path, "ann") as log:
        log.add(make_decision(1, 0))
        log.add(make_decision(2, None, "s2", "两可"))
        log.add(make_decision(3, 3))
        assert list_grades(log) == {"s1": 3, "s2": None}
    with label_log.open_labels(tmp_path, "ann") as log:
        assert list_grades(log) == {"s1": 3, "s2": None}
        assert log.current["q", "s2"].comment == "两可"
        assert log.last == make_decision(3, 3)


def test_undo_brings_back_what_was_said_before_and_outlives_a_restart(tmp_path: Path) -> None:
    with label_log.open_labels(tmp_path, "ann") as log:
        for each in (make_decision(1, 0), make_decision(2, 1, "s2"), make_decision(3, 3)):
            log.add(each)
        assert log.undo(make_decision(3).id) == make_decision(3, 3)
        assert list_grades(log) == {"s1": 0, "s2": 1}
    with label_log.open_labels(tmp_path, "ann") as log:
        assert list_grades(log) == {"s1": 0, "s2": 1}
        assert log.last == make_decision(2, 1, "s2")
        log.undo(make_decision(2).id)
        log.undo(make_decision(1).id)
        assert log.current == {}
        assert log.last is None


def test_whoever_did_not_hear_the_answer_may_say_it_again(tmp_path: Path) -> None:
    with label_log.open_labels(tmp_path, "ann") as log:
        log.add(make_decision(1))
        log.add(make_decision(1))
        log.undo(make_decision(1).id)
        log.undo(make_decision(1).id)
        # A late repeat of what was taken back since.
        log.add(make_decision(1))
        assert log.current == {}
        assert log.path.read_bytes().count(b"\n") == 2
        with pytest.raises(InputError, match="belongs to another label"):
            log.add(make_decision(1, 3))
        with pytest.raises(InputError, match="there is no label with the id"):
            log.undo("f" * 16)


def test_what_was_labelled_blind_is_final_once_the_model_was_shown(tmp_path: Path) -> None:
    with label_log.open_labels(tmp_path, "ann") as log:
        log.add(make_decision(1))
        log.seal()
        log.seal()
    with label_log.open_labels(tmp_path, "ann") as log:
        assert log.sealed == {("q", "s1")}
        assert log.last is None
        for attempt in (lambda: log.add(make_decision(2, 0)), lambda: log.undo(make_decision(1).id)):
            with pytest.raises(InputError, match="a blind label cannot be changed"):
                attempt()
        # More can be labelled later.
        log.add(make_decision(3, 0, "s2"))
        assert list_grades(log) == {"s1": 2, "s2": 0}
        assert log.path.read_bytes().count(b"\n") == 3


def test_a_file_that_was_cut_at_any_byte_is_healed_to_its_whole_lines(tmp_path: Path) -> None:
    deeds = [make_decision(1, 0), make_decision(2, 3, "s2", "贫血\u2028"), make_decision(3, None, "s3")]
    with label_log.open_labels(tmp_path, "ann") as log:
        for each in deeds:
            log.add(each)
        log.undo(deeds[1].id)
        path, content = log.path, log.path.read_bytes()
    for cut in range(len(content) + 1):
        path.write_bytes(content[:cut])
        count = content[:cut].count(b"\n")
        with label_log.open_labels(tmp_path, "ann") as log:
            standing = {each.id for each in deeds[:count]} - ({deeds[1].id} if count == 4 else set())
            assert {each.id for each in log.current.values()} == standing
            log.add(make_decision(9, 1, "s9"))
        with label_log.open_labels(tmp_path, "ann") as log:
            assert {each.id for each in log.current.values()} == {*standing, make_decision(9).id}


def test_damage_in_the_middle_is_named_and_nothing_is_thrown_away(tmp_path: Path) -> None:
    (tmp_path / "labels").mkdir()
    path = tmp_path / "labels" / "ann.jsonl"
    label = {"id": "1", "query_id": "q", "snippet_id": "s", "grade": 2, "comment": ""}
    odd: list[dict[str, object]] = [
        {"query_id": ["q"]},
        {"comment": 5},
        {"grade": 99},
        {"grade": "3"},
        {"grade": -1},
        {"id": None},
    ]
    lines = ["oops", '{"id": 1}', "5", "[" * 100_000, *(json.dumps({**label, **each}) for each in odd)]
    for text in (f'{{"undo": "x"}}\n{line}\n' for line in lines):
        path.write_text(text)
        with (
            pytest.raises(InputError, match=r"ann\.jsonl:2: is not a label") as refused,
            label_log.open_labels(tmp_path, "ann"),
        ):
            pass
        reason = CHINESE(refused.value.message).partition("不是有效的标注：")[2].partition("；")[0]
        assert not reason.isascii() or "recursion" in reason
        assert path.read_text() == text


@check_each("who", ["ann", "小明", "a.b-c_d", "7", "A" * 40])
def test_a_name_names_files(tmp_path: Path, who: str) -> None:
    with label_log.open_labels(tmp_path, who) as log:
        log.add(make_decision(1))
    assert (tmp_path / "labels" / f"{who}.jsonl").is_file()


@check_each(
    "who", ["", ".", "..", "../x", "a/b", "a\\b", ".hidden", "-x", "a b", "a\n", "a\0", "a.", "x" * 41, "a:b"]
)
def test_what_would_leave_the_folder_is_no_name(tmp_path: Path, who: str) -> None:
    with pytest.raises(InputError, match="--who"), label_log.open_labels(tmp_path, who):
        pass
    assert list(tmp_path.rglob("*")) == []


def test_a_second_process_is_told_and_another_person_is_not(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from judge.annotate import label_log\n"
        "with label_log.open_labels(Path(sys.argv[1]), sys.argv[2]): print('open')"
    )

    def attempt(who: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-c", script, str(tmp_path), who]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    with label_log.open_labels(tmp_path, "ann"):
        assert "ann is already labelling in another process" in attempt("ann").stderr
        assert attempt("bob").stdout == "open\n"
    assert attempt("ann").stdout == "open\n"


def test_a_table_that_was_not_labelled_here_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "ann.csv").write_text("mine")
    with pytest.raises(InputError, match="not labelled here"), label_log.open_labels(tmp_path, "ann"):
        pass
    assert (tmp_path / "labels" / "ann.csv").read_text() == "mine"


def test_a_full_disk_keeps_nothing_of_what_it_refused(tmp_path: Path) -> None:
    script = f"""
import resource, signal
from pathlib import Path
from judge.annotate import label_log
from judge.annotate.label_log import LabelDecision
from judge.errors import StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with label_log.open_labels(Path({str(tmp_path)!r}), "ann") as log:
    for number in range(50):
        try:
            log.add(LabelDecision(f"{{number:016x}}", "q", f"s{{number}}", 1))
            print("kept", number)
        except StoreError as error:
            assert "not saved" in str(error), error
            break
    log.undo("0" * 16)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    count = done.stdout.count("kept")
    assert 5 < count < 50
    with label_log.open_labels(tmp_path, "ann") as log:
        assert list(log.current) == [("q", f"s{number}") for number in range(1, count)]


def test_a_file_that_others_change_is_not_written_over(tmp_path: Path) -> None:
    with label_log.open_labels(tmp_path, "ann") as log:
        log.add(make_decision(1))
        with log.path.open("a") as file:
            file.write('{"undo": "0000000000000001"}\n')
        content = log.path.read_bytes()
        with pytest.raises(Exception, match="another program changed the file"):
            log.add(make_decision(2))
        log.path.unlink()
        with pytest.raises(Exception, match="not saved"):
            log.add(make_decision(2))
        log.path.write_bytes(content)
    with label_log.open_labels(tmp_path, "ann") as log:
        assert log.current == {}


TEXTS = st.one_of(
    st.sampled_from(["=1+1", "'=1", "007", "-1", "a b", "1e5", "日本 x", '"', "'", "a,b;c\td"]),
    st.text(st.sampled_from("'=+-@0159.e% ab狗"), min_size=1, max_size=6).filter(lambda text: text.strip()),
)


@settings(max_examples=count_examples(8))
@given(
    st.dictionaries(
        st.tuples(TEXTS, st.from_regex(r"\A[0-9a-f]{16}\Z")),
        st.one_of(st.none(), st.integers(0, 3)),
        min_size=1,
    ),
    st.text(max_size=20),
)
def test_the_table_reads_back_as_it_was_said(
    expected: dict[tuple[str, str], int | None], comment: str
) -> None:
    expected = {(query.strip(), snippet): grade for (query, snippet), grade in expected.items()}
    with tempfile.TemporaryDirectory() as folder, label_log.open_labels(Path(folder), "ann") as log:
        for number, ((query, snippet), grade) in enumerate(expected.items()):
            log.add(LabelDecision(f"{number:016x}", query, snippet, grade, comment))
        path = log.write_table(Pool(10, 0, []))
        content = path.read_text(encoding="utf-8-sig")
        assert content.startswith(",".join(labelling_plan.COLUMNS) + "\n")
        graded = {key: grade for key, grade in expected.items() if grade is not None}
        result = read_labels(path, print) if graded else ()
    from judge.dataset.field_values import unescape_candidates

    # Ids may stand with an apostrophe that spreadsheets take off; `match` tries both.
    assert len(result) == len(graded)
    for label, (key, grade) in zip(result, graded.items(), strict=True):
        assert key in {
            (query, item)
            for query in unescape_candidates(label.query_id)
            for item in unescape_candidates(label.item)
        }
        assert label.grade == grade
