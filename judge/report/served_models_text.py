"""Owns how it is said that several models answered in one run, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.english import format_count, join_names

Row = Mapping[str, Any]


def english(summary: Row) -> str:
    """That several models answered in one run, and how each graded; empty when one did."""
    models = summary.get("served", {})
    if len(models) < 2:
        return ""
    each = [
        f"{name or 'one without a name'} ({format_count(row['judgments'], 'judgment')}, mean grade"
        f" {row['mean_grade']:.2f})"
        for name, row in models.items()
    ]
    return f"{len(models)} models answered: {join_names(each)}; their grades may not be comparable."


def chinese(summary: Row) -> str:
    """The same in Chinese."""
    models = summary.get("served", {})
    if len(models) < 2:
        return ""
    each = "、".join(
        f"{name or '未报名称的模型'}（{row['judgments']:,} 次判定，平均等级 {row['mean_grade']:.2f}）"
        for name, row in models.items()
    )
    return f"共有 {len(models)} 个模型作答：{each}；它们给出的等级未必可比。"
