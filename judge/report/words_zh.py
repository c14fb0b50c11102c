"""Owns how findings are said in Chinese: the counterparts of `judge.report.words`, name for name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from judge.measure.compare import Comparison
from judge.measure.simultaneous import MIN_DIFFERING
from judge.report import words
from judge.report.words import FEW, FEW_QUERIES, TIE, chance, deciding, lead, rounded, standing

__all__ = [
    "by_segment",
    "deciding",
    "difference",
    "few",
    "headline",
    "interval",
    "listed",
    "planning",
    "rounded",
    "stability",
    "standing",
    "strength",
    "variance",
    "verdict",
    "verdict_of",
    "within_lists",
]

Row = Mapping[str, Any]

_STANDINGS = {
    "behind": "在双方都有分数的查询上落后于 {}",
    "not separated": "与 {} 分不出高下（差距可能只是偶然）",
    "undetermined": "未判定的摘要可能使 {} 反超",
    "apart": "没有哪条查询上与 {} 同时有分数",
}
NARROW = f"查询不足 {FEW} 条，95 % 区间会偏窄"
_SIGNIFICANT = "差异具有统计显著性"
#: Why a number is unknown, as `judge.measure` says it.
_WHY = {
    "it comes from one query, which gives no range": "只有一条查询，给不出区间",
    "with other queries it would often be undefined, so no range can be given": (
        "换一批查询就常常无定义，给不出区间"
    ),
    "no pair was judged twice": "没有哪条摘要判定过两次",
    "all grades are the same, so agreement by chance is complete": "所有等级都一样，光凭偶然也会完全一致",
    "no pair has a grade from people and one from the assessor": "没有哪条摘要既有人工等级又有评测员的等级",
}


def few(summary: Row) -> str:
    """Return the warning about intervals over few queries; empty when there are enough."""
    if not words.has_few_queries(summary):
        return ""
    return f"查询不足 {FEW_QUERIES} 条，区间只是近似值，只能检出很大的差异。"


def planning(summary: Row, measure: str | None = None) -> str:
    """Return a sentence about what more queries would show; empty when no pair can be tested."""
    found = words.plan(summary, measure)
    if found is None:
        return ""
    return (
        f"{found.n:,} 条查询能以 80 % 的概率检出约 {found.detectable:.2g} 的真实差异；"
        f"{2 * found.n:,} 条查询能检出约 {found.doubled:.2g} 的差异"
        f"（按 {measure or deciding(summary)}，取各引擎对的中位数）。"
    )


def verdict(comparison: Comparison) -> str:
    """What a comparison comes to: `A > B`, or why no engine is named."""
    return verdict_of(
        {
            "a": comparison.a,
            "b": comparison.b,
            "outcome": comparison.outcome,
            "n": comparison.n,
            "wins": comparison.wins,
            "losses": comparison.losses,
            "sd": comparison.sd,
            "at_least_queries": comparison.at_least,
        }
    )


def verdict_of(row: Row) -> str:
    """The same of a comparison as summary.json holds it, whose own `verdict` is English."""
    if row["outcome"] == "better":
        return f"{row['a']} > {row['b']}"
    if row["outcome"] == "undetermined":
        if not row["n"]:
            return "无法判断：没有哪条查询上双方都有分数"
        return "无法判断：未判定的摘要可能改变结论"
    differing = row["wins"] + row["losses"]
    if differing < MIN_DIFFERING:
        return f"分不出高下（只有 {differing} 条查询的分数不同，至少需要 {MIN_DIFFERING} 条）"
    if not row["sd"]:
        return "分不出高下（每条查询的差值都相同，没有方差，无法检验）"
    if row["at_least_queries"] is None:
        return "分不出高下"
    return f"分不出高下（至少需要 {rounded(row['at_least_queries'])} 条双方都有分数的查询）"


def headline(summary: Row, measure: str | None = None) -> str:
    """Which engine is best by `measure` (None: the deciding one), or why none can be named.

    Empty when there is nothing to compare.
    """
    measure = measure or deciding(summary)
    if not measure:
        return ""
    if "runs" in summary:
        return _between_runs([row for row in summary["comparisons"] if row["measure"] == measure], measure)
    found = lead(summary, measure)
    which = "" if measure == deciding(summary) else f"（仅供参考，以 {deciding(summary)} 为准）"
    if found.ahead == found.others:
        others = "另一个引擎" if found.ahead == 1 else f"其余 {found.ahead} 个引擎"
        return f"按 {measure}{which} 衡量，{found.best} 最好：领先{others}，{_SIGNIFICANT}。"
    if not found.known:
        return f"按 {measure}{which} 衡量，选不出最好的引擎：哪个引擎都没有一条查询有分数。"
    reasons = [_STANDINGS[kind].format(_some(names)) for kind, names in found.against.items() if names]
    if found.ahead:
        reasons.append(f"只明确领先 {found.ahead} 个引擎")
    highest = "并列均值最高" if found.shared else "均值最高"
    return f"按 {measure}{which} 衡量，还选不出最好的引擎：{found.best} {highest}，但{'，'.join(reasons)}。"


def _between_runs(rows: Sequence[Row], measure: str) -> str:
    """Which engines differ from themselves in another run."""
    changed = [row["verdict"] for row in rows if row["winner"]]
    unsure = sum(row["outcome"] == "undetermined" for row in rows)
    rest = f"；另有 {unsure:,} 组比较可能因未判定的摘要而改变" if unsure else ""
    if not changed:
        return f"按 {measure} 衡量，各引擎在两次运行之间均无显著变化{rest}。"
    return f"按 {measure} 衡量，运行之间的变化：{listed(changed)}{rest}。"


def _some(names: Sequence[str]) -> str:
    """The names, or the first of many."""
    return listed(names) if len(names) <= 4 else f"{'、'.join(names[:3])} 等 {len(names)} 个引擎"


def difference(row: Row) -> str:
    """A comparison in one sentence."""
    said = verdict_of(row)
    if row["difference"] is None:
        return f"{row['a']} 与 {row['b']}：{said}"
    ahead = f"{row['n']} 条查询中 {row['wins']} 条领先、{row['losses']} 条落后"
    size = f"{row['difference']:+.4f}{interval(row['ci95'])}{_worst_case(row)}"
    if row["winner"]:
        return f"{said}：{size}；{ahead}"
    return f"{row['a']} 与 {row['b']}：{said}；{size}；{ahead}"


def _worst_case(row: Row) -> str:
    if not words.is_unsure(row):
        return ""
    least, most = row["bounds"]
    robust = "，任何等级都不改变结论" if row["robust"] else ""
    return f"；未判定的摘要取任意等级时为 {least:+.4f} 到 {most:+.4f}{robust}"


def by_segment(summary: Row) -> Iterator[str]:
    """Yield what stands under the headline: segments that other engines win, leads that differ."""
    for column, value, queries, row in words.reversals(summary):
        yield (
            f"但在 {column} {value}（{queries:,} 条查询）中，{row['a']} 领先 {row['b']}："
            f"{row['difference']:+.4f}{interval(row['ci95'])}。"
        )
    for column, value, row in words.differing_leads(summary):
        yield (
            f"{row['a']} 与 {row['b']} 的差值因查询类别而异：{column} {value} 中为 {row['inside']:+.4f}，"
            f"其余查询中为 {row['outside']:+.4f}，两者相差 {row['difference']:+.4f}{interval(row['ci95'])}。"
        )


def interval(ends: Sequence[float] | None) -> str:
    """`（95 % 区间 low 到 high）`, or nothing."""
    return f"（95 % 区间 {ends[0]:.4f} 到 {ends[1]:.4f}）" if ends and ends[0] < ends[1] else ""


def within_lists(row: Row) -> str:
    """Why the order that own lists give is another one."""
    better, worse = row["better"], row["worse"]
    chance = "" if row["sure"] else "（这一差距可能只是偶然）"
    return (
        f"如果各引擎只跟自己的列表比，排第一的会是 {worse}（{row['own']}：{worse} {row['alone'][1]:.3f}，"
        f"{better} {row['alone'][0]:.3f}）。但那只说明列表内部排得好不好，不说明列表里有什么："
        "只要第一条相关，后面什么都没有也是满分。"
        f"平均每条查询，{better} 给出 {row['relevant'][0]:.1f} 条相关结果，"
        f"{worse} 给出 {row['relevant'][1]:.1f} 条。"
        f"以所有引擎找到的结果为准（{row['measure']}），领先的是 {better}，"
        f"{row['pooled'][0]:.3f} 比 {row['pooled'][1]:.3f}{chance}。"
    )


def stability(row: Row, deciding: str) -> Iterator[str]:
    """How far the repeats agree, plain words first; `deciding` names the measure that engines meet by."""
    yield from _verdicts(row)
    measure = row["measures"][deciding]
    yield _means(deciding, measure, row["margin"])
    if measure["smallest_tau"] is not None:
        yield _orders(measure)


def _verdicts(row: Row) -> Iterator[str]:
    flips, ever, alpha = row["flip_rate"], row["ever_flipped"], row["alpha"]
    if flips["value"] is None:
        yield f"稳定性未知：{why(flips)}"
        return
    yield (
        f"再判一次，{flips['value']:.1%} 的结论（相关与否）会变{_percents(flips['ci95'])}；"
        f"{row['pairs']:,} 个（查询，摘要）对里，{ever['value']:.1%} 在 {row['repeats']} 次重复中至少变过一次"
    )
    if alpha["value"] is None:
        yield f"各次重复是一致的，但 alpha 说明不了什么：{why(alpha)}"
    else:
        value = f"alpha {alpha['value']:.3f}{interval(alpha['ci95'])}，1 表示完全一致"
        yield f"各次重复给出的等级{strength(alpha['value'])}：{value}"


def why(cell: Row) -> str:
    """Why the number in `cell` is unknown; as it stands where there is no Chinese for it."""
    said = str(cell.get("why", ""))
    return _WHY.get(said, said)


def _means(name: str, measure: Row, margin: float) -> str:
    if measure["equivalent"] is None:
        return f"{name}：查询太少，说不准各次重复的均值是否相同"
    spread = f"同一引擎在各次重复里的均值最多相差 {measure['largest_difference']:.4f}"
    test = f"（等价性检验，p {chance(measure['tost_p'])}）"
    if measure["equivalent"]:
        return f"{name}：{spread}；每个引擎都稳定在 ±{margin} 之内{test}"
    return f"{name}：{spread}；还不能证明都稳定在 ±{margin} 之内{test}"


def _orders(measure: Row) -> str:
    smallest = measure["smallest_tau"]
    if smallest >= 1 - 1e-9:
        return "每次重复里引擎的名次都一样"
    return f"各次重复之间引擎的名次有变化（最小的 tau 为 {smallest:.3f}）"


def variance(split: Row | None) -> str:
    """What the values of a measure vary with."""
    if split is None:
        return "说不清分数随什么变化：至少要有 2 条查询、2 个引擎、2 次重复"
    total = sum(split.values())
    if total < TIE:
        return "分数没有变化：每个引擎在每条查询上都一样"
    names = {
        "query": "查询本身",
        "engine": "引擎",
        "query_engine": "哪个引擎适合哪条查询",
        "noise": "重判带来的波动",
    }
    return "分数的变化来自：" + "，".join(f"{name} {split[key] / total:.0%}" for key, name in names.items())


def strength(agreement: float) -> str:
    """Words for a kappa or an alpha, at the lines of Landis & Koch (1977), who draw them by feeling."""
    lines = (
        (0.81, "非常一致"),
        (0.61, "比较一致"),
        (0.41, "一致性中等"),
        (0.21, "一致性偏低"),
        (0.01, "几乎不一致"),
    )
    return next((word for least, word in lines if agreement >= least), "不比碰运气好")


def listed(names: Iterable[str]) -> str:
    """Names as one says them: `a、b 和 c`."""
    *others, last = names
    return f"{'、'.join(others)} 和 {last}" if others else last


def _percents(ends: Sequence[float] | None) -> str:
    return f"（95 % 区间 {ends[0]:.1%} 到 {ends[1]:.1%}）" if ends else ""
