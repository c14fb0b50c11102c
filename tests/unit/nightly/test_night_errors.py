"""Errors that end a night before it makes a call: each names the file."""

import pytest

from judge.errors import InputError
from judge.nightly import baseline, job
from judge.nightly.context import lock_nights
from tests.support.command_line import run_judge
from tests.support.fake_server import LoopbackServer, Reply
from tests.unit.nightly.projects import RULES, NightlyProject, freeze


def get_refusal(project: NightlyProject) -> str:
    """What a night of the next day is refused with, before anything is asked."""
    day, calls = project.begin_day(), project.calls
    with pytest.raises(InputError) as caught:
        project.run_night(day)
    assert project.calls == calls
    return str(caught.value)


def test_a_day_that_is_empty_is_not_today(project: NightlyProject) -> None:
    done = run_judge("nightly", project.toml, "--date", "")
    assert (done.returncode, project.calls) == (2, 0)
    assert "--date is ''" in done.stderr


def test_an_error_that_ends_a_night_is_sent_to_the_webhook_once(project: NightlyProject) -> None:
    hidden = "canary-9e41-not-like-a-key"

    def configure(top: str = "") -> None:
        project.configure(RULES, top)
        with project.toml.open("a", encoding="utf-8") as file:
            file.write('webhook = { kind = "json", url_env = "HOOK", link = "https://ci.example/{date}" }\n')

    with LoopbackServer(lambda request: Reply(body="ok")) as hook:

        def run_night(day: str, *words: str) -> str:
            url = f"{hook.url}/hook/tokentokentoken"
            done = run_judge("nightly", project.toml, "--date", day, *words, HOOK=url, MY_KEY=hidden)
            assert done.returncode in (2, 3)
            assert "webhook" not in done.stderr
            return done.stderr.removeprefix("judge: ").strip()

        configure()
        error = run_night("2026-06-01")
        assert "2026-06-01.jsonl: no such file" in error
        run_night("2026-06-01", "--ui-lang", "zh")
        run_night("2026-06-02", "--ui-lang", "zh")
        configure(f'store = "/dev/null/{hidden}"')
        day = project.begin_day()
        run_night(day)
        configure()
        in_the_way = project.nights / f".verdicts.{day}.sqlite.part"
        in_the_way.mkdir()
        for _ in range(2):
            run_night(day)
        with lock_nights(project.nights, "another night"):
            assert "in use by another night" in run_night("2026-06-03")
    with LoopbackServer(lambda request: Reply(status=404, body="gone")) as closed:
        done = run_judge("nightly", project.toml, "--date", "2026-06-04", HOOK=closed.url)
        assert "webhook: json message was not sent: HTTP 404: gone; to send it again" in done.stderr
    bodies = [request.body for request in hook.requests]
    assert bodies[0] == {
        "text": f"judge 2026-06-01: the night ended with an error\n{error}\nexit code 2"
        "\nhttps://ci.example/2026-06-01",
        "night": None,
    }
    texts = [str(body and body["text"]) for body in bodies]
    assert [text.splitlines()[0].split()[1][:10] for text in texts] == ["2026-06-01", "2026-06-02", day, day]
    assert "当晚的评测因错误而结束" in texts[1]
    assert "/dev/null/***" in texts[2]
    assert "exit code 3" in texts[3]
    assert not any(hidden in text or "tokentoken" in text for text in texts)
    assert all(hidden.encode() not in file.read_bytes() for file in project.nights.rglob("*.txt"))


def test_a_file_in_the_place_of_a_night_is_named(small_project: NightlyProject) -> None:
    day = small_project.begin_day()
    small_project.nights.mkdir(exist_ok=True)
    (small_project.nights / day).write_text("notes")
    with pytest.raises(InputError, match=f"{day}: is a file, not the folder of a night; rename or remove it"):
        small_project.run_night(day)


