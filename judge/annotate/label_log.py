"""The labels of one person: an append-only log on the disk.

`RUN/labels/<who>.jsonl` holds one line for each action:

    {"id", "query_id", "snippet_id", "grade": 0-3 | null (not sure), "comment"}     a decision
    {"undo": id}                                                                    takes a decision back
    {"sealed": true}     the model's grades were shown: decisions so far are final, because they were blind

The last decision on a pair that was not taken back counts. A line counts when it is whole and on the disk; a
part of a line after a kill was never acknowledged and is cut off. Every decision has its own id, so that a
client that got no answer can send it again.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from judge.errors import InputError, StoreError, explain_error
from judge.files.filesystem import (
    LineLog,
    check_regular,
    explain_unusable,
    hold_lock,
    make_folder,
    read_bytes,
)
from judge.files.json_text import dump_json
from judge.messages import Message
from judge.records import GRADED, JsonDict, PairKey, Pool
from judge.runs.folder import RunFolder
from judge.runs.labelling_plan import format_table, make_row

#: Labels are one person's, who may not want to show them to others yet.
_MODE = 0o600
_NAME = re.compile(r"[^\W_](?:[\w.-]{0,38}[\w-])?")


@dataclass(frozen=True, slots=True)
class LabelDecision:
    """One decision of a person on a pair; `grade` is None for "not sure"."""

    id: str
    query_id: str
    snippet_id: str
    grade: int | None
    comment: str = ""

    @property
    def key(self) -> PairKey:
        """The key of the pair."""
        return self.query_id, self.snippet_id


@contextmanager
def open_labels(run: Path, who: str) -> Iterator[LabelLog]:
    """Open the labels of `who` in folder `run` for this process alone.

    Raises InputError when `who` is not fit for a file name, another process has the labels open, or the file
    is damaged before its last line.
    """
    who = unicodedata.normalize("NFC", who)
    if not _NAME.fullmatch(who):
        raise InputError(
            "--who is {who!r:.80}; a name has up to 40 letters, digits, '-', '_' and '.', begins with a"
            " letter or digit and does not end with '.'",
            who=who,
        )
    folder, unusable = run / "labels", Message("labels can't be stored there")
    try:
        make_folder(folder)
        check_regular(folder / f"{who}.csv")
    except OSError as error:
        raise explain_unusable(error.filename, unusable, error) from error
    busy = Message(
        "{who} is already labelling in another process; continue there, stop it, or give another --who",
        who=who,
    )
    with hold_lock(folder / f".{who}.lock", folder, busy, unusable):
        yield LabelLog(folder, who)


class LabelLog:
    """The decisions of one person, as the file has them. Only the process with the lock makes one."""

    def __init__(self, folder: Path, who: str) -> None:
        self.who = who
        self.path = folder / f"{who}.jsonl"
        self.table = folder / f"{who}.csv"
        if self.table.exists() and not self.path.exists():
            raise InputError(
                "{file}: exists, and was not labelled here; move it or give another --who", file=self.table
            )
        #: Every decision ever, in order; those that still count; pairs that can't be changed any more.
        self._known: dict[str, LabelDecision] = {}
        self._standing: dict[str, LabelDecision] = {}
        self.sealed: frozenset[PairKey] = frozenset()
        try:
            self._file = LineLog(self.path, _MODE)
            entries = read_bytes(self.path).split(b"\n")[:-1] if self._file.size else []
        except OSError as error:
            raise InputError(
                "{file}: cannot be read: {error}", file=self.path, error=explain_error(error)
            ) from error
        for number, line in enumerate(entries, start=1):
            self._replay(line, f"{self.path}:{number}")

    @property
    def current(self) -> dict[PairKey, LabelDecision]:
        """The decision that counts for each pair that has one."""
        return {decision.key: decision for decision in self._standing.values()}

    @property
    def last(self) -> LabelDecision | None:
        """The latest decision that can be taken back."""
        open_ones = (label for label in reversed(self._standing.values()) if label.key not in self.sealed)
        return next(open_ones, None)

    def has(self, decision: LabelDecision) -> bool:
        """Return whether this decision was stored before, taken back or not."""
        return self._known.get(decision.id) == decision

    def add(self, decision: LabelDecision) -> None:
        """Store a decision; the same decision a second time changes nothing.

        Raises InputError when its pair is sealed or another decision has its id; StoreError when the disk
        refuses it, and then it is not stored at all.
        """
        earlier = self._known.get(decision.id)
        if earlier == decision:
            return
        if earlier is not None:
            raise InputError("id {id!r} belongs to another label", id=decision.id)
        self._refuse_sealed(decision)
        self._append(asdict(decision))
        self._known[decision.id] = self._standing[decision.id] = decision

    def undo(self, decision_id: str) -> LabelDecision:
        """Take a decision back and return it; a second time changes nothing.

        Raises InputError when there is no such decision or its pair is sealed; StoreError as `add`.
        """
        decision = self._known.get(decision_id)
        if decision is None:
            raise InputError("there is no label with the id {id!r:.80}", id=decision_id)
        if decision_id in self._standing:
            self._refuse_sealed(decision)
            self._append({"undo": decision_id})
            del self._standing[decision_id]
        return decision

    def seal(self) -> None:
        """Make all decisions so far final; raise StoreError as `add`."""
        if not self.current.keys() <= self.sealed:
            self._append({"sealed": True})
            self.sealed = frozenset(self.current)

    def write_table(self, pool: Pool) -> Path:
        """Write all labels with the texts of their pairs in `pool` as a CSV, and return its path.

        `judge agree --qrels` and `judge run --examples` read it. A label whose pair is no longer in the pool
        has no texts. Raises StoreError when the disk refuses it.
        """
        current = self.current
        pairs = {pair.key: pair for pair in pool.pairs if pair.key in current}
        rows = []
        for key, decision in current.items():
            label = "?" if decision.grade is None else str(decision.grade), decision.comment
            pair = pairs.get(key)
            ids_only = (decision.query_id, "", "", decision.snippet_id, "", "", "", *label)
            rows.append(make_row(pair.query, pair.snippet, *label) if pair else ids_only)
        return RunFolder(self.table.parent).write(self.table.name, format_table(rows), _MODE)

    def _refuse_sealed(self, decision: LabelDecision) -> None:
        if decision.key in self.sealed:
            raise InputError(
                "the grade of the model was shown after this label; a blind label cannot be changed"
            )

    def _replay(self, line: bytes, place: str) -> None:
        try:
            entry = msgspec.convert(json.loads(line), JsonDict)
            if "undo" in entry:
                self._standing.pop(entry["undo"], None)
            elif "sealed" in entry:
                self.sealed = frozenset(self.current)
            else:
                decision = msgspec.convert(entry, LabelDecision)
                if decision.grade is not None and not 0 <= decision.grade <= GRADED.top:
                    raise InputError(
                        "grade {grade} is not on the scale 0-{top}", grade=decision.grade, top=GRADED.top
                    )
                self._known[decision.id] = self._standing[decision.id] = decision
        except (ValueError, TypeError, RecursionError, InputError) as error:
            raise InputError(
                "{place}: is not a label: {error}; correct or remove the line",
                place=place,
                error=error if isinstance(error, InputError) else explain_error(error),
            ) from None

    def _append(self, entry: JsonDict) -> None:
        """Append a line; on failure the file is as it was."""
        try:
            self._file.append(dump_json(entry).encode() + b"\n")
        except OSError as error:
            raise StoreError(
                "{file}: not saved: {error}", file=self.path, error=explain_error(error)
            ) from error
