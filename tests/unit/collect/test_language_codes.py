"""Language tags in the codes of each engine."""

from __future__ import annotations

from judge.collect.registry import LANGUAGES
from tests.support.cases import check_each


@check_each(
    ("tag", "bing", "google"),
    [
        ("zh", "zh-hans", "zh-cn"),
        ("zh-CN", "zh-hans", "zh-cn"),
        ("zh_CN", "zh-hans", "zh-cn"),
        ("zh-SG", "zh-hans", "zh-cn"),
        ("zh-Hans-HK", "zh-hans", "zh-cn"),
        ("zh-TW", "zh-hant", "zh-tw"),
        ("zh-HK", "zh-hant", "zh-tw"),
        ("zh-Hant", "zh-hant", "zh-tw"),
        ("zh-hans", "zh-hans", "zh-cn"),
        ("en", "en", "en"),
        ("en-US", "en", "en"),
        ("en-GB", "en-gb", "en"),
        ("ja-JP", "jp", "ja"),
        ("jp", "jp", "jp"),
        ("pt", "pt-pt", "pt"),
        ("pt-BR", "pt-br", "pt-br"),
        ("de-AT", "de", "de"),
        ("nb", "nb", "nb"),
    ],
)
def test_a_language_tag_becomes_the_code_of_the_engine(tag: str, bing: str, google: str) -> None:
    assert (LANGUAGES["bing"](tag), LANGUAGES["google"](tag)) == (bing, google)
