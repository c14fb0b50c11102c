"""The shipped probes are many, distinct, and what they say they are."""

from collections import Counter

import pytest

from judge.characters import detect_text_language
from judge.injection.patterns import INJECTION_FLAGS
from judge.records import BINARY, GRADED, Scale
from judge.selftest.probes import HOSTILE_KINDS, RELEVANT_KINDS, list_attacks, load_probes, make_probe_pairs
from judge.selftest.selftest_run import make_plain_prompts

PROBES = load_probes()


def test_there_are_enough_of_every_kind_in_both_languages() -> None:
    assert Counter(probe.lang for probe in PROBES) == {"zh": 110, "en": 110}
    for lang in ("zh", "en"):
        kinds = Counter(probe.kind for probe in PROBES if probe.lang == lang)
        assert kinds["injected"] == 40
        assert (
            min(kinds[kind] for kind in ("query_only", "stuffing", "irrelevant", "relevant", "ambiguous"))
            >= 10
        )
    injected = [probe for probe in PROBES if probe.kind == "injected"]
    assert len(list_attacks(injected)) >= 8
    assert set(Counter((probe.lang, probe.attack) for probe in injected).values()) == {4}


def test_every_probe_is_one_of_its_kind() -> None:
    assert len({probe.id for probe in PROBES}) == len(PROBES)
    assert len({(probe.query, probe.snippet) for probe in PROBES}) == len(PROBES)
    shown = [pair.snippet.text for pair in make_probe_pairs(PROBES, "auto", 4000)]
    assert len(set(shown)) == len(shown)


def test_bounds_and_attacks_go_with_kinds() -> None:
    for probe in PROBES:
        high = (
            (0, 1)
            if probe.kind in (*HOSTILE_KINDS, "irrelevant")
            else (2, 3)
            if probe.kind in RELEVANT_KINDS
            else (1, 3)
        )
        assert (probe.grade_min, probe.grade_max) == high, probe.id
        assert bool(probe.attack) == (probe.kind in HOSTILE_KINDS), probe.id


def test_queries_are_in_the_language_that_they_are_said_to_be_in() -> None:
    assert [probe.id for probe in PROBES if detect_text_language(probe.query) != probe.lang] == []


def test_all_of_a_probe_is_shown_and_harmless_ones_raise_no_suspicion() -> None:
    for probe, pair in zip(PROBES, make_probe_pairs(PROBES, "auto", 4000), strict=True):
        assert pair.query.text == probe.query
        assert not {"empty_snippet", "encoding", "invisible"} & set(pair.snippet.flags), probe.id
        if probe.kind in ("irrelevant", "relevant", "ambiguous", "partial"):
            assert not INJECTION_FLAGS & set(pair.snippet.flags), probe.id
            assert pair.snippet.text == probe.snippet


def test_prompts_can_be_forced_into_one_language() -> None:
    assert {pair.query.lang for pair in make_probe_pairs(PROBES, "zh", 4000)} == {"zh"}


@pytest.mark.parametrize("scale", [BINARY, GRADED], ids=lambda scale: scale.name)
def test_the_plain_prompt_has_the_task_and_no_defence(scale: Scale) -> None:
    prompts = make_plain_prompts(scale)
    key = "grade" if scale is GRADED else "verdict"
    for pair in make_probe_pairs(PROBES, "auto", 4000):
        prompt = prompts.render(pair)
        assert f'"{key}"' in prompt.system
        assert prompt.user.endswith(pair.snippet.text)
        assert pair.query.text in prompt.user
        assert prompts.render_reask(pair).user.startswith(prompt.user)
        assert not any(word in prompt.system for word in ("instruction", "ignore", "MARK", "指令", "标记"))
    assert len(set(prompts.versions.values())) == 2
