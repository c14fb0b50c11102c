"""The pages of docs/: examples of engines collect from a server of their kind, and tables are complete."""

import inspect
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
from aiohttp import web
from typer.core import TyperGroup
from typer.main import get_command

import judge
from judge.analysis.dimension_summary import DimensionSummary
from judge.analysis.summary import Summary
from judge.cli.main import app
from judge.collect.collection import collect
from judge.collect.engines import PLACEHOLDERS
from judge.collect.registry import KNOWN, EngineTable
from judge.config.collect import CollectConfig
from judge.config.nightly import NightlyConfig, WebhookKind, WebhookOptions
from judge.config.option_checks import (
    list_fields,
    list_keys,
    list_options,
)
from judge.config.run import Config
from judge.errors import JUDGMENT_ERRORS
from judge.example import find_dataset as example
from judge.flags import FLAGS
from judge.measure.compare import PairComparison
from judge.measure.measures import DEFAULT_MEASURES, MEASURE_KINDS, PARAMETERS
from judge.nightly.notifications import Webhook
from judge.nightly.record import EXIT_CODES
from judge.pricing.prices import SHIPPED_PRICES
from judge.records import Judgment
from judge.run_identity import CHANGEABLE_OPTIONS
from judge.runs.results_file import EngineEntry, JudgmentEntry, QueryEntry, SnippetEntry
from judge.runs.run_result import RunResult
from tests.support.cases import check_each
from tests.support.command_line import run_judge
from tests.support.markdown import LANGUAGES, READMES, ROOT, Document, find_page, list_pages
from tests.support.server_thread import ThreadedServer
from tests.unit.collect.engine_calls import read_answers, write_queries
from tests.unit.test_messages_catalogue import load_catalogue

KEY = "a key of the documentation"
#: Programs that others start.
STARTED = ("chat_server", "clients", "ray_nodes")


def list_first_cells(document: Document) -> set[str]:
    """Return every name in code style that stands in the first cell of a row."""
    return {name for row in document.rows for name in re.findall(r"`([^`]+)`", row[0])}


def make_documents(text: str) -> list[dict[str, str]]:
    """40 documents about what was asked."""
    return [
        {"title": f"{text} {at}", "url": f"https://d.example/{at}", "text": f"{text} text {at}"}
        for at in range(40)
    ]


class Documented(ThreadedServer):
    """A server that answers by one of the wires below and keeps what was sent."""

    def __init__(self, wire: Callable[[web.BaseRequest, Any], Mapping[str, Any] | None]) -> None:
        super().__init__()
        self.sent: list[Any] = []
        self._wire = wire

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = await request.read()
        sent = json.loads(raw) if raw else dict(request.query)
        self.sent.append(sent)
        answer = self._wire(request, sent)
        return web.json_response(answer or {"error": "refused"}, status=200 if answer else 400)


def answer_as_elasticsearch(request: web.BaseRequest, sent: Any) -> Mapping[str, Any] | None:
    right = request.method == "POST" and request.path == "/pages/_search"
    if not right or request.headers.get("Authorization") != f"ApiKey {KEY}":
        return None
    result = make_documents(sent["query"]["multi_match"]["query"])[sent["from"] :][: sent["size"]]
    hits = [
        {"_id": "1", "_source": each, "highlight": {"text": [f"<em>{each['text']}</em>", "more"]}}
        for each in result
    ]
    return {"timed_out": False, "hits": {"total": {"value": 40, "relation": "eq"}, "hits": hits}}


def answer_as_meilisearch(request: web.BaseRequest, sent: Any) -> Mapping[str, Any] | None:
    right = request.method == "POST" and request.path == "/indexes/pages/search"
    if not right or request.headers.get("Authorization") != f"Bearer {KEY}":
        return None
    result = make_documents(sent["q"])[sent["offset"] :][: sent["limit"]]
    hits = [{**each, "_formatted": {"text": f"{each['text']} … more"}} for each in result]
    return {"hits": hits, "query": sent["q"], "estimatedTotalHits": 40}


def get(request: web.BaseRequest, sent: Any) -> Mapping[str, Any] | None:
    right = request.method == "GET" and request.path == "/v2/search" and sent["hl"] == "zh-CN"
    if not right or sent["token"] != KEY:
        return None
    result = make_documents(sent["q"])[int(sent["skip"]) :][: int(sent["n"])]
    items = [
        {"name": each["title"], "href": each["url"], "summary": f"{each['text']} … more"} for each in result
    ]
    return {"status": "ok", "data": {"items": items}}


