"""The Python calls, in a script and where an event loop is running."""

import asyncio
import json
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

import judge
from judge import pipeline
from judge.client.cancel import CancelToken
from judge.config.run import Config
from tests.support.cases import check_each
from tests.support.command_line import wait_for_requests
from tests.support.factories import delay_reply, make_rows, reply_with_grade, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply
from tests.support.server_thread import reserve_unused_address

ROWS = [
    {
        "query_id": "1",
        "query": "capital of France",
        "engine": "a",
        "snippet": "Paris has been the capital of France for centuries.",
    },
    {"query_id": "1", "query": "capital of France", "engine": "a", "snippet": "Recipes with cheese."},
    {"query_id": "1", "query": "capital of France", "engine": "b", "snippet": "Recipes with cheese."},
]


def test_a_run_gives_data_frames(tmp_path: Path) -> None:
    outcome = judge.run(ROWS, model="lexical", out=str(tmp_path / "runs" / "x"), repeats=2)
    assert outcome.engines.loc["a", "nDCG@10"] == 1.0
    assert outcome.engines.loc["b", "nDCG@10"] == 0.0
    assert list(outcome.verdicts["grade"]) == [3, 0, 3, 0] or list(outcome.verdicts["grade"]) == [0, 3, 0, 3]
    assert set(outcome.queries.columns) == {
        "engine", "query_id", "repeat", "measure", "value", "low", "high", "judged"
    }  # fmt: skip
    assert len(outcome.queries) == 2 * 2 * 5
    assert outcome.incomplete is None


def test_a_result_without_judgments_or_comparisons_has_their_columns(tmp_path: Path) -> None:
    full = judge.run(ROWS, "lexical", out=str(tmp_path / "full"))
    with LoopbackServer(lambda _: Reply(status=401)) as server:
        empty = judge.run(ROWS[:2], "openai:m", base_url=server.openai_url, out=str(tmp_path / "empty"))
    assert (len(empty.verdicts), len(empty.comparisons)) == (0, 0)
    for frame, expected in ((empty.verdicts, full.verdicts), (empty.comparisons, full.comparisons)):
        assert list(frame.columns) == list(expected.columns)
    assert empty.verdicts["grade"].dtype == "Int64"


def test_a_column_of_numbers_without_a_value_is_one_of_numbers(tmp_path: Path) -> None:
    with LoopbackServer(lambda _: Reply("I will not say.")) as server:
        outcome = judge.run(ROWS, "openai:m", base_url=server.openai_url, out=str(tmp_path / "x"))
    for frame, names in (
        (outcome.engines, ["AP@10", "nDCG@10", "latency_ms", "rerank_relevancy"]),
        (outcome.comparisons, ["difference", "sd", "d_z", "p_adjusted", "detectable", "at_least_queries"]),
    ):
        assert {name: str(frame[name].dtype) for name in names} == dict.fromkeys(names, "float64")
        frame.round(3)


def test_the_public_names_are_completed() -> None:
    assert dir(judge) == sorted(judge.__all__)


def test_records_stand_on_one_line_of_a_notebook(tmp_path: Path) -> None:
    long = "x" * 100_000
    rows = [{"query": f"{number} {long}", "engine": "a", "snippet": long} for number in range(4)]
    outcome = judge.run(rows, model="lexical", out=str(tmp_path / "x"), max_chars=200_000)
    assert repr(outcome) == (
        f"RunResult(folder={str(tmp_path / 'x')!r}, engines=('a',), queries=4, pairs=4, judgments=4)"
    )
    assert repr(outcome.scores) == (
        "Scores(engines=('a',), queries=4, repeats=1,"
        " measures=('nDCG@10', 'AP@10', 'P@5', 'RR@10', 'sDCG@10'))"
    )
    assert repr(outcome.dataset) == "Dataset(engines=('a',), queries=4, rankings=4)"
    assert repr(outcome.pool) == "Pool(depth=10, pairs=4, results=4)"
    records = outcome.pool.pairs[0], outcome.dataset.rankings[0], outcome.judgments[0]
    for record in (*records, next(outcome.scores.to_records()), outcome.scale):
        assert len(repr(record)) < 400
        assert "\n" not in repr(record)
    failed = judge.Judgment("q", "s", 1, None, "", "timeout", "a", "v", {}, "", None)
    assert repr(failed) == "Judgment(query_id='q', snippet_id='s', repeat=1, error='timeout', reason='')"


