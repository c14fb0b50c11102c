"""What libraries log holds no key."""

import io
import logging
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from judge.models.redaction import redact_logs
from judge.models.server import ServerAccess

KEY = "wonder/ful key"


@pytest.fixture
def log_output() -> Iterator[io.StringIO]:
    text, logger = io.StringIO(), logging.getLogger("some.library")
    handler, make = logging.StreamHandler(text), logging.getLogRecordFactory()
    logger.addHandler(handler)
    yield text
    logger.removeHandler(handler)
    logging.setLogRecordFactory(make)


def test_a_key_in_words_arguments_addresses_and_tracebacks_is_masked(log_output: io.StringIO) -> None:
    redact_logs(KEY)
    redact_logs(KEY)
    access = ServerAccess("http://127.0.0.1:1/sk-9f1d5b-yranac/v1/", {}, timeout=1.0, concurrency=1)
    url = access.choose_url(default="")
    assert url == "http://127.0.0.1:1/sk-9f1d5b-yranac/v1"
    logger = logging.getLogger("some.library.part")
    logger.error("sent %s, got %r, %d%%", quote(KEY, safe=""), {"key": KEY}, 7)
    logger.error("POST %s/chat", url)
    try:
        raise ValueError(f"not {KEY}")
    except ValueError:
        logger.exception("failed")
    first, request, second, *_, last = log_output.getvalue().splitlines()
    assert first == "sent ***, got {'key': '***'}, 7%"
    assert request == "POST http://127.0.0.1:1/***/v1/chat"
    assert (second, last) == ("failed", "ValueError: not ***")


def test_models_without_a_key_add_nothing_to_logging() -> None:
    code = (
        "import logging; from judge.models.redaction import redact_logs;"
        " make = logging.getLogRecordFactory();"
        " redact_logs(); assert logging.getLogRecordFactory() is make;"
        " redact_logs('some key'); assert logging.getLogRecordFactory() is not make"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_record_without_a_key_stays_as_it_is(log_output: io.StringIO) -> None:
    redact_logs("", "none", KEY)
    records: list[logging.LogRecord] = []
    logger = logging.getLogger("some.library")

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    listener = Listener()
    logger.addHandler(listener)
    logger.error("sent %s of none", "words")
    logger.removeHandler(listener)
    assert log_output.getvalue() == "sent words of none\n"
    assert (records[0].msg, records[0].args) == ("sent %s of none", ("words",))
