"""Whether the prose of a reply contradicts its answer.

An object or a labelled line is the answer only if no statement around it states another value or the opposite.
"""

import re
from collections.abc import Sequence

from judge.parsing.attribution import MAX_LEAD, is_attributed, is_disowned, is_embedded, repeats_order
from judge.parsing.remarks import (
    TOO_HIGH_OR_LOW,
    drop_ignored_demands,
    drop_input,
    has_correction,
    is_rounded,
)
from judge.parsing.stated_scale import names_other_scale
from judge.parsing.stated_values import EXPLAINS, find_values
from judge.parsing.vocabulary import (
    ANY_WORD,
    AROUND,
    CHINESE,
    ENGLISH,
    LABEL_LEAD,
    NOT,
    REASON_LABELS,
    build_label_pattern,
    find_value,
    is_contrary,
    simplify_prose,
)
from judge.records import Scale

#: A grade that prose says the snippet asks for.
_DEMANDED = re.compile(
    rf"(?:{ENGLISH}(?:(?:demand|ask|beg)(?:s|ed|ing)?(?: for)?|(?:tells?|told|wants?|makes?|gets?|urges?) (?:me|us|graders))\b"
    rf"|{CHINESE}(?:索要|要求给?|[让要叫]我[给打评判]))[^,.;。\n0-9]{{0,24}}[0-9]\s?[分级]?"
    rf"|{ENGLISH}(?:instruct\w*\b[^.。\n0-9]{{0,40}}[0-9](?=[^.。\n]{{0,40}}\bignor)|ignor\w+\b[^.。\n0-9]{{0,60}}\binstruct\w*\b[^.。\n0-9]{{0,40}}[0-9])"
    r"|(?:诱导|指令)[^。\n0-9]{0,12}[0-9]\s?[分级]?(?=[^。\n]{0,20}忽略)",
)
#: The grades of the scale from 0 to 3 with what they mean, best or worst first.
_RUBRIC = re.compile(
    "|".join(
        r"[^0-9]{1,120}?".join(
            rf"(?<![0-9.]){grade}\s?(?:[:=]|[-–—]{{1,2}}|\s)(?=[^0-9\n]{{2}})" for grade in grades
        )
        + r"[^0-9\n]{1,120}"
        for grades in ("3210", "0123")
    )
    + r"|评分标准\s?:\s?(?:3[^0-9\n。]{2,20}2[^0-9\n。]{2,20}1[^0-9\n。]{2,20}0|0[^0-9\n。]{2,20}1[^0-9\n。]{2,20}2[^0-9\n。]{2,20}3)[^0-9\n。]{2,20}"
)
#: A name that ends with a number, in the midst of a sentence: "a Tesla Model 3".
_NAME = re.compile(
    r"(?:(?<=[a-z] )|(?<=[\u4e00-\u9fff]))(?!Grade|Score|Rating|Verdict|Answer|Final|Level|Label|Relevance|JSON|So\b|I\b)[a-z]?[A-Z][A-Za-z]+ ?[0-9](?![0-9.]?[0-9])",
)
_ANY_GRADE = re.compile("[0-3]")
#: A clause that grants something before the verdict: "虽然摘要与主题相关，".
_CONCESSION = re.compile(
    rf"(?:虽然?|尽管|{ENGLISH}(?:(?:even )?though|although|while|whilst))(?:(?!\b(?:yes|no)\b)[^,.。;\n]){{1,80}},",
)
_REQUIRES = (
    r"(?:(?:full )?(?:grade|score|rating) (?:of )?)?(?<![0-9.])[0-3] (?:would (?:require|need|be for)|requires?|needs?(?! to be)|was not given"
    r"|is not (?:justified|warranted|deserved|earned))\b"
)
#: A grade whose condition prose states: "a grade of 3 requires the full schedule".
_THRESHOLD = re.compile(
    rf"(?m){ENGLISH}(?:(?:even )?an? {_REQUIRES}|for an? [0-3](?=, [^.\n]{{1,80}}\b(?:would|must|needs?|has|have|should)\b)"
    r"|to (?:reach|get|earn|deserve) (?:an? )?(?:(?:grade|score) (?:of )?)?[0-3]\b"
    r"|(?:decide|deciding) between [0-3] and [0-3]\b|why not (?:an? )?[0-3]\?|(?:i )?(?:considered|thought of|thought about) (?:an? "
    r"|giving (?:it )?(?:an? )?)?[0-3](?=,? but\b)|(?:could|might) (?:be|seem) (?:an? )?[0-3]\b(?=[^.\n]{0,60},? but\b)"
    r"|seems to be (?:an? )?[0-3](?=,? but\b)|if (?:it|the|this)\b[^.\n]{0,80}\bhad\b[^.\n]{0,80}\bwould (?:be|get|earn|deserve) (?:an? )?[0-3]\b"
    r"|(?<!\bi )would have (?:been|got|gotten|earned|deserved) (?:an? )?[0-3]\b"
    r"|(?<!no )(?<!not )(?:(?:better|worse|higher|lower) than (?:an? )?[0-3]\b|(?:more|less) than (?:an? )?[0-3](?=[.,;]|$))"
    r"|(?:rather than|instead of) (?:an? )?[0-3](?=[,.?])|a full [0-3] is not\b|(?:stricter|harsher|more lenient"
    r"|more generous) [\w ]{1,20}(?:might|may|could|would) give (?:it )?(?:an? )?[0-3])"
    rf"|(?:^|[.,;] |注: ?|\b(?:note|{REASON_LABELS}): ?){_REQUIRES}|(?:^[^\S\n]?|[.,;] )(?:above|over|below|under) (?:an? )?[0-3](?=[.,;]|$)"
    rf"|{CHINESE}(?:更(?:严格|宽松)的[^。\n]{{1,10}}[给评][^\S\n]?[0-3]"
    r"|(?:若要|要想|要)[评给得](?:到)?[0-3][分级]?(?=,)|连[0-3][分级]?都"
    r"|为什么不(?:是|给|评)[^\S\n]?[0-3][^\S\n]?[分级]?|考虑过[评给]?[^\S\n]?[0-3][^\S\n]?[分级]?(?=,?但)|(?:如果|若)[^。\n]{1,40}(?:(?:则|就"
    r"|才)?可以?[评给]|[则就才]为)[^\S\n]?[0-3][^\S\n]?[分级]?|(?<!不)(?:[高低优差]于|超过)[^\S\n]?[0-3][^\S\n]?[分级]?+(?!钟)"
    r"|乍一?看可?以?[评给][^\S\n]?[0-3][^\S\n]?[分级]?(?=,?但))|[0-3](?<![0-9][0-3])[^\S\n]?[分级]?则?(?:要求|需要)",
)
_IS_BETTER = re.compile("better|(?:more|higher) than|above|over|[高优]于|超过")
_IS_WORSE = re.compile("worse|(?:less|lower) than|below|under|[低差]于")
#: What a grade requires, or a choice, rejects none.
_ONLY_REQUIRES = re.compile(r"(?<!would )\b(?:requires?|needs?)$|(?:要求|需要)$|\bdecid")
_TABLE_LABEL = re.compile(rf"{LABEL_LEAD}{build_label_pattern(None)}")
#: What makes a second answer the last one.
_SEQUENCE = r"评|\b(?:first|initial|second|now|then|later|after|again|on re|overall|final)|总|最[初终后]|现在|再[看读想]|重新|起初"
#: A question or an item of a checklist with its answer, where it is not the verdict.
_CHECKLIST_ITEM = re.compile(
    rf"(?m)(?:(?<![^.。?!\n:])[^.。?!\n:]{{2,}}+\?\s{{0,3}}|(?:^[^\w\n]{{0,6}}+(?:(?:{REASON_LABELS}): ?)?"
    rf"|(?<=[.,;。]) ?)(?![^:\n]{{0,40}}(?:{build_label_pattern(None)}|evaluat|assess|{_SEQUENCE}))[^.。?!\n:]{{2,40}}:[^\S\n]{{0,3}})(?P<value>yes"
    r"|no|是|否)(?![\w])[.。]?",
)
_DENIED_VERBS = (
    r"(?: (?:quite|be|reach|deserve|merit|earn|get|giv(?:e|en|ing)|assign(?:ed)?|qualify for|rise to|worth"
    r"|enough for|it|this|an?|the|grade|score|rating|level|of)){0,6} "
)
#: Numbers that prose says an answer is not: "It is not a 3 because …", "未达到3级".
_DENIED = re.compile(
    rf"(?m)(?:{ENGLISH}(?:(?:not|cannot|never|far from|hardly|barely|almost|nearly){_DENIED_VERBS}|neither (?:an? )?"
    r"|(?<!not )(?<!n['’]t )(?:miss(?:es|ed)?|f[ae]lls? short of|fail(?:s|ed)? to reach)(?: (?:an?|the|grade|score|rating|level|of)){0,4} )"
    rf"|n['’]t{_DENIED_VERBS}|(?=[未没不])(?<![是能会该得])(?<!(?<!摘)要)(?:未能?|没有?|不)(?:能|足以|会"
    r"|应该?)?[达够到是给评打得算为上足]{1,2}[到上为成]?(?:等级)?\s?|(?=[并非])(?<!除)并?非\s?)(?P<values>[0-9](?:\s?[分级]?(?:,? (?:or|nor|and) "
    r"|\s?[/或和、]\s?)(?:an? )?[0-9])*)(?=\s?[分级]|[^\w\s.]|\.(?![0-9])|\s?$|\s(?:because|since|as|for|but|so|though"
    r"|due)\b)(?![^.。!\n]{0,60}\?)(?![分级]?,?就是)",
)
_UNRELATED = re.compile(
    rf"(?m){NOT}(?:(?: (?:at all|in any way|in the least|even|remotely|really|actually)){{0,2}} relevant\b| (?:at all )?related to\b"
    r"| (?:answer|address|help)\b[^.,;\n]{0,40} (?:at all|in any way)\b| help the user\b)|n['’]t (?:helpful|useful|help|use)\b(?=[.!]|$)"
    rf"|{ENGLISH}(?:(?:irrelevant|off[- ]?topic|unrelated|useless|worthless)\b(?=\W{{0,3}}$|[.,;!)]"
    r"| (?:to|for|and|because|since|as|here)\b)|no(?:thing| \w+)? to do with\b|(?:no|zero) (?:relevance|relation|connection|use|help|value)(?: (?:to"
    r"|for|with)\b|(?: at all| whatsoever)?(?=[.!]|$))|fails? to (?:answer|address|help)\b[^.,;\n]{0,40} (?:at all|in any way)\b"
    r"|(?:is|are|was) (?:just |only |merely |nothing but |simply )?(?:an? )?(?:mere |pure )?(?:demand for a (?:grade|verdict|score)"
    r"|(?:fabricated|fake|forged|made-up) (?:verdict|grade|answer|judge?ment)|keyword (?:pile|stuffing|spam|list)|pile of keywords|error page)\b"
    r"|is (?:not|of no) (?:helpful|useful|help|use)\b(?=[.!]|$)|(?:gives?|offers?|provides?) no (?:help|use)\b)"
    rf"|{CHINESE}(?:(?:只是|仅是|不过是|就是|这是|属于)(?:在)?(?:索要(?:等级|评分|判定)|堆砌关键词|关键词堆砌|报错)"
    r"|没有?帮助(?=[。!]|$)|(?:毫无|没有?(?:任何|什么|一点|半点)?|无任何|并无)(?:关系|关联|联系"
    r"|相关性)|毫不相[关干]|毫无(?:帮助|用处|价值)|(?:不(?:太|怎么|大)?相关|无关)(?![\u4e00-\u9fff])|答非所问|[跑离偏]题"
    r"|(?:完全|根本)(?:没有?|未|不能|无法)(?:回答|满足|解决)了?(?:用户的?)?(?:该|此|这个)?(?:查询|问题|需求))",
)
_COMPLETE = re.compile(
    rf"{ENGLISH}(?:(?:snippet|page|it|result) (?:really |clearly )?helps the user\b(?=[.!]|$)|(?:fully|completely|entirely|perfectly|totally|wholly) (?:answer"
    r"|satisf|address|meet|resolv)\w*(?! (?:another|a different|other)\b)|(?:answer|satisf|address)\w* (?:[\w'’]+ ){1,4}(?:in full|completely|fully"
    r"|perfectly|entirely)\b|(?:direct,? (?:and )?)?(?:perfect|complete|full|ideal)(?:,? (?:and )?direct)? (?:answer|match|response)\b(?! (?:would|should|must|needs?|requires?)\b)|(?:highly|very|extremely|perfectly|fully) relevant\b)"
    rf"|{CHINESE}(?:(?:完全|完整|充分|全面|完美|彻底)地?(?:回答|解答|满足|解决|回应)|(?:完美|完整)的?(?:答案|回答|匹配)(?![应需要])"
    r"|(?:高度|非常|十分|极其|极为|完全|密切)相关(?![\u4e00-\u9fff]))",
)
#: The opposite of either verdict, in the words of the prompt, at the end of a clause.
_NEED = r"(?:用户的?)?(?:该|此|这个)?(?:查询|问题|需求)"
_CLAUSE_END = r"(?=(?:,? (?:in fact|really|actually|though|after all|at all))?\s?[.!。]|$)"
_HELPS = re.compile(
    rf"(?m)(?:{ENGLISH}(?:(?:is|looks) (?:really |very )?(?:helpful|useful)(?: to the user)?|(?:snippet|page|(?<!hope )it) helps(?: the user)?"
    r"|answers the (?:query|question))|^\W{0,4}(?:(?:conclusion|so|overall)\W{1,2})?helpful"
    rf"|{CHINESE}(?:有(?:很大)?帮助|(?:回答|满足|解决)了{_NEED}))"
    rf"{_CLAUSE_END}",
)
_HELPS_NOT = re.compile(
    rf"(?m)(?:{NOT} (?:(?:helpful|useful)(?: to the user)?|help|answer(?: the (?:query|question))?)"
    rf"|{ENGLISH}(?:unhelpful|fails to (?:help|answer the (?:query|question)))|^\W{{0,4}}no (?:relevant|useful) (?:content|information)"
    rf"|{CHINESE}(?:(?:没有?|无法?)(?:任何)?(?:帮助(?:用户)?|用)|(?:[未没]有?|[未不]能|无法)(?:回答|满足|解决){_NEED}"
    rf"|没有?(?:任何)?有用的?(?:信息|内容))){_CLAUSE_END}",
)
#: A line that is nothing but a verdict, or that begins with one and explains it; with a label, on either scale.
_VERDICT_LINE = re.compile(
    rf"(?m)^(?:[^\w\n]|_){{0,8}}(?P<value>(?:{ANY_WORD})(?=(?:[^\w\n]|_){{0,8}}$|{EXPLAINS})|[01](?=[^\w\n.)、]{{0,8}}$))"
)
_LABELLED_LINE = re.compile(
    rf"(?m)^(?:[^\w\n]|_){{0,8}}{LABEL_LEAD}(?:verdict|judge?ment|decision|conclusion|relevan(?:t|ce)|helpful|grade|score|rating|判定|结论|判断|(?:是否)?(?:相关性?|有(?:帮助|用))|等级|评[分级]|得?分数?)"
    rf"[^\w\n]{{0,4}}[:=?](?:[^\w\n]|_){{0,8}}(?P<value>{ANY_WORD}|[0-9])(?=(?:[^\w\n]|_){{0,8}}$)",
)
_MARKS_OF_SCALE = r"(?:grade|score|mark|point|rating)s?\b(?! (?:is|of|=|[0-9])|\s?[:=])"
_TOP = re.compile(
    rf"\b(?:top|full|perfect|max(?:imum|imal)?|highest(?: possible)?|best possible) {_MARKS_OF_SCALE}"
    r"|(?:满分|最高(?:分|级|等级|评分|评级))(?!\s?[是为:=(]?\s?[0-9])",
)
_LOWEST = re.compile(
    rf"\b(?:lowest(?: possible)?|min(?:imum|imal)|bottom|zero) {_MARKS_OF_SCALE}|零分|最低(?:分|级|等级|评分|评级)(?!\s?[是为:=(]?\s?[0-9])",
)
#: In front of a statement in its clause: it is about a part, it describes the scale, or it is denied.
_ABOUT_PART = (
    r"\b(?:rest|remain\w*|half|parts?|partly|partial\w*|some\w*|others?|sections?|paragraphs?|sentences?|ads?|advert\w*|date|title|beginning"
    r"|instruct\w*|inject\w*|attempts?|requests?|comments?|whether|if|unless|were|would|could|might|may|how)\b|部分|其余|其[他它]|[前后]半|有些|一些"
    r"|末尾|开头|标题|广告|日期|指令|注入|[段句行]|诱导|是否|如果|若|假如|要是|可能|[0-9][分级]?\s?(?:[:=(–→-]|means?|表示|代表|[是为]"
    r"|is)[^,;]{0,20}\Z"
)
_DENIES_HELP = re.compile(
    rf"{_ABOUT_PART}|希望|\b(?:hope|not|never|hardly|only|what|which|page|site|article|they|claims?)\b|n['’]t|不|没|未|无"
)
_DENIES_UNRELATED = re.compile(
    rf"{_ABOUT_PART}|(?:\b(?:not|never|n?either|nor|hardly|far from|anything but)|n['’]t)(?: \w+){{0,2}}\s*\Z|(?:不|没有?|非)[^,。]{{0,4}}\Z"
)
_DENIES_EXTREME = re.compile(
    rf"{_ABOUT_PART}|\b(?:not|cannot|never|no|nor|neither|without|fail\w*|far|less|miss\w*|lack\w*|short|hardly|almost|nearly|than|ask\w*|demand\w*"
    r"|claim\w*|want\w*|need\w*|seek\w*|expect\w*|look\w* for|tr(?:y|ies|ied)|ignor\w*|says?|to)\b|n['’]t|[不没未非缺]|无法|难以|让我|要求|声称|试图|需要|[想说]"
    r"|接近|几乎"
)
#: The end of a question, and an answer that denies it.
_DENIED_QUESTION = re.compile(
    r"[^.。!?\n]{0,80}\?\s?(?:(?:it|this) (?:is|does)(?: not|n['’]t)\b(?! only)|(?:not?|hardly|almost|only)\b|并?[否不没未非])"
)
_CONDITION = re.compile(r"(?:\b(?:if|unless|were)\b|如果|若|假如|要是)[^.。!?\n]*\Z")


