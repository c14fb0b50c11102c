"""A FIFO, a device or a link in the place of a file is refused in one line, without a wait."""

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import judge
from judge import api
from judge.annotate import label_log
from judge.assess.prompts import find_default_directory, load_prompts
from judge.cli.show import find_query
from judge.collect import raw_log
from judge.config.toml_file import read_toml
from judge.dataset.label_files import read_labels
from judge.errors import InputError, StoreError
from judge.files.filesystem import open_for_read, read_bytes, read_text
from judge.finished_run import rewrite_report
from judge.nightly import baseline, trend
from judge.records import GRADED
from judge.runs import results_file
from judge.runs.folder import RunFolder
from tests.support.command_line import run_judge
from tests.support.factories import make_rows, write_rows

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs FIFOs and devices")


def link_to_fifo(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


#: What a message says of each of `NODES`.
NO_FILE = r"is a symbolic link|is no regular file|Is a directory"
NODES: dict[str, Callable[[Path], None]] = {
    "fifo": os.mkfifo,
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "link to a FIFO": link_to_fifo,
    "folder": Path.mkdir,
}


@pytest.fixture(autouse=True)
def _limit_time() -> Iterator[None]:
    """End a test that waits for a FIFO."""

    def give_up(*_: object) -> None:
        raise AssertionError("a file that is not regular was read")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    data = write_rows(folder / "data.jsonl", make_rows(3, 2, 2))
    judge.run(data, "lexical", out=str(folder / "run"))
    return folder / "run"


@pytest.fixture(params=NODES)
def replace(request: pytest.FixtureRequest) -> Callable[[Path], Path]:
    def put(path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        NODES[request.param](path)
        return path

    return put


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("results.json", rewrite_report),
        ("results.json", judge.score),
        ("results.json", lambda run: find_query(run, "q0")),
        ("results.json", lambda run: list(results_file.read_query_entries(run / "results.json"))),
        ("summary.json", rewrite_report),
        ("summary.json", lambda run: api.compare(run)),
        ("config.json", lambda run: judge.score(run, embeddings="lsa")),
        ("judgments.jsonl", judge.score),
        ("judgments.jsonl", lambda run: api.agree(run, run / "labels.csv")),
        ("night.json", lambda run: RunFolder(run).read_if_there("night.json")),
    ],
)
def test_a_file_of_a_run_is_a_regular_file(
    name: str,
    command: Callable[[Path], object],
    finished_run: Path,
    replace: Callable[[Path], Path],
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished_run, run)
    path = replace(run / name)
    with pytest.raises(InputError, match=NO_FILE) as refused:
        command(run)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "name", ["config.json", "summary.json", "results.json", "judgments.jsonl", "members.jsonl"]
)
def test_a_file_that_a_baseline_copies_is_a_regular_file(
    name: str, finished_run: Path, replace: Callable[[Path], Path], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished_run, run)
    replace(run / name)
    with pytest.raises(InputError, match=NO_FILE):
        baseline.freeze_baseline(run, tmp_path / "nights")


@pytest.mark.parametrize(
    ("place", "read"),
    [
        ("baseline/baseline.json", baseline.read_pointer),
        ("data.raw.jsonl", lambda folder: list(raw_log.read_raw_log(folder / "data.raw.jsonl"))),
        ("labels/me.jsonl", lambda folder: label_log.open_labels(folder, "me").__enter__()),
        ("judge.toml", lambda folder: read_toml(folder / "judge.toml")),
        ("labels.csv", lambda folder: read_labels(folder / "labels.csv", print)),
    ],
)
def test_a_file_beside_a_run_is_a_regular_file(
    place: str, read: Callable[[Path], object], replace: Callable[[Path], Path], tmp_path: Path
) -> None:
    replace(tmp_path / place)
    with pytest.raises(InputError, match=NO_FILE):
        read(tmp_path)


def test_a_night_whose_record_is_no_regular_file_is_left_out_and_named(
    replace: Callable[[Path], Path], tmp_path: Path
) -> None:
    replace(tmp_path / "2026-05-01" / "night.json")
    read = trend.read_history(tmp_path)
    assert not read.nights
    assert re.search(f"night.json: ({NO_FILE})", read.damaged[0])


@pytest.mark.parametrize("name", ["en/graded.jinja", "zh/graded.jinja"])
def test_a_prompt_is_a_regular_file(name: str, replace: Callable[[Path], Path], tmp_path: Path) -> None:
    shutil.copytree(find_default_directory(), tmp_path / "prompts")
    replace(tmp_path / "prompts" / name)
    with pytest.raises(InputError, match=rf"graded\.jinja: can't be read: ({NO_FILE})"):
        load_prompts(tmp_path / "prompts", GRADED)


def test_a_prompt_may_be_a_link_to_a_file_as_installers_make_them(tmp_path: Path) -> None:
    shutil.copytree(find_default_directory(), tmp_path / "prompts")
    path = tmp_path / "prompts" / "en" / "graded.jinja"
    path.rename(tmp_path / "kept.jinja")
    path.symlink_to(tmp_path / "kept.jinja")
    assert (
        load_prompts(tmp_path / "prompts", GRADED).versions
        == load_prompts(find_default_directory(), GRADED).versions
    )


def test_a_link_is_followed_only_where_the_caller_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a\r\nb", encoding="utf-8")
    (tmp_path / "link").symlink_to("file")
    assert read_bytes(tmp_path / "link", follow=True) == b"a\r\nb"
    assert read_text(tmp_path / "file") == "a\nb"
    with pytest.raises(OSError, match="is a symbolic link"):
        open_for_read(tmp_path / "link")
    with pytest.raises(FileNotFoundError):
        open_for_read(tmp_path / "nothing", follow=True)


def test_report_on_an_endless_file_ends_with_one_line(finished_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished_run, run)
    (run / "results.json").unlink()
    (run / "results.json").symlink_to("/dev/zero")
    command = [sys.executable, "-m", "judge", "report", str(run)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2, ended.stderr
    assert "is a symbolic link" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_no_message_says_to_remove_a_folder(finished_run: Path, tmp_path: Path) -> None:
    data = finished_run.parent / "data.jsonl"
    (tmp_path / "folder").mkdir()
    named = ((option, tmp_path / "folder") for option in ("--qrels", "--config", "--store"))
    for option, folder in (*named, ("--store", ".")):
        words = (data, "-m", "lexical", "--out", tmp_path / "run", option, folder)
        result = run_judge("run", *words)
        stderr = result.stderr
        assert result.returncode == 2, stderr
        assert ("Is a directory" if option == "--config" else "a folder; name a file") in stderr
        assert "remove it" not in stderr
        assert "Errno" not in stderr


def test_what_is_no_file_of_judge_need_not_be_removed(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "data.jsonl", make_rows(1, 1, 1))
    words = ("run", data, "-m", "lexical", "--out", tmp_path / "run", "--qrels", "/dev/null")
    done = run_judge(*words)
    assert done.returncode == 2
    assert "is no regular file; remove it, or name a regular file" in done.stderr


def test_a_written_file_takes_the_place_of_no_device_or_fifo(tmp_path: Path) -> None:
    """A rename over /dev/null, which root may do, breaks the programs of the machine."""
    page = tmp_path / "page.html"
    os.mkfifo(page)
    with pytest.raises(StoreError, match=r"page\.html: cannot be written: is no regular file"):
        RunFolder(tmp_path).write(page.name, ["text"])
    assert stat.S_ISFIFO(page.stat().st_mode)
    assert list(tmp_path.iterdir()) == [page]
