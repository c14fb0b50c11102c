"""A reply while it is built: its true value, and the pieces that shapes combine."""

import json
import random
from dataclasses import dataclass

from judge.records import BINARY, GRADED, Scale
from tests.unit.parsing import reply_asides as asides
from tests.unit.parsing import reply_words as words

#: Marks around the true value while damage is done; removed before a case is handed out.
OPEN, CLOSE = "\ue000", "\ue001"


@dataclass(frozen=True)
class Case:
    """A reply, what it truly says (None: nothing that may be read) and whether it should be readable."""

    text: str
    scale: Scale
    finish_reason: str
    truth: int | None
    recoverable: bool


class Reply:
    """A reply in the making: shapes write its `text`, damages change it and what it truly says."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        self.scale = self.rng.choice((BINARY, GRADED))
        self.key, *synonyms = (
            ("verdict", "判定", "结论") if self.scale is BINARY else ("grade", "等级", "评分")
        )
        if self.rng.random() < 0.08:
            self.key = self.rng.choice((self.key.title(), self.key.upper(), *synonyms))
        self.truth: int | None = self.rng.randint(0, self.scale.top)
        self.other = self.rng.choice([grade for grade in range(self.scale.top + 1) if grade != self.truth])
        self.value = self.spell_grade(self.truth)
        if self.rng.random() < 0.06:
            self.truth, self.value = None, self.rng.choice(words.OFF_SCALE[self.scale.name])
        self.reason = "".join(self.rng.choices(words.PLAIN, k=self.rng.randint(1, 3)))
        if self.rng.random() < 0.4:
            middle = self.rng.randint(0, len(self.reason))
            self.reason = self.reason[:middle] + self.rng.choice(words.TRAPS) + self.reason[middle:]
        self.finish_reason = "stop"
        self.recoverable = True
        #: Says two things or nothing; what tells so could be lost in further damage.
        self.spoiled = False
        self.thought = self.exotic = False
        self.text = ""

    def spell_grade(self, grade: int) -> str:
        name = "graded" if self.scale is GRADED else ("no", "yes")[grade]
        return self.rng.choice(words.SPELLINGS[name]).format(grade, wide=chr(0xFF10 + grade))

    def spoil(self) -> None:
        self.truth, self.recoverable, self.spoiled = None, False, True

    def write_object(self, value: str, reason: str, q: str = '"') -> str:
        """An object in one of the usual layouts; `reason` is escaped as the quote `q` asks for."""
        members = [f"{q}reason{q}: {q}{reason}{q}", f"{q}{self.key}{q}: {value}"]
        if self.rng.random() < 0.3:
            members.reverse()
        if self.rng.random() < 0.1:
            members.insert(self.rng.randint(0, 2), self.rng.choice(asides.MEMBERS).format(q=q))
        between, around = self.rng.choice(((", ", ""), (", ", ""), (",\n  ", "\n"), (",", "")))
        return "{" + around + between.join(members) + around + "}"

    def mark_value(self) -> str:
        return f"{OPEN}{self.value}{CLOSE}"

    def escape_reason(self) -> str:
        return json.dumps(self.reason, ensure_ascii=self.rng.random() < 0.1)[1:-1]