def find_doubt(lead: str, trail: str, grade: int, scale: Scale, *, nearest: Sequence[str]) -> str:
    """Return why the prose in front of an answer and behind it leaves doubt about the answer, or "".

    `nearest` are the stretches that may lead to the answer, the likeliest first.
    """
    if is_disowned(trail) or has_correction(trail, grade, scale):
        return "the text behind the answer corrects it, or attributes it to another"
    if (
        any(contradicts(text, grade, scale) for text in (lead, trail))
        or names_other_scale(trail, scale)
        or names_other_scale(lead[-MAX_LEAD:], scale)
    ):
        return "the text around the answer states another value"
    if repeats_order(lead) or any(map(is_attributed, nearest)) or is_embedded(nearest[0], trail):
        return "the answer may be an example, or that of another"
    return ""


def contradicts(text: str, grade: int, scale: Scale) -> bool:
    """Return True when prose states another value than `grade`, denies `grade`, or says the opposite."""
    if not re.search(r"\w", text):
        return False
    flat, rejected = _simplify(_NAME.sub(" ", text), scale)
    denied, stated = "", flat
    if re.search("[0-9]", flat):
        denied = "".join(match["values"] for match in _DENIED.finditer(flat))
        stated = _DEMANDED.sub(" ", _DENIED.sub(" ", flat) if denied else flat)
    return (
        grade in rejected
        or (scale.name == "graded" and str(grade) in denied)
        or bool(find_values(stated, scale) - {grade})
        or (scale.name == "graded" and is_rounded(text))
        or _has_cell_with_another(flat, grade, scale)
        or any(
            is_contrary(match["value"], grade, scale)
            for lines in (_VERDICT_LINE, _LABELLED_LINE)
            for match in lines.finditer(flat)
        )
        or (scale.name == "binary" and _states((_HELPS, _HELPS_NOT)[grade], _DENIES_HELP, flat))
        or (grade >= scale.relevant_from and _states(_UNRELATED, _DENIES_UNRELATED, flat))
        or (grade < scale.relevant_from and _states(_COMPLETE, _DENIES_EXTREME, flat))
        or (grade != scale.top and _states(_TOP, _DENIES_EXTREME, flat))
        or (grade != 0 and _states(_LOWEST, _DENIES_EXTREME, flat))
    )


