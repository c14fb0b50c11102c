"""The quick form of `python -m tests.fault_injection.month`: a quiet month, a few drops, a few swaps."""

from collections.abc import Mapping

import numpy as np
import pytest

from judge.measure.measures import parse_measures
from judge.measure.numeric import Ints
from judge.measure.score import Scores, score_rankings
from judge.records import GRADED, Ranking
from tests.fault_injection import month
from tests.unit.measure.judged_dataset import make_judgment, make_snippet
from tests.unit.nightly import simulated


@pytest.mark.slow
def test_a_quiet_month_is_quiet() -> None:
    tally = month.Tally()
    month.simulate_quiet_month(np.random.default_rng(1), 150, tally)
    assert tally.quiet == 30
    assert tally.alarms <= 1


def test_a_large_drop_is_caught_and_a_swap_is_the_assessor() -> None:
    rng, tally = np.random.default_rng(2), month.Tally()
    for _ in range(3):
        month.drop_night(rng, 150, 2.0, tally)
    for share in (0.25, 0.4, 0.6):
        month.swap(rng, share, tally)
    assert (tally.caught, tally.caught_alone, tally.swaps) == (3, 3, 3)


@pytest.mark.parametrize("worse", [0.0, 1.0])
def test_the_simulation_measures_as_the_product_does(worse: float) -> None:
    rng = np.random.default_rng(3)
    before = simulated.draw_first_night(rng, 6)
    now = simulated.draw_next_night(rng, before)
    lists = {
        "before": before.rank_documents(np.zeros(3)),
        "now": now.rank_documents(np.array([worse, 0, 0])),
    }
    nights = dict(
        zip(("before", "now"), simulated.measure_nights(before, now, np.array([worse, 0, 0])), strict=True)
    )
    scores = _score_nights({"before": before, "now": now}, lists)
    for at, name in enumerate(scores.engines):
        night, engine = name.split()
        values = nights[night][simulated.ENGINES.index(engine)]
        np.testing.assert_allclose(scores.value[at, :, 0], values, atol=1e-12)


def _score_nights(nights: Mapping[str, simulated.Night], lists: Mapping[str, Ints]) -> Scores:
    """The same nights, scored as `judge nightly` does: a document is one, its grades are each night's."""
    rankings, judgments = [], {}
    for name, night in nights.items():
        for engine, ranked in zip(simulated.ENGINES, lists[name], strict=True):
            for query, shown in enumerate(ranked.tolist()):
                wordings = [f"{document}/{name}" for document in shown]
                snippets, documents = tuple(map(make_snippet, wordings)), tuple(map(str, shown))
                rankings.append(Ranking(f"{name} {engine}", f"q{query}", snippets, documents=documents))
                for document, wording in zip(shown, wordings, strict=True):
                    grade = int(night.grade[query, document])
                    judgments[query, wording] = make_judgment(f"q{query}", wording, grade)
    measures = parse_measures(simulated.MEASURES)
    return score_rankings(rankings, judgments.values(), measures, GRADED, depth=10)
