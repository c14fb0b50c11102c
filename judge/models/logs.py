"""Owns what a provider's library may log: everything but the key, however loud its user made it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from judge.models.faults import mask


@dataclass(frozen=True)
class _Masking(logging.Filter):
    secret: str = field(repr=False)

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = mask(record.getMessage(), self.secret), None
        if record.exc_info and not record.exc_text:
            record.exc_text = mask(logging.Formatter().formatException(record.exc_info), self.secret)
        return True


def keep_out(secret: str, library: str) -> None:
    """Keeps `secret` out of all that the logger named `library` says from now on.

    A server may repeat the key in its answer, and libraries log whole answers when asked to be loud.
    """
    logging.getLogger(library).addFilter(_Masking(secret))
