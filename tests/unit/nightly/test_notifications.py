"""Notices: what a night came to, in every format, with names that try to be more than names."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from judge.messages import CHINESE, ENGLISH
from judge.nightly import notifications
from judge.nightly.night_texts import format_markdown, format_plain, make_message
from tests.support.cases import check_each
from tests.support.fake_server import LoopbackServer, Reply
from tests.unit.nightly.records import (
    HOSTILE,
    make_drift,
    make_night,
    make_regression,
    make_row,
    parse_record,
)

# --- Markdown


def test_a_regression_says_who_dropped_by_how_much_and_how_sure_that_is() -> None:
    assert format_markdown(make_message(parse_record(make_regression())), "report.html").splitlines() == [
        "# judge 2026-05-20: regression: `bing` MAP@10 -0.031",
        "",
        "- `bing` regression: MAP@10 -0.031 (0.620 to 0.589 on the pool of both nights; 95%: -0.046 to"
        " -0.016), p (Holm) 0.0008, 100 queries",
        "- `bing` regression: sDCG@10 -0.022 (0.610 to 0.588 on the pool of both nights; 95%: -0.037 to"
        " -0.007), p (Holm) 0.0008, 100 queries",
        "- `baidu` improvement: MAP@10 +0.030 (0.570 to 0.600 on the pool of both nights; 95%: +0.015 to"
        " +0.045), p (Holm) 0.0008, 100 queries",
        "- compared with the baseline `2026-05-01`",
        "- canaries: 60 pairs, mean grade 1.50 (baseline 1.50), 0 of 60 changed (median of the repeats)",
        "- 3,000 of 3,000 judged (100.0%), 100 queries",
        "- this night made 240 calls, canaries included: $0.0412",
        "- [report](<report.html>)",
        "",
        "Remarks:",
        "",
        "- 2 new",
    ]


def test_a_fine_night_says_what_it_could_have_seen_and_each_engine_with_its_change() -> None:
    rows = [
        make_row("bing", "AP@10", 0.62, 0.611, n=120, detectable=0.0413),
        make_row("bing", "sDCG@10", 0.61, 0.612, n=120, detectable=0.021),
        make_row("baidu", "AP@10", 0.57, 0.57, n=121, detectable=0.039),
    ]
    fine = make_night("2026-05-20", regression_test={**make_regression()["regression_test"], "rows": rows})
    lines = [format_plain(line) for line in make_message(parse_record(fine)).lines]
    assert lines[:4] == [
        "compared with the baseline 2026-05-01: 3 comparisons by MAP@10, sDCG@10 (below, the change is in"
        " brackets; of MAP@10 only the change is shown, because it is measured over the results of both"
        " nights together)",
        "on these 120 or more queries the test detects a drop of MAP@10 by about 0.041 or of sDCG@10 by"
        " about 0.021 with a probability of 80%, if it is similar on all of them; it can miss a smaller one,"
        " or one on a part of the queries, and detects none on fewer than 9 queries",
        "bing: MAP@10 (-0.009), sDCG@10 0.612 (+0.002)",
        "baidu: MAP@10 (+0.000)",
    ]
    # A record of an older version does not have the figure.
    assert "would not have been detected" not in str(
        make_message(parse_record(make_night("2026-05-20"))).lines
    )


def test_a_record_without_its_baseline_names_none() -> None:
    lines = make_message(parse_record(make_night("2026-05-20", baseline=None))).lines
    assert not any("None" in line or "compared with" in line for line in lines)


def test_a_drop_that_is_not_significant_is_in_the_title_of_a_fine_night() -> None:
    """The name of an engine is not the option that has the same name."""
    close = {"outcome": "fine", "p_holm": 0.012}
    rows = [
        make_row("alpha", "AP@10", 0.442, 0.270, low=-0.29, high=-0.05, **close),
        make_row("alpha", "sDCG@10", 0.652, 0.504, low=-0.29, high=-0.01, **close | {"p_holm": 0.02}),
        make_row("beta", "AP@10", 0.328, 0.328),
        make_row("gamma", "AP@10", 0.5, 0.45, **close | {"p_holm": 0.03}),
    ]
    test = {**make_regression()["regression_test"], "rows": rows}
    record = parse_record(make_night("2026-11-22", {"alpha": 0.5}, regression_test=test))
    look = (
        "Look at alpha: MAP@10 -0.172, p (Holm) 0.0120; gamma: MAP@10 -0.050, p (Holm) 0.0300; an alarm needs"
        " p below 0.01, the option [nightly] alpha"
    )
    title = format_plain(make_message(record).title)
    assert title == f"judge 2026-11-22: fine: no significant drop. {look}"
    assert "`alpha`" in format_markdown(make_message(record), "").splitlines()[0]
    assert format_plain(make_message(record, CHINESE).title) == (
        "judge 2026-11-22：正常：没有显著下降。请关注 alpha：MAP@10 -0.172，p（Holm 校正）0.0120；gamma："
        "MAP@10 -0.050，p（Holm 校正）0.0300；p 低于 0.01（[nightly] 的选项 alpha）才会告警"
    )
    regression = make_regression()
    assert parse_record(regression).nonsignificant_drops == ()
    # On a night with a regression, it comes after the lines about that.
    regression["regression_test"]["rows"] += rows
    message = make_message(parse_record(regression))
    assert format_plain(message.title) == "judge 2026-05-20: regression: bing MAP@10 -0.031"
    assert format_plain(message.lines[1]).startswith("bing regression: sDCG@10 -0.022 ")
    assert format_plain(message.lines[2]) == look


def test_a_night_that_blames_nobody_says_why() -> None:
    message = make_message(parse_record(make_drift()))
    assert message.title == "judge 2026-05-09: assessor drift"
    assert message.lines[:3] == (
        "the served model changed: 'b', 'a' at the baseline",
        "29 of 60 canaries changed",
        "canaries: 60 pairs, mean grade 1.98 (baseline 1.50)",
    )


def test_a_night_that_never_began_is_told_without_numbers_and_without_a_link(tmp_path: Path) -> None:
    nothing = dict.fromkeys(("judgments", "judged", "coverage"))
    down = make_night(
        "2026-05-03", {}, status="incomplete", exit=3, reasons=["the assessor did not answer"], **nothing
    )
    down |= {"regression_test": None, "query_drift": None, "baseline": None, "queries": 0}
    down["canaries"] |= {"judged": 0, "failed": 180, "mean_grade": None, "compared": 0, "unchanged": None}
    down["cost_total"]["usd"] = None
    assert make_message(parse_record(down)).lines == (
        "the assessor did not answer",
        "this night made 240 calls, canaries included: price unknown",
    )
    lines, _ = notifications.publish(tmp_path, parse_record(down), {})
    assert "report" not in "".join(lines) + (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_canaries_that_were_judged_in_part_are_counted() -> None:
    record = make_night("2026-05-20")
    record["canaries"] |= {"judged": 5, "failed": 175, "compared": 2, "changed": 0}
    assert (
        "canaries: 60 pairs, 5 of 180 judged, mean grade 1.50 (baseline 1.50), 0 of 2 changed (median of the"
        " repeats)" in make_message(parse_record(record)).lines
    )


def test_calls_that_a_kill_left_open_are_a_range() -> None:
    record = make_night("2026-05-20")
    record["cost_total"] |= {"calls": 450, "lost": 25}
    assert make_message(parse_record(record)).lines[-1] == (
        "this night made 425 to 450 calls (a process ended early: up to 25 calls without an answer may be"
        " billed; some of them may not have been sent), canaries included: $0.0412"
    )


def test_a_regression_says_what_else_is_wrong() -> None:
    record = make_regression() | {"reasons": ["bing: AP@10", "bing: sDCG@10", "searx: answered 20%"]}
    assert make_message(parse_record(record)).lines[2] == "searx: answered 20%"


def test_many_regressions_fit_a_title() -> None:
    rows = [make_row(f"engine{at}", "AP@10", 0.6, 0.57 - at / 100) for at in range(5)]
    title = format_plain(
        make_message(
            parse_record(
                {
                    **make_regression(),
                    "regression_test": {**make_regression()["regression_test"], "rows": rows},
                }
            )
        ).title
    )
    assert title == "judge 2026-05-20: regression: engine4 MAP@10 -0.070, engine3 MAP@10 -0.060, 3 more"


@check_each("name", HOSTILE)
def test_markdown_shows_a_name_as_it_is_and_nothing_else(name: str) -> None:
    record = make_regression()
    for each in record["regression_test"]["rows"][:2]:
        each["engine"] = name
    record |= {"reasons": [name], "remarks": [name]}
    tokens = MarkdownIt("commonmark").parse(
        format_markdown(make_message(parse_record(record)), "report.html")
    )
    inline = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in inline} <= {"text", "code_inline", "link_open", "link_close"}
    assert [child.attrs["href"] for child in inline if child.type == "link_open"] == ["report.html"]
    assert {token.type for token in tokens} <= {
        "heading_open", "heading_close", "inline", "paragraph_open", "paragraph_close",
        "bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close",
    }  # fmt: skip
    if name.isprintable() and name.strip():
        assert any(child.type == "code_inline" and child.content == name for child in inline)


@given(st.text())
def test_any_name_is_one_code_span(name: str) -> None:
    record = make_regression()
    record["regression_test"]["rows"] = [{**record["regression_test"]["rows"][0], "engine": name}]
    (heading, *_) = format_markdown(make_message(parse_record(record)), "report.html").splitlines()
    tokens = MarkdownIt("commonmark").parse(heading)
    assert [token.type for token in tokens] == ["heading_open", "inline", "heading_close"]
    assert [child.type for child in tokens[1].children or ()] == ["text", "code_inline", "text"]


# --- the terminal


def test_the_terminal_shows_plain_words(tmp_path: Path) -> None:
    lines, _ = notifications.publish(
        tmp_path, parse_record(make_regression() | {"remarks": ["panel was [], now *x*"]}), {}
    )
    assert lines[1].startswith("- bing regression: MAP@10 -0.031 (0.620 to 0.589 on the pool of")
    assert lines[-3:] == [f"- report: {tmp_path / 'report.html'}", "Remarks:", "- panel was [], now *x*"]


# --- all of it


def test_the_files_are_the_same_for_the_same_night(tmp_path: Path) -> None:
    first, again = tmp_path / "a", tmp_path / "b"
    for folder in (first, again):
        folder.mkdir()
        lines, _ = notifications.publish(folder, parse_record(make_regression()), {})
        assert lines[0] == "judge 2026-05-20: regression: bing MAP@10 -0.031"
    for name in ("summary.md", "junit.xml"):
        assert (first / name).read_bytes() == (again / name).read_bytes()


def test_a_webhook_is_told_once_the_same_and_again_when_the_night_has_changed(tmp_path: Path) -> None:
    with LoopbackServer(lambda requests: Reply(body="ok")) as server:
        url, link = f"{server.url}/services/T0000/secretpart", "https://ours.example/{date}/"
        webhook = notifications.Webhook("slack", url, link=link)
        messages = [
            notifications.publish(tmp_path, parse_record(record), {}, webhook)[0][-1]
            for record in (make_regression(), make_regression(), make_drift())
        ]
        texts = [request.body["text"] for request in server.requests if request.body]
    assert messages == [
        "webhook: slack message was sent",
        "webhook: slack message was sent before",
        "webhook: slack message was sent",
    ]
    assert [text.splitlines()[0] for text in texts] == [
        "judge 2026-05-20: regression: bing MAP@10 -0.031",
        "judge 2026-05-09: assessor drift",
    ]
    assert [text.splitlines()[-1] for text in texts] == [
        "https://ours.example/2026-05-20/",
        "https://ours.example/2026-05-09/",
    ]
    assert "secretpart" not in "".join(path.read_text() for path in tmp_path.iterdir() if path.is_file())


def test_a_message_that_was_not_sent_is_sent_by_a_later_start(tmp_path: Path) -> None:
    replies = [Reply(status=404, body="no such bot"), Reply(body="ok")]
    with LoopbackServer(lambda request: replies[request.number - 1]) as server:
        webhook, record = notifications.Webhook("slack", server.url), parse_record(make_regression())
        messages = [notifications.publish(tmp_path, record, {}, webhook)[0][-1] for _ in range(2)]
    assert messages == [
        "webhook: slack message was not sent: HTTP 404: no such bot; to send it again, run judge nightly with"
        " --date 2026-05-20",
        "webhook: slack message was sent",
    ]


def test_a_job_that_runs_again_does_not_send_the_same_message_again(tmp_path: Path) -> None:
    with LoopbackServer(lambda requests: Reply(body="ok")) as server:
        webhook, record = notifications.Webhook("slack", server.url), parse_record(make_regression())
        job = {"GITHUB_SERVER_URL": "https://github.example", "GITHUB_REPOSITORY": "our/search"}
        messages = [
            notifications.publish(tmp_path, record, {**job, "GITHUB_RUN_ID": run}, webhook)[0][-1]
            for run in ("9", "10")
        ]
        (request,) = server.requests
    assert messages == ["webhook: slack message was sent", "webhook: slack message was sent before"]
    assert request.body
    assert request.body["text"].endswith("\nhttps://github.example/our/search/actions/runs/9")


def test_a_message_in_another_language_is_not_sent_again(tmp_path: Path) -> None:
    with LoopbackServer(lambda requests: Reply(body="ok")) as server:
        webhook, record = notifications.Webhook("slack", server.url), parse_record(make_regression())
        messages = [
            notifications.publish(tmp_path, record, {}, webhook, t)[0][-1] for t in (CHINESE, ENGLISH)
        ]
        assert len(server.requests) == 1
    assert messages == ["webhook：已发送 slack 消息", "webhook: slack message was sent before"]


def test_a_record_goes_through_json_unchanged() -> None:
    """The records of these tests have the shape of the file."""
    assert json.loads(json.dumps(make_regression())) == make_regression()