def test_means_have_names_that_trackers_take(tmp_path: Path) -> None:
    measures = ["nDCG@10", "AP(own,rel=2)@5", "RBP(p=0.8)@3"]
    outcome = judge.run(ROWS, model="lexical", out=str(tmp_path / "x"), measures=measures)
    means = outcome.means("a")
    assert list(means) == ["nDCG_10", "AP_own_rel_2_5", "RBP_p_0.8_3"]
    assert means["nDCG_10"] == outcome.engines.loc["a", "nDCG@10"]
    # What MLflow lets a name have, besides blanks, slashes and colons.
    assert all(re.fullmatch(r"[\w.-]+", name) for name in means)
    with pytest.raises(judge.InputError, match="engine 'c' is not in the run; it has a and b"):
        outcome.means("c")


def list_frames(result: judge.RunResult) -> list[pd.DataFrame]:
    return [result.engines, result.queries, result.comparisons, result.verdicts]


@pytest.mark.parametrize("name", ["run", "the same run again", "score"])
def test_a_pickled_result_has_the_same_values_and_needs_no_files(name: str, tmp_path: Path) -> None:
    def make_run() -> judge.RunResult:
        return judge.run(ROWS, model="lexical", out=str(tmp_path / "run"), repeats=2, diversity=True)

    result = make_run()
    if name == "the same run again":  # its summary is cached
        result = make_run()
    elif name == "score":
        result = judge.score(tmp_path / "run")
    frames, copied = list_frames(result), pickle.loads(pickle.dumps(result))  # noqa: S301
    assert copied == result
    shutil.rmtree(tmp_path / "run")
    assert len(copied.judgments) == len(frames[-1]) == 4
    for frame, expected in zip(list_frames(copied), frames, strict=True):
        pd.testing.assert_frame_equal(frame, expected)


def test_it_runs_inside_a_running_event_loop(tmp_path: Path) -> None:
    import pandas as pd

    async def run_notebook_cell() -> judge.RunResult:
        return judge.run(pd.DataFrame(ROWS), model="lexical", out=str(tmp_path / "runs" / "x"))

    outcome = asyncio.run(run_notebook_cell())
    assert outcome.engines.loc["a", "RR@10"] == 1.0


def test_the_cause_of_a_failed_request_is_never_an_error_of_the_caller(tmp_path: Path) -> None:
    def explain_failure(out: str) -> str:
        result = judge.run(ROWS, "openai:m", base_url=f"http://{address}/v1", attempts=1, out=tmp_path / out)
        return str(result.incomplete)

    with reserve_unused_address() as address:
        assert "connection refused" in explain_failure("script")
        try:
            raise ValueError("of the caller")
        except ValueError:
            assert "connection refused" in explain_failure("handler")


def test_a_server_embeds_inside_a_running_event_loop(tmp_path: Path) -> None:
    def embed(request: ChatRequest) -> Reply:
        texts = (request.body or {})["input"]
        vectors = [{"index": at, "embedding": [1.0, len(text)]} for at, text in enumerate(texts)]
        return Reply(body=json.dumps({"data": vectors}))

    folder = judge.run(ROWS, model="lexical", out=str(tmp_path / "runs" / "x")).folder

    async def run_notebook_cell() -> judge.RunResult:
        return judge.score(folder, embeddings="openai:m", base_url=server.openai_url)

    with LoopbackServer(embed) as server:
        result = asyncio.run(run_notebook_cell())
    assert "diversity_embeddings" in result.summary.dimensions


def test_scoring_again_takes_other_measures(tmp_path: Path) -> None:
    judge.run(ROWS, model="lexical", out=str(tmp_path / "runs" / "x"))
    outcome = judge.score(tmp_path / "runs" / "x", ["P@1", "AP(own)@5"])
    assert list(outcome.engines.columns[:2]) == ["P@1", "AP(own)@5"]
    outcome = judge.score(tmp_path / "runs" / "x", "P@1 RR@5", dimensions="sites")
    assert list(outcome.engines.columns[:2]) == ["P@1", "RR@5"]
    assert list(outcome.summary.dimensions or ()) == ["sites"]


