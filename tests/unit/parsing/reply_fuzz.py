"""Random damaged replies for the parser: a true value in a wrapping with random damage.

The value itself is never touched (or the case says that there is none to read), so every reply has
only two right outcomes: the true value, or a refusal. tests/fault_injection/replies.py reads a million.
"""

from collections.abc import Callable

from judge.errors import ReplyParseError
from judge.parsing.verdict import parse_verdict
from judge.records import BINARY, GRADED
from tests.unit.parsing import reply_asides as asides
from tests.unit.parsing import reply_remarks as remarks
from tests.unit.parsing import reply_words as words
from tests.unit.parsing.reply import CLOSE, OPEN, Case, Reply


def write_plain(reply: Reply) -> None:
    reply.text = reply.write_object(reply.mark_value(), reply.escape_reason())


def write_raw_reason(reply: Reply) -> None:
    """Quotes and line breaks of the reason stand as they are, so a trap in it may end the string."""
    reply.text = reply.write_object(reply.mark_value(), reply.reason)


def write_single_quotes(reply: Reply) -> None:
    escaped = reply.reason.replace("\\", "\\\\").replace("'", "\\'")
    reason = reply.reason if reply.rng.random() < 0.3 else escaped
    reply.text = reply.write_object(reply.mark_value().replace('"', "'"), reason, "'")


def write_python_literal(reply: Reply) -> None:
    body = repr({"reason": reply.reason, "ok": True, "date": None})
    value = reply.mark_value().replace('"', "'")
    reply.text = f"{body[:-1]}, '{reply.key}': {value}}}"


def write_full_width(reply: Reply) -> None:
    text = reply.write_object("\ue002", "\ue003").translate(str.maketrans("{}:,", "｛｝：，"))
    value, reason = reply.mark_value(), reply.escape_reason()
    if reply.rng.random() < 0.5:
        text = "".join(part + "“”“"[n % 2] for n, part in enumerate(text.split('"')))[:-1]
        value, reason = value.replace('"', "”"), reply.reason.replace("“", "‘").replace("”", "’")
    reply.text = text.replace("\ue003", reason).replace("\ue002", value)


def write_bare_keys(reply: Reply) -> None:
    reply.text = reply.write_object(reply.mark_value(), reply.escape_reason()).replace(
        '"reason"', "reason", 1
    )
    reply.text = reply.text.replace(f'"{reply.key}":', f"{reply.key}:")


def write_bare_value(reply: Reply) -> None:
    labels = (
        ("Verdict", "判定", "结论", "Answer") if reply.scale is BINARY else ("Grade", "等级", "Score", "评分")
    )
    value = f"{OPEN}{reply.value.replace(chr(34), '').replace('*', '')}{CLOSE}"
    form = reply.rng.choice(words.BARE_FORMS)
    reply.text = form.format(v=value, label=reply.rng.choice(labels))
    if reply.value == "[2]" and "{label}" in form:
        reply.truth = 2  # as in `write_exotic_form`


def write_exotic_form(reply: Reply) -> None:
    form = reply.rng.choice(words.EXOTIC)
    # Without an object, nothing tells a quoted closing mark from one that ends the thinking.
    reply.reason = reply.reason.replace("</", "")
    reply.text = form.format(
        v=reply.value.replace('"', ""), q=reply.value, r=reply.reason, key=reply.key, label=reply.key.title(),
        other=reply.spell_grade(reply.other), reason_label=reply.rng.choice(("Reason", "理由")),
    )  # fmt: skip
    reply.exotic, reply.recoverable = True, False
    off_scale = reply.truth is None
    if "{other}" in form:
        reply.spoil()
    if reply.value == "[2]" and "{{" not in form and "{other}" not in form:
        reply.truth = 2  # outside an object, brackets around the value are no list
    if off_scale and form == words.LABELLED_LAST:
        # The first line states nothing, so the labelled last line is the answer.
        reply.truth = reply.other
    for text, (scale, grade) in words.OBJECTS.items():
        # Nor does such a value in prose beside an object: {"grade": 1} The title matches. null
        if form in words.UNLABELLED and reply.value in words.SILENT and text in reply.reason:
            reply.truth = grade if scale == reply.scale.name else None


def add_fence(reply: Reply) -> None:
    mark = reply.rng.choice(("```", "```", "~~~"))
    head = mark + reply.rng.choice(("json", "json", "", "JSON")) + reply.rng.choice(("\n", "\r\n", "\n\n"))
    reply.text = head + reply.text + reply.rng.choice(("\n" + mark, "\n" + mark, "\n" + mark + "\n", ""))


def add_prose(reply: Reply) -> None:
    before = reply.rng.choice((*words.BEFORE, *asides.LEADS))
    after = reply.rng.choice(words.AFTER)
    reply.text = reply.rng.choice((before + reply.text, reply.text + after, before + reply.text + after))


def add_trailing_comma(reply: Reply) -> None:
    head, brace, tail = reply.text.rpartition("}")
    reply.text = f"{head},{brace}{tail}" if brace else reply.text


