"""What was asked becomes the things a run works with."""

import re
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from judge import factory
from judge.config.run import Config
from judge.config.toml_file import ConfigSource
from judge.dataset.labels import Label, choose_label_scale
from judge.errors import InputError, SetupError
from judge.records import BINARY, GRADED, Sampling, Scale, ScaleName
from judge.run_identity import check_identity, choose_run_folder
from judge.run_input import load_pooled_dataset
from judge.runs.folder import RunFolder
from tests.support.cases import check_each

STRICT = replace(GRADED, relevant_from=3)
IDENTITY: dict[str, Any] = {
    "scale": "graded",
    "lang": "auto",
    "depth": 10,
    "dates": False,
    "dataset": "a1",
    "prompts": {"en": "b1"},
}


@check_each(
    ("grades", "run", "named_scale", "scale"),
    [
        ([0, 2, 1], GRADED, None, GRADED),
        # People who never went above 1 graded as they were told to, unless they say otherwise.
        ([0, 1, 1], GRADED, None, GRADED),
        ([0, 0], GRADED, None, GRADED),
        ([1, 1], GRADED, "binary", BINARY),
        ([0, 1], BINARY, None, BINARY),
        # Grades that a yes-or-no run has no place for are grades.
        ([0, 3], BINARY, None, GRADED),
        ([0, 1], BINARY, "graded", GRADED),
        # Where the scale is the run's own, so is the line between relevant and not.
        ([0, 3], STRICT, None, STRICT),
        ([0, 1], STRICT, "graded", STRICT),
        ([0, 1], STRICT, None, STRICT),
        # Without a run the highest grade is all there is to go by.
        ([0, 1, 1], None, None, BINARY),
        ([0, 2], None, None, GRADED),
        ([0, 1], None, "graded", GRADED),
    ],
)
def test_the_scale_of_labels_is_the_run_s_where_they_fit_it(
    grades: list[int], run: Scale | None, named_scale: ScaleName | None, scale: Scale
) -> None:
    labels = [label(grade) for grade in grades]
    assert choose_label_scale(grades, run, named_scale, labels) == scale
    assert choose_label_scale(reversed(grades), run, named_scale, labels) == scale


def label(grade: int, place: str = "f:1", *, word: bool = False) -> Label:
    return Label("q", place, grade, place, word)


def test_yes_and_no_are_yes_and_no() -> None:
    words = [label(0, word=True), label(1, word=True)]
    assert choose_label_scale([0, 1], GRADED, None, words) == BINARY
    lenient = replace(GRADED, relevant_from=1)
    assert choose_label_scale([0, 1], lenient, "graded", words) == lenient
    with pytest.raises(InputError, match="f:1: the grade is yes"):
        choose_label_scale([0, 1], STRICT, "graded", words)
    with pytest.raises(InputError, match="f:3: has grade 2; the binary scale ends at 1"):
        choose_label_scale([0, 1, 2], GRADED, "binary", [label(0), label(1), label(2, "f:3")])


def test_a_label_above_the_scale_is_named_by_line() -> None:
    read = [label(1), label(5, "f:2"), label(4, "f:3")]
    with pytest.raises(InputError, match="f:2: has grade 5; the graded scale ends at 3"):
        choose_label_scale([1, 4], GRADED, None, read)


