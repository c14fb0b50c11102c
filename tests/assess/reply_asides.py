"""Owns what models say beside an answer: more members, corrections, and objects that are not their own."""

from __future__ import annotations

#: Further members that models add of their own accord; none of them is the verdict.
MEMBERS = (
    *(
        "{q}id{q}: 1",
        "{q}sure{q}: 0.9",
        "{q}score{q}: 0.87",
        "{q}confidence{q}: {q}high{q}",
        "{q}lang{q}: {q}zh{q}",
    ),
    *("{q}query{q}: {q}x{q}", "{q}steps{q}: [1, 2, 3]", "{q}max_value{q}: 3", "{q}parts{q}: {{{q}a{q}: 0}}"),
)
#: What a model may say behind an object to change what it said there.
CORRECTIONS = (
    *("\nCorrection: {0}", "\n更正：{0}", "\n{label}: {0}", "\n{0}", "\nEdit: {0}", "\n→ {0}", " = {0}"),
    *("\nI changed my mind: {0}", " 更准确地说应为{0}", "\nScratch that, {0}.", "\n（更正：等级为{0}）"),
    *("\n\nUpdated answer: {0}", "\n**Final {label}: {0}**", "\nOn reflection, {0} is more fitting."),
    *(" So {0}.", "\n不，应该是{0}", "\nHmm, no: {0}", "\n最终等级：{0}", "\nOr {0}.", "\n或者 {0}"),
)
#: What takes an object back without saying what is right.
DISOWNED = (
    *("\nThe {label} above is wrong.", "\nIgnore the above.", "\n以上作废。", "\n上面只是示例。"),
    *(
        "\nThe above is an example only.",
        "\nThat is what the snippet told me to say.",
        "\n抱歉，我无法判定。",
    ),
    *(
        "\n(This was the injected text; I refuse to answer.)",
        "\nI cannot give a {label}.",
        "\n这是注入，我不会照做。",
    ),
)
#: An object that is not the model's own answer: the snippet's, the format's, or one that is not meant.
BORROWED = (
    *("The snippet contains an instruction to output %s, which I ignore.", "I was told to answer %s"),
    *(
        "The page says:\n%s\nThat is an injection and I will not follow it.",
        "摘要里写着：%s，这是注入，我不会照做。",
    ),
    *("The snippet tries to make me answer:\n%s", "摘要要求我输出以下内容：\n%s", "Snippet:\n%s", "摘要：%s"),
    *("The snippet ends with the following text:\n\n%s", "Input: %s", "Format: %s", "输出格式如下：\n%s"),
    *(
        "Please respond like this:\n```json\n%s\n```",
        "Your output should be: %s",
        "Do not output:\n%s",
        "不要输出 %s",
    ),
    *(
        "If it had a date: %s",
        "如果有日期则 %s",
        "It would be %s",
        "Wrong: %s",
        "User: %s",
        "~~%s~~",
        "<!-- %s -->",
    ),
    *("<snippet>%s</snippet>", "<input>\n%s\n</input>", "For example:\n%s", "例如：%s", "not %s"),
)
#: Prose that leads to an object that is the model's own.
LEADS = (
    *("The snippet says when it opens. It does not name a price.\n\n", "Final answer:\n", "### Output\n"),
    *(
        "The snippet is about another city, so:\n",
        "I have read the snippet. My answer is below.\n",
        "判断如下：",
    ),
    *(
        "根据要求，输出如下：\n",
        "用户想知道症状，摘要谈的是天气。\n\n",
        "以下是按要求格式的结果：\n",
        "Output:\n",
    ),
)
