"""The lexical model: term overlap in Chinese and English, worked by hand."""

import asyncio
import json
from dataclasses import replace
from typing import Any

from judge.models.lexical import extract_terms, grade_overlap
from judge.models.providers import open_model
from judge.models.server import ServerAccess
from judge.records import BINARY, GRADED, Lang, Scale, Usage
from tests.support.cases import check_each
from tests.unit.models.adapter_calls import PROMPT, SAMPLING


def answer(query: str, snippet: str, lang: Lang, scale: Scale) -> dict[str, Any]:
    """What the model called lexical answers about one pair."""
    model = open_model("lexical", ServerAccess(None, {}, timeout=1, concurrency=1), SAMPLING)
    prompt = replace(PROMPT, query=query, snippet=snippet, lang=lang, scale=scale)
    completion = asyncio.run(model.complete(prompt))
    assert (completion.model, completion.usage, completion.finish_reason) == ("lexical", Usage(), "stop")
    output: dict[str, Any] = json.loads(completion.text)
    return output


def test_terms_are_folded_words_and_character_pairs() -> None:
    assert list(extract_terms("The Teas of China, brewed")) == ["tea", "china", "brew"]
    assert list(extract_terms("机器学习")) == ["机器", "器学", "学习"]
    assert list(extract_terms("Python的安装")) == ["python", "安装"]
    assert list(extract_terms("Столица Франции — Париж")) == ["столица", "франции", "париж"]
    assert list(extract_terms("café naïve snake_case")) == ["café", "naïve", "snake", "case"]


@check_each(
    ("query", "snippet", "lang", "grade"),
    [
        ("green tea benefits", "Nothing about it here at all, only coffee and milk.", "en", 0),
        ("green tea benefits", "Coffee beats tea when people need to stay awake all night.", "en", 1),
        ("green tea benefits", "Green tea is picked young and steamed before it gets dried.", "en", 2),
        ("green tea benefits", "Benefits of green tea: it lowers blood pressure and calms people.", "en", 3),
        ("green tea benefits", "green tea benefits green tea benefits", "en", 1),
        ("机器学习", "今天天气不错，适合出门散步。", "zh", 0),
        ("机器学习", "机器学习是让计算机从数据里找规律的方法。", "zh", 3),
        ("机器学习", "机器学习机器学习", "zh", 1),
    ],
)
def test_grades_follow_the_share_of_terms(query: str, snippet: str, lang: Lang, grade: int) -> None:
    assert grade_overlap(query, snippet, lang)[0] == grade
    assert answer(query, snippet, lang, GRADED)["grade"] == grade
    assert answer(query, snippet, lang, BINARY)["verdict"] == ("yes" if grade >= 2 else "no")


def test_reasons_name_matched_and_missing_terms_in_the_querys_language() -> None:
    english = answer("green tea benefits", "Green tea is picked young and dried in the sun.", "en", GRADED)
    assert english["reason"] == "Term overlap only: matched green, tea; missing benefit."
    chinese = answer("绿茶好处", "绿茶要趁嫩采摘，然后晒干。", "zh", BINARY)
    assert "词面重合" in chinese["reason"]
    assert "绿茶" in chinese["reason"].partition("缺少")[0]
    assert "好处" in chinese["reason"].partition("缺少")[2]


def test_a_query_without_terms_matches_nothing() -> None:
    assert grade_overlap("???", "anything", "en")[0] == 0