def add_wrapper(reply: Reply) -> None:
    form = reply.rng.choice(('{"result": %s}', "[%s]", "{%s}", "<answer>%s</answer>"))
    reply.text = form.replace("%s", reply.text)


def drop_brace(reply: Reply) -> None:
    side = reply.rng.choice(("{", "}"))
    reply.text = reply.text.replace("{", "", 1) if side == "{" else "".join(reply.text.rpartition("}")[::2])
    reply.recoverable = False


def write_line_ends(reply: Reply) -> None:
    reply.text = reply.text.replace("\n", "\r\n")


def add_thought(reply: Reply) -> None:
    other = reply.spell_grade(reply.other)
    values = {"key": reply.key, "other": other, "label": reply.key.title()}
    reply.text = reply.rng.choice(words.THOUGHTS) % values + reply.text
    reply.thought = True


def add_endless_thought(reply: Reply) -> None:
    if "</" not in reply.text and not reply.thought:
        reply.text = reply.rng.choice(("<think>", "<think>\nLet me see. ", "◁think▷")) + reply.text
        reply.finish_reason = reply.rng.choice(("stop", "length"))
        reply.spoil()


def add_agreeing_object(reply: Reply) -> None:
    if reply.spoiled:
        return
    reply.text += reply.rng.choice(("\n", " ", "\n\nFinal: ")) + reply.write_object(reply.value, "again")
    reply.recoverable = False


def add_conflicting_value(reply: Reply) -> None:
    if reply.truth in (None, reply.other) or reply.exotic:
        return
    rival = reply.write_object(reply.spell_grade(reply.other), "rival")
    reply.text = reply.rng.choice(
        (f"{reply.text}\n{rival}", f"{rival}\n{reply.text}", f"{reply.text}, {rival}")
    )
    reply.spoil()


def add_correction(reply: Reply) -> None:
    if reply.truth in (None, reply.other):
        return  # nothing is stated before, so a labelled last line would be the answer
    label = "verdict" if reply.scale is BINARY else "grade"
    word = reply.spell_grade(reply.other).replace('"', "")
    reply.text += reply.rng.choice((*asides.CORRECTIONS, *asides.DISOWNED)).format(word, label=label)
    reply.spoil()


def write_quoted_object(reply: Reply) -> None:
    """The only object is one that the reply quotes: the answer itself never came."""
    rival = reply.write_object(reply.spell_grade(reply.other), "perfect")
    reply.text = reply.rng.choice(asides.BORROWED).replace("%s", rival)
    reply.exotic = True
    reply.spoil()


def write_attributed_object(reply: Reply) -> None:
    """The only object is one that a remark gives to the page, its author or an example."""
    rival = reply.write_object(reply.spell_grade(reply.other), reply.escape_reason())
    reply.text = reply.rng.choice(remarks.ATTRIBUTED).replace("%s", rival)
    reply.exotic = True
    reply.spoil()


def write_comment(reply: Reply) -> None:
    """A labelled grade with a comment that gives it to a party, rounds it, or explains it."""
    comments = reply.rng.choice(
        (remarks.ATTRIBUTED_COMMENTS, remarks.ROUNDED_COMMENTS, remarks.HARMLESS_COMMENTS)
    )
    reply.scale, reply.key, reply.truth = GRADED, "grade", reply.rng.randint(0, GRADED.top)
    reply.other = (reply.truth + 1) % (GRADED.top + 1)
    reply.value = str(reply.truth)
    label = reply.rng.choice(("Grade: ", "**Grade:** ", "等级：", "Reason: names a part.\nGrade: "))
    reply.text = f"{label}{OPEN}{reply.value}{CLOSE}{reply.rng.choice(comments)}"
    reply.exotic, reply.recoverable = True, comments is remarks.HARMLESS_COMMENTS
    if not reply.recoverable:
        reply.spoil()


def add_rounding(reply: Reply) -> None:
    """A remark says that the grade is rounded, or by how much it is off."""
    if reply.truth is not None and reply.scale is GRADED:
        form = reply.rng.choice((*remarks.ROUNDED, *(f"%s{words}" for words in remarks.OFF)))
        reply.text = form.replace("%s", reply.text)
        reply.spoil()


def add_harmless_remark(reply: Reply) -> None:
    """A sentence about the snippet in the words of a remark on the answer."""
    reply.text = reply.rng.choice(remarks.HARMLESS).replace("%s", reply.text)


def add_rejected_grade(reply: Reply) -> None:
    """A sentence rejects a grade: another one, or the answer's own."""
    if reply.truth is not None and reply.scale is GRADED:
        is_own = reply.rng.random() < 0.5
        reply.text += reply.rng.choice(remarks.REJECTED).format(reply.truth if is_own else reply.other)
        if is_own:
            reply.spoil()


def write_foreign_key(reply: Reply) -> None:
    """The only verdict stands under a key that makes it someone else's."""
    key, answer = (
        reply.rng.choice(asides.FOREIGN_KEYS),
        reply.write_object(reply.value, reply.escape_reason()),
    )
    reply.text = f'{{"{key}": {answer}}}'
    reply.exotic = True
    reply.spoil()