def test_scoring_again_changes_the_run_only_to_save(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "x"
    judge.run(ROWS, model="lexical", out=str(out))
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    judge.score(out, ["P@1"])
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    judge.score(out, ["P@1"], save=True)
    assert judge.score(out).summary.measures == ("P@1",)


def test_wrong_options_are_named(tmp_path: Path) -> None:
    with pytest.raises(judge.InputError, match="did you mean 'repeats'"):
        judge.run(ROWS, model="lexical", repeat=2)
    with pytest.raises(judge.InputError, match="row 1: field 'query'"):
        judge.run([{"snippet": "x"}], model="lexical")
    with pytest.raises(judge.InputError, match="name the folder of one or more runs"):
        judge.compare()


def test_data_that_is_no_dataset_is_refused_with_what_to_give() -> None:
    frame = pd.DataFrame(ROWS)
    with pytest.raises(judge.InputError, match="several columns 'snippet'; keep one"):
        judge.run(pd.concat([frame, frame[["snippet"]]], axis=1), model="lexical")
    with pytest.raises(judge.InputError, match=r"^row 1: is 'Paris .* not a mapping"):
        judge.run(cast("Any", frame["snippet"]), model="lexical")
    with pytest.raises(
        judge.InputError, match=r"^row 1: is query_id .* not a mapping of fields .* or a data frame itself$"
    ):
        judge.run(cast("Any", [frame.iloc[0]]), model="lexical")
    with pytest.raises(judge.InputError, match=r"^the dataset is 5; give the path of a file"):
        judge.run(cast("Any", 5), model="lexical")
    table = type("Table", (), {"__repr__": lambda _: "Table\nquery: string"})()
    with pytest.raises(judge.InputError, match=r"^the dataset is Table query: string; give the path"):
        judge.run(cast("Any", table), model="lexical")


def test_labels_need_a_scale_and_a_plan_that_exist(tmp_path: Path) -> None:
    run = tmp_path / "x"
    judge.run(ROWS, model="lexical", out=str(run))
    with pytest.raises(judge.InputError, match=r"^labels_scale is 'five'; it must be graded or binary"):
        judge.agree(run, run / "qrels.txt", cast("Any", "five"))
    with pytest.raises(judge.InputError, match="no plan was named"):
        judge.decide_order(run, run / "qrels.txt", [])


@check_each(
    ("call", "message"),
    [
        (
            lambda _: judge.run(ROWS, "lexical", relevant_from=7),
            "relevant_from is 7; it must be 1 or more, and scale='graded' ends at 3",
        ),
        (lambda _: judge.run(ROWS, "lexical", depth=0), "depth is 0; it must be at least 1"),
        (lambda _: judge.run(ROWS, "lexical", points="yes"), "points is 'yes'; it must be True or False"),
        (
            lambda _: judge.run(ROWS, cast("Any", 5)),
            'model is 5; it must be a text such as "openai:NAME"; further models are in panel',
        ),
        (
            lambda _: judge.run(ROWS, cast("Any", ["lexical", "openai:NAME"])),
            "model is ['lexical', 'openai:NAME']; it must be a text such as",
        ),
        (
            lambda _: judge.run(ROWS, "lexical", weights={"diversity": 1}),
            "weights has 'diversity', which needs diversity=True; add diversity=True, or omit 'diversity'",
        ),
        (
            lambda _: judge.run([{"q": "x"}], "lexical"),
            "row 1: field 'query' is missing; the row has the fields ['q']. Rename the one that holds it"
            " (case and spaces matter), or name it: columns={'query': 'text'}",
        ),
        (
            lambda _: judge.run(ROWS, "openai:m", ray_address="x"),
            "ray_address is that of a Ray cluster; add on='ray', or omit ray_address",
        ),
        (lambda run: judge.run(ROWS, "lexical", store=str(run)), "store is "),
        (
            lambda run: judge.score(run, base_url="http://x"),
            "base_url is for embeddings; add embeddings, or omit base_url",
        ),
        (
            lambda run: judge.score(run, embeddings="lsa", base_url="http://x"),
            "base_url is for a model at a server, not for lsa; omit base_url",
        ),
        (
            lambda run: judge.score(run, "nDCG@50"),
            "nDCG@50 needs more ranks than are judged (depth = 10); use @10 at most",
        ),
        (lambda run: judge.compare(run, against="zz"), "against is 'zz'; the run "),
        (lambda run: judge.compare_lists(run, "a", "b"), "compare_lists asks a language model, and lexical"),
        (
            lambda run: judge.decide_order(run, run / "qrels.txt", "none.csv"),
            "none.json: no such file; judge agree --plan-pairs writes it beside the plan; labels on whole"
            " queries need no plans",
        ),
        (
            lambda run: judge.compare_lists(
                run, "a", "b", "openai:m", base_url="http://127.0.0.1:9/v1", budget=1.0
            ),
            "budget needs a price, and none is known for openai:m at 'http://127.0.0.1:9/v1': add it with"
            " price=[0.4, 1.2] (USD per million tokens) or in a file with prices='prices.toml'",
        ),
    ],
)
def test_messages_name_parameters(
    call: Callable[[Path], object], message: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = tmp_path_factory.mktemp("named") / "x"
    judge.run(ROWS, "lexical", out=str(run))
    with pytest.raises(judge.InputError) as caught:
        call(run)
    assert str(caught.value).startswith(message)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301 - of this test


@check_each(
    ("header", "columns"),
    [
        ("q,s", "{'query': 'text', 'snippet': 'text'}"),
        ("Query,s,URL", "{'query': 'Query', 'snippet': 'text', 'url': 'URL'}"),
    ],
)
def test_a_message_about_several_columns_names_one_parameter(
    header: str, columns: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"{header}\na,b,c\n", encoding="utf-8")
    with pytest.raises(judge.InputError, match=f"{re.escape(f'or name it: columns={columns}')}$"):
        judge.run(path, "lexical", out=str(tmp_path / "run"))


def test_a_run_with_too_few_grades_is_incomplete_when_it_is_scored_again(tmp_path: Path) -> None:
    replies = iter([Reply('{"reason": "r", "grade": 3}'), Reply("I will not say."), Reply("Nor will I.")])
    part, out = str(tmp_path / "part"), str(tmp_path / "whole")
    with LoopbackServer(lambda _: next(replies)) as server:
        options: dict[str, Any] = {"base_url": server.openai_url, "concurrency": 1, "min_coverage": 0.8}
        assert judge.run(ROWS, "openai:m", out=part, **options).incomplete is not None
    assert judge.score(judge.run(ROWS, "lexical", out=out).folder).incomplete is None
    assert str(judge.score(part).incomplete) == (
        f"{part}: only 50.00% of the pairs were judged, less than min_coverage 80%: the reply could not be"
        " read (1); run the judge run or judge nightly command of this folder again to get the rest; if"
        " the model replies so again, judge them with another model"
    )


def test_a_run_that_lacks_the_grades_of_a_member_is_incomplete_when_it_is_scored_again(
    tmp_path: Path,
) -> None:
    """Each pair has a grade, that of the other member."""

    def reply(request: ChatRequest) -> Reply:
        is_silent = request.body is not None and request.body["model"] == "silent"
        return Reply("I will not say." if is_silent else '{"reason": "r", "grade": 3}')

    out = str(tmp_path / "x")
    with LoopbackServer(reply) as server:
        judged = judge.run(ROWS, "openai:m", panel=["openai:silent"], base_url=server.openai_url, out=out)
    assert judged.incomplete is not None
    assert (scored := judge.score(out)).summary.coverage == 1
    why = "openai:silent/graded made 0 of 2 judgments, less than min_coverage 99%"
    assert why in str(judged.incomplete)
    assert str(scored.incomplete).startswith(f"{out}: {why}; run the judge run or judge nightly command of")


def test_a_run_without_a_grade_is_incomplete_and_not_compared(tmp_path: Path) -> None:
    out = str(tmp_path / "x")
    rows = [{**row, "snippet": None} for row in ROWS]
    assert judge.run(rows, "lexical", out=out).incomplete is not None
    why = rf"{out}: no judgment has a grade \(0 of 3\), so no engine has a value"
    assert re.match(why, str(judge.score(out).incomplete))
    with pytest.raises(judge.JudgeError, match=why):
        judge.compare(out)


def test_a_comparison_by_further_measures_keeps_the_dimensions(tmp_path: Path) -> None:
    folder = judge.run(ROWS, "lexical", out=str(tmp_path / "x"), diversity=True).folder
    for summary in (
        judge.compare(folder),
        judge.compare(folder, measures="P@1"),
        judge.compare(folder, against="a"),
    ):
        assert list(summary.dimensions) == ["diversity"]


def test_scoring_again_has_the_warnings_of_the_dataset(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("query,snippet\n法国首都,巴黎是法国的首都。\n", encoding="gb18030")
    outcome = judge.run(path, "lexical", out=str(tmp_path / "x"))
    assert judge.score(outcome.folder).warnings == outcome.dataset.warnings != ()


def test_why_a_run_is_incomplete_names_parameters(tmp_path: Path) -> None:
    out = str(tmp_path / "x")
    outcome = judge.run(ROWS, "openai:m", base_url="http://127.0.0.1:9/v1", out=out, max_wait=1)
    assert "check base_url, the network" in str(outcome.incomplete)
    assert pickle.loads(pickle.dumps(judge.run)) is judge.run  # noqa: S301 - of this test


def test_the_public_names_are_all_there() -> None:
    for name in judge.__all__:
        assert getattr(judge, name).__name__ == name
    with pytest.raises(AttributeError):
        judge.nothing  # noqa: B018


def test_another_thread_can_end_the_judging_and_what_was_paid_is_kept(tmp_path: Path) -> None:
    """What an interrupted notebook cell does."""
    cancel_token = CancelToken()
    with LoopbackServer(delay_reply(reply_with_grade, 0.1)) as server, ThreadPoolExecutor(1) as aside:
        config = Config(
            model="openai:m", base_url=server.openai_url, concurrency=2, out=str(tmp_path / "r" / "x")
        )
        running = aside.submit(pipeline.run, config, dataset=make_rows(5, 1, 10), cancel_token=cancel_token)
        while len(server.requests) < 6:
            time.sleep(0.01)
        cancel_token.cancel_from_thread(judge.Interrupted("enough"))
        with pytest.raises(judge.Interrupted, match="enough"):
            running.result(timeout=300)
        paid = len(server.requests)
        assert paid < 50  # a machine that is busy stops a little later
        server.make_reply = reply_with_grade
        outcome = pipeline.run(config, dataset=make_rows(5, 1, 10))
        assert outcome.calls_made == 50 - paid


NOTEBOOK_CELL = """
import asyncio, judge

async def run():
    try:
        judge.run("{data}", "openai:m", base_url="{url}", out="{out}", concurrency=2)
    except judge.Interrupted as error:
        print(type(error).__name__)

asyncio.run(run())
"""


def test_ctrl_c_in_a_running_loop_raises_the_error_of_a_script(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "data.jsonl", make_rows(20, 1, 10))
    with LoopbackServer(delay_reply(reply_with_grade, 0.1)) as server:
        cell = NOTEBOOK_CELL.format(data=data, url=server.openai_url, out=tmp_path / "run")
        process = subprocess.Popen([sys.executable, "-c", cell], stdout=subprocess.PIPE, text=True)
        wait_for_requests(lambda: len(server.requests), 6)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
    assert output == "Interrupted\n"


def test_a_value_of_another_type_is_named(tmp_path: Path) -> None:
    api, folder = cast("Any", judge), str(tmp_path / "run")
    judge.run(ROWS, "lexical", out=folder)
    before = (Path(folder) / "summary.json").read_bytes()
    for call, message in (
        (lambda: api.score(None), "run is of type NoneType, not a path"),
        (lambda: api.agree(folder, pd.DataFrame({"grade": [1]})), "qrels is of type DataFrame, not a path"),
        (lambda: api.agree(None, folder), "run is of type NoneType, not a path"),
        (lambda: api.align(1, "lsa"), "run is of type int, not a path"),
        (lambda: api.align(folder, "lsa", seed=-1), "seed is -1; it must be a whole number, 0 or more"),
        (lambda: api.align(folder, "lsa", seed=1.5), "seed is 1.5; it must be a whole number, 0 or more"),
        (lambda: api.align(folder, "lsa", seed=True), "seed is True; it must be a whole number, 0 or more"),
        (lambda: api.align(folder, "lsa", store=3), "store is of type int, not a path"),
        (lambda: api.score(folder, store=3), "store is of type int, not a path"),
        (lambda: api.compare_lists(None, "a", "b", "lexical"), "run is of type NoneType, not a path"),
        (lambda: api.decide_order(folder, folder, [3]), "plans is of type int, not a path"),
        (lambda: api.decide_order(folder, folder, 3), "plans is of type int, not a path"),
        (lambda: api.run(ROWS, "lexical", config=3), "config is of type int, not a path"),
        (lambda: api.score(folder, feedback=3), "feedback is of type int, not a path"),
        (lambda: api.score(folder, embeddings=3), "there are no embeddings 3; write openai:NAME"),
        (lambda: api.compare([folder, folder]), "run is of type list, not a path"),
        (
            lambda: api.compare(judge.score(folder)),
            "run is of type RunResult, not a path; pass its folder, result.folder$",
        ),
        (lambda: api.score(folder, 5), "measures has 5, not a name"),
        (lambda: api.score(folder, [None]), "measures has None, not a name"),
        (lambda: api.score(folder, dimensions=None), "dimensions has None, not a name"),
        (lambda: api.score(folder, "P@1", save="no"), "save is 'no', not True or False"),
        (lambda: judge.run(ROWS, "lexical", out=folder, topics="t"), "the dataset is the rows; omit topics"),
    ):
        with pytest.raises(judge.InputError, match=message):
            call()
    assert (Path(folder) / "summary.json").read_bytes() == before
    score = judge.score(
        folder, weights={"relevance": np.float64(0.00001)}, costs={"a": 1e-7, "b": Decimal("1e-8")}
    )
    assert {"weights", "costs"} <= score.summary.dimensions.keys()


def test_the_dataset_of_a_call_takes_the_place_of_that_of_the_file_of_options(tmp_path: Path) -> None:
    toml, other = tmp_path / "judge.toml", tmp_path / "other.jsonl"
    write_rows(other, ROWS)
    for text in ('data = "absent.jsonl"', 'topics = "t.tsv"\ndocs = "d.tsv"\ntrec_runs = ["a.run"]'):
        toml.write_text(text, encoding="utf-8")
        for data in (ROWS, other):
            result = judge.run(data, "lexical", config=toml, topics=None, out=str(tmp_path / "run"))
            assert result.summary.engines.keys() == {"a", "b"}
    toml.write_text(f"model = 'lexical'\ndata = '{other}'", encoding="utf-8")
    of_file = judge.run(None, None, config=toml, out=str(tmp_path / "run"))
    assert of_file.summary.engines.keys() == {"a", "b"}


def test_the_named_index_of_a_data_frame_is_a_column(tmp_path: Path) -> None:
    for index in (["engine"], ["engine", "query_id"]):
        frame = pd.DataFrame(ROWS).set_index(index)
        assert judge.run(frame, "lexical", out=str(tmp_path / "x")).summary.engines.keys() == {"a", "b"}


def test_values_of_subclasses_are_written_as_plain_ones(tmp_path: Path) -> None:
    """Texts of Beautiful Soup are of such a type."""
    text, rank = type("Text", (str,), {}), type("Rank", (int,), {})
    rows = [
        {**{name: text(value) for name, value in row.items()}, "tag": text("x"), "rank": rank(place)}
        for row, place in zip(ROWS, (1, 2, 1), strict=True)
    ]
    judge.run(rows, "lexical", out=str(tmp_path / "x"))
    nested = [{"query": text("q"), "engines": {"a": [text("Recipes with cheese.")]}}]
    judge.run(nested, "lexical", out=str(tmp_path / "y"))
    for name in ("x", "y"):
        assert "Recipes with cheese." in (tmp_path / name / "results.json").read_text(encoding="utf-8")
