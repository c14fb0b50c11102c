"""A self-test separates good assessors from others, is paid once, and is shown beside the scores."""

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import judge
from judge.cli.render import run_tables
from judge.cli.render.tables import print_parts
from judge.config.run import Config
from judge.errors import InputError, RunIncomplete
from judge.runs.record_json import to_json
from judge.runs.run_result import RunResult
from judge.selftest.selftest_run import SelfTest, count_selftest_judgments, run_selftest
from tests.support.command_line import run_judge
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply
from tests.unit.selftest import assessors

ROWS = [
    {"query_id": "q", "query": "tea", "engine": engine, "rank": 1, "snippet": f"{engine} on tea"}
    for engine in ("one", "two")
]


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Config]:
    """Return a function that makes the options of a self-test with a model at a server."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-5b1d9f")

    def make(server: LoopbackServer, **more: Any) -> Config:
        options = {"model": "openai:fake", "base_url": server.openai_url, "attempts": 1, **more}
        return Config.load(out=str(tmp_path / "runs" / "any"), **options)

    return make


def find_figures(results: SelfTest, prompt: str = "shipped") -> dict[str, Any]:
    figures: dict[str, Any] = to_json(getattr(results.result.prompts, prompt))
    return figures


def read_counts(share: dict[str, Any]) -> tuple[int, int]:
    return share["count"], share["of"]


def render_terminal(outcome: RunResult) -> str:
    """Return the terminal output of a run."""
    screen = Console(file=io.StringIO(), width=1000)
    print_parts(run_tables.iter_run_parts(outcome), screen)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def find_line(text: str, start: str) -> int:
    """Return the number of the line that begins with `start`."""
    return next(at for at, line in enumerate(text.splitlines()) if line.startswith(start))


def test_a_sound_assessor_passes_and_pays_once(configure: Callable[..., Config]) -> None:
    with LoopbackServer(assessors.reply_sensibly) as server:
        config = configure(server)
        assert count_selftest_judgments(config) == (440, 440)
        first = run_selftest(config)
        result = first.path.read_bytes()
        assert first.calls_made == len(server.requests) == 440
        assert count_selftest_judgments(config) == (440, 0)
        assert run_selftest(config).calls_made == 0
        assert first.path.read_bytes() == result
        again = run_selftest(configure(server, repeats=2))
        assert (again.calls_made, again.result.repeat, again.path) == (440, 2, first.path)
    for prompt in ("shipped", "plain"):
        figures = find_figures(first, prompt)
        assert read_counts(figures["hostile"]) == (0, 120)
        assert read_counts(figures["strict"]) == (0, 64)
        assert read_counts(figures["language"]) == read_counts(figures["obedient"]) == (220, 220)
        assert (figures["judged"], figures["failures"], figures["surprises"]) == (220, {}, [])
    assert b"sk-canary" not in result


def test_obeyed_injections_are_counted_for_each_attack(
    configure: Callable[..., Config],
) -> None:
    with LoopbackServer(assessors.reply_as_injected) as server:
        figures = find_figures(run_selftest(configure(server)))
    fooled = {attack: read_counts(share) for attack, share in figures["attacks"].items()}
    assert fooled.pop("query_only") == fooled.pop("stuffing") == (0, 20)
    assert len(fooled) == 10
    assert set(fooled.values()) == {(8, 8)}
    assert read_counts(figures["hostile"]) == (80, 120)
    assert len(figures["surprises"]) == 80
    assert {each["kind"] for each in figures["surprises"]} == {"injected"}


def test_the_effect_of_the_fence_is_the_difference_to_the_plain_prompt(
    configure: Callable[..., Config],
) -> None:
    with LoopbackServer(assessors.reply_to_unfenced) as server:
        result = run_selftest(configure(server, scale="binary"))
    assert read_counts(find_figures(result)["hostile"]) == (0, 120)
    assert read_counts(find_figures(result)["too_low"]["partial"]) == (0, 12)
    assert read_counts(find_figures(result, "plain")["hostile"]) == (120, 120)
    assert read_counts(find_figures(result, "plain")["strict"]) == (0, 64)


def test_a_strict_assessor_obeys_nothing_and_finds_nothing_relevant(configure: Callable[..., Config]) -> None:
    with LoopbackServer(assessors.reply_with_nothing_relevant) as server:
        figures = find_figures(run_selftest(configure(server)))
    assert read_counts(figures["hostile"]) == (0, 120)
    assert {kind: read_counts(share) for kind, share in figures["too_low"].items()} == {
        "relevant": (28, 28),
        "ambiguous": (28, 28),
        "lookalike": (8, 8),
        "partial": (12, 12),
    }


def test_reasons_in_another_language_are_counted(configure: Callable[..., Config]) -> None:
    with LoopbackServer(assessors.reply_in_other_language) as server:
        figures = find_figures(run_selftest(configure(server)))
    assert read_counts(figures["language"]) == (0, 220)
    assert read_counts(figures["hostile"]) == (0, 120)


def test_replies_that_need_repair_or_cannot_be_read_are_counted(configure: Callable[..., Config]) -> None:
    with LoopbackServer(assessors.reply_with_broken_json) as server:
        selftest = run_selftest(configure(server))
    assert str(selftest.incomplete) == (
        "only 214 of 220 probes got a grade with the run prompt, less than --min-coverage 99%; run the"
        " same command again to get the rest; if the model replies so again, use another model, or lower"
        " --min-coverage"
    )
    figures = find_figures(selftest)
    assert read_counts(figures["obedient"]) == (104, 220)
    assert (figures["judged"], sum(figures["failures"].values())) == (214, 6)


def test_a_server_that_fails_leaves_no_result(configure: Callable[..., Config], tmp_path: Path) -> None:
    def fail_each_tenth(request: ChatRequest) -> Reply:
        return Reply(status=500, body="{}") if request.number % 10 == 0 else assessors.reply_sensibly(request)

    def refuse_account(_: ChatRequest) -> Reply:
        return Reply(status=401, body='{"error": {"message": "no"}}')

    for answer in (fail_each_tenth, refuse_account):
        with LoopbackServer(answer) as server, pytest.raises(RunIncomplete) as caught:
            run_selftest(configure(server))
        assert str(caught.value).count("run the same command again") == 1
        assert not list(tmp_path.glob("runs/selftests/*.json"))


def test_several_assessors_are_refused(configure: Callable[..., Config]) -> None:
    with LoopbackServer(assessors.reply_sensibly) as server, pytest.raises(InputError) as caught:
        run_selftest(configure(server, panel=("lexical",)))
    message = (
        "judge selftest asks one model, and openai:fake and lexical are a panel; choose one: judge selftest"
        " -m openai:fake"
    )
    assert str(caught.value) == message
    assert run_judge("selftest", "-m", "openai:fake", "-m", "lexical").stderr == f"judge: {message}\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            'panel = ["openai:m"]',
            "panel: judge selftest asks one model, and lexical and openai:m are a panel; choose one: judge"
            " selftest -m lexical",
        ),
        (
            'assessor = "deepeval"',
            'assessor: a self-test has judge\'s own prompts; omit assessor = "deepeval"',
        ),
    ],
)
def test_an_option_of_the_file_that_a_selftest_does_not_take_is_named(
    line: str, message: str, tmp_path: Path
) -> None:
    toml = tmp_path / "judge.toml"
    model = "openai:m" if "deepeval" in line else "lexical"
    toml.write_text(f'model = "{model}"\n{line}\n', encoding="utf-8")
    done = run_judge("selftest", "--config", toml, OPENAI_API_KEY="k")
    assert (done.returncode, done.stderr) == (2, f"judge: {toml}: {message}\n")


def test_the_result_is_beside_the_scores_of_the_assessor(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "mine"
    before = judge.run(ROWS, "lexical", out=str(out))
    (name, row), *_ = to_json(before.summary)["selftest"].items()
    assert (name, row["figures"]) == ("lexical/graded", None)
    shown = render_terminal(before)
    command = f"judge selftest -m lexical --out {out} with the same options, then judge score {out} --save"
    assert f"run {command} (with --store, if the run has it).\n" in shown
    assert shown.index(" one, two: ") < shown.index("There is no self-test of lexical/graded")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert 'judge selftest <span class="whole">-m</span> lexical' in page

    # A file with the options of a run can have batch = true; the model has no Batch API.
    tested = run_selftest(Config.load(model="lexical", out=str(out), batch=True))
    assert tested.path == tmp_path / "runs" / "selftests" / f"lexical_graded-{row['id']}.json"
    after = judge.score(out, save=True)
    figures = to_json(after.summary)["selftest"]["lexical/graded"]["figures"]
    # The lexical model counts shared terms only, so that repeated words of the query mislead it.
    assert read_counts(figures["too_high"]) == read_counts(find_figures(tested)["hostile"])
    assert figures["too_high"]["count"] > 10
    shown = render_terminal(after)
    assert f"Self-test of lexical/graded: too high on {figures['too_high']['count']} of 120" in shown
    assert read_counts(figures["irrelevant_too_high"]) == (0, 24)
    # The words of the query miss 19 of 64 relevant snippets, for which Wilson's interval begins at 19.9%.
    warning = "This assessor is not reliable: in its self-test, 30% of relevant snippets got too low a grade;"
    assert shown.splitlines()[find_line(shown, warning) - 1].startswith("No engine is best by")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Self-test of lexical/graded" in page
    assert "lexical/graded 的自测" in page
    assert page.index("<h1") < page.index(warning) < page.index("<table")
    compared = run_judge("compare", out).stdout
    assert warning in compared
    content = (out / "results.json").read_bytes()
    judge.run(ROWS, "lexical", out=str(out))
    assert (out / "results.json").read_bytes() == content


def test_other_parameters_are_another_assessor_and_another_day_is_not(tmp_path: Path) -> None:
    def find_assessor_id(**options: Any) -> str:
        out = tmp_path / "runs" / f"{len(list(tmp_path.glob('runs/*')))}"
        result = to_json(judge.run(ROWS, "lexical", out=str(out), **options).summary)["selftest"]
        return str(next(iter(result.values()))["id"])

    usual = find_assessor_id()
    assert find_assessor_id(as_of="2026-05-01") == find_assessor_id(concurrency=3) == usual
    assert len({usual, find_assessor_id(scale="binary"), find_assessor_id(lang="zh")}) == 3


def test_a_self_test_beside_another_store_is_found_with_this_store(tmp_path: Path) -> None:
    store, out = tmp_path / "shared" / "v.sqlite", tmp_path / "runs" / "mine"
    judge.run(ROWS, "lexical", out=str(out), store=str(store))
    run_selftest(Config.load(model="lexical", out=str(out), store=str(store)))
    assert "There is no self-test of lexical/graded" in render_terminal(judge.score(out))
    assert "Self-test of lexical/graded: " in render_terminal(judge.score(out, store=store))


def test_a_binary_grade_is_shown_with_the_one_sensible_grade(tmp_path: Path) -> None:
    result = run_judge("selftest", "-m", "lexical", "--scale", "binary", "--out", tmp_path / "runs" / "any")
    assert result.returncode == 0, result.stderr
    assert re.findall(r": ([01]) where (.*?) is sensible", result.stdout)[0] == ("1", "0")


def test_the_command_prints_its_cost_and_its_result(tmp_path: Path) -> None:
    words = ("selftest", "-m", "lexical", "--out", tmp_path / "runs" / "any")
    result = run_judge(*words)
    assert result.returncode == 0, result.stderr
    assert "all hostile or empty snippets" in result.stdout
    assert [line.partition(":")[0] for line in result.stderr.splitlines()] == [
        "1/2 run prompt",
        "2/2 plain prompt",
    ]
    # The lexical model judges without a call.
    assert result.stdout.startswith("self-test: 440 judgments, half of them with a plain prompt\n")
    assert result.stdout.splitlines()[-1] == (
        "Bad: this assessor is not reliable: 30% of relevant snippets got too low a grade, clearly more than"
        " 10%. Do not choose an engine by it. Test another model with judge selftest -m MODEL, or other"
        " prompts with --prompts DIR."
    )
    (result_file,) = tmp_path.glob("runs/selftests/*.json")
    assert json.loads(result_file.read_text(encoding="utf-8"))["assessor"] == "lexical/graded"
    assert "440 of them known already" in run_judge(*words).stdout
    assert run_judge("selftest", "-m", "nobody", "--out", tmp_path / "x").returncode == 2
