"""The page says what the prompts say, runs nothing else, and takes no text for markup."""

import base64
import hashlib
import re
from importlib.resources import files

import pytest

from judge.annotate.app import make_page
from judge.assess.prompts import find_default_directory

TEMPLATES = files("judge.annotate") / "templates"


def read_source(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def list_texts(name: str, lang: str, scale: str) -> list[str]:
    """Return the texts of a language and a scale in the constant `name` of annotate_messages.js."""
    script = read_source("annotate_messages.js")
    constant = re.search(rf"^const {name} = {{$(.*?)^}};$", script, re.DOTALL | re.MULTILINE)
    assert constant
    language = re.search(rf"^  {lang}: {{$(.*?)^  }},$", constant[1], re.DOTALL | re.MULTILINE)
    assert language
    texts = re.search(rf"^    {scale}: \[(.*?)\],$", language[1], re.DOTALL | re.MULTILINE)
    assert texts
    return [text for _, text in re.findall(r"(['\"])(.*?)\1(?=[,\n]|$)", texts[1])]


def list_named_grades(rule: str) -> list[str]:
    """Return the grades that a rule names: numbers, or yes and no, which are 是 and 否 for Chinese people."""
    rule = rule.replace("“是”", " yes ").replace("“否”", "no；")
    return re.findall(r"[0-3]|\byes\b|no(?=[;；)])", rule)


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("scale", ["graded", "binary"])
def test_people_go_by_the_rules_that_the_model_goes_by(lang: str, scale: str) -> None:
    prompt = (find_default_directory() / lang / f"{scale}.jinja").read_text(encoding="utf-8")
    *rules, content, reference = list_texts("RULES", lang, scale)
    prompted = re.findall(r"^- .*$", prompt, re.MULTILINE)
    assert [*map(list_named_grades, [*rules, reference])] == [*map(list_named_grades, prompted)]
    assert list_named_grades(content) == ["0" if scale == "graded" else "no"]
    assert len(list_texts("GRADES", lang, scale)) == (2 if scale == "binary" else 4)


def test_both_languages_say_everything() -> None:
    for constant, least in (("TEXTS", 40), ("SENTENCES", 12)):
        block = (
            read_source("annotate_messages.js").partition(f"const {constant} = {{")[2].partition("\n};")[0]
        )
        zh, en = (
            re.findall(r"^    (\w+):", texts, re.MULTILINE)
            for texts in re.findall(r"^  \w\w: {$(.*?)^  },$", block, re.DOTALL | re.MULTILINE)
        )
        assert zh == en
        assert len(en) >= least


def test_the_browser_runs_our_script_and_style_and_nothing_else() -> None:
    html, content_policy = make_page()
    for kind in ("style", "script"):
        blocks = re.findall(rf"<{kind}>(.*?)</{kind}>", html, re.DOTALL)
        assert len(blocks) == 1
        digest = base64.b64encode(hashlib.sha256(blocks[0].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in content_policy
    assert content_policy.startswith("default-src 'none';")
    assert "unsafe" not in content_policy
    assert not re.search(r"\s(?:style|on\w+)=", html.partition("<script>")[0])


def test_no_text_can_become_markup_or_code() -> None:
    for name in ("annotate_view.js", "annotate.js", "annotate_messages.js"):
        for sink in (
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
            "Function(",
            "href",
        ):
            assert sink not in read_source(name), (name, sink)
