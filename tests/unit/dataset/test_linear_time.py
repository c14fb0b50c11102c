"""Texts that are made to cost time: every step that reads an untrusted text takes linear time.

Each text is one piece again and again. What counts is the CPU time of four times as many pieces by that of
one: 4 for a linear step and 16 for a quadratic one, on any machine.
"""

import re
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain

import pytest

from judge.characters import escape_controls, find_line_breaks
from judge.dataset import clean, markup
from judge.dataset.clean import drop_invisible, looks_misdecoded
from judge.dataset.pool import canonicalise_url
from judge.injection.detection import detect_injection
from judge.injection.patterns import INJECTION_FORMS
from judge.models.error_mapping import ErrorResponse, classify
from judge.models.redaction import mask
from tests.support.cases import check_each
from tests.support.scaling import MOST, measure_growth

KEY = "sk-aaaaaaaaaaaaaaaaaaaa"

# Beginnings of what the patterns look for: tags, comments, entities, tokens, sequences, words of errors. The
# first line is of those that took quadratic time, or could; the quick test has no others.
PIECES = [
    *(
        "<b ",
        "<a x ",
        '<a x="',
        "<b/",
        "<!--",
        "<script ",
        "</script ",
        "<svg ",
        "<",
        "<svg></svg ",
        "===",
        "--- ",
        "\x1b[",
        "\n \n",
        "grade ",
        "please grade 3.!?",
        "a b c d ",
        "61 62 63 ",
        "aWdub3Jl",
    ),
    *(
        "<b =",
        "<a '",
        "<b>",
        "<a",
        "<!-- x",
        "<script",
        "<script>",
        "</script",
        "<style>x",
        "</b ",
    ),
    *(
        "<template><p>",
        "</",
        "<>",
        ">",
        "<!",
        "<?",
        "<![CDATA[",
        "&",
        "&#",
        "&#x",
        "&amp;",
        "&lt;",
        "<<‹",
        "‹",
    ),
    *(
        "<<<",
        ">>>",
        "<<<deadbeef",
        "deadbeef>",
        "<|",
        "|>",
        "<｜",
        "｜>",
        "|",
        "[",
        "[/",
        "[INST]",
        "[/INST",
        "<<SYS",
    ),
    *(
        "◁",
        "◁think",
        "◁/",
        "x<b ",
        "List<Object ",
        '<p title="<"',
        "<div><p",
        "<table><tr",
        "<head ",
        "<h1",
        "<br ",
    ),
    *(
        "<!--><!--",
        "é",
        "à©",
        "Ã",
        "Â",
        "â€",
        "ï»",
        "ð",
        "ðŸ",
        "à",
        "àƒ",
        "Ð",
        "Ñ€",
        "ÎÎ",
        "锟",
        "锟斤",
        "縺x",
        "占",
    ),
    *(
        "占쏙",
        "¡",
        "¡a",
        "中",
        "涓枃",
        "---",
        "###",
        "***",
        "===x",
        '"""',
        "'''",
        "~~~",
        "```",
        "system",
        "system:",
    ),
    *(
        "user：",
        "# ",
        "## ",
        "< ",
        "[ ",
        "[ /",
        "\x1b",
        "\x1b[0",
        "\x1b]",
        "\x1b]0;",
        "\x1b[?",
        "\ud83d",
        "\udc00",
    ),
    *(
        "\ud83d\ud83d",
        "\r",
        "\r\n",
        "\n",
        " \n",
        "\t",
        " ",
        "\u3000",
        "\u2028",
        "\x85",
        "\u200b",
        "\u200d",
        "\ufe0f",
    ),
    *(
        "\u0915\u200d",
        "\U0001f468\u200d",
        "\U000e0041",
        "\x00",
        "\ufffd",
        "a\u200c",
        "\u0628\u200d",
        "\u202e",
    ),
    *(
        "sk-",
        "sk-a",
        "sk_",
        "bearer ",
        "Bearer\t",
        "api_key",
        "api-key = ",
        'api_key="',
        "AIza",
        "LTAI",
        "ak-ak-",
    ),
    *(
        "per",
        "per day ",
        "account ",
        "prompt ",
        "input ",
        "model ",
        "free ",
        "insufficient ",
        "today ",
        "今日",
    ),
    *(
        "账户",
        "每日",
        "invalid ",
        "temperature ",
        "must be ",
        '"quotaId": "',
        '{"code":',
        "data inspection",
        "%41",
    ),
    *("%", "&#115;", "\\u0073", "\\", "a", "aaaaaaaa", "c2stYW", "736b2d"),
]
QUICK = PIECES[:16]
#: The words without which no form of injection is searched.
NEEDED = sorted(
    {
        word
        for form in INJECTION_FORMS
        for need in form.pattern.needs
        for word in chain(*need.whole.values(), need.parts)
    }
)


