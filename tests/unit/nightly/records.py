"""Records of nights as tests need them: the values of night.json, and a month with all that can happen."""

import json
import math
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from judge.nightly.record import NightRecord, record_from_json

ENGINES = {"bing": 0.61, "baidu": 0.57, "searx": 0.48}
MEASURES = ("AP@10", "sDCG@10")
FIRST = date(2026, 5, 1)
#: What names are made of that try to be markup, commands or another line.
HOSTILE = (
    "<script>alert(1)</script>",
    "]]></failure><x/>",
    "a`b``c",
    "`",
    "[me](javascript:x) ![](http://x.example/p.png)",
    "*bold* _it_ ~~s~~ | # h",
    "::error::forged",
    "\r\n::add-mask::x",
    "##[error]forged",
    "%0A::error::x",
    '" onmouseover="x',
    "@everyone <!channel> <at user_id='all'>",
    "\x00\x1b[31m\ud800\ufffe\u202e",
    "  ",
    "小狗 engine",
)


def make_row(engine: str, measure: str, before: float, after: float, **given: Any) -> dict[str, Any]:
    """An outcome of the regression test: the engine's change from the baseline over 100 queries."""
    change = round(after - before, 6)
    return {
        "engine": engine,
        "measure": measure,
        "n": 100,
        "baseline": before,
        "tonight": after,
        "change": change,
        "low": change - 0.015,
        "high": change + 0.015,
        "least": change,
        "most": change,
        "p": 0.0002 if change < -0.02 else 0.6,
        "p_holm": 0.0008 if change < -0.02 else 1.0,
        "outcome": "regression" if change < -0.02 else "fine",
        **given,
    }


def make_night(day: str, means: Mapping[str, float] | None = None, **given: Any) -> dict[str, Any]:
    """The record of a fine night whose engines have these means of sDCG@10."""
    means = ENGINES if means is None else means
    rows = [
        make_row(engine, measure, ENGINES.get(engine, mean), mean)
        for engine, mean in means.items()
        for measure in MEASURES
    ]
    return {
        "schema": 2,
        "date": day,
        "status": "fine",
        "exit": 0,
        "reasons": [],
        "finished": given.get("status") != "incomplete",
        "complete": given.get("status") != "incomplete",
        "remarks": [],
        "assessor": "openai:fake/graded",
        "prompts": {"en": "graded@1a2b3c4d", "zh": "graded@5e6f7a8b"},
        "served": ["fake"],
        "scale": "graded",
        "relevant_from": 2,
        "depth": 10,
        "repeats": 1,
        "queries": 100,
        "judgments": 3000,
        "judged": 3000,
        "coverage": 1.0,
        "failures": {},
        "engines": {engine: _make_engine(mean) for engine, mean in means.items()},
        "baseline": {
            "name": "2026-05-01",
            "id": "2026-05-01-ab12cd34",
            "assessor": "openai:fake/graded",
            "prompts": {"en": "graded@1a2b3c4d", "zh": "graded@5e6f7a8b"},
            "served": ["fake"],
            "queries": 100,
        },
        "regression_test": {
            "ran": True,
            "alpha": 0.01,
            "min_drop": 0.01,
            "measures": list(MEASURES),
            "rows": rows,
        },
        "canaries": make_canaries(60),
        "query_drift": {
            "tonight": 100,
            "baseline": 100,
            "shared": 100,
            "new": 0,
            "gone": 0,
            "shared_share": 1.0,
            "no_relevant": {"tonight": 0.05, "baseline": 0.04},
            "distance": 0.0,
            "distance_by_chance": 0.0,
            "p": 1.0,
        },
        "cost_total": {
            "calls": 240,
            "prompt_tokens": 28800,
            "cached_tokens": 0,
            "completion_tokens": 7200,
            "usd": 0.0412,
            "uncounted": 0,
            "maybe_billed": 0,
        },
        "cost": {
            "calls": 3240,
            "prompt_tokens": 388800,
            "cached_tokens": 0,
            "completion_tokens": 97200,
            "usd": 0.5562,
            "uncounted": 0,
            "maybe_billed": 0,
        },
        **given,
    }


def _make_engine(mean: float) -> dict[str, Any]:
    measures = {
        "sDCG@10": {"mean": mean, "ci95": [mean - 0.03, mean + 0.03], "n": 100, "pool_free": True},
        "P@5": {"mean": mean / 2, "ci95": [mean / 2 - 0.02, mean / 2 + 0.02], "n": 100, "pool_free": True},
        "nDCG@10": {"mean": 0.9, "ci95": [0.89, 0.91], "n": 100, "pool_free": False},
    }
    counts = {"queries": 100, "answered": 100, "empty": 0, "errors": 0, "absent": 0, "judged": 1.0}
    return {**counts, "measures": measures}


