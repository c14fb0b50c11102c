"""Ready schedules: each is read, or run, as the machine that it is for would."""

import re
import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest

from judge.errors import InputError
from judge.messages import CHINESE, ENGLISH
from judge.nightly.schedules import KINDS, make_schedule

AWKWARD = "a b%c$d'e"
#: What the step of the night gets besides the secrets.
ENVIRONMENT = {"GH_TOKEN": "${{ github.token }}", "TOML": "judge.toml"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder whose name the shell, cron and systemd would each misread if they could."""
    folder = tmp_path / AWKWARD
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("keys", [True, False])
def test_the_cron_line_runs_in_its_folder_with_its_keys_or_without(folder: Path, *, keys: bool) -> None:
    if keys:
        (folder / "judge.env").write_text("OPENAI_API_KEY=sk-canary\n", encoding="utf-8")
    *comments, line = make_schedule("cron", Path("no such 50%.toml")).splitlines()
    assert all(each.startswith("# ") for each in comments)
    minute, hour, day, month, weekday, command = line.split(" ", 5)
    assert (minute, hour, day, month, weekday) == ("30", "2,4,6", "*", "*", "*")
    # What cron makes of a line: an unescaped % ends it.
    assert command.replace("\\%", "").count("%") == 0
    done = subprocess.run(
        ["sh", "-c", command.replace("\\%", "%")], cwd="/", capture_output=True, check=False
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    assert done.returncode == 2
    assert (folder / "nightly.log").stat().st_size > 0


def test_a_value_in_quotes_comes_through_the_shell_of_cron(folder: Path) -> None:
    toml = folder / "judge.toml"
    toml.write_text(
        'model = "lexical"\ndata = "none.jsonl"\n[nightly]\nwebhook = {url_env = "HOOK"}\n', encoding="utf-8"
    )
    *comments, line = make_schedule("cron", toml).splitlines()
    (form,) = re.findall("one (.*) per line", "\n".join(comments))
    value = "https://hook.example/?a=1&b=$2"
    (folder / "judge.env").write_text(form.replace("NAME", "HOOK").replace("VALUE", value), encoding="utf-8")
    command = line.split(" ", 5)[5].replace("\\%", "%")
    subprocess.run(["sh", "-c", command], cwd="/", check=False)
    # The webhook is read before the dataset.
    assert "none.jsonl: no such file" in (folder / "nightly.log").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_a_schedule_in_chinese_has_chinese_comments_and_nights(kind: str, folder: Path) -> None:
    toml = folder / "judge.toml"
    toml.write_text('data = "results.jsonl"\nmodel = "openai:m"\n', encoding="utf-8")
    english, chinese = (make_schedule(kind, toml, t).splitlines() for t in (ENGLISH, CHINESE))
    different = [(before, line) for before, line in zip(english, chinese, strict=True) if before != line]
    assert len(different) >= 4
    ((before, command),) = [
        pair for pair in different if not re.match("(?:# |Description=).*[\u4e00-\u9fff]", pair[1])
    ]
    assert "--ui-lang" not in before
    assert "judge nightly " in command
    assert command.replace(" --ui-lang zh", "", 1) == before


@pytest.mark.parametrize("kind", ["cron", "systemd"])
def test_the_comment_names_the_keys_and_addresses_that_judge_toml_asks_for(kind: str, folder: Path) -> None:
    toml = folder / "judge.toml"
    assert " (OPENAI_API_KEY, JUDGE_WEBHOOK) " in make_schedule(kind, toml)
    toml.write_text(
        'data = "results.jsonl"\nmodel = "dashscope:m"\n'
        '[nightly]\nwebhook = { kind = "dingtalk", url_env = "HOOK", secret_env = "SIGN" }\n',
        encoding="utf-8",
    )
    assert " (DASHSCOPE_API_KEY, HOOK, SIGN) " in make_schedule(kind, toml)
    toml.write_text('data = "results.jsonl"\nmodel = "lexical"\n', encoding="utf-8")
    text = make_schedule(kind, toml)
    assert f"# {toml} needs no key and no address; " in text
    assert "OPENAI" not in text


def test_the_systemd_units_name_this_folder_and_this_python(folder: Path) -> None:
    text = make_schedule("systemd", Path("my judge.toml"))
    service, timer = text.split("# ---- judge-nightly.service\n")[1].split("# ---- judge-nightly.timer\n")
    unit = RawConfigParser()
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(service)
    assert unit["Service"]["Type"] == "oneshot"
    assert unit["Service"]["WorkingDirectory"].replace("%%", "%") == str(folder)
    assert unit["Service"]["EnvironmentFile"].replace("%%", "%") == f"-{folder / 'judge.env'}"
    assert unit["Service"]["ExecStart"] == f'{sys.executable} -m judge nightly "my judge.toml"'
    # What came to an exit code is not begun again at once, for most of them are final.
    assert unit["Service"]["Restart"] == "on-abnormal"
    unit.read_string(timer)
    assert unit["Timer"]["OnCalendar"] == "*-*-* 02,04,06:30:00"
    assert unit["Install"]["WantedBy"] == "timers.target"


@pytest.mark.usefixtures("folder")
def test_the_workflow_is_yaml_and_runs_the_nights_one_at_a_time() -> None:
    yaml = pytest.importorskip("yaml")
    Path("my: judge.toml").write_text('model = "lexical"\ndata = "data.jsonl"\n', encoding="utf-8")
    text = make_schedule("github", Path("my: judge.toml"))
    result = yaml.safe_load(text)
    # YAML 1.1 reads the key `on` as true.
    assert result[True]["schedule"] == [{"cron": "30 18 * * *"}]
    assert "# It starts at 18:30 UTC, which is 02:30 in China: " in text
    assert result["permissions"] == {"actions": "read", "contents": "read"}
    assert result["concurrency"]["cancel-in-progress"] is False
    steps = result["jobs"]["nightly"]["steps"]
    (night,) = [step for step in steps if "judge nightly" in step.get("run", "")]
    assert night["env"]["TOML"] == "my: judge.toml"
    saves = [step for step in steps if step.get("if") == "always()"]
    assert [step["uses"].split("@")[0] for step in saves] == ["actions/cache/save", "actions/upload-artifact"]


@pytest.mark.usefixtures("folder")
def test_a_job_that_is_run_again_on_a_later_day_has_the_day_of_its_run(tmp_path: Path) -> None:
    steps, _ = read_steps('model = "lexical"\ndata = "data.jsonl"\n')
    (script,) = [step["run"] for step in steps if "judge nightly" in step.get("run", "")]
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, lines in (("gh", 'echo "$*" >&2\necho 2026-11-20'), ("judge", "printf '%s\\n' \"$@\"")):
        (commands / name).write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
        (commands / name).chmod(0o755)
    environ = {"GITHUB_REPOSITORY": "our/search", "GITHUB_RUN_ID": "42", "TOML": "our judge.toml"}
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        env={"PATH": f"{commands}:/usr/bin:/bin", **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines() == ["api repos/our/search/actions/runs/42 --jq .created_at[:10]"]
    assert done.stdout.splitlines() == ["nightly", "our judge.toml", "--date", "2026-11-20"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("folder")
def test_every_place_is_filled_in(kind: str) -> None:
    Path("judge.toml").write_text('model = "lexical"\ndata = "data.jsonl"\n', encoding="utf-8")
    text = make_schedule(kind, Path("judge.toml")).replace("${{", "").replace("}}", "")
    assert "{" not in text


def test_an_unknown_kind_and_a_path_that_breaks_the_line_are_refused() -> None:
    with pytest.raises(InputError, match="'launchd'; it must be one of cron, systemd, github"):
        make_schedule("launchd", Path("judge.toml"))
    with pytest.raises(InputError, match="control character"):
        make_schedule("cron", Path("a\n* * * * * rm"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("depth = 0", "depth is 0"),
        (
            'data = "results.jsonl"\nmodel = "openai:m"\nbatch = true',
            "a night judges in realtime; omit 'batch'",
        ),
    ],
)
def test_no_schedule_is_made_of_a_file_that_a_night_would_refuse(
    kind: str, options: str, message: str, folder: Path
) -> None:
    toml = folder / "judge.toml"
    toml.write_text(f"{options}\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        make_schedule(kind, toml)


WHOLE = """
model = "openai:a"
panel = ["dashscope:b", "langchain:anthropic:c", "openai:d@http://10.0.0.1/v1"]
store = "store/verdicts.sqlite"
[collect]
queries = "queries.tsv"
engine = ["searxng", "brave", "http:mine", "langchain:GoogleSerperAPIWrapper"]
[collect.engines.mine]
url = "https://search.example/api?q={query}"
key = "MINE_KEY"
results = "items"
[nightly]
folder = "our nights"
webhook = { kind = "dingtalk", url_env = "DING_URL", secret_env = "DING_SECRET" }
"""


def read_steps(toml: str) -> tuple[list[dict[str, Any]], str]:
    """The steps of the workflow for judge.toml, read by a parser of YAML, and the whole text."""
    yaml = pytest.importorskip("yaml")
    Path("judge.toml").write_text(toml, encoding="utf-8")
    text = make_schedule("github", Path("judge.toml"))
    return yaml.safe_load(text)["jobs"]["nightly"]["steps"], text


@pytest.mark.usefixtures("folder")
def test_the_workflow_names_the_secrets_packages_and_files_that_judge_toml_asks_for() -> None:
    steps, text = read_steps(WHOLE)
    (night,) = [step for step in steps if "judge nightly" in step.get("run", "")]
    names = [
        "OPENAI_API_KEY", "DASHSCOPE_API_KEY", "ANTHROPIC_API_KEY",
        "SEARXNG_URL", "BRAVE_SEARCH_API_KEY", "MINE_KEY", "SERPER_API_KEY", "DING_URL", "DING_SECRET",
    ]  # fmt: skip
    secrets = {name: f"${{{{ secrets.{name} }}}}" for name in names}
    assert night["env"] == {**ENVIRONMENT, **secrets}
    assert f"Set these secrets in that repository, and nothing else: {', '.join(names)}." in text
    assert [step["run"] for step in steps if "pip" in step.get("run", "")] == [
        'pip install "search-judge[dashscope,langchain]"'
    ]
    paths = [step["with"]["path"].splitlines() for step in steps if "path" in step.get("with", {})]
    assert paths == [
        ["our nights", "store/verdicts.sqlite"],
        ["our nights", "store/verdicts.sqlite"],
        [
            "our nights/trend.html",
            *(f"our nights/*/{name}" for name in ("report.html", "night.json", "summary.md", "junit.xml")),
        ],
    ]
    assert "vars." not in text


@pytest.mark.usefixtures("folder")
def test_a_workflow_without_keys_sets_none_and_an_address_of_this_machine_is_a_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps, text = read_steps('model = "lexical"\ndata = "data.parquet"\n')
    assert [step["env"] for step in steps if "env" in step] == [ENVIRONMENT]
    assert "nothing else: none." in text
    assert 'pip install "search-judge[parquet]"' in [step.get("run") for step in steps]
    steps, _ = read_steps('model = "lexical"\ndata = "data.xlsx"\n')
    assert 'pip install "search-judge[xlsx]"' in [step.get("run") for step in steps]
    steps, _ = read_steps('model = "openai:m"\ndata = "data.jsonl"\non = "ray"\n')
    assert 'pip install "search-judge[ray]"' in [step.get("run") for step in steps]
    monkeypatch.setenv("OPENAI_BASE_URL", "https://proxy.example/v1")
    for base_url, names in (
        ("", {"OPENAI_API_KEY", "OPENAI_BASE_URL"}),
        ("https://a/v1", {"OPENAI_API_KEY"}),
    ):
        line = f'base_url = "{base_url}"\n' if base_url else ""
        steps, text = read_steps(f'model = "openai:a"\ndata = "data.jsonl"\n{line}')
        assert [set(step["env"]) - {*ENVIRONMENT} for step in steps if "env" in step] == [names]
        assert "proxy.example" not in text


@pytest.mark.usefixtures("folder")
def test_a_workflow_needs_a_judge_toml_that_is_right() -> None:
    with pytest.raises(InputError, match="no such file"):
        make_schedule("github", Path("missing.toml"))
    with pytest.raises(
        InputError, match=r"\[collect.engines.mine\] key is not a name such as MY_KEY"
    ) as error:
        read_steps(WHOLE.replace("MINE_KEY", "sk-12345678"))
    assert "sk-12345678" not in str(error.value)
