"""Notices in Chinese: the terminal and GitHub get them; the files of the night stay in English."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from judge.messages import CHINESE, ENGLISH
from judge.nightly import notifications
from judge.nightly.decision import Evidence, decide, list_reasons
from judge.nightly.night_texts import format_terminal, make_banner, make_message
from judge.nightly.record import NightRecord
from judge.runs.record_json import to_json
from tests.unit.nightly.records import make_night, make_regression, make_row, parse_record


def format_lines(record: NightRecord) -> list[str]:
    return format_terminal(make_message(record, CHINESE), "report.html", CHINESE)


def test_a_regression() -> None:
    assert format_lines(parse_record(make_regression())) == [
        "judge 2026-05-20：回归：bing MAP@10 -0.031",
        "- bing（回归）：MAP@10 -0.031（按两晚的合并池，由 0.620 变为 0.589；95% 置信区间 -0.046 到 -0.016）"
        "，p（Holm 校正）0.0008，100 条查询",
        "- bing（回归）：sDCG@10 -0.022（按两晚的合并池，由 0.610 变为 0.588；95% 置信区间 -0.037 到 -0.007）"
        "，p（Holm 校正）0.0008，100 条查询",
        "- baidu（提升）：MAP@10 +0.030（按两晚的合并池，由 0.570 变为 0.600；95% 置信区间 +0.015 到 +0.045）"
        "，p（Holm 校正）0.0008，100 条查询",
        "- 与基线 2026-05-01 比较",
        "- 校验样本：60 个查询-摘要对，平均等级 1.50（基线 1.50），60 个中有 0 个等级变化"
        "（按重复评定的中位数）",
        "- 已评定 3,000/3,000（100.0%），100 条查询",
        "- 当晚调用 240 次（含校验样本），费用 0.0412 美元",
        "- 报告：report.html",
        "备注：",
        "- 2 new",
    ]


def test_kinds_of_failures_are_in_chinese() -> None:
    counts: dict[str, Any] = {"judgments": 20, "judged": 17, "coverage": 0.85, "queries": 5}
    record = parse_record(make_night("2026-05-20", failures={"transport": 2, "later_kind": 1}, **counts))
    line = "- 已评定 17/20（85.0%），5 条查询；失败：连接失败（2）、later_kind（1）"
    assert line in format_lines(record)
    assert "- 17 of 20 judged (85.0%), 5 queries; failed: transport (2), later_kind (1)" in format_terminal(
        make_message(record), "", ENGLISH
    )


def test_a_fine_night() -> None:
    rows = [
        make_row("bing", "AP@10", 0.62, 0.611, n=120, detectable=0.0413),
        make_row("bing", "sDCG@10", 0.61, 0.612, n=120, detectable=0.021),
    ]
    fine = make_night("2026-05-20", regression_test={**make_regression()["regression_test"], "rows": rows})
    assert format_lines(parse_record(fine))[:4] == [
        "judge 2026-05-20：正常：没有显著下降",
        "- 与基线 2026-05-01 比较：按 MAP@10、sDCG@10 做了 2 次比较（以下括号内为与基线之差；"
        "MAP@10 基于两晚合并的结果计算，因此只给出与基线之差）",
        "- 在这 120 条查询上，如果各查询的下降幅度相近，且达到 MAP@10 约 0.041、sDCG@10 约 0.021，"
        "检验有 80% 的概率能够检出；更小的下降，或只涉及部分查询的下降，可能漏检；"
        "少于 8 条查询的下降无法检出",
        "- bing：MAP@10 (-0.009)，sDCG@10 0.612 (+0.002)",
    ]


def test_reasons_are_in_chinese_also_when_the_record_is_read_again() -> None:
    evidence = Evidence(has_baseline=False, to_accept="judge baseline set runs/nights/2026-05-02")
    decision = decide(evidence)
    record = replace(parse_record(make_night("2026-05-02")), status=decision.status, reasons=decision.reasons)
    record = replace(record, banner=make_banner(record))
    read = parse_record(to_json(record))
    expected = ["还没有基线，因此不做比较；如需设置基线，请执行：judge baseline set runs/nights/2026-05-02"]
    assert [[reason.zh for reason in list_reasons(night)] for night in (record, read)] == [expected] * 2
    assert read.reasons[0].startswith("there is no baseline yet, so nothing is compared; to set one: judge")


def test_files_are_the_same_in_both_languages(tmp_path: Path) -> None:
    record = parse_record(make_regression())
    texts = []
    for t in (CHINESE, ENGLISH):
        notifications.publish(tmp_path, record, {}, t=t)
        texts.append([(tmp_path / name).read_text(encoding="utf-8") for name in ("summary.md", "junit.xml")])
    assert texts[0] == texts[1]
    assert "回归" not in str(texts)
