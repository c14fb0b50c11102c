"""Log records without keys, however much the user of a library asked it to log."""

from __future__ import annotations

import logging
from typing import Any

from judge.models.redaction import redact

#: Every secret that models of this process were opened with.
_secrets: dict[str, None] = {}


def redact_logs(*secrets: str) -> None:
    """Keep `secrets` out of every log record that this process makes from now on.

    A server may repeat the key in its answer, and libraries log whole answers and addresses when asked to be
    loud. A record without a secret stays as it is.
    """
    if not _secrets:
        logging.setLogRecordFactory(_factory(logging.getLogRecordFactory()))
    _secrets.update(dict.fromkeys(secrets))


def _factory(make: Any) -> Any:  # noqa: ANN401 - as logging has it
    """Return a factory of log records that masks what `make` makes."""

    def record(*args: Any, **options: Any) -> logging.LogRecord:  # noqa: ANN401
        made: logging.LogRecord = make(*args, **options)
        _mask(made, tuple(_secrets))
        return made

    return record


def _mask(record: logging.LogRecord, secrets: tuple[str, ...]) -> None:
    try:
        text = record.getMessage()
    except (TypeError, ValueError, KeyError):  # words that don't fit their arguments: logging says so later
        return
    masked = redact(text, *secrets)
    if masked != text:
        record.msg, record.args = masked, None
    if record.exc_info and not record.exc_text:
        trace = logging.Formatter().formatException(record.exc_info)
        masked = redact(trace, *secrets)
        if masked != trace:
            record.exc_text = masked
