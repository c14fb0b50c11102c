"""Owns the damaged replies that reading is tried on: a true value, wrapped and hurt in random ways.

The value itself is never touched (or the case says that there is none to read), so every reply has
only two right outcomes: the true value, or a refusal. Run it for more cases than the suite has:

    python -m tests.assess.reply_fuzz --cases 100000 --seed 7
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from judge.assess.verdict import read
from judge.errors import Unreadable
from judge.records import BINARY, GRADED, Scale
from tests.assess import reply_words as words

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
        self.value = self.spelled(self.truth)
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

    def spelled(self, grade: int) -> str:
        name = "graded" if self.scale is GRADED else ("no", "yes")[grade]
        return self.rng.choice(words.SPELLINGS[name]).format(grade, wide=chr(0xFF10 + grade))

    def spoil(self) -> None:
        self.truth, self.recoverable, self.spoiled = None, False, True

    def object(self, value: str, reason: str, q: str = '"') -> str:
        """An object in one of the usual layouts; `reason` is escaped as the quote `q` asks for."""
        members = [f"{q}reason{q}: {q}{reason}{q}", f"{q}{self.key}{q}: {value}"]
        if self.rng.random() < 0.3:
            members.reverse()
        if self.rng.random() < 0.1:
            members.insert(self.rng.randint(0, 2), self.rng.choice((f"{q}id{q}: 1", f"{q}sure{q}: 0.9")))
        between, around = self.rng.choice(((", ", ""), (", ", ""), (",\n  ", "\n"), (",", "")))
        return "{" + around + between.join(members) + around + "}"

    def marked(self) -> str:
        return f"{OPEN}{self.value}{CLOSE}"

    def escaped(self) -> str:
        return json.dumps(self.reason, ensure_ascii=self.rng.random() < 0.1)[1:-1]


def plain(reply: Reply) -> None:
    reply.text = reply.object(reply.marked(), reply.escaped())


def raw_reason(reply: Reply) -> None:
    """Quotes and line breaks of the reason stand as they are, so a trap in it may end the string."""
    reply.text = reply.object(reply.marked(), reply.reason)


def single_quotes(reply: Reply) -> None:
    escaped = reply.reason.replace("\\", "\\\\").replace("'", "\\'")
    reason = reply.reason if reply.rng.random() < 0.3 else escaped
    reply.text = reply.object(reply.marked().replace('"', "'"), reason, "'")


def python_literal(reply: Reply) -> None:
    body = repr({"reason": reply.reason, "ok": True, "date": None})
    value = reply.marked().replace('"', "'")
    reply.text = f"{body[:-1]}, '{reply.key}': {value}}}"


def full_width(reply: Reply) -> None:
    text = reply.object("\ue002", "\ue003").translate(str.maketrans("{}:,", "｛｝：，"))
    value, reason = reply.marked(), reply.escaped()
    if reply.rng.random() < 0.5:
        text = "".join(part + "“”“"[n % 2] for n, part in enumerate(text.split('"')))[:-1]
        value, reason = value.replace('"', "”"), reply.reason.replace("“", "‘").replace("”", "’")
    reply.text = text.replace("\ue003", reason).replace("\ue002", value)


def bare_keys(reply: Reply) -> None:
    reply.text = reply.object(reply.marked(), reply.escaped()).replace('"reason"', "reason", 1)
    reply.text = reply.text.replace(f'"{reply.key}":', f"{reply.key}:")


def bare(reply: Reply) -> None:
    labels = (
        ("Verdict", "判定", "结论", "Answer") if reply.scale is BINARY else ("Grade", "等级", "Score", "评分")
    )
    value = f"{OPEN}{reply.value.replace(chr(34), '').replace('*', '')}{CLOSE}"
    reply.text = reply.rng.choice(words.BARE_FORMS).format(v=value, label=reply.rng.choice(labels))


def exotic(reply: Reply) -> None:
    form = reply.rng.choice(words.EXOTIC)
    # Without an object, nothing tells a quoted closing mark from one that ends the thinking.
    reply.reason = reply.reason.replace("</", "")
    reply.text = form.format(
        v=reply.value.replace('"', ""), q=reply.value, r=reply.reason, key=reply.key, label=reply.key.title(),
        other=reply.spelled(reply.other), reason_label=reply.rng.choice(("Reason", "理由")),
    )  # fmt: skip
    reply.exotic, reply.recoverable = True, False
    if "{other}" in form:
        reply.spoil()


def fence(reply: Reply) -> None:
    mark = reply.rng.choice(("```", "```", "~~~"))
    head = mark + reply.rng.choice(("json", "json", "", "JSON")) + reply.rng.choice(("\n", "\r\n", "\n\n"))
    reply.text = head + reply.text + reply.rng.choice(("\n" + mark, "\n" + mark, "\n" + mark + "\n", ""))


def prose(reply: Reply) -> None:
    before, after = reply.rng.choice(words.BEFORE), reply.rng.choice(words.AFTER)
    reply.text = reply.rng.choice((before + reply.text, reply.text + after, before + reply.text + after))


def trailing_comma(reply: Reply) -> None:
    head, brace, tail = reply.text.rpartition("}")
    reply.text = f"{head},{brace}{tail}" if brace else reply.text


def wrapper(reply: Reply) -> None:
    form = reply.rng.choice(('{"result": %s}', "[%s]", "{%s}", "<answer>%s</answer>"))
    reply.text = form.replace("%s", reply.text)


def missing_brace(reply: Reply) -> None:
    side = reply.rng.choice(("{", "}"))
    reply.text = reply.text.replace("{", "", 1) if side == "{" else "".join(reply.text.rpartition("}")[::2])
    reply.recoverable = False


def line_ends(reply: Reply) -> None:
    reply.text = reply.text.replace("\n", "\r\n")


def thought(reply: Reply) -> None:
    other = reply.spelled(reply.other)
    values = {"key": reply.key, "other": other, "label": reply.key.title()}
    reply.text = reply.rng.choice(words.THOUGHTS) % values + reply.text
    reply.thought = True


def endless_thought(reply: Reply) -> None:
    if "</" not in reply.text and not reply.thought:
        reply.text = reply.rng.choice(("<think>", "<think>\nLet me see. ", "◁think▷")) + reply.text
        reply.finish_reason = reply.rng.choice(("stop", "length"))
        reply.spoil()


def agreeing(reply: Reply) -> None:
    reply.text += reply.rng.choice(("\n", " ", "\n\nFinal: ")) + reply.object(reply.value, "again")
    reply.recoverable = False


def conflicting(reply: Reply) -> None:
    if reply.truth is None or reply.exotic:
        return
    rival = reply.object(reply.spelled(reply.other), "rival")
    reply.text = reply.rng.choice(
        (f"{reply.text}\n{rival}", f"{rival}\n{reply.text}", f"{reply.text}, {rival}")
    )
    reply.spoil()


def correction(reply: Reply) -> None:
    label = "verdict" if reply.scale is BINARY else "grade"
    word = reply.spelled(reply.other).replace('"', "")
    reply.text += reply.rng.choice(
        (f"\nCorrection: {word}", f"\n更正：{word}", f"\n{label}: {word}", f"\n{word}")
    )
    reply.spoil()


def noise(reply: Reply) -> None:
    """Single characters lost, doubled or added, at least three away from the value."""
    for _ in range(reply.rng.randint(1, 3)):
        start, end = reply.text.find(OPEN) - 3, reply.text.find(CLOSE) + 4
        places = [*range(start), *range(end, len(reply.text))]
        if reply.spoiled or start < -3 or not places:
            return
        place = reply.rng.choice(places)
        new = reply.rng.choice(("", "", reply.text[place] * 2, reply.rng.choice("\"'{}[]:,\\ \n03yn是：“”")))
        reply.text = reply.text[:place] + new + reply.text[place + 1 :]
    reply.recoverable = False


def truncated(reply: Reply) -> None:
    """The reply ends anywhere; mostly it says so, and always where nobody could tell otherwise."""
    if words.BOUNDARY_TRAP in reply.reason or reply.spoiled:
        return
    reply.text = reply.text[: reply.rng.randint(0, len(reply.text))]
    told = reply.thought or not any(brace in reply.text for brace in "{｛") or reply.rng.random() < 0.7
    reply.finish_reason = "length" if told else "stop"
    reply.recoverable = False


Change = Callable[[Reply], None]
SHAPES: tuple[Change, ...] = (
    *(plain, plain, plain, raw_reason, raw_reason, single_quotes),
    *(python_literal, full_width, bare_keys, bare, exotic),
)
DAMAGES: tuple[Change, ...] = (
    *(fence, fence, prose, prose, trailing_comma, wrapper, missing_brace, line_ends, thought, thought),
    *(endless_thought, agreeing, conflicting, correction, noise, noise),
)


def make(seed: str) -> Case:
    """The case of a seed: a shape, up to three damages, and a cut at the end of every seventh."""
    reply = Reply(seed)
    shape = reply.rng.choice(SHAPES)
    shape(reply)
    damages = reply.rng.sample(DAMAGES, reply.rng.choice((0, 1, 1, 2, 2, 3)))
    for damage in sorted(damages, key=(thought, endless_thought, noise).__contains__):
        if not (shape is bare and damage in (prose, trailing_comma, wrapper, noise, missing_brace)):
            damage(reply)
    if reply.rng.random() < 0.15:
        truncated(reply)
    text = reply.text.replace(OPEN, "").replace(CLOSE, "")
    recoverable = reply.recoverable and reply.truth is not None
    return Case(text, reply.scale, reply.finish_reason, reply.truth, recoverable)


def outcome(case: Case) -> str:
    """What reading makes of a case: `right`, `refused` or `wrong`."""
    try:
        verdict = read(case.text, case.scale, case.finish_reason)
    except Unreadable:
        return "refused"
    return "right" if verdict.grade == case.truth else "wrong"


def main() -> None:
    """Reads random replies and prints how many were right, refused and wrong, and the slowest."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    slowest = 0.0
    for number in range(options.cases):
        case = make(f"{options.seed}:{number}")
        started = time.perf_counter()
        result = outcome(case)
        slowest = max(slowest, time.perf_counter() - started)
        counts[result] += 1
        counts[f"recoverable {result}"] += case.recoverable
        counts["with a truth"] += case.truth is not None
        if result == "wrong":
            print(f"WRONG {options.seed}:{number} {case}")
    sound = counts["recoverable right"] + counts["recoverable refused"] + counts["recoverable wrong"]
    print(f"{options.cases} replies, seed {options.seed}: {counts['wrong']} wrong, {counts['right']} right")
    print(f"read: {counts['right'] / max(counts['with a truth'], 1):.1%} of those that say something,")
    print(f"      {counts['recoverable right'] / max(sound, 1):.1%} of the {sound} that are recoverable")
    print(f"slowest: {slowest * 1000:.1f} ms")


if __name__ == "__main__":
    main()
