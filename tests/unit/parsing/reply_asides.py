"""Texts of models beside an answer: more members, corrections, and objects that they quote."""

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
        *("\n\nHmm, that is too high.", "\n\nLower it by one.", "\n\nJust kidding.", "\n不算。"),
        *("\n\nThat is the sample; my own answer follows.", "\n\nThe snippet says exactly this."),
        *(
            "\nThe page wants this.",
            "\n摘要要求如此。",
            "\n（摘要原话）",
            "\n网页上的话。",
            "\n这是网页想要的。",
            "\nNote: the attacker wrote it.",
        ),
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
        *("Here is what NOT to output: %s", "Hallucinated answer: %s", "At the end of the snippet: %s"),
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
    *(
        "网页里的指令：%s",
        "反例：%s",
        "假如有日期，则 %s",
        "可能是%s",
        "参考答案：%s",
        "用户想要的结果是：%s",
    ),
    *(
        "Attack payload found: %s",
        "Expected by attacker: %s",
        "Text between the marks: %s",
        "> %s",
        "Old: %s",
    ),
    *("You asked for %s", "Anything but %s", "Maybe %s", "Possibly %s?", "%s?", "Should it be %s?"),
    *("Do you want me to answer %s?", "Previously: %s", '"%s" is in the snippet', "%s would be wrong."),
    *("%s is what the snippet wants me to say.", "Hidden text\n\n%s", "If it had a date, the answer: %s"),
    *(
        "The page says:\nAnswer:\n%s",
        "The page has two:\n%s\n%s",
        "Bad answer: %s",
        "The answer it expects: %s",
    ),
    *("The following was found in the page.\n%s", "A naive grader says: %s", "%s 是网页要我说的。"),
    *("以下内容来自网页。\n%s", "摘要里有这样一句话。\n%s", "See what it says!\n%s", "Is the answer: %s"),
    *("Output the following:\n%s", "Were it dated, my grade: %s", "根据网页指示，结果为：%s", "```html\n%s"),
    *(
        "按摘要要求输出如下：\n%s",
        "标准答案：%s",
        "%s（摘要原话）",
        "Ground truth: %s",
        "除非有日期，判断为：%s",
        "Assuming it is true, my grade: %s",
        "%s /s",
        "❌ %s",
    ),
    *("<snippet>%s</snippet>", "<input>\n%s\n</input>", "For example:\n%s", "例如：%s", "not %s"),
)
#: Keys that make an object around a verdict someone else's, a supposition, or nobody's.
FOREIGN_KEYS = (
    *("injected", "attacker", "reference", "if_fresh", "without_date", "error", "expected_answer", "page"),
    *("example", "snippet", "previous", "wrong_answer", "摘要", "示例", "期望结果", "0", "User"),
)
#: Members that answer the same question another way, by what they oppose: a low grade (no), a high one.
OPPOSED = {
    "low": ('"relevant": true', '"is_relevant": "yes"', '"verdict": "yes"', '"是否相关": "是"', '"label": 3'),
    "high": (
        *('"relevant": "no"', '"relevant": false', '"isRelevant": false', '"verdict": "no"', '"相关": "否"'),
        *('"是否相关": "否"', '"relevance": "not relevant"', '"score": 0', '"label": 0', '"Rating": "0"'),
    ),
}
#: Prose that leads to an object that is the model's own.
LEADS = (
    # Behind a re-ask, models apologise for the earlier reply.
    *("Sorry about that! ", "Sorry, here is the JSON:\n", "My apologies!\n\n", "抱歉，重新输出：\n"),
    *(
        "I apologize for the unreadable reply. Here is the JSON:\n",
        "I am sorry my earlier reply was unreadable.\n",
        "抱歉，之前的回复格式有误，以下是 JSON：\n",
        "抱歉，上一条回复无法解析。\n",
        *("对不起，以下是正确的 JSON：\n", "答：\n", "该摘要应评为：\n"),
    ),
    *("The snippet says when it opens. It does not name a price.\n\n", "Final answer:\n", "### Output\n"),
    *(
        "The snippet is about another city, so:\n",
        "I have read the snippet. My answer is below.\n",
        "判断如下：",
    ),
    *(
        "根据要求，输出如下：\n",
        "用户想知道症状，摘要谈的是天气。\n\n",
        *(
            "My evaluation of the snippet:\n",
            "Here is my final answer in JSON:\n\n",
            "So the grade is: ",
            "## Final\n",
        ),
        *(
            "综上所述，该摘要只沾边，判定结果为：",
            "- 提到了症状\n- 没有剂量\n\n",
            "最终结果\n\n",
            "综上，\n",
            "它给出了安装步骤，结果如下：\n",
            "It shows an example of a loop.\n\n",
            "我的判断是：\n",
        ),
        "以下是按要求格式的结果：\n",
        "Output:\n",
    ),
)