@pytest.mark.parametrize(
    ("grades", "run", "wanted", "says"),
    [
        ([0, 4], GRADED, None, "grade 4; the graded scale ends at 3"),
        ([4], BINARY, None, "grade 4; the graded scale ends at 3"),
        ([0, 2], GRADED, "binary", "grade 2; the binary scale ends at 1"),
        ([0, 4], None, None, "grade 4; the graded scale ends at 3"),
    ],
)
def test_a_grade_above_the_scale_is_refused(
    grades: list[int], run: Scale | None, wanted: ScaleName | None, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        choose_label_scale(grades, run, wanted, [label(grade) for grade in grades])


@check_each("out", ["", ".", "./", "..", "runs/.."])
def test_a_run_has_a_folder_of_its_own(out: str) -> None:
    with pytest.raises(InputError, match=r"^out is '.*'; it must be a run's own folder, such as runs/one"):
        Config(out=out)


def test_a_whole_number_stays_one_since_keys_of_verdicts_are_made_from_it() -> None:
    assert repr(Config(temperature=1, top_p=1).sampling) == repr(Sampling(1, 512, 1, None, False))
    assert repr(Config(temperature=0.5).temperature) == "0.5"


def test_numbers_of_numpy_become_those_of_python() -> None:
    np = pytest.importorskip("numpy")
    counts: dict[str, Any] = dict.fromkeys(
        ("depth", "repeats", "concurrency", "seed", "max_calls", "timeout"), 2
    )
    config = Config(**{name: np.int32(count) for name, count in counts.items()}, top_p=np.float32(0.5))
    assert repr(config) == repr(Config(**counts, top_p=0.5))
    others: list[Any] = [True, np.True_, 2.0, np.float64(2), np.array([2]), "2"]
    for value in others:
        with pytest.raises(InputError, match=r"^depth is .*; it must be a whole number$"):
            Config(depth=value)


def test_options_cannot_be_changed_and_a_copy_is_checked_again() -> None:
    config = Config(depth=5)
    with pytest.raises(FrozenInstanceError):
        config.depth = 6  # type: ignore[misc]
    assert replace(config, depth=6) == Config(depth=6)
    with pytest.raises(InputError, match=r"^--depth is 0; it must be at least 1$"):
        replace(config, depth=0)


@check_each("name", [option.name for option in fields(Config) if option.name != "source"])
def test_no_option_takes_a_value_of_another_type(name: str) -> None:
    value: Any = 3j
    # The command line has no value for a flag, and no option for some keys of a file.
    is_flag = isinstance(getattr(Config(), name), bool)
    is_key = is_flag or name in ("data", "panel", "max_chars", "shutdown_timeout")
    flag = "--run" if name == "trec_runs" else f"--{name.replace('_', '-')}"
    with pytest.raises(InputError, match=rf"^{name if is_key else flag} is 3j; it "):
        Config(**{"source": ConfigSource(), name: value})
    # A caller of Python has named the parameter.
    with pytest.raises(InputError, match=rf"^{name} is 3j; it "):
        Config(**{name: value})


@check_each(
    ("option", "value", "other", "needed", "model"),
    [
        ("base_url", "http://h/v1", "lexical", "a model at a server", "openai:m"),
        ("rerank_thresholds", "0.2,0.5,0.8", "openai:m", "a reranker", "rerank:server:m"),
    ],
)
def test_an_option_that_no_model_takes_is_refused(
    option: str, value: str, other: str, needed: str, model: str
) -> None:
    given, flag = {option: value}, f"--{option.replace('_', '-')}"
    with pytest.raises(InputError, match=f"^{flag} is for {needed}, not for {other}; omit {flag}$"):
        Config.load(None, model=other, **given)
    assert getattr(Config.load(None, model=other, panel=[model], **given), option)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "judge.toml"
        file.write_text(f'model = "{model}"\n{option} = "{value}"\n', encoding="utf-8")
        assert getattr(Config.load(file), option)
        assert Config.load(file, model=other) == Config(
            model=other
        )  # what is for the file's model is left out
        file.write_text(f'model = "{other}"\n{option} = "{value}"\n', encoding="utf-8")
        with pytest.raises(InputError) as caught:
            Config.load(file)
        assert str(caught.value) == f"{file}: {option} is for {needed}, not for {other}; omit {option}"


def test_the_member_of_a_panel_that_occurs_twice_is_named() -> None:
    url = "http://127.0.0.1:1/v1"
    config = Config(model="lexical", panel=("openai:b", f"openai:b@{url}"), base_url=url)
    with pytest.raises(SetupError, match=rf"^the panel holds 'openai:b/graded at {url}' twice;"):
        factory.build_assessors(config, needs_key=False)


@check_each(
    ("model", "name"),
    [
        ("openai:qwen3:8b", "qwen3_8b"),
        ("langchain:ollama:qwen3:8b", "qwen3_8b"),
        ("openai:owner/m@http://127.0.0.1:1/v1", "owner_m"),
        ("lexical", "lexical"),
    ],
)
def test_the_folder_of_a_run_is_named_after_its_data_and_its_model(model: str, name: str) -> None:
    config = Config(model=model)
    pooled = load_pooled_dataset(config, [{"query": "tea", "snippet": "Tea is a drink."}])
    folder, _ = choose_run_folder(config, pooled, factory.build_assessors(Config(model="lexical")), None)
    assert re.fullmatch(rf"rows-{name}-[0-9a-f]{{8}}", folder.path.name)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dataset": "a2"}, "the dataset, --columns or --complete changed"),
        ({"endpoint": "http://127.0.0.1:2/v1"}, "base_url was not set, now 'http://127.0.0.1:2/v1'"),
        # The second model of the panel has no server.
        ({"endpoint": "http://127.0.0.1:2/v1, "}, "base_url was not set, now 'http://127.0.0.1:2/v1'"),
        ({"dataset": "a2", "depth": 5}, "depth was 10, now 5; the dataset, --columns or --complete changed"),
        (
            {"as_of": "2026-11-02", "near_duplicates": True},
            "as_of was not set, now '2026-11-02'; near_duplicates was not set, now true",
        ),
        ({"thinking": True, "max_tokens": 8192}, "thinking was not set, now true"),
        # The hash of the dataset holds the languages of the queries, that of the prompts is one of a scale.
        ({"dataset": "a2", "lang": "zh"}, "lang was 'auto', now 'zh'"),
        # It holds the dates that prompts show, too.
        ({"dataset": "a2", "dates": True}, "dates was false, now true"),
        ({"prompts": {"en": "b2"}, "scale": "binary"}, "scale was 'graded', now 'binary'"),
    ],
)
def test_the_refusal_of_another_run_names_what_the_user_changed(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    folder = RunFolder(tmp_path)
    folder.write_json("config.json", {"identity": IDENTITY})
    check_identity(folder, IDENTITY)
    with pytest.raises(InputError) as caught:
        check_identity(folder, {**IDENTITY, **changes})
    assert str(caught.value) == f"{tmp_path}: holds another run: {words}. Name another --out"


def test_a_default_that_is_given_is_no_other_run(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    for before, now in ((None, 2), (2, None)):
        folder.write_json("config.json", {"identity": {**IDENTITY, "relevant_from": before}})
        check_identity(folder, {**IDENTITY, "relevant_from": now})
        with pytest.raises(InputError, match="relevant_from was 2, now 1"):
            check_identity(folder, {**IDENTITY, "relevant_from": 1})
