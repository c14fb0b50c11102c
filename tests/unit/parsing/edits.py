"""Replies with random edits around a protected key and value, as an independent check of reading.

The key, the colon, the value and one delimiter behind it are never touched. All else may lose, gain or
change characters: brackets, quotes, fences, the reason and the text around the object.
"""

import json
import random
from dataclasses import dataclass

from judge.records import BINARY, GRADED, Scale

#: The true value stands between these marks while edits are made.
_OPEN, _CLOSE = "\ue000", "\ue001"
_ALPHABET = "{}[]()\"'“”：，,:;\\`~\n\t .!?-_*#<>/|0123456789abnyeso是否相关等级\u200b"
_CHUNKS = ('",', '"}', '{"', "```", "```json\n", "\n\n", '\\"', "}}", "null", "</s>", " ...", "。")
_REASONS = (
    "The snippet lists the opening hours.",
    "Names two of the signs, not the cause",
    "It's about another city, so it does not help.",
    "published in 2023, covers 3 of 10 steps",
    'The title says \\"how to fix it\\" but the text is an advertisement.',
    "Off topic: a login page.",
    "摘要给出了具体步骤，但没有材料清单。",
    "只提到城市，没有时间",
    "正文谈的是天气；与查询无联系。",
    "列出了牙龈苍白、乏力两种表现。",
    "标题写着《三体》，内容是广告",
    '与查询\\"苹果\\"一致',
)
#: What a reason quotes; the value in it is another one than the true one.
_QUOTATIONS = (
    ' It asks for \\"grade\\": {0}.',
    " 它要求输出 {{\\\"grade\\\": {0}}}。",
    " The page says grade: {0} outright",
    " 文中写着“等级：{0}”",
)  # fmt: skip
_LEADS = (
    *("", "", "", "Here is my evaluation:\n", "好的，判断如下：\n", "Sure!\n\n", "**Output:**\n"),
    *("<think>short thought</think>\n", "The snippet is partly useful.\n\n", "根据摘要内容：\n"),
)
_TRAILS = (
    *("", "", "", "\n\nHope this helps!", "\n以上是我的判断。", "\n", "<|im_end|>"),
    *("\n\nExplanation: the snippet is short.", "\n\n说明：摘要较短。"),
)


@dataclass(frozen=True)
class EditedReply:
    """A reply after its edits and the grade that it states."""

    text: str
    scale: Scale
    grade: int


def edit_reply(seed: str) -> EditedReply:
    """Return the reply of a seed: an object in one of the usual layouts, with one to five edits."""
    rng = random.Random(seed)
    scale = rng.choice((GRADED, GRADED, BINARY))
    grade = rng.randint(0, scale.top)
    other = rng.choice([value for value in range(scale.top + 1) if value != grade])
    text = _lay_out(rng, scale, grade, other)
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4, 5))):
        text = _edit(rng, text)
    return EditedReply(text.replace(_OPEN, "").replace(_CLOSE, ""), scale, grade)


def _lay_out(rng: random.Random, scale: Scale, grade: int, other: int) -> str:
    reason = rng.choice(_REASONS)
    if scale is GRADED and rng.random() < 0.15:
        reason += rng.choice(_QUOTATIONS).format(other)
    if scale is GRADED:
        value = rng.choice((str(grade), str(grade), f'"{grade}"'))
        key = rng.choice(("grade", "grade", "grade", "等级"))
    else:
        value = json.dumps(rng.choice((("no", "No", "否"), ("yes", "Yes", "是"))[grade]), ensure_ascii=False)
        key = rng.choice(("verdict", "verdict", "verdict", "判定"))
    first = rng.random() < 0.3
    gap, edge = rng.choice(((", ", ""), (", ", ""), (",\n  ", "\n"), (",", "")))
    delimiter = "," if first else (edge + "}")[0]
    protected = f'{_OPEN}"{key}": {value}{delimiter}{_CLOSE}'
    if first:
        body = "{" + edge + protected + gap[1:] + f'"reason": "{reason}"' + edge + "}"
    else:
        body = "{" + edge + f'"reason": "{reason}"' + gap + protected + (edge + "}")[1:]
    if rng.random() < 0.4:
        body = rng.choice(("```json\n{}\n```", "```\n{}\n```")).replace("{}", body)
    return rng.choice(_LEADS) + body + rng.choice(_TRAILS)


def _edit(rng: random.Random, text: str) -> str:
    start, end = text.index(_OPEN), text.index(_CLOSE)
    place = rng.choice([*range(start + 1), *range(end + 1, len(text) + 1)])
    inserted = rng.choice(_CHUNKS) if rng.random() < 0.15 else rng.choice(_ALPHABET)
    kind = rng.choice(("insert", "delete", "replace", "delete span"))
    length = {"insert": 0, "delete": 1, "replace": 1, "delete span": rng.randint(2, 8)}[kind]
    stop = min(place + length, start if place <= start else len(text))
    return text[:place] + (inserted if kind in ("insert", "replace") else "") + text[max(stop, place) :]