@pytest.mark.parametrize("place", ["/dev/null/x.sqlite", "{folder}/judge.toml", "{folder}"])
def test_a_store_that_cannot_be_one_is_found_out_first(project: NightlyProject, place: str) -> None:
    store = place.format(folder=project.folder)
    project.configure(RULES, f'store = "{store}"')
    text = get_refusal(project)
    assert store in text
    assert "store" in text
    assert "--store" not in text  # judge nightly has no such option


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        ('topics = "t.tsv"', "data and topics are not a dataset"),
        ('[collect]\nqueries = "q.tsv"\nengine = ["searxng"]', "set either 'data' or [collect], not both"),
        ("batch = true", "a night judges in realtime; omit 'batch'"),
        (
            'panel = ["rerank:server:m"]\nqrels = "labels.txt"',
            "a night with a reranker needs 'rerank_thresholds'",
        ),
    ],
)
def test_what_would_be_ignored_is_refused(project: NightlyProject, top: str, expected: str) -> None:
    project.configure(RULES, top)
    result = get_refusal(project)
    assert f"{project.toml}: {expected}" in result


def test_a_measure_that_needs_a_grade_above_the_scale_is_refused(project: NightlyProject) -> None:
    project.configure(RULES)
    project.toml.write_text(project.toml.read_text() + 'measures = ["AP(rel=9)@10", "P@5"]\n')
    assert "rel=9 is above 3, the top grade" in get_refusal(project)


@pytest.mark.parametrize("shift", ["inf", "nan"])
def test_a_shift_that_never_comes_is_refused(project: NightlyProject, shift: str) -> None:
    project.configure(RULES)
    project.toml.write_text(project.toml.read_text() + f"min_shift = {shift}\n")
    assert "min_shift is" in get_refusal(project)


@pytest.mark.parametrize("damaged", ["{}", '{"id": "2026-05-01-0a1b2c3d", "name": "2026-05-01"}'])
def test_a_damaged_baseline_says_how_to_mend_it(small_project: NightlyProject, damaged: str) -> None:
    freeze(small_project)
    # A later night in the place of the baseline would hide what became worse since.
    small_project.run_night(small_project.begin_day())
    pointer = small_project.nights / "baseline" / "baseline.json"
    pointer.write_text(damaged)
    with pytest.raises(InputError) as shown:
        baseline.show_baseline(small_project.nights)
    for line in (get_refusal(small_project), str(shown.value)):
        assert str(pointer) in line
        assert f"set the baseline again: judge baseline set {small_project.nights / '2026-05-01'}" in line


def test_a_baseline_that_lost_a_file_says_how_to_mend_it(small_project: NightlyProject) -> None:
    freeze(small_project)
    small_project.run_night(small_project.begin_day())
    (lost,) = (small_project.nights / "baseline").glob("*/results.json")
    for text in ("{}", "[", None):
        if text is None:
            lost.unlink()
        else:
            lost.write_text(text)
        assert (
            f"set the baseline again: judge baseline set {small_project.nights / '2026-05-01'}"
            in get_refusal(small_project)
        )


@pytest.mark.parametrize("name", ["verdicts.sqlite", "verdicts.2026-05-02.sqlite"])
def test_a_damaged_store_ends_a_night_before_it_is_paid(small_project: NightlyProject, name: str) -> None:
    """The copy of a damaged store would stay damaged when the store itself is restored."""
    small_project.run_night(small_project.begin_day())
    day, store = small_project.begin_day(), small_project.nights / name
    whole = (small_project.nights / "verdicts.sqlite").read_bytes()
    pages = len(whole) // 4096
    store.write_bytes(whole[:8192] + b"\xff" * 4096 * (pages - 3) + whole[-4096:])
    before = small_project.calls
    refused = run_judge("nightly", small_project.toml, "--date", day)
    assert refused.returncode == 2
    assert f"{store}: is damaged: " in refused.stderr
    assert refused.stderr.endswith("; restore a copy of it, or remove it: its verdicts are then paid again\n")
    assert small_project.calls == before
    store.write_bytes(whole)
    assert small_project.run_night(day)["complete"]


@pytest.mark.parametrize("name", ["night.json", "baseline.json"])
def test_the_advice_about_a_damaged_file_helps(project: NightlyProject, name: str) -> None:
    day = freeze(project)
    folder, file = project.nights / day, next(project.nights.glob(f"*/{name}"))
    file.write_text(file.read_text()[:40])
    refused = run_judge("nightly", project.toml, "--date", day if name == "night.json" else "2026-06-01")
    assert refused.returncode == 2
    assert refused.stderr.endswith(
        "; remove the file, then run again the command that writes it (judge run, judge nightly or judge"
        " baseline set)\n"
    )
    file.unlink()
    if name == "night.json":
        assert project.run_night(day)["complete"]
    else:
        assert job.set_baseline(folder, project.nights).name == day