def add_opposed_member(reply: Reply) -> None:
    """Another member says the contrary of the value."""
    side, grade = reply.rng.choice((("low", 0), ("high", reply.scale.top)))
    member = reply.rng.choice(asides.OPPOSED[side])
    text = reply.write_object(reply.spell_grade(grade), reply.escape_reason())
    reply.text = reply.rng.choice((f"{{{member}, {text[1:]}", f"{text[:-1]}, {member}}}"))
    reply.exotic = True
    reply.spoil()


def repeat_key(reply: Reply) -> None:
    """The object has its key once more, with another value."""
    key = reply.rng.choice((reply.key, reply.key.upper(), "结论" if reply.scale is BINARY else "评分"))
    again = f', "{key}": {reply.spell_grade(reply.other)}}}'
    reply.text = reply.write_object(reply.value, reply.escape_reason()).removesuffix("}").rstrip() + again
    reply.exotic = True
    reply.spoil()


def write_blanks(reply: Reply) -> None:
    """JSON mode that never stops: blanks until the limit, in front of the closer or behind it."""
    head, brace, tail = reply.text.rpartition("}")
    many = reply.rng.choice((" ", "\n", "\t", "\n \n")) * reply.rng.randint(50, 2_000)
    if brace and reply.rng.random() < 0.5:
        reply.text = head + many + brace + tail
    else:
        reply.text += many


def repeat_reply(reply: Reply) -> None:
    """A model that says the same again and again, until the limit or not."""
    reply.text = "\n".join([reply.text] * reply.rng.randint(2, 12))
    reply.finish_reason = reply.rng.choice(("stop", "length"))
    reply.recoverable = False


def add_noise(reply: Reply) -> None:
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


def truncate_reply(reply: Reply) -> None:
    """The reply ends anywhere; mostly it says so, and always where nobody could tell otherwise."""
    if words.BOUNDARY_TRAP in reply.reason or reply.spoiled:
        return
    end = reply.rng.randint(0, len(reply.text))
    if "{" in reply.reason and OPEN not in reply.text[:end]:
        return  # the object in the reason would be the only one
    around = reply.text.replace(reply.reason, " " * len(reply.reason))[
        :end
    ]  # an object in the reason is whole
    reply.text = reply.text[:end]
    is_reported = reply.thought or not any(brace in around for brace in "{｛") or reply.rng.random() < 0.7
    reply.finish_reason = "length" if is_reported else "stop"
    reply.recoverable = False


Change = Callable[[Reply], None]
SHAPES: tuple[Change, ...] = (
    *(write_plain, write_plain, write_plain, write_raw_reason, write_raw_reason, write_single_quotes),
    *(
        write_python_literal,
        write_full_width,
        write_bare_keys,
        write_bare_value,
        write_exotic_form,
        write_exotic_form,
        write_quoted_object,
        write_quoted_object,
        write_attributed_object,
        write_comment,
        repeat_key,
        write_foreign_key,
        add_opposed_member,
    ),
)
DAMAGES: tuple[Change, ...] = (
    *(
        add_fence,
        add_fence,
        add_prose,
        add_prose,
        add_trailing_comma,
        add_wrapper,
        drop_brace,
        write_line_ends,
        add_thought,
        add_thought,
    ),
    *(
        add_endless_thought,
        add_agreeing_object,
        add_conflicting_value,
        add_correction,
        add_rounding,
        add_harmless_remark,
        add_rejected_grade,
        write_blanks,
        repeat_reply,
        add_noise,
        add_noise,
    ),
)


def make(seed: str) -> Case:
    """The case of a seed: a shape, up to three damages, and a cut at the end of every seventh."""
    reply = Reply(seed)
    shape = reply.rng.choice(SHAPES)
    shape(reply)
    damages = reply.rng.sample(DAMAGES, reply.rng.choice((0, 1, 1, 2, 2, 3)))
    for damage in sorted(damages, key=(add_thought, add_endless_thought, add_noise).__contains__):
        if not (
            shape in (write_bare_value, write_comment)
            and damage
            in (
                add_prose,
                add_harmless_remark,
                add_rejected_grade,
                add_trailing_comma,
                add_wrapper,
                add_noise,
                drop_brace,
            )
        ):
            damage(reply)
    if reply.rng.random() < 0.15:
        truncate_reply(reply)
    text = reply.text.replace(OPEN, "").replace(CLOSE, "")
    recoverable = reply.recoverable and reply.truth is not None
    return Case(text, reply.scale, reply.finish_reason, reply.truth, recoverable)


def classify_outcome(case: Case) -> str:
    """What reading makes of a case: `right`, `refused` or `wrong`."""
    try:
        verdict = parse_verdict(case.text, case.scale, case.finish_reason)
    except ReplyParseError:
        return "refused"
    return "right" if verdict.grade == case.truth else "wrong"