def _has_cell_with_another(flat: str, grade: int, scale: Scale) -> bool:
    """Return True when a table of simplified prose has a label, and another value than `grade` in any cell.

    On the binary scale, rows that answer differently below the labels are a checklist.
    """
    rows = [[cell.strip(AROUND) for cell in line.split("|")] for line in flat.split("\n") if "|" in line]
    labels = [list(filter(_TABLE_LABEL.fullmatch, row)) for row in rows]
    values = [
        {find_value(cell, scale) for cell in row if cell not in row_labels} - {None}
        for row, row_labels in zip(rows, labels, strict=True)
    ]
    is_checklist = (
        scale.name == "binary"
        and len(set().union(*values)) > 1
        and all(
            len(of_row) + len(row_labels[:1]) < 2 for of_row, row_labels in zip(values, labels, strict=True)
        )
    )
    return any(labels) and not is_checklist and any(of_row - {grade} for of_row in values)


def _simplify(text: str, scale: Scale) -> tuple[str, set[int]]:
    """Return simplified prose without values that say nothing of the answer, and the grades that it rejects.

    Dropped are the rubric and grades that are rejected or compared, on the graded scale, and the answers of a
    checklist that differ from each other, on the binary one.
    """
    flat = drop_input(simplify_prose(text))
    rejected: set[int] = set()

    def reject(match: re.Match[str]) -> str:
        grades = [int(digit) for digit in _ANY_GRADE.findall(match[0])]
        if _IS_BETTER.search(match[0]):
            grades = list(range(grades[0] + 1))
        elif _IS_WORSE.search(match[0]):
            grades = list(range(grades[0], scale.top + 1))
        if _ONLY_REQUIRES.search(match[0]):
            return " needs "  # "a 3 needs a complete answer" does not say that this is one
        rejected.update(grades)
        return " "

    if scale.name == "graded":
        flat = drop_ignored_demands(_RUBRIC.sub("\n", flat), reject)
        if _ANY_GRADE.search(flat):  # each match has one, and the search takes long in a long text
            flat = _THRESHOLD.sub(reject, TOO_HIGH_OR_LOW.sub(reject, flat))
        return flat, rejected
    flat = _CONCESSION.sub(" ", flat)
    has_items = "?" in flat or ":" in flat  # without them, the search takes long in a long text
    if has_items and len({item["value"] in "yes是" for item in _CHECKLIST_ITEM.finditer(flat)}) > 1:
        flat = _CHECKLIST_ITEM.sub("\n", flat)
    return drop_ignored_demands(flat), rejected


def _states(statement: re.Pattern[str], denial: re.Pattern[str], text: str) -> bool:
    """Return True when prose makes a statement that neither its own clause nor an answer to it denies."""
    return any(
        not denial.search(re.split(r"[,;.。!?\n]", text[max(0, match.start() - 120) : match.start()])[-1])
        and not _CONDITION.search(text, max(0, match.start() - 120), match.start())
        and not _DENIED_QUESTION.match(text, match.end())
        for match in statement.finditer(text)
    )
