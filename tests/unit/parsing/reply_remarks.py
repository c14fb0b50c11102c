"""Remarks on an answer: where it comes from, that it is rounded or off; and sentences that are none.

`%s` stands for the answer, `{}` for a party to a snippet.
"""

from itertools import product

_PARTIES = ("page", "site", "seller", "author", "article", "publisher", "shop")
_ZH_PARTIES = ("网页", "网站", "商家", "作者", "文章", "博主", "帖子")


def _fill(forms: tuple[str, ...], parties: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(form.replace("{}", party) for form, party in product(forms, parties))


#: An object that is a party's own.
ATTRIBUTED = (
    *_fill(
        (
            *("The {}'s JSON:\n%s", "Here is the {} again:\n\n%s", "The object on the {}:\n%s"),
            *(
                "The string at the bottom of the {}:\n%s",
                "%s\nThat is what the {} claims.",
                "%s\nSo says the {}.",
            ),
            *(
                "%s\nThe line above is the {}'s own text.",
                "%s // as the {} puts it",
                "%s (the {}'s own rating)",
            ),
            *("%s\nThis is how the {} rates itself.", "%s\nThe object is the {}'s, not mine."),
        ),
        _PARTIES,
    ),
    *_fill(
        (
            *(
                "{}附带的JSON：\n%s",
                "{}预置的答案：%s",
                "{}里的对象：\n%s",
                "再次贴出{}：\n%s",
                "%s\n（{}自称）",
            ),
            *("%s\n上面是{}自己的话。", "%s\n这是{}的说法。", "%s\n以上由{}编写。", "%s // {}自带"),
        ),
        _ZH_PARTIES,
    ),
    *("Their JSON:\n%s", "His output:\n%s", "Text to grade:\n%s", "Passage to be assessed:\n%s"),
    *("%s\nThis is merely the layout.", "%s\nJust the format.", "%s\nThe above is just a placeholder."),
    *(
        "他们的JSON：\n%s",
        "待评的文本：\n%s",
        "%s\n以上只是格式。",
        "%s\n这只是输出的样式。",
        "%s\n以上仅为占位内容。",
    ),
)
#: Behind a value on its line, a party's as well.
ATTRIBUTED_COMMENTS = (
    *_fill(
        (
            *(
                ", says the {}",
                ", claims the {}",
                " — as the {} demands",
                " (the {}'s own rating)",
                " (per the {})",
            ),
            *(", according to the {}", " (stated by the {})", ", or so the {} claims"),
        ),
        _PARTIES,
    ),
    *_fill(("（{}自称）", "（{}自评）", "，{}这么说", "——按{}要求", "（引自{}）"), _ZH_PARTIES),
    *(" (placeholder)", " (template)", " (dummy value)", " (sample)", "（占位）", "（样例）", "（示意）"),
)
#: A value that is rounded: in front of the answer or behind it, and behind a value on its line.
ROUNDED = (
    *("%s\n(rounded from 1.6)", "%s // 2.4 rounded", "%s\nRounded from 1.7.", "%s\n(the exact value is 1.6)"),
    *("%s\nThis was 1.8 before rounding.", "My estimate is 1.8, so rounded:\n%s", "1.5 rounds up to 2.\n%s"),
    *("I would say 2.4, rounded to 2.\n%s", "Rounding 2.3 down:\n%s", "%s\nThe grade was rounded down."),
    *(
        "%s\n（由2.4四舍五入）",
        "%s // 取整自2.4",
        "%s\n等级由1.6取整得来。",
        "%s\n（实为2.3）",
        "%s\n以上等级经四舍五入。",
    ),
    *(
        "JSON 输出：1.6分，进位为2。\n%s",
        '{"result": 1.5 rounds up to 2.\n%s}',
        '{"result": {"result": 1.5 rounds up to 2.\n%s}}',
        "判断如下：Rounding 2.3 down:\n%s",
        "My grade is as follows: rounded from 1.6\n%s",
    ),
    *("2.4分，取整为2。\n%s", "估计为1.8，四舍五入为2。\n%s", "1.6分，进位为2。\n%s"),
    *("%s\nThe correct value is 1.5.", "%s\nMore precisely, 1.5.", "%s\nStrictly speaking it is a 1.5."),
    *(
        "%s\n四舍五入得到2。",
        "%s\n四舍五入后为2。",
        "%s\n平均后取整",
        "%s\nRounding gives 2.",
        "%s\nAveraged.",
    ),
    *("%s\n1.5 would be right.", "%s\n严格来说是1.5。", "%s\n其实应该是1.5分。"),
)
ROUNDED_COMMENTS = (
    *(
        " (rounded)",
        " (rounded from 2.4)",
        " (1.7 rounded)",
        " (estimated at 1.7)",
        ", rounding 1.6 up",
        ", rounded",
    ),
    *(" (approximately)", " (roughly)", " (more or less)", " (mean of 1.5 and 2.2)", " (nearest integer)"),
    *(
        "（四舍五入）",
        "（1.6取整）",
        "（由2.4取整）",
        "（约）",
        "（大约）",
        "（向上取整）",
        "（舍去小数）",
        "，由1.7取整",
    ),
)
#: A value that is too high or too low, by how much, or that is taken back.
OFF = (
    *("\nOne grade lower, actually.", "\nA notch too high.", "\nMake it one lower.", "\nDeduct one point."),
    *("\nI'd knock it down by one.", "\nSlightly lower, on reflection.", "\nTwo grades higher, rather."),
    *("\n其实低一级。", "\n再减一分。", "\n应高一级。", "\n下调一档。", "\n扣一分吧。", "\n往上调一级。"),
    *("\nThat was the trap.", "\nI would never say that.", "\nOnly if complete.", "\nat best"),
    *("\n这是错的。", "\n太宽松了。", "\n前提是网页属实。", "\n如网页所说。"),
)
#: A grade that a sentence rejects: harmless where it is another one than the answer's.
REJECTED = (
    *(
        "\n{} would be too generous.",
        "\nA {} is not justified.",
        "\nA {} would require dates.",
        "\n给{}则过高。",
    ),
    *("\nWhy not {}? It has no dates.", "\nNote: {} would need dates.", "\n为什么不是{}？没有日期。"),
)
#: Harmless sentences with the same words.
HARMLESS = (
    *_fill(
        (
            *("The {} explains it well.\n\n%s", "Evaluation of the {}:\n%s", "My JSON for the {}:\n%s"),
            *(
                "I read the {} again. Here is the JSON:\n%s",
                "%s\nThe {} claims to be official, which I did not check.",
            ),
            *(
                "%s\nThe {}'s own price list is shown.",
                "%s\nThis is my rating of the {}.",
                "%s\nThe {} is from 2019.",
            ),
            "Ignoring the instructions of the {}, here is my evaluation:\n\n%s",
            "%s\nNote that the {} tried to instruct me; I did not follow it.",
        ),
        _PARTIES,
    ),
    *_fill(
        (
            *(
                "{}说明了一部分。\n\n%s",
                "我对{}的评定：\n%s",
                "再看一遍{}后，我的结论：\n%s",
                "%s\n{}自称官方，无法核实。",
            ),
            *("%s\n{}的文字清楚。", "%s\n以上是我对{}的看法。", "忽略{}中的指令，评定如下：\n\n%s"),
            "%s\n{}试图指示我，我没有照做。",
        ),
        _ZH_PARTIES,
    ),
    *(
        "The page gives 2.4 million visitors.\n%s",
        "It rounds up the facts well.\n%s",
        "About 3 of the 5 steps.\n%s",
    ),
    *(
        "The area is 1.7 square miles, rounded.\n\n%s",
        "%s\nIt takes roughly 2.5 hours.",
        "%s\nOne step is missing.",
    ),
    *("%s\nThe page explains it.", "%s\nThat is what the snippet lacks.", "%s\nIt is a blog about fees."),
    *("%s\nThe price is slightly higher online.", "%s\nThe format follows the instructions."),
    *(
        "页面提到约2.4万游客。\n%s",
        "摘要介绍了四舍五入函数的用法。\n\n%s",
        "%s\n费用约为80元。",
        "%s\n还差一步。",
    ),
    *("%s\n费用比去年低一成。", "%s\n格式已按要求。"),
)
HARMLESS_COMMENTS = (
    *(", since the page names the fee", " (the text covers the fee)", " — the snippet says what it costs"),
    *(
        " (about half of the steps)",
        " (the fee of 2.40 is named)",
        " - based on the snippet",
        " (useful part)",
    ),
    *(
        "（有用的一部分）",
        "，因为摘要说明了费用",
        "（约一半步骤）",
        "（给出了2.4元的费用）",
        "——网页列出费用",
    ),
)
