"""User feedback: thumbs and clicks, read with the labels' reader. They are no labels of people who graded."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from judge.dataset.labels import Label, read_label_rows
from judge.dataset.spreadsheet import detect_separator, read_csv_text
from judge.errors import InputError

FeedbackKind = Literal["thumbs", "clicks"]
#: The labels that follow from each kind: 1 where most of it is positive, 0 where most is negative.
Feedback = Mapping[FeedbackKind, tuple[Label, ...]]
_SIGNALS: Mapping[str, tuple[FeedbackKind, int]] = {
    "up": ("thumbs", 1),
    "down": ("thumbs", -1),
    "click": ("clicks", 1),
    "skip": ("clicks", -1),
    "赞": ("thumbs", 1),
    "踩": ("thumbs", -1),
    "点击": ("clicks", 1),
    "跳过": ("clicks", -1),
}


def read_feedback(path: Path) -> Feedback:
    """Return the feedback in a CSV of one row an event, by kind.

    An item with as many positive as negative events is left out. The header names 'query_id', 'snippet_id'
    (or 'document', 'docno') and 'feedback'. Raise InputError with file, line, field and value for any other
    feedback, and for a file without any.
    """
    text = read_csv_text(path)
    separator = detect_separator(text)
    if not separator:
        raise InputError(
            "{file}: user feedback is a CSV whose header names 'query_id', 'snippet_id' (or 'document',"
            " 'docno') and 'feedback'",
            file=path,
        )
    sums: dict[tuple[FeedbackKind, str, str], tuple[int, str]] = {}
    for location, query_id, item, value in read_label_rows(path, text, separator, "feedback"):
        word = unicodedata.normalize("NFKC", value).strip().casefold()
        if not word:
            continue
        if word not in _SIGNALS:
            raise InputError(
                "{place}: field 'feedback' is {value!r:.80}; write one of {names}",
                place=location,
                value=value,
                names=", ".join(_SIGNALS),
            )
        kind, sign = _SIGNALS[word]
        key = kind, unicodedata.normalize("NFC", query_id), item
        total, place = sums.get(key, (0, location))
        sums[key] = total + sign, place
    if not sums:
        raise InputError("{file}: holds no feedback; fill in the column 'feedback'", file=path)
    labels: dict[FeedbackKind, list[Label]] = {}
    for (kind, query_id, item), (total, place) in sums.items():
        labels.setdefault(kind, []).extend([Label(query_id, item, int(total > 0), place)] if total else ())
    return {kind: tuple(of_kind) for kind, of_kind in labels.items() if of_kind}
