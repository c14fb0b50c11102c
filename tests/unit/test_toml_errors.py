"""Messages about a TOML file lead to the place in it: file, table, key, and what is expected there."""

import pickle
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from judge import example, factory, pipeline, run_input
from judge.collect.collection import collect
from judge.config.collect import CollectConfig
from judge.config.option_checks import (
    list_options,
    list_spellings,
)
from judge.config.run import Config
from judge.config.toml_file import ConfigSource, name_keys
from judge.errors import InputError
from judge.messages import CHINESE, ENGLISH, Message
from judge.nightly import job
from tests.support.cases import check_each
from tests.support.command_line import run_judge
from tests.support.factories import read_results, write_rows
from tests.unit.test_messages_catalogue import load_catalogue

#: The least that a night needs, besides the line that is tried.
LOCAL = 'model = "openai:fake"\nbase_url = "http://127.0.0.1:9"\n'
COLLECT = '[collect]\nqueries = "q.txt"\nengine = ["searxng"]\nbase_urls = {searxng = "http://127.0.0.1:9"}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with queries."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.txt").write_text("a question\n")
    return tmp_path


def describe(text: str) -> str:
    """What is said of a judge.toml that holds `text`."""
    Path("judge.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        job.run_nightly(Path("judge.toml"), "2026-01-01")
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("depth = -1", "depth is -1; it must be at least 1"),
        ("depth = true", "depth is true; it must be a whole number"),
        ("depth = '10'", "depth is '10'; it must be a whole number"),
        ("timeout = '0.5'", "timeout is '0.5'; it must be a number such as 0.5"),
        ("dates = 'true'", "dates is 'true'; it must be true or false"),
        (
            "[nightly]\nalpha = '0.1'",
            "[nightly] alpha is '0.1'; it must be a share from 0.0001 to 0.5",
        ),
        (
            "[nightly]\ndepth = 5",
            "[nightly] unknown option 'depth'; it is an option of the run: write it above all tables",
        ),
        ("temperature = nan", "temperature is nan; it must be a number such as 0.5"),
        ("seed = 'a'", "seed is 'a'; it must be a whole number"),
        ("topics = 3", "topics is 3; it must be a text"),
        ("panel = 3", "panel is 3; it must be a list of texts"),
        (
            "price = [1]",
            "price is [1]; it must be the price of input, output and, as a third number, cached tokens in USD"
            " per million: price = [0.4, 1.2]",
        ),
        (
            "costs = 'tavily'",
            "costs is 'tavily'; it must be costs = { tavily = 8.0, own = 0.3 } per 1,000 queries, each"
            " engine at most once, or list",
        ),
        (
            "columns = { snipet = 'text' }",
            "columns has 'snipet=text'; it must name a field and its column, such as",
        ),
        ("measures = 5", 'measures is 5; it must be a list of measures such as ["nDCG@10", "AP@10"]'),
        ("measures = ['AP@50']", "measures: AP@50 needs more ranks than are judged (depth = 10); use @10 at"),
        ("measures = ['nope']", "measures: there is no measure 'nope'"),
        ("as_of = 2026-05-01T10:00:00", "as_of is 2026-05-01 10:00:00; it must be a day such as"),
        ("prompts = 'nodir'", "prompts: nodir/zh/graded.jinja: no such prompt"),
        (
            "budget = 1.0",
            "budget needs a price, and none is known for openai:fake at 'http://127.0.0.1:9': add it"
            ' with price = [0.4, 1.2] (USD per million tokens) or in a file with prices = "prices.toml"',
        ),
        (
            "assessor = 'deepeval'\nscale = 'graded'",
            'DeepEval\'s verdicts are yes or no: assessor = "deepeval" goes with scale = "binary"',
        ),
        ("modle = 'x'", "unknown option 'modle'; did you mean 'model'?"),
        ("source = 'x'", "unknown option 'source'; did you mean 'store'?"),
        ("[nightly]\nsource = 'x'", "[nightly] unknown option 'source'"),
        ("repeats = 1001", "repeats is 1001; it must be at most 100"),
        ('out = "a\\u0000b"', "out is 'a\\x00b'; it must be a text without the character NUL"),
        ("[nightly]\nmeasures = ['nope']", "[nightly] measures: there is no measure 'nope'"),
        (
            "[nightly]\nfolder = 'q.txt'",
            "[nightly] folder: q.txt: is a file, not a folder; name another one",
        ),
        ("[nightly]\nmin_drop = true", "[nightly] min_drop is true; it must be a share from 0 to 1"),
        (
            "[nightly]\nwebhook = {url_env = 'NO_HOOK'}",
            "[nightly] webhook: the environment variable 'NO_HOOK'",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_wrong_value_of_the_run_or_the_nights_is_found_in_its_file(line: str, words: str) -> None:
    data = "" if "[" in line[:1] else "[nightly]\ncanary_repeats = 0\n"
    assert describe(f"{LOCAL}data = '{example.find_dataset()}'\n{line}\n{data}").startswith(
        f"judge.toml: {words}"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 'no model was named; name one with model = "openai:NAME"; models are openai:NAME, '),
        ("model = 'foo:bar'", "there is no model 'foo:bar'; write openai:NAME, "),
        ("model = 'opena:m'", "there is no model 'opena:m'; did you mean 'openai'?"),
        (
            "model = 'openai:m'\nbase_url = 'here'",
            "'here' is not the address of a server; give one such as https://host/v1 (base_url)",
        ),
        (
            f"{LOCAL}[nightly]\ncanary_repeats = 0",
            "no dataset was named; set data, or add the table [collect]",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_missing_is_missed_in_the_file(text: str, words: str) -> None:
    assert describe(text).startswith(f"judge.toml: {words}")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[collect]\n", "[collect]\ndepth = -1\n", "[collect] depth is -1; it must be at least 1"),
        ('["searxng"]', '["gooogle"]', "[collect] unknown engine 'gooogle'"),
        (
            '["searxng"]',
            "[]",
            "[collect] no engine was named; name one with engine (see judge collect --help)",
        ),
        (
            '["searxng"]',
            '["http:mine"]',
            "[collect] http:mine is not described; describe it in a table [collect.engines.mine] of a TOML",
        ),
        (
            "{searxng",
            "{brave",
            "[collect] engine 'searxng' has no public address: add that of your server with base_urls ="
            ' { searxng = "http://localhost" }, or set SEARXNG_URL',
        ),
        (
            '["searxng"]',
            '["searxng", "bing"]',
            "[collect] engine 'bing' has no public address: add that of your server with base_urls ="
            ' { bing = "http://localhost" }, or set BING_SEARCH_URL',
        ),
        (
            '"http://',
            '"nowhere',
            "[collect] 'nowhere127.0.0.1:9' is not the address of a server; give one such as https",
        ),
        ('"q.txt"', '"q.txt"\nout = 3', "[collect] out is 3; it must be a text"),
        ('queries = "q.txt"\n', "", "[collect] queries is missing; add it"),
        ('["searxng"]', "['http:a']\nengines.a.url = 3", "[collect.engines.a] url is 3; it must be a text"),
        (
            '["searxng"]',
            "['http:a']\nengines.a.result = 'items'",
            "[collect.engines.a] unknown option 'result'; did you mean 'results'?",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_wrong_value_of_collecting_is_found_in_its_table(old: str, new: str, words: str) -> None:
    Path("judge.toml").write_text(COLLECT.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        collect(CollectConfig.load(Path("judge.toml"), out=None if "out = 3" in new else "d.jsonl"))
    assert str(caught.value).startswith(f"judge.toml: {words}")


@pytest.mark.parametrize(
    ("text", "english", "chinese"),
    [
        (
            "ray_address = 'host:1'",
            'ray_address is that of a Ray cluster; add on = "ray", or omit ray_address',
            'ray_address 是 Ray 集群的地址；请加上 on = "ray"，或去掉 ray_address',
        ),
        (
            "weights = { recall = 1.0 }",
            "weights has 'recall', which needs points = true; add points = true, or omit 'recall'",
            "weights 中的 'recall' 需要 points = true；请添加 points = true，或去掉 'recall'",
        ),
        (
            "explain_queries = 5",
            "explain_queries is for explain = true; add explain = true, or omit explain_queries",
            "explain_queries 仅用于 explain = true；请加上 explain = true，或去掉 explain_queries",
        ),
        (
            "check = 5",
            "check takes a sample of labelled pairs; name their file with qrels, or omit check",
            "check 从已标注的查询-摘要对中抽样；请用 qrels 指定标注文件，或去掉 check",
        ),
        (
            "site_grades = true\nmodel = 'lexical'",
            "site_grades = true asks a language model, and lexical gives no texts; name a language model"
            " first, such as openai:NAME",
            "site_grades = true 需要语言模型，而 lexical 不生成文本；请将第一个模型设为语言模型，"
            "例如 openai:NAME",
        ),
        (
            "trec_runs = ['a.run']\ntopics = 't.tsv'",
            "TREC input is topics, docs and trec_runs, and no other dataset; add docs",
            "TREC 输入由 topics、docs 和 trec_runs 组成，不能同时有其他数据集；请添加 docs",
        ),
        (
            "data = 'd.jsonl'\nmeasures = ['AP@50']\ndepth = 20",
            "measures: AP@50 needs more ranks than are judged (depth = 20); use @20 at most, or judge more"
            " ranks",
            "measures：AP@50 需要的名次超出了评定深度（depth = 20）；请最多使用 @20，或评定更多名次",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_message_has_the_words_of_the_file(text: str, english: str, chinese: str) -> None:
    Path("judge.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        pipeline.estimate(Config.load(Path("judge.toml")))
    assert str(caught.value) == f"judge.toml: {english}"
    assert CHINESE(caught.value.message) == f"judge.toml：{chinese}"


def test_a_file_has_the_words_of_each_option() -> None:
    words = list_spellings(Config, list_options(Config))
    assert (
        name_keys("raise --max-calls {calls}, or --budget {usd:g}", words)
        == "raise max_calls = {calls}, or budget = {usd:g}"
    )
    assert name_keys("omit --on ray and --run", words) == 'omit on = "ray" and trec_runs'
    assert name_keys("add --price INPUT,OUTPUT", words) == "add price = [0.4, 1.2]"
    assert name_keys("add --columns query=NAME", words) == 'add columns = { query = "text" }'
    assert (
        name_keys("add --columns query=NAME,query_id=NAME.", words)
        == 'add columns = { query = "text", query_id = "text" }.'
    )
    assert (
        name_keys("add --columns query=Query,url=URL,snippet=NAME.", words)
        == 'add columns = { query = "Query", url = "URL", snippet = "text" }.'
    )
    assert (
        name_keys("add --columns query=查询,url=链接.", words)
        == 'add columns = { query = "查询", url = "链接" }.'
    )
    for command in ("see judge run --on ray", "uv sync --extra ray", "/a--on/b", "a/--on"):
        assert name_keys(command, words) == command
    words = list_spellings(CollectConfig, list_options(CollectConfig))
    assert name_keys("--engine 和 --base-url", words) == "engine 和 base_urls"


def test_values_in_a_message_are_not_words_of_the_file(folder: Path) -> None:
    toml = folder / "judge.toml"
    toml.write_text(f"{LOCAL}data = 'a --scale b.jsonl'\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        pipeline.estimate(Config.load(toml))
    assert str(caught.value) == f"{toml}: data: a --scale b.jsonl: no such file in {folder}"
    source = Config.load(toml).source
    for text in ("the server says: omit --scale 2", "omit --scale {x}"):
        with pytest.raises(InputError) as caught, source.add_error_context():
            raise InputError("{file}: {error}; see --budget", file="f", error=Message(text))
        for t, colon in ((ENGLISH, ": "), (CHINESE, "：")):
            assert t(caught.value.message).startswith(f"{toml}{colon}")
            assert text in t(caught.value.message)


@pytest.mark.parametrize(
    ("text", "given", "english", "chinese"),
    [
        (
            "relevant_from = 2",
            {"scale": "binary"},
            "relevant_from is 2; it must be 1 or more, and --scale binary ends at 1",
            "relevant_from 的值为 2；应不小于 1，且 --scale binary 最高为 1",
        ),
        (
            "scale = 'binary'",
            {"relevant_from": 2},
            '--relevant-from is 2; it must be 1 or more, and scale = "binary" ends at 1',
            '--relevant-from 的值为 2；应不小于 1，且 scale = "binary" 最高为 1',
        ),
        (
            "assessor = 'deepeval'",
            {"scale": "graded", "model": "openai:m"},
            'DeepEval\'s verdicts are yes or no: assessor = "deepeval" goes with --scale binary',
            'DeepEval 的判定只有是或否：assessor = "deepeval" 必须与 --scale binary 一起使用',
        ),
    ],
)
def test_a_conflict_of_the_file_and_the_command_line_names_both(
    text: str, given: dict[str, object], english: str, chinese: str, folder: Path
) -> None:
    toml = folder / "judge.toml"
    toml.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        Config.load(toml, **given)
    assert str(caught.value) == f"{toml} and the options given with it: {english}"
    assert CHINESE(caught.value.message) == f"{toml} 与同时指定的选项：{chinese}"
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message  # noqa: S301 - of this test


def test_a_column_that_is_missing_can_be_named_in_the_file(folder: Path) -> None:
    (folder / "d.csv").write_text("query,engine,text\nq,a,b\n", encoding="utf-8")
    line = describe(f"{LOCAL}data = 'd.csv'\n[nightly]\ncanary_repeats = 0\n")
    assert (
        "d.csv:1: the header lacks 'snippet'; its columns are 'query', 'engine', 'text'. Rename"
        ' the one that holds it (case and spaces matter), or name it: columns = { snippet = "text" }'
    ) in line
    done = run_judge("run", folder / "d.csv", "-m", "lexical")
    assert "or name it: --columns snippet=NAME. If" in done.stderr


def test_a_run_that_ends_early_names_the_limit_where_it_is(folder: Path) -> None:
    rows = [{"query": "q", "engine": "a", "snippet": snippet} for snippet in ("tea", None)]
    data = write_rows(folder / "d.jsonl", rows)
    toml = folder / "judge.toml"
    toml.write_text("min_coverage = 0.9\nmax_calls = 5\n", encoding="utf-8")
    words = ("run", data, "-m", "lexical", "--config", toml, "--out", folder / "run")
    assert "were judged, less than min_coverage 90% (" in run_judge(*words).stderr
    done = run_judge(*words, "--min-coverage", 0.8, "--ui-lang", "zh")
    assert "低于 --min-coverage 80%" in done.stderr


@pytest.mark.parametrize("model", [Config, CollectConfig])
def test_a_translation_names_the_same_options_as_the_message(model: type[Any]) -> None:
    words = list_spellings(model, list_options(model))
    flags = re.compile("|".join(rf"{re.escape(word)}(?![\w-])" for word in words if " " not in word))
    for message in load_catalogue().values():
        if isinstance(message.id, str) and isinstance(message.string, str):
            english, chinese = (
                set(flags.findall(name_keys(text, words))) for text in (message.id, message.string)
            )
            assert chinese <= english, message.id


def test_a_measure_of_the_file_is_beside_the_depth_of_the_command_line(folder: Path) -> None:
    toml = folder / "judge.toml"
    toml.write_text("measures = ['AP@50']\n", encoding="utf-8")
    with pytest.raises(
        InputError, match=rf"^{toml}: measures: AP@50 needs more ranks than are judged \(--depth 5\)"
    ):
        run_input.choose_measures(Config.load(toml, depth=5))


def test_the_command_line_adds_what_an_option_of_the_file_needs(folder: Path) -> None:
    toml = folder / "judge.toml"
    toml.write_text("check = 5\nexplain_queries = 3\n", encoding="utf-8")
    config = Config.load(toml, qrels="labels.csv", explain=True)
    assert (config.check, config.explain_queries) == (5, 3)


@pytest.mark.parametrize(("name", "known"), [("colect", "collect"), ("nightli", "nightly")])
def test_a_misspelt_table_is_named_with_the_right_one(name: str, known: str, folder: Path) -> None:
    toml = folder / "judge.toml"
    toml.write_text(f"{LOCAL}data = 'd.jsonl'\n[{name}]\n", encoding="utf-8")
    for load in (Config.load, CollectConfig.load, lambda file: job.run_nightly(file, "2026-01-01")):
        with pytest.raises(InputError) as caught:
            load(toml)
        assert str(caught.value) == f"{toml}: unknown table [{name}]; did you mean [{known}]?"


def test_tables_of_options_are_no_misspelt_tables(folder: Path) -> None:
    toml = folder / "judge.toml"
    toml.write_text("columns = { snippet = 'a' }\ncosts = { a = 1 }\nweights = { relevance = 1 }\n")
    assert Config.load(toml).columns == ("snippet=a",)


def test_an_out_that_cannot_be_used_is_found_in_the_file(folder: Path) -> None:
    (folder / "d.jsonl").write_text("", encoding="utf-8")
    toml = folder / "judge.toml"
    toml.write_text(f'model = "lexical"\ndata = "{example.find_dataset()}"\nout = "d.jsonl"\n')
    done = run_judge("run", "--config", toml)
    assert done.stderr == f"judge: {toml}: out: d.jsonl: is a file, not a folder; name another one\n"
    toml.write_text(COLLECT.replace("[collect]\n", '[collect]\nout = "q.txt/d.jsonl"\n'), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        collect(CollectConfig.load(toml))
    assert str(caught.value) == (f"{toml}: [collect] out: q.txt/d.jsonl: cannot be written: File exists")


def test_a_path_is_of_the_folder_that_judge_runs_in_and_says_so(folder: Path) -> None:
    lost = f"judge.toml: data: lost.jsonl: no such file in {folder}"
    assert describe(f"{LOCAL}data = 'lost.jsonl'\n[nightly]\ncanary_repeats = 0") == lost
    assert describe(f"{LOCAL}data = '{{day}}.jsonl'").endswith(f": no such file in {folder}")
    Path("judge.toml").write_text(COLLECT.replace("q.txt", "lost.txt"), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        collect(CollectConfig.load(Path("judge.toml"), out="d.jsonl"))
    assert str(caught.value) == f"judge.toml: [collect] queries: lost.txt: no such file in {folder}"


@pytest.mark.usefixtures("folder")
def test_a_night_without_a_file_says_what_to_write_into_one() -> None:
    done = run_judge("nightly")
    assert done.returncode == 2
    _, line = done.stderr.splitlines()
    assert line.startswith("judge: judge.toml: no such file; write two lines into it to begin")
    assert done.stderr.count("\n") == 2


def test_days_and_texts_of_measures_are_taken_as_people_write_them(folder: Path) -> None:
    toml = folder / "judge.toml"
    toml.write_text('model = "lexical"\nas_of = 2026-05-01\nmeasures = "nDCG@5, P(rel=1)@5 AP@5"\n')
    done = run_judge("run", example.find_dataset(), "--config", toml, "--out", folder / "runs" / "x")
    assert done.returncode == 0, done.stderr
    assert read_results(folder / "runs" / "x")["summary"]["measures"] == ["nDCG@5", "P(rel=1)@5", "AP@5"]
    assert Config.load(toml).as_of == "2026-05-01"
    assert Config.load(None, as_of=date(2026, 5, 1)).to_dict()["as_of"] == "2026-05-01"


def test_what_the_command_line_says_is_not_the_file_s_doing(folder: Path) -> None:
    toml = folder / "judge.toml"
    toml.write_text('depth = -1\nmodel = "foo:bar"\nmeasures = ["nope"]\n')
    config = Config.load(toml, depth=5, model="bar:foo", measures=["no"])
    with pytest.raises(InputError, match=r"^there is no model 'bar:foo'"):
        factory.build_model(config)
    with pytest.raises(InputError, match=r"^--measures: there is no measure 'no'"):
        run_input.choose_measures(config)
    with pytest.raises(InputError, match=r"^--scale is 'x'"):
        Config.load(toml, depth=5, scale="x")
    assert Config.load(toml, depth=5).to_dict().keys() == list_options(Config).keys()


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        ("snippet=a,query=b", ("snippet=a", "query=b")),
        ("snippet=a, c, query=b", ("snippet=a, c", "query=b")),
        (["snippet=a,b", "query=c"], ("snippet=a,b", "query=c")),
        ({"snippet": "a,query=b"}, ("snippet=a,query=b",)),
    ],
)
def test_lists_take_the_form_of_the_command_line(columns: object, parts: tuple[str, ...]) -> None:
    config = Config.load(None, columns=columns, price="0.4,1.2")
    assert (config.columns, config.price) == (parts, (0.4, 1.2))


@pytest.mark.parametrize("load", [Config.load, CollectConfig.load])
def test_a_missing_file_is_named_with_the_folder_that_lacks_it(load: Callable[[Path], object]) -> None:
    with pytest.raises(InputError, match=rf"^gone\.toml: no such file in {re.escape(str(Path.cwd()))}$"):
        load(Path("gone.toml"))


def test_a_place_is_named_once() -> None:
    written = ConfigSource(Path("a.toml"), "t", {"size": "size"})
    for text, whole in (
        ("size is 3", "a.toml: [t] size is 3"),
        ("it is 3", "a.toml: [t] size: it is 3"),
        ("[t.u]: x", "a.toml: [t.u]: x"),
        ("a.toml: y", "a.toml: y"),
        ("3 (see judge run --help)", "a.toml: [t] size: 3 (see judge run --help)"),
    ):
        with (
            pytest.raises(InputError) as caught,
            written.add_error_context("size"),
            written.add_error_context("size"),
        ):
            raise InputError(text)
        assert str(caught.value) == whole


def test_a_file_may_use_the_earlier_names_of_options(tmp_path: Path) -> None:
    path = tmp_path / "judge.toml"
    path.write_text("patience = 7\n", encoding="utf-8")
    assert Config.load(path).max_wait == 7
    assert Config.load(path, max_wait=8.0).max_wait == 8
    path.write_text("grace = 3\n", encoding="utf-8")
    assert Config.load(path).shutdown_timeout == 3
    assert Config.load(None, grace=4).shutdown_timeout == 4
    path.write_text("patience = 7\nmax_wait = 8\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"judge.toml: max_wait is given twice, as 'patience' too"):
        Config.load(path)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a = " + "[" * 3000 + "]" * 3000, ""),
        ("depth = " + "9" * 5000, "digits"),
        ("depth = 5\ndepth = 6", "; the wrong entry begins in line 2: 'depth = 6'"),
    ],
)
def test_a_file_that_tomllib_cannot_read_is_named(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "judge.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        Config.load(path)
    assert str(caught.value).startswith(f"{path}: is not TOML: ")
    assert error in str(caught.value)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_entry_without_an_end_is_named_by_its_line(tmp_path: Path, line_end: str) -> None:
    path = tmp_path / "judge.toml"
    lines = ['model = "lexical"', "measures = [", '  "P@5",', "]", "panel = [", '  "lexical",', "", "# end"]
    path.write_bytes(line_end.join(lines).encode())
    with pytest.raises(InputError, match=r"the wrong entry begins in line 5: 'panel = \['$"):
        Config.load(path)


def test_thinking_raises_the_length_unless_it_is_given() -> None:
    assert Config().sampling.max_tokens == 512
    assert Config(thinking=True).sampling.max_tokens == 8192
    assert Config.load(None, thinking=True, max_tokens=900).sampling.max_tokens == 900


def test_a_file_in_another_encoding_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "judge.toml"
    path.write_bytes('model = "lexical"  # 评测'.encode("gb18030"))
    with pytest.raises(InputError, match=r"judge\.toml: is not UTF-8; save the file as UTF-8"):
        Config.load(path)


@check_each(
    ("text", "words"),
    [
        ("model = lexical", 'column 9); write texts in straight quotation marks: "text"'),
        ("model = “lexical”", 'column 9); write texts in straight quotation marks: "text"'),
        (
            "depth = 3\nmodel = ‘lexical’",
            'line 2, column 9); write texts in straight quotation marks: "text"',
        ),
        ('model = "lexical\ndepth = 3', "column 17); a text lacks its closing quotation mark"),
        ('model = "lexical\r\ndepth = 3', "a text lacks its closing quotation mark"),
        ("model = 'lexical", "a text lacks its closing quotation mark"),
        ('model = "lexical', "a text lacks its closing quotation mark"),
        ("dates = True", "column 9)"),
    ],
)
def test_wrong_quotation_marks_are_explained(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "judge.toml"
    path.write_bytes(text.encode())
    with pytest.raises(InputError) as error:
        Config.load(path)
    assert str(error.value).endswith(words)