def make_canaries(unchanged: int, *, drift: bool = False) -> dict[str, Any]:
    """How 60 canaries were graded, this many of them as in the baseline."""
    changed = 60 - unchanged
    return {
        "id": "c0ffee",
        "pairs": 60,
        "repeats": 3,
        "judged": 180,
        "failed": 0,
        "mean_grade": 1.5 + changed / 60,
        "compared": 60,
        "baseline_mean": 1.5,
        "changed": changed,
        "up": changed,
        "down": 0,
        "unchanged": unchanged / 60,
        "shift": changed / 60,
        "p_changed": 0.6,
        "p_shift": 0.6,
        "drift": drift,
        "reasons": [],
    }


def make_regression() -> dict[str, Any]:
    """A night on which bing dropped by both measures, and baidu became better."""
    rows = [
        make_row("bing", "AP@10", 0.62, 0.589),
        make_row("bing", "sDCG@10", 0.61, 0.588),
        make_row("baidu", "AP@10", 0.57, 0.60, outcome="improvement", p=0.0002, p_holm=0.0008),
        make_row("baidu", "sDCG@10", 0.57, 0.57),
    ]
    tested = {"ran": True, "alpha": 0.01, "min_drop": 0.01, "measures": ["AP@10", "sDCG@10"], "rows": rows}
    return make_night(
        "2026-05-20",
        status="regression",
        exit=1,
        regression_test=tested,
        reasons=["bing is worse"] * 2,
        remarks=["2 new"],
    )


def make_drift() -> dict[str, Any]:
    """A night of assessor drift."""
    return make_night(
        "2026-05-09",
        status="assessor drift",
        exit=3,
        reasons=["the served model changed: 'b', 'a' at the baseline", "29 of 60 canaries changed"],
        canaries=make_canaries(31, drift=True),
        regression_test=None,
    )


def make_month() -> list[dict[str, Any]]:
    """29 nights: quiet ones, an assessor swap, an outage, bing's drop, a new baseline; none on the 12th."""
    result = []
    for at in range(30):
        day = (FIRST + timedelta(days=at)).isoformat()
        wave = {
            engine: round(mean + 0.006 * math.sin(1.7 * at + place), 4)
            for place, (engine, mean) in enumerate(ENGINES.items())
        }
        if at >= 18:
            wave["bing"] -= 0.035
        record = make_night(day, wave, canaries=make_canaries(60 - at % 3))
        if at == 0:
            record |= {
                "status": "no baseline",
                "regression_test": None,
                "baseline": None,
                "query_drift": None,
            }
        if at >= 18:
            record |= {"status": "regression", "exit": 1, "reasons": ["bing is worse by AP@10 and sDCG@10"]}
        if at == 8:
            record |= {
                "status": "assessor drift", "exit": 3, "served": ["other"],
                "canaries": make_canaries(31, drift=True),
                "reasons": ["the server names another model: 'other', 'fake' in the baseline"],
                "regression_test": {**record["regression_test"], "ran": False, "rows": []},
            }  # fmt: skip
        if at == 14:
            record |= {"status": "incomplete", "exit": 3, "reasons": ["searx broke on 80 of 100 queries"]}
            record |= {"finished": False, "complete": False}
            record["engines"]["searx"]["measures"]["sDCG@10"] |= {"mean": None, "ci95": None, "n": 0}
        if at >= 24:
            record["baseline"] = {**record["baseline"], "id": "2026-05-24-ffff0000"}
            record |= {"status": "fine", "exit": 0, "reasons": []}
            for each in record["regression_test"]["rows"]:
                change = round(0.001 * math.sin(at), 4)
                each |= {"outcome": "fine", "change": change, "low": change - 0.01, "high": change + 0.01}
                each |= {"baseline": each["tonight"] - change}
        if at != 11:
            result.append(record)
    return result


def parse_record(values: Mapping[str, Any]) -> NightRecord:
    """The values as the record that they are."""
    return record_from_json(dict(values), "night.json")


def write_nights(folder: Path, records: list[dict[str, Any]]) -> Path:
    """The folder, with the nights in it as `judge nightly` leaves them."""
    for record in records:
        path = folder / record["date"] / "night.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
    return folder
