"""The shipped prompts of both languages and scales, and pairs for them."""

from typing import get_args

import pytest

from judge.assess.prompts import find_default_directory, load_prompts
from judge.records import BINARY, GRADED, Lang, Pair, Query, Scale, Snippet

LANGS: tuple[Lang, ...] = get_args(Lang)
SCALES = (BINARY, GRADED)
PROMPTS = {scale: load_prompts(find_default_directory(), scale) for scale in SCALES}

every_prompt = pytest.mark.parametrize(
    ("lang", "scale"),
    [(lang, scale) for lang in LANGS for scale in SCALES],
    ids=lambda value: value.name if isinstance(value, Scale) else value,
)


def make_pair(query: str = "q", text: str = "s", lang: Lang = "en", **fields: str) -> Pair:
    """Return a pair; `fields` are the reference of the query, and the title and the date of the snippet."""
    return Pair(
        Query(id="q", text=query, raw_text=query, lang=lang, reference=fields.get("reference")),
        Snippet(
            id="s",
            text=text,
            title=fields.get("title", ""),
            date=fields.get("date", ""),
            url="https://a.example/secret-of-the-url",
            raw=("raw title", "raw text"),
        ),
    )