WIRES = {"elasticsearch": answer_as_elasticsearch, "meilisearch": answer_as_meilisearch, "get": get}
#: How many results each example asks for, and in how many calls.
TAKES = {"elasticsearch": (20, 2), "meilisearch": (20, 2), "get": (25, 3)}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("example", WIRES)
def test_each_example_collects_from_a_server_that_speaks_its_wire(
    example: str, language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = re.search(
        rf"<!-- example: {example} -->\n```toml\n(.*?)```", find_page(language, "collecting").text, re.DOTALL
    )
    assert block is not None
    write_queries(tmp_path, "茶 & tea")
    toml = tmp_path / "judge.toml"
    toml.write_text(block[1], encoding="utf-8")
    (name,) = tomllib.loads(block[1])["collect"]["engines"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(tomllib.loads(block[1])["collect"]["engines"][name]["key"], KEY)
    with Documented(WIRES[example]) as server:
        result = collect(CollectConfig.load(toml, base_urls={name: server.url}, rate=1000.0))
    depth, calls = TAKES[example]
    assert (result.incomplete, result.calls_made) == (None, calls)
    [answer] = read_answers(tmp_path, name)
    assert [each["url"] for each in answer["results"]] == [f"https://d.example/{at}" for at in range(depth)]
    assert answer["results"][3]["title"] == "茶 & tea 3"
    assert re.sub("<.*?>", "", answer["results"][3]["snippet"]) == "茶 & tea text 3 … more"
    assert KEY not in result.raw_log.read_text(encoding="utf-8")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_key_slot_and_engine_of_collect_is_documented(language: str) -> None:
    cells = list_first_cells(find_page(language, "collecting"))
    names = {*list_keys(CollectConfig), *EngineTable.model_fields}
    assert names | {f"{{{name}}}" for name in PLACEHOLDERS} | {*KNOWN} <= cells
    text = find_page(language, "collecting").text
    for engine in KNOWN.values():
        assert not engine.key or f"`{engine.key}`" in text, engine.name


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_rule_status_and_webhook_of_nightly_is_documented(language: str) -> None:
    document = find_page(language, "nightly")
    cells = list_first_cells(document)
    assert {*list_keys(NightlyConfig)} | {*get_args(WebhookKind)} | {*EXIT_CODES} <= cells
    codes = {row[0]: row[1] for row in document.rows if row[1] in ("0", "1", "3")}
    for status, code in EXIT_CODES.items():
        assert codes[f"`{status}`"] == str(code), status


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_webhook_of_the_page_is_a_webhook(language: str) -> None:
    (text,) = find_page(language, "nightly").list_code("toml")
    table = tomllib.loads(text)["nightly"]["webhook"]
    webhook = Webhook.from_options(
        WebhookOptions(**table),
        {"DING_URL": "https://oapi.dingtalk.com/robot/send?access_token=t", "DING_SECRET": "s"},
    )
    assert (webhook.kind, webhook.secret) == ("dingtalk", "s")


@check_each("language", LANGUAGES)
@check_each(
    ("name", "config"),
    [("collecting", CollectConfig), ("configuration", Config), ("nightly", NightlyConfig)],
)
def test_the_defaults_in_the_tables_are_those_of_the_program(
    language: str, name: str, config: type[CollectConfig | Config | NightlyConfig]
) -> None:
    shown = {row[0].strip("`"): row[-1] for row in find_page(language, name).rows}
    defaults = {
        name: field.default
        for name, field in list_fields(config).items()
        if type(field.default) in (int, float)
    }
    assert defaults
    assert {key: float(shown[key]) for key in defaults} == defaults


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_option_of_a_run_is_documented(language: str) -> None:
    assert {*list_options(Config)} <= list_first_cells(find_page(language, "configuration"))
    text = find_page(language, "configuration").text
    for option in CHANGEABLE_OPTIONS - {"out"}:
        assert text.count(f"`{option}`") >= 2, option


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_command_is_documented(language: str) -> None:
    cells = list_first_cells(find_page(language, "cli"))
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    assert {*group.commands} == {cell.split()[1] for cell in cells if cell.startswith("judge ")}


def iter_flags(group: TyperGroup, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield each command with each of its flags."""
    for name, each in group.commands.items():
        if isinstance(each, TyperGroup):
            yield from iter_flags(each, f"{name} ")
        else:
            for param in each.get_params(each.make_context(name, [], resilient_parsing=True)):
                yield from ((f"{prefix}{name}", flag) for flag in param.opts if flag.startswith("-"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_common_options_are_those_of_the_commands(language: str) -> None:
    rows = [row for row in find_page(language, "cli").rows if row[0].startswith("`-")]
    documented = {
        (name, flag)
        for row in rows
        for flag in re.findall(r"`([^`]+)`", row[0])
        for name in re.findall(r"`([^`]+)`", row[1])
    }
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    names = {flag for _, flag in documented}
    assert documented == {(name, flag) for name, flag in iter_flags(group) if flag in names}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_python_functions_and_the_members_of_a_result_are_documented(language: str) -> None:
    page = find_page(language, "python")
    for name in judge.__all__:
        function = getattr(judge, name)
        if inspect.isfunction(function):
            signature = inspect.signature(function)
            bare = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
            text = signature.replace(parameters=bare, return_annotation=signature.empty)
            assert f"`judge.{name}{text}`" in page.text
    members = {field.name for field in fields(RunResult)} - {"computed_scores"}
    assert members <= list_first_cells(page)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_measure_and_parameter_is_documented(language: str) -> None:
    cells = list_first_cells(find_page(language, "measures"))
    assert {
        kind.name + {"needed": "@k", "optional": "[@k]", "none": ""}[kind.cutoff]
        for kind in MEASURE_KINDS.values()
    } <= cells
    assert {name.partition("=")[0] for name in cells} >= {*PARAMETERS}
    assert {*DEFAULT_MEASURES} <= cells


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_error_and_flag_is_documented(language: str) -> None:
    assert {*JUDGMENT_ERRORS, *FLAGS} <= list_first_cells(find_page(language, "formats"))


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one night with the lexical model."""
    folder = tmp_path_factory.mktemp("nights")
    toml = folder / "judge.toml"
    data, nights = example(), folder / "nights"
    toml.write_text(f'data = "{data}"\nmodel = "lexical"\n[nightly]\nfolder = "{nights}"\n', encoding="utf-8")
    done = run_judge("nightly", toml, "--date", "2026-11-20")
    assert done.returncode == 0, done.stderr
    return folder / "nights"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_file_and_key_of_a_night_is_documented(language: str, nights: Path) -> None:
    night = nights / "2026-11-20"
    cells = list_first_cells(find_page(language, "formats"))
    for name in ("night.json", "summary.json"):
        keys = json.loads((night / name).read_text(encoding="utf-8"))
        assert {*keys} <= cells, name
    engine = json.loads((night / "summary.json").read_text(encoding="utf-8"))["engines"]["compass"]
    counts = {"answered", "empty", "errors", "absent", "measures"}
    assert {*engine} <= cells | list_first_cells(find_page(language, "measures")) | counts
    header = (night / "scores.csv").read_text(encoding="utf-8").splitlines()[0]
    assert all(f"`{column}`" in find_page(language, "formats").text for column in header.split(","))
    files = {re.sub(r"^run\.\w+\.trec$", "run.<engine>.trec", path.name) for path in night.iterdir()}
    documented = {name.removeprefix("DAY/").rstrip("/") for name in cells}
    assert files - {".lock"} <= documented


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_field_of_the_files_of_a_run_is_documented(language: str) -> None:
    text = find_page(language, "formats").text
    entries = (QueryEntry, EngineEntry, SnippetEntry, JudgmentEntry)
    records = (Judgment, Summary, PairComparison, DimensionSummary)
    names = {name for entry in entries for name in entry.__struct_fields__}
    names |= {field.name for record in records for field in fields(record)}
    assert {name for name in names if not re.search(rf'[`"]{name}[`"]', text)} == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_program_for_developers_is_documented(language: str) -> None:
    cells = list_first_cells(find_page(language, "development"))
    for folder in ("benchmarks", "fault_injection"):
        for file in sorted((ROOT / "tests" / folder).glob("*.py")):
            text = file.read_text(encoding="utf-8")
            if f"python -m tests.{folder}.{file.stem}" in text and file.stem not in STARTED:
                assert any(f"tests.{folder}.{file.stem}" in cell for cell in cells), file.name


#: English values in files that a Chinese page explains, and that are messages too.
VALUES: Mapping[str, set[str]] = {"statistics": {"not separated"}, "nightly": {*EXIT_CODES}}
#: Chinese in code style that judge reads.
READ = {"3 天前"}
#: The pages with texts of their own beside the messages.
TEMPLATES = ("report/templates/report.html.jinja", "nightly/templates/trend.html.jinja")


def list_quotes(document: Document) -> set[str]:
    """Return what a page quotes and no test runs: texts in code style, and lines of unmarked outputs."""
    outputs = (block.text for block in document.blocks if not block.language and not block.marker)
    lines = {line for text in outputs for line in text.splitlines()}
    return {*re.findall(r"`([^`\n]+)`", document.prose)} | lines


@check_each("document", [Document(READMES["zh"]), *list_pages("zh")])
def test_a_chinese_page_quotes_what_is_printed_in_chinese(document: Document) -> None:
    messages = {
        english: "".join(message.string or "")
        for (english, context), message in load_catalogue().items()
        if context != "measure"  # files have the names of measures in English
    }
    values = VALUES.get(document.path.stem, set[str]())
    english = {message.strip(" ,;.") for message in messages if " " in message.strip()} - values
    shown = [*messages.values(), *((ROOT / "judge" / name).read_text(encoding="utf-8") for name in TEMPLATES)]
    texts = "\n".join(shown)
    for quote in list_quotes(document) - READ:
        assert quote not in english, f"{quote!r} is printed in Chinese"
        for part in re.findall(r"[\u4e00-\u9fff]+", re.sub(r"\d 条查询", "", quote)):
            assert part in texts, f"{part!r} of {quote!r} is no message"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_of_models_lists_those_that_have_a_price(language: str) -> None:
    rows = tomllib.loads(SHIPPED_PRICES.read_text(encoding="utf-8"))["prices"]
    priced = {(row["endpoint"], model) for row in rows for model in row["models"] if "?" not in model}
    listed = {
        (server, model)
        for row in find_page(language, "models").rows
        for server in re.findall(r"^`([\w.-]+\.com)`", row[0])
        for model in re.findall(r"`([^`]+)`", row[1])
    }
    assert listed == priced - {("api.openai.com", "gpt-4o-mini-2024-07-18")}
