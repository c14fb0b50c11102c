"""Ready schedules: each is read, or run, as the machine that it is for would."""

from __future__ import annotations

import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path

import pytest

from judge.errors import InputError
from judge.nightly.schedules import KINDS, schedule

AWKWARD = "a b%c$d'e"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder whose name the shell, cron and systemd would each misread if they could."""
    folder = tmp_path / AWKWARD
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("keys", [True, False])
def test_the_cron_line_runs_in_its_folder_with_its_keys_or_without(here: Path, *, keys: bool) -> None:
    if keys:
        (here / "judge.env").write_text("OPENAI_API_KEY=sk-canary\n", encoding="utf-8")
    *comments, line = schedule("cron", Path("no such 50%.toml")).splitlines()
    assert all(each.startswith("# ") for each in comments)
    minute, hour, day, month, weekday, command = line.split(" ", 5)
    assert (minute, hour, day, month, weekday) == ("30", "2", "*", "*", "*")
    # What cron makes of a line: an unescaped % ends it.
    assert command.replace("\\%", "").count("%") == 0
    done = subprocess.run(
        ["sh", "-c", command.replace("\\%", "%")], cwd="/", capture_output=True, check=False
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    assert done.returncode == 2
    assert (here / "nightly.log").stat().st_size > 0


def test_the_systemd_units_name_this_folder_and_this_python(here: Path) -> None:
    text = schedule("systemd", Path("my judge.toml"))
    service, timer = text.split("# ---- judge-nightly.service\n")[1].split("# ---- judge-nightly.timer\n")
    unit = RawConfigParser()
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(service)
    assert unit["Service"]["Type"] == "oneshot"
    assert unit["Service"]["WorkingDirectory"].replace("%%", "%") == str(here)
    assert unit["Service"]["EnvironmentFile"].replace("%%", "%") == f"-{here / 'judge.env'}"
    assert unit["Service"]["ExecStart"] == f'{sys.executable} -m judge nightly "my judge.toml"'
    # What came to an exit code is not begun again at once, for most of them are final.
    assert unit["Service"]["Restart"] == "on-abnormal"
    unit.read_string(timer)
    assert unit["Timer"]["OnCalendar"] == "*-*-* 02,04,06:30:00"
    assert unit["Install"]["WantedBy"] == "timers.target"


@pytest.mark.usefixtures("here")
def test_the_workflow_is_yaml_and_runs_the_nights_one_at_a_time() -> None:
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load(schedule("github", Path("my: judge.toml")))
    # YAML 1.1 reads the key `on` as true.
    assert found[True]["schedule"] == [{"cron": "30 18 * * *"}]
    assert found["permissions"] == {"contents": "read"}
    assert found["concurrency"]["cancel-in-progress"] is False
    steps = found["jobs"]["nightly"]["steps"]
    (night,) = [step for step in steps if step.get("run", "").startswith("judge ")]
    assert night["run"] == 'judge nightly "$TOML"'
    assert night["env"]["TOML"] == "my: judge.toml"
    saves = [step for step in steps if step.get("if") == "always()"]
    assert [step["uses"].split("@")[0] for step in saves] == ["actions/cache/save", "actions/upload-artifact"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("here")
def test_every_place_is_filled_in(kind: str) -> None:
    text = schedule(kind, Path("judge.toml")).replace("${{", "").replace("}}", "")
    assert "{" not in text


def test_an_unknown_kind_and_a_path_that_breaks_the_line_are_refused() -> None:
    with pytest.raises(InputError, match="'launchd'; it is cron, systemd, github"):
        schedule("launchd", Path("judge.toml"))
    with pytest.raises(InputError, match="control character"):
        schedule("cron", Path("a\n* * * * * rm"))
