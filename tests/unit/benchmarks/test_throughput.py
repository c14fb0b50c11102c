"""The harness of `tests/benchmarks/throughput.py`: a run without peers, its file, its check and its page."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks import throughput
from tests.benchmarks.clients import PROBE, RUN
from tests.benchmarks.figures import (
    Cell,
    CellFigures,
    Figures,
    Machine,
    Results,
    find_regressions,
    load_results,
    write_results,
)
from tests.benchmarks.peers.client_process import refuse_other_machines
from tests.benchmarks.peers.environments import AbsentPeer, Peer, make_environment
from tests.benchmarks.performance_page import FIRST, LAST, TEXTS, render_chart, render_figures, write_pages
from tests.support.markdown import ROOT, find_page

CELL = Cell(20, 4, 0.005)
LOOP = Figures(eff=0.9, cpu_ms=0.2, all_in_ms=0.4, calls=1, tokens=300, peak_rss=50, import_s=0.2)
OURS = Figures(eff=0.8, cpu_ms=0.4, all_in_ms=0.9, calls=1, tokens=250, peak_rss=100, import_s=0.4)


def make_results(judge: Figures = OURS, loop: Figures = LOOP) -> Results:
    machine = Machine("a processor", 2, "3.11.7", "2026-01-02", 0.1, 1.5)
    cells = (CellFigures(CELL, {PROBE: loop, RUN: judge}),)
    return Results(machine, 3, {"openai": "3.52"}, {"A tool": "it needs Java"}, cells)


def test_help_lists_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        throughput.main(["--help"])
    assert ended.value.code == 0
    assert "20% worse" in capsys.readouterr().out


def test_a_run_of_twenty_pairs_counts_the_calls_and_the_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "figures.json"
    options = ["--pairs", "20", "--rounds", "1", "--cells", "4x5", "--json", str(path)]
    assert throughput.main([*options, PROBE, RUN]) == 0
    (cell,) = load_results(path).cells
    assert cell.cell == CELL
    assert [cell.clients[name].calls for name in (PROBE, RUN)] == [1, 1]
    assert 200 < cell.clients[RUN].tokens < 700
    assert all(figures.peak_rss > 10 for figures in cell.clients.values())
    assert "absent" not in capsys.readouterr().out


def test_a_file_of_figures_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_results(make_results(), tmp_path / "figures.json")
    assert load_results(tmp_path / "figures.json") == make_results()


def test_a_slower_machine_is_no_regression_and_a_worse_ratio_is() -> None:
    slower = make_results(replace(OURS, cpu_ms=0.8, eff=0.4), replace(LOOP, cpu_ms=0.4, eff=0.45))
    assert not list(find_regressions(make_results(), slower))
    assert not list(find_regressions(make_results(), make_results(replace(OURS, cpu_ms=0.479, eff=0.67))))
    (cpu,) = find_regressions(make_results(), make_results(replace(OURS, cpu_ms=0.49)))
    assert "cpu_ms of judge" in cpu
    assert "was 2.000 and is now 2.450: worse by 22%" in cpu
    (eff,) = find_regressions(make_results(), make_results(replace(OURS, eff=0.66)))
    assert "eff of judge" in eff


def test_a_check_without_a_common_cell_is_an_error() -> None:
    other = replace(make_results(), cells=(CellFigures(replace(CELL, pairs=30), {PROBE: LOOP, RUN: OURS}),))
    with pytest.raises(ValueError, match="nothing to check"):
        list(find_regressions(make_results(), other))


def test_a_peer_that_cannot_be_installed_is_absent_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(AbsentPeer, match="uv pip install failed"):
        make_environment(Peer("nothing", ("--not-an-option",)), tmp_path)


def test_a_client_cannot_connect_to_another_machine() -> None:
    refuse_other_machines("socket.connect", (None, ("127.0.0.1", 80)))
    refuse_other_machines("socket.connect", (None, ("::1", 80, 0, 0)))
    with pytest.raises(ConnectionRefusedError, match=r"not to '192\.0\.2\.1'"):
        refuse_other_machines("socket.connect", (None, ("192.0.2.1", 443)))


def test_the_pages_take_the_figures_between_their_marks(tmp_path: Path) -> None:
    for language in TEXTS:
        (tmp_path / language).mkdir()
        (tmp_path / language / "performance.md").write_text(f"before\n{FIRST}old\n{LAST}after\n", "utf-8")
    (tmp_path / "assets").mkdir()
    write_pages(make_results(), tmp_path)
    text = (tmp_path / "en" / "performance.md").read_text(encoding="utf-8")
    assert text.startswith(f"before\n{FIRST}")
    assert text.endswith(f"{LAST}after\n")
    assert "old" not in text
    assert "| **judge** | 0.800 | 0.40 | 0.90 | 1.00 | 250 | 100 | 0.40 |" in text
    assert "No figures: A tool (it needs Java)." in text
    assert (tmp_path / "assets" / "performance.zh.svg").is_file()


@pytest.mark.parametrize("language", TEXTS)
def test_the_page_shows_the_stored_figures(language: str) -> None:
    stored = load_results(throughput.STORED)
    assert FIRST + render_figures(stored, language) + LAST in find_page(language, "performance").text
    chart = ROOT / "docs" / "assets" / f"performance.{language}.svg"
    assert chart.read_text(encoding="utf-8") == render_chart(stored, language)
