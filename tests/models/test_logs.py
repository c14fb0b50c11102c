"""What a provider's library says with its own logger holds no key."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from judge.models.logs import keep_out


@pytest.fixture
def said() -> Iterator[io.StringIO]:
    text, logger = io.StringIO(), logging.getLogger("some.library")
    listener = logging.StreamHandler(text)
    logger.addHandler(listener)
    yield text
    logger.removeHandler(listener)
    logger.filters.clear()


def test_a_key_in_words_arguments_and_tracebacks_is_masked(said: io.StringIO) -> None:
    logger = logging.getLogger("some.library")
    keep_out("wonderful", "some.library")
    keep_out("wonderful", "some.library")
    logger.error("sent %s, got %r, %d%%", "wonderful", {"key": "wonderful"}, 7)
    try:
        raise ValueError("not wonderful")
    except ValueError:
        logger.exception("failed")
    first, second, *_, last = said.getvalue().splitlines()
    assert first == "sent ***, got {'key': '***'}, 7%"
    assert (second, last) == ("failed", "ValueError: not ***")
    assert len(logger.filters) == 1


def test_no_key_masks_nothing(said: io.StringIO) -> None:
    keep_out("", "some.library")
    logging.getLogger("some.library").error("sent %s", "words")
    assert said.getvalue() == "sent words\n"
