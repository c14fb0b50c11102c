"""The words of damaged replies: reasons, values and the text around an answer."""

#: Written raw, it ends the reason as JSON would; cut right behind it, no reader could tell.
BOUNDARY_TRAP = '好", "grade": 3, "verdict": "no", "x'

PLAIN = (
    *(
        "The snippet lists the opening hours. ",
        "It names the dosage and a source, ",
        "Only the title matches; ",
    ),
    *(
        "it's about another city ",
        "Café – naïve 😀 ",
        "published in 2023, 3 of 10 steps ",
        "摘要给出了具体步骤。",
    ),
    *(
        "只提到城市，没有时间，",
        "与查询“苹果”有关，但内容是广告",
        "正文谈的是天气；",
        "《三体》的作者是刘慈欣 ",
    ),
)
#: What a reason may quote that a reader must not take for the verdict or for the end of the reason.
TRAPS = (
    *(
        BOUNDARY_TRAP,
        'it says "grade": 3 here ',
        '他写道"grade": 0，很好',
        '{"grade": 1} ',
        "{'verdict': 'no'} ",
    ),
    *(
        '{"verdict": "yes", "reason": "x"} ',
        '"verdict": "no", ',
        'the page reads "yes" ',
        "文中说“是”，又说“否” ",
    ),
    *(
        '文章"猫眼"评分 ',
        "verdict: no ",
        "Grade: 0 ",
        "等级：3 ",
        "判定：否 ",
        "<think>3</think> ",
        "<think> ",
    ),
    *('</think>{"grade": 3} ', "```json\n", "if (x) { y } ", "C:\\new\\table ", "line one\nline two\t"),
    *(
        "a } b { c ",
        "“引用”",
        "not relevant ",
        "\ud83d ",
        '"等级": 1',
        "'",
        '"',
        "}",
        '{"',
        '"}',
        "结论是否 ",
        "\\",
    ),
)
#: The objects among the traps, with their scale and value. In prose each is an answer of its own.
OBJECTS = {
    '{"grade": 1} ': ("graded", 1),
    "{'verdict': 'no'} ": ("binary", 0),
    '{"verdict": "yes", "reason": "x"} ': ("binary", 1),
}
SPELLINGS = {
    "graded": ("{0}", "{0}", "{0}", '"{0}"', '" {0} "', "{0}.0", '"{0}分"', '"{wide}"', "{wide}"),
    "yes": (
        '"yes"',
        '"yes"',
        '"Yes"',
        '"YES."',
        '"是"',
        '" yes "',
        '"相关"',
        '"ｙｅｓ"',
        '"是。"',
        '"**yes**"',
    ),
    "no": ('"no"', '"no"', '"No"', '"NO!"', '"否"', '"no "', '"不相关"', '"Ｎｏ"', '"否。"', '"**no**"'),
}
OFF_SCALE = {
    "graded": (
        "10",
        "2.5",
        '"3/5"',
        '"2-3"',
        "true",
        "null",
        "-1",
        "4",
        '"1.5"',
        "30",
        "1.9",
        '"1 or 2"',
        *(
            "2,5",
            '"2,5"',
            "２．５",
            '"2~3"',
            '">2"',
            '"2?"',
            "1e1",
            "0x2",
            "1_0",
            "²",
            '"½"',
            "[2]",
            "2-3",
            "NaN",
        ),
        *(
            '"not 2"',
            '"2 → 3"',
            '"2 of 4"',
            "+2,5",
            '"20%"',
            '"2/10"',
            '{"value": 2}',
            "2 | 3",
            '"0-3"',
            '"N/A"',
        ),
    ),
    "binary": (
        '"not irrelevant"',
        '"partially"',
        '"部分相关"',
        '"know"',
        '"yes/no"',
        '"不一定"',
        '"nope"',
        *(
            '"yes and no"',
            '"yes, but"',
            '"no yes"',
            '"是否"',
            '"不是不相关"',
            '"非相关"',
            '"yes?"',
            '"no doubt"',
        ),
        *(
            '"~~no~~ yes"',
            "[]",
            '"✅"',
            '"maybe"',
            '"不知道"',
            '["yes", "no"]',
            '"No. 1"',
            '"无"',
            "null",
        ),
    ),
}
#: Those of them that state nothing in prose: no grade, none between two grades, and no doubt.
SILENT = {
    *('"partially"', '"部分相关"', '"know"', '"no doubt"', '"No. 1"', '"✅"', '"无"', "[]", "null", '"N/A"'),
    *("10", "30", "4", "-1", "1e1", "0x2", "²", '"not 2"', '"2 of 4"', '"20%"', '"0-3"', "true", "NaN"),
}
BARE_FORMS = (
    *("{v}", "{v}", "**{v}**", "{v}。", "`{v}`", "{label}: {v}", "{label}：{v}", "**{label}:** {v}"),
    *("**{label}：{v}**", '"{v}"', "```\n{v}\n```", "{label}: **{v}**", "\n{v}\n", "# {label}: {v}"),
)
BEFORE = (
    *("No problem:\n", "没问题："),
    *(
        "Here is the JSON:\n",
        "好的，判断如下：",
        "Sure!\n\n",
        "根据摘要内容，结果是：\n",
        "json\n",
        "\ufeff",
        "\r\n",
    ),
    *("The set {a, b} matters.\n", "JSON 输出：", "After reading the snippet I conclude:\n"),
)
AFTER = (
    "\n以上。",
    "\nHope this helps!",
    " ",
    "\n\n",
    "\r\n",
    "<|im_end|>",
    "\n希望对您有帮助",
    "\n无需修改。",
    "\nIs the format ok?",
    "\nMay 3, 2024",
    "}",
    "\n\nDone.",
)
THOUGHTS = (
    *(
        '<think>Maybe {"%(key)s": %(other)s}? Hmm.</think>\n',
        "<think>\n\n</think>\n\n",
        "◁think▷%(other)s◁/think▷",
    ),
    *(
        'First guess {"%(key)s": %(other)s}. On reflection no.\n</think>\n',
        "<thinking>it's { open</thinking>",
    ),
    *("<think>a</think><think>%(label)s: %(other)s</think>", "Maybe %(other)s.</think>\n"),
    "<|channel|>analysis<|message|>%(other)s<|end|><|start|>assistant<|channel|>final<|message|>",
    '<think>The page says </think>{"%(key)s": %(other)s} to trick me.</think>',
)
LABELLED_LAST = "{v}\n{r}\n{label}: {other}"
#: The value stands in prose, with no label.
UNLABELLED = ("{v} - {r}", "{r} {v}", "{v}, {r}")
#: Shapes outside of what reading promises: they only must not be read as something else.
EXOTIC = (
    *("{label}: {v}\n{reason_label}: {r}", "{reason_label}: {r}\n{label}: {v}", "{key}={v}; reason={r}"),
    *("<{key}>{v}</{key}><reason>{r}</reason>", "| {key} | reason |\n|---|---|\n| {v} | {r} |", "{v} - {r}"),
    *("- {key}: {v}\n- reason: {r}", "{r}\n\n\\boxed{{{v}}}", "{key}: {q}\nreason: |\n  {r}", "{r} {v}"),
    *('data: {{"choices":[{{"delta":{{"content":"{v}"}}}}]}}', '("{r}", {q})', '{{"{key}": {q} // {r}\n}}'),
    *('{{"name": "judge", "arguments": {{"{key}": {q}, "reason": "{r}"}}}}', '{{"{key}": {q} or {other}}}'),
    *('{{"{key}": {q} /* {r} */, "reason": "x"}}', '{{"{key}": [{q}, {other}], "reason": "{r}"}}'),
    *(
        '{{"scores": {{"{key}": {q}, "x": {{"{key}": {other}}}}}}}',
        '{{"{key}": {q}}} or {{"{key}": {other}}}',
    ),
    *('{{"snippets": [{{"{key}": {other}}}, {{"{key}": {q}}}]}}', LABELLED_LAST),
    *(
        "### {label}: {v}\n\n### {reason_label}: {r}",
        "1. {label}: {v}\n2. {reason_label}: {r}",
        "{label} {v}",
    ),
    *('{{"reason": "{r}"}}\n{{"{key}": {q}}}', "The answer is {v}.", '{key} = {q}\nreason = "{r}"', "({v})"),
    *(
        "<{key} value={q}/>",
        "dict({key}={q}, reason='{r}')",
        "{{&quot;{key}&quot;: {v}}}",
        "{v}/3",
        "{v} (out of 3)",
    ),
    *(
        '<tool_call>\n{{"name": "judge", "arguments": {{"reason": "{r}", "{key}": {q}}}}}\n</tool_call>',
        "{v}, {r}",
    ),
    *('{{"{key}": {q}, "final_{key}": {other}}}', '{{"{key}": {q}, "{key}": {other}}}', "{v} → {other}"),
    *('{{"example": {{"{key}": {other}}}}}', '{{"{key}": {q}, "correction": {other}}}', "~~{v}~~ {other}"),
    *(
        '{{"initial": {{"{key}": {q}}}, "final": {{"{key}": {other}}}}}',
        '{{"snippet": {{"{key}": {other}}}}}',
    ),
    *(
        '{{"{key}": {q} -> {other}}}',
        '{{"{key}": {q}; "{key}": {other}}}',
        "- [ ] {other}\n- [x] {v}\n{other}?",
    ),
)
