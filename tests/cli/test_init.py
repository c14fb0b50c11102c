"""`judge init` writes a judge.toml that every command reads as it is."""

import re
from pathlib import Path

import pytest

from judge.config.collect import CollectConfig
from judge.config.nightly import NightlyConfig, WebhookOptions
from judge.config.option_checks import list_options
from judge.config.run import Config
from judge.config.toml_file import read_section
from judge.errors import InputError
from judge.example import find_dataset as example
from judge.measure.measures import DEFAULT_MEASURES
from tests.support.command_line import run_judge


def write_options(folder: Path, *words: str) -> str:
    """Return the file that `judge init` writes into `folder`."""
    file = folder / "judge.toml"
    result = run_judge("init", "--out", file, *words)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1] == f"  judge run --config {file}"
    return file.read_text(encoding="utf-8")


def uncomment(text: str, *keys: str) -> str:
    """Return the text with the lines of options, of all or of `keys`, no longer comments."""
    return re.sub(rf"^# (?=(?:{'|'.join(keys) or '[a-z_.]+'}) = )", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_file_has_every_option_with_its_default(tmp_path: Path, language: str) -> None:
    text = write_options(tmp_path, "--ui-lang", language)
    file = tmp_path / "judge.toml"
    defaults = Config(model="openai:NAME", data="results.jsonl").to_dict()
    assert Config.load(file).to_dict() == defaults

    run = text.split("# collect.")[0]
    keys = re.findall(r"^(?:# )?([a-z_]+) = ", run, re.MULTILINE)
    assert sorted(keys) == sorted(list_options(Config))
    examples = re.findall(r"^# ([a-z_]+) = .*   # ", run, re.MULTILINE)
    file.write_text(uncomment(run, *(set(keys) - {*examples})), encoding="utf-8")
    assert Config.load(file).to_dict() == {**defaults, "measures": [*DEFAULT_MEASURES]}
    assert "--" not in re.sub(r"^# --- .*", "", text, flags=re.MULTILINE)  # flags are keys in a file
    # Nor has a comment what only the command line has: NAME=VALUE, lists with commas, repeated options.
    comments = " ".join(re.findall(r"^## (.+)", text.partition("# ---")[2], re.MULTILINE))
    assert re.findall(r"\b[A-Za-z]+=\S+|\d,\d\.\d|repeatable|command line|命令行|多次指定", comments) == []


def test_the_examples_and_the_tables_are_valid(tmp_path: Path) -> None:
    file = tmp_path / "judge.toml"
    # The example of ray_address needs another value of `on` than the default, that of thresholds a reranker.
    text = uncomment(write_options(tmp_path)).replace('on = "local"', 'on = "ray"')
    text = text.replace("\nrerank_thresholds", "\n# rerank_thresholds")
    file.write_text(text, encoding="utf-8")
    config = Config.load(file)
    assert (config.budget, config.column_names, config.panel) == (
        5.0,
        {"snippet": "text", "query": "q"},
        ("dashscope:NAME",),
    )
    collect = CollectConfig.load(file)
    assert (collect.engines, collect.depth, collect.rate) == (("searxng", "brave"), 10, 1)
    nightly = NightlyConfig.load(read_section(file, "nightly"))
    webhook = WebhookOptions(kind="slack", url_env="JUDGE_WEBHOOK")
    assert nightly == NightlyConfig(webhook=webhook, accept_names=("qwen-plus-*",))


def test_comments_have_the_language_of_messages(tmp_path: Path) -> None:
    text = write_options(tmp_path, "--ui-lang", "zh")
    comments = re.findall(r"^#(?:#| ---) (.+)", text, re.MULTILINE)
    assert comments
    assert "## 忽略指标小于该值的下降。" in text.splitlines()
    assert [comment for comment in comments if comment.isascii()] == []


def test_a_run_works_after_data_and_model_are_set(tmp_path: Path) -> None:
    text = write_options(tmp_path).replace("results.jsonl", str(example())).replace("openai:NAME", "lexical")
    (tmp_path / "judge.toml").write_text(text, encoding="utf-8")
    result = run_judge("run", "--config", tmp_path / "judge.toml", "--out", tmp_path / "run")
    assert (result.returncode, result.stderr.count("judge:")) == (0, 0)
    assert (tmp_path / "run" / "results.json").exists()


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "judge.toml"
    file.write_text("depth = 5\n", encoding="utf-8")
    link = tmp_path / "link.toml"
    link.symlink_to(tmp_path / "absent.toml")
    for path in (file, link):
        result = run_judge("init", "--out", path)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr == f"judge: {path} exists and is unchanged; remove it, or name another --out\n"
    assert file.read_text(encoding="utf-8") == "depth = 5\n"
    assert not (tmp_path / "absent.toml").exists()
    folder = run_judge("init", "--out", tmp_path)
    assert (folder.returncode, folder.stderr) == (2, f"judge: {tmp_path}: is a folder; name a file\n")
    result = run_judge("init", "--out", tmp_path / "none" / "judge.toml")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"judge: {tmp_path}/none/judge.toml: its folder does not exist; make it first\n"


@pytest.mark.parametrize(("key", "table"), [("min_drop = 0.1", "nightly"), ('queries = "q.tsv"', "collect")])
def test_a_key_outside_of_its_table_is_named_with_the_table(tmp_path: Path, key: str, table: str) -> None:
    file = tmp_path / "judge.toml"
    file.write_text(f'model = "lexical"\n{key}\n', encoding="utf-8")
    name = key.partition(" ")[0]
    with pytest.raises(
        InputError, match=rf"'{name}'; it is one of the table \[{table}\]: write {table}.{name}$"
    ):
        Config.load(file)
    file.write_text(f'model = "lexical"\n{table}.{key}\n', encoding="utf-8")
    assert Config.load(file).model == "lexical"


def test_a_key_that_is_given_twice_is_named(tmp_path: Path) -> None:
    file = tmp_path / "judge.toml"
    file.write_text("depth = 3\nrepeats = 2\ndepth = 5\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"Cannot overwrite a value \(at line 3, column 10\)$"):
        Config.load(file)
