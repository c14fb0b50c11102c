"""The page Performance of docs/: its table and its chart, made from the figures of `throughput`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from judge.report.charts.svg import make_tag
from tests.benchmarks.clients import PROBE, RUN, RUN_KNOWN, SDKS
from tests.benchmarks.figures import Cell, CellFigures, Results

#: The lines of a page between which its figures are.
FIRST, LAST = "<!-- figures -->\n", "<!-- /figures -->\n"
_STYLE = """
text { font-family: system-ui, 'Segoe UI', Roboto, 'Noto Sans CJK SC', sans-serif; fill: #1f2933; }
.head { font-size: 15px; font-weight: 600; }
.name { font-size: 13px; text-anchor: end; }
.value { font-size: 12.5px; fill: #52606d; }
.judge { fill: #c9771a; }
.other { fill: #7b8794; }
"""
_ROW, _LEFT, _BAR = 24, 220, 640


@dataclass(frozen=True)
class Texts:
    """The texts of a page in one language."""

    measured: str
    busy: str
    cell: str
    columns: Sequence[str]
    title: str
    share: str
    cpu: str
    absent: str
    versions: str
    names: Mapping[str, str]


TEXTS = {
    "en": Texts(
        measured="Measured on {day}: {processor}, {cores} cores, Python {python}. The load average "
        "of the machine was {load_before} before the run and {load_after} after it. "
        "Figures are medians of {rounds} rounds; the other tools ran once.",
        busy="Other programs were running on the machine. The figures of efficiency and time are rough.",
        cell="{pairs:,} pairs, {concurrency} calls at once, {ms} ms per answer",
        columns=("Client", "Efficiency", "CPU ms per pair", "CPU ms per pair, whole process",
                 "Calls per pair", "Tokens per pair", "Peak memory, MiB", "Import, CPU s"),
        title="Efficiency and CPU time of judge and other clients",
        share="Efficiency: {cell}",
        cpu="CPU ms per pair: {cell}",
        absent="No figures: {name} ({reason}).",
        versions="Versions: {versions}.",
        names={},
    ),
    "zh": Texts(
        measured="测量日期：{day}。机器：{processor}，{cores} 个核心，Python {python}。"
        "运行前的平均负载为 {load_before}，运行后为 {load_after}。"
        "数值为 {rounds} 轮的中位数，其他工具只运行一轮。",
        busy="测量时机器上有其他程序在运行，效率和时间的数值只是粗略值。",
        cell="{pairs:,} 个查询-摘要对，并发调用 {concurrency} 个，每个答复 {ms} 毫秒",
        columns=("客户端", "效率", "每对 CPU 毫秒", "每对 CPU 毫秒（整个进程）", "每对调用数",
                 "每对 token 数", "内存峰值（MiB）", "导入（CPU 秒）"),
        title="judge 与其他客户端的效率和 CPU 时间",
        share="效率：{cell}",
        cpu="每对 CPU 毫秒：{cell}",
        absent="无数值：{name}（{reason}）。",
        versions="版本：{versions}。",
        names={PROBE: "带日志文件的 aiohttp 循环", SDKS[1]: "基于 aiohttp 的 AsyncOpenAI",
               RUN_KNOWN: "judge（已知服务器）"},
    ),
}  # fmt: skip


def render_heading(cell: Cell, texts: Texts) -> str:
    """Return what distinguishes a cell from the others."""
    ms = f"{cell.latency * 1000:g}"
    return texts.cell.format(pairs=cell.pairs, concurrency=cell.concurrency, ms=ms)


def render_table(cell: CellFigures, texts: Texts) -> str:
    """Return the table of a cell in Markdown."""
    lines = [texts.columns, ["---"] * len(texts.columns)]
    for client, row in cell.clients.items():
        name = texts.names.get(client, client)
        lines.append([
            f"**{name}**" if client in (RUN, RUN_KNOWN) else name,
            f"{row.eff:.3f}", f"{row.cpu_ms:.2f}", f"{row.all_in_ms:.2f}", f"{row.calls:.2f}",
            f"{row.tokens:.0f}", f"{row.peak_rss:.0f}", f"{row.import_s:.2f}",
        ])  # fmt: skip
    return "".join(
        f"| {' | '.join(line)} |\n" if line[0] != "---" else "|---|" + "--:|" * 7 + "\n" for line in lines
    )


def render_figures(results: Results, language: str) -> str:
    """Return what stands between the marks of the page."""
    texts, machine = TEXTS[language], results.machine
    parts = [f"![{texts.title}](../assets/performance.{language}.svg)\n"]
    parts.append(texts.measured.format(**vars(machine), rounds=results.rounds) + "\n")
    if machine.load_before >= 1:
        parts.append(texts.busy + "\n")
    for each in results.cells:
        parts += [f"### {render_heading(each.cell, texts)}\n", render_table(each, texts)]
    parts += [texts.absent.format(name=name, reason=reason) + "\n" for name, reason in results.absent.items()]
    versions = ", ".join(
        f"{name} {version}" if "==" not in version else version for name, version in results.versions.items()
    )
    parts.append(texts.versions.format(versions=versions) + "\n")
    return "\n" + "\n".join(parts) + "\n"


def render_chart(results: Results, language: str) -> str:
    """Return an SVG: bars of the efficiency in each cell, and of the CPU time in the first."""
    texts = TEXTS[language]
    parts = [(texts.share, each, "eff", "{:.3f}") for each in results.cells]
    parts.append((texts.cpu, results.cells[0], "cpu_ms", "{:.2f}"))
    panels = [
        (text.format(cell=render_heading(each.cell, texts)), each, name, form)
        for text, each, name, form in parts
    ]
    elements: list[str] = []
    top = 16
    for heading, cell, name, form in panels:
        elements.append(make_tag("text", heading, x=16, y=top + 16, class_="head"))
        top += 30
        values = {client: float(getattr(row, name)) for client, row in cell.clients.items()}
        longest = 1.0 if name == "eff" else max(values.values())
        for client, value in values.items():
            width = max(_BAR * value / longest, 1)
            kind = "judge" if client in (RUN, RUN_KNOWN) else "other"
            elements += [
                make_tag("text", texts.names.get(client, client), x=_LEFT - 10, y=top + 15, class_="name"),
                make_tag("rect", x=_LEFT, y=top + 2, width=width, height=_ROW - 6, class_=kind),
                make_tag("text", form.format(value), x=_LEFT + width + 6, y=top + 15, class_="value"),
            ]
            top += _ROW
        top += 14
    description = " ".join(heading for heading, *_ in panels)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 {top}" role="img" '
        f'aria-labelledby="title desc">\n<title id="title">{texts.title}</title>\n'
        f'<desc id="desc">{description}</desc>\n<style>{_STYLE}</style>\n'
        f'<rect width="960" height="{top}" rx="12" fill="#ffffff"/>\n' + "\n".join(elements) + "\n</svg>\n"
    )


def write_pages(results: Results, docs: Path) -> None:
    """Write the figures into the page of each language in `docs`, and its chart into docs/assets."""
    for language in TEXTS:
        page = docs / language / "performance.md"
        before, _, rest = page.read_text(encoding="utf-8").partition(FIRST)
        after = rest.partition(LAST)[2]
        page.write_text(before + FIRST + render_figures(results, language) + LAST + after, encoding="utf-8")
        chart = docs / "assets" / f"performance.{language}.svg"
        chart.write_text(render_chart(results, language), encoding="utf-8")