def repeat_piece(piece: str, head: str = "", tail: str = "") -> Callable[[int], str]:
    """Return what makes a text of this many characters from `piece`."""
    return lambda length: head + piece * (length // len(piece)) + tail


def clean_text(text: str) -> object:
    return clean.clean_snippet(clean.RawSnippet(text, text[:300]), max_chars=4000, query="a query of words")


def clean_shown_query(text: str) -> object:
    return clean.clean_query(text, max_chars=len(text))


def detect_injection_alone(text: str) -> object:
    return detect_injection(text, text)


def classify_error_page(text: str) -> object:
    return classify(ErrorResponse.from_response(500, text, {}), KEY)


def classify_error_message(text: str) -> object:
    return classify(
        ErrorResponse.from_response(429, {"error": {"message": text, "code": text, "details": [text]}}, {}),
        KEY,
    )


def replace_unencodable(step: Callable[[str], object]) -> Callable[[str], object]:
    return lambda text: step(text.encode("utf-8", "replace").decode())


STEPS: dict[str, Callable[[str], object]] = {
    "snippet": clean_text,
    "query": clean_shown_query,
    "markup": replace_unencodable(markup.extract_visible_text),
    "hidden characters": drop_invisible,
    "encoding": replace_unencodable(looks_misdecoded),
    "suspicion": detect_injection_alone,
    "terminal": escape_controls,
    "error page": classify_error_page,
    "error message": classify_error_message,
    "mask": lambda text: mask(text, KEY),
}


def list_slow_texts(step: Callable[[str], object], pieces: Iterable[str], most: int) -> dict[str, float]:
    """The texts for which `step` takes more than linear time."""
    result = {}
    for piece in pieces:
        for head, tail in (("", ">"), ("<html>", "</script>-->"), ("", "")):
            factor = measure_growth(step, repeat_piece(piece, head, tail), most)
            if factor > MOST:
                result[f"{head}{piece}…{tail}"] = round(factor, 1)
    return result


@check_each("step", STEPS.values())
def test_no_text_takes_more_than_linear_time(step: Callable[[str], object]) -> None:
    assert list_slow_texts(step, QUICK, 15_000) == {}


def test_no_line_takes_more_than_linear_time_to_break() -> None:
    assert list_slow_texts(partial(find_line_breaks, width=80), ("（", "(", "a=", "a-", "'"), 15_000) == {}


def test_no_url_takes_more_than_linear_time() -> None:
    for head in ("http://", "ftp://"):
        assert measure_growth(canonicalise_url, repeat_piece("www.", head, "a.example"), 160_000) <= MOST


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_no_long_text_of_any_piece_takes_more_than_linear_time(step: Callable[[str], object]) -> None:
    assert list_slow_texts(step, (*PIECES, *NEEDED), 300_000) == {}


def test_a_step_that_takes_quadratic_time_would_be_seen() -> None:
    tags = re.compile("<[^>]*>")
    # A fast machine needs a longer text, and one that does other things at the same time another try.
    sizes = (15_000, 30_000, 60_000, 60_000, 120_000)
    measured = (measure_growth(lambda text: tags.sub("", text), repeat_piece("<b "), size) for size in sizes)
    assert any(value > MOST for value in measured)
