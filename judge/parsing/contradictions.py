"""Whether the prose of a reply contradicts its answer.

An object or a labelled line is the answer only if no statement around it states another value or the opposite.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from judge.parsing.attribution import MAX_LEAD, is_attributed, is_disowned, is_embedded
from judge.parsing.prefilter import DIGITS, GRADES, FilteredPattern, compile_filtered
from judge.parsing.remarks import (
    TOO_HIGH_OR_LOW,
    drop_ignored_demands,
    drop_input,
    has_correction,
    is_rounded,
)
from judge.parsing.stated_scale import BINARY_RUBRIC, RUBRIC, drop_own_scale, names_other_scale
from judge.parsing.tolerant_json import simplify_prose
from judge.parsing.vocabulary import (
    ANY_WORD,
    AROUND,
    KEYS,
    REASON_LABELS,
    build_label_pattern,
    find_value,
    is_contrary,
)
from judge.records import Scale, ScaleName

#: What begins an explanation right behind a verdict.
_EXPLAINS = r"(?:\s?\(|\s?[-–—]+\s|[-–—]{2}|\s(?:because|since)\b|\s?因为)"
#: The statements of relevance, on the binary scale; "partially relevant" states nothing.
_RELEVANCE = compile_filtered(
    r"(?m)(?P<hedge>\b(?:partial|partly|somewhat|margin|slight|may|might|how|whether|if|part|loose)\w*\s(?:be )?(?:\w+ly )?|部分|有些|略|稍|是否|弱"
    r"|多少|可能)?(?P<value>\b(?:not (?:\w+ly |enough to be )?relevant|isn['’]t (?:\w+ly )?relevant|irrelevant|relevant)\b|不(?:直接|太|怎么|算|够)?相关|不相關|无关|無關"
    rf"|相关|相關)(?=[{re.escape(AROUND)}]{{0,4}}(?:[.,;!。)}}\]】]|$|{_EXPLAINS})|\s(?:to|for) (?:the|this) (?:query|topic|search|question|user|need"
    r"|request))(?![性度])",
    "无关|無關|相关|相關|relevant",
)
_NEGATIVE = re.compile(r"n['’]t|\bnot|irr|不|无|無")
#: A number in front of what it counts or names ("step 3", "第2"), a scale and the number of
#: a list item state no value.
_NO_VALUE = compile_filtered(
    r"(?m)\b(?:steps?|sections?|parts?|pages?|points?|items?|chapters?|versions?|v|no\.|figures?|tables?|top|type|stage|level of|phase|question"
    r"|criteri(?:on|a)|grades?|scores?|scale|error|code|http|#) ?#?(?:of |from |is )?[0-9][0-9.]*(?= ?[-–~,:]| to |(?: and [0-9])\b)"
    r"|\b(?:steps?|sections?|parts?|pages?|points?|items?|chapters?|versions?|figures?|tables?|top|type|stage|phase|criterion|error) ?#?[0-9][0-9.]*"
    r"|(?:第|步骤|图|表|步) ?[0-9]+|(?:\(|from |scale of |of )?(?<![A-Za-z0-9.])0\s?(?:[-–~到至]|to)\s?3(?![A-Za-z0-9])\)?"
    r"|\(?\s?(?:/|out of)\s?3\b\)?|^[ \t>*-]{0,8}[0-9]{1,2}[.)、]\s{0,4}(?=[^\s0-9])|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov"
    r"|dec)[a-z]{0,6}\.? [0-9]{1,2}(?=,? [0-9]{4}\b)|[(\[][0-9]{1,2}[)\]][^\S\n]?(?=[^\W\d_])",
    DIGITS,
)
_SECOND_POINT = re.compile(r"2[.)、]\s?[^\W\d_]")
#: What has grades of its own: "grade 3 pupils".
_GRADED_THINGS = (
    r"(?:pupils?|students?|teachers?|class(?:es)?|hospitals?|maths?|english|reading|science|exams?|worksheets?|syllabus|pieces?|piano|ankle|sprains?"
    r"|tumou?rs?|carcinoma|steel|titanium|curriculum)\b"
)
_UNITS_OF_TIME = "[天日年月周条个项]|小时|分钟|(?:day|week|month|year|hour|minute)s?\\b"
#: A grade that prose says the snippet asks for.
_DEMANDED = compile_filtered(
    r"(?:\b(?:demand|ask|beg)(?:s|ed|ing)?(?: for)?\b|\b(?:tells?|told|wants?|makes?|gets?|urges?) (?:me|us|graders)\b|索要|要求给?"
    r"|[让要叫]我[给打评判])[^,.;。\n0-9]{0,24}[0-9]\s?[分级]?|\binstruct\w*\b[^.。\n0-9]{0,40}[0-9](?=[^.。\n]{0,40}\bignor)"
    r"|\bignor\w+\b[^.。\n0-9]{0,60}\binstruct\w*\b[^.。\n0-9]{0,40}[0-9]|(?:诱导|指令)[^。\n0-9]{0,12}[0-9]\s?[分级]?(?=[^。\n]{0,20}忽略)",
    DIGITS,
    "忽略|索要|要求|让我|要我|叫我|指令|ask|beg|demand|get|instruct|make|tell|told|urge|want",
)
#: A clause that grants something before the verdict: "虽然摘要与主题相关，".
_CONCESSION = compile_filtered(
    r"(?:虽然?|尽管|\b(?:even )?though|\balthough|\bwhile|\bwhilst)(?:(?!\b(?:yes|no)\b)[^,.。;\n]){1,80},",
    "尽管|虽|though|while|whilst",
)
#: A name that ends with a number, in the midst of a sentence: "a Tesla Model 3".
_NAME = compile_filtered(
    r"(?:(?<=[a-z] )|(?<=[\u4e00-\u9fff]))(?!Grade|Score|Rating|Verdict|Answer|Final|Level|Label|Relevance|JSON|So\b|I\b)[A-Z][A-Za-z]+ ?[0-9](?![0-9.]?[0-9])",
    DIGITS,
)
_ANY_GRADE = re.compile("[0-3]")
#: A grade whose condition prose states: "a grade of 3 requires the full schedule".
_THRESHOLD = compile_filtered(
    rf"(?m)(?:\ban? |\beven an? |^|[.,;] |\b(?:note|{REASON_LABELS}): ?|注: ?)(?:(?:full )?(?:grade|score"
    r"|rating) (?:of )?)?(?<![0-9.])[0-3] (?:would (?:require|need|be for)|requires?|needs?(?! to be)|was not given"
    r"|is not (?:justified|warranted|deserved|earned))\b|\bfor an? [0-3](?=, [^.\n]{1,80}\b(?:would|must|needs?|has|have|should)\b)|\bto (?:reach|get|earn|deserve) (?:an? )?(?:(?:grade|score) (?:of )?)?[0-3]\b"
    r"|\b(?:decide|deciding) between [0-3] and [0-3]\b|\bwhy not (?:an? )?[0-3]\?|\b(?:i )?(?:considered|thought of|thought about) (?:an? "
    r"|giving (?:it )?(?:an? )?)?[0-3](?=,? but\b)|\b(?:could|might) (?:be|seem) (?:an? )?[0-3]\b(?=[^.\n]{0,60},? but\b)"
    r"|\bseems to be (?:an? )?[0-3](?=,? but\b)|\bif (?:it|the|this)\b[^.\n]{0,80}\bhad\b[^.\n]{0,80}\bwould (?:be|get|earn|deserve) (?:an? )?[0-3]\b"
    r"|(?<!\bi )\bwould have (?:been|got|gotten|earned|deserved) (?:an? )?[0-3]\b"
    r"|(?<!no )(?<!not )\b(?:(?:better|worse|higher|lower) than (?:an? )?[0-3]\b|(?:more|less) than (?:an? )?[0-3](?=[.,;]|$))"
    r"|(?:^\s?|[.,;] )(?:above|over|below|under) (?:an? )?[0-3](?=[.,;]|$)"
    r"|\b(?:rather than|instead of) (?:an? )?[0-3](?=[,.?])|\ba full [0-3] is not\b|\b(?:stricter|harsher|more lenient"
    r"|more generous) [\w ]{1,20}(?:might|may|could|would) give (?:it )?(?:an? )?[0-3]|更(?:严格|宽松)的[^。\n]{1,10}[给评]\s?[0-3]"
    r"|(?:若要|要想|要)[评给得](?:到)?[0-3][分级]?(?=,)|连[0-3][分级]?都|(?<![0-9])[0-3]\s?[分级]?(?:则)?(?:要求|需要)"
    r"|为什么不(?:是|给|评)\s?[0-3]\s?[分级]?|考虑过[评给]?\s?[0-3]\s?[分级]?(?=,?但)|(?:如果|若)[^。\n]{1,40}(?:(?:则|就"
    r"|才)?可以?[评给]|[则就才]为)\s?[0-3]\s?[分级]?|(?<!不)(?:[高优低差]于|超过)\s?[0-3]\s?[分级]?+(?!钟)|乍一?看可?以?[评给]\s?[0-3]\s?[分级]?(?=,?但)",
    GRADES,
    "严格|宽松|为什么不|乍|于|超过|above|over|below|under|如果|考虑|若|要|连|between|than|full|consider|could|for a|harsher|lenient|generous|stricter|instead|is not|might|need|require|seems|thought|to|was not|why not|would",
)
_IS_BETTER = re.compile("better|(?:more|higher) than|above|over|[高优]于|超过")
_IS_WORSE = re.compile("worse|(?:less|lower) than|below|under|[低差]于")
#: What a grade requires, or a choice, rejects none.
_ONLY_REQUIRES = re.compile(r"(?<!would )\b(?:requires?|needs?)$|(?:要求|需要)$|\bdecid")
#: What makes a second answer the last one.
_SEQUENCE = r"评|\b(?:first|initial|second|now|then|later|after|again|on re|overall|final)|总|最[初终后]|现在|再[看读想]|重新|起初"
#: A question or an item of a checklist with its answer, where it is not the verdict.
_CHECKLIST_ITEM = compile_filtered(
    rf"(?m)(?:(?<![^.。?!\n:])[^.。?!\n:]{{2,200}}\?\s{{0,3}}|(?:^[^\w\n]{{0,6}}+(?:(?:{REASON_LABELS}): ?)?"
    rf"|(?<=[.,;。]) ?)(?![^:\n]{{0,40}}(?:{build_label_pattern(None)}|evaluat|assess|{_SEQUENCE}))[^.。?!\n:]{{2,40}}:[^\S\n]{{0,3}})(?P<value>yes"
    r"|no|是|否)(?![\w])[.。]?",
    "?|:",
    "否|是|no|yes",
)
#: How sure a reply says to be is not a value.
_CONFIDENCE = compile_filtered(
    r"(?:\b(?:confidence|certainty|probability)(?: (?:score|level))?|置信(?:度|水平)|把握)[\s*:=]{0,4}(?:is |of |[是为] ?)?[0-9.]{1,6}%?",
    "把握|置信|certainty|confidence|probability",
)
#: Numbers that prose says an answer is not: "It is not a 3 because …", "未达到3级".
_DENIED = compile_filtered(
    r"(?m)(?:(?:\b(?:not|cannot|never|far from|hardly|barely|almost|nearly)|n['’]t)(?: (?:quite|be|reach|deserve|merit|earn|get|giv(?:e|en|ing)|assign(?:ed)?|qualify for|rise to|worth"
    r"|enough for|it|this|an?|the|grade|score|rating|level|of)){0,6} |\bneither (?:an? )?"
    r"|(?<!not )(?<!n['’]t )\b(?:miss(?:es|ed)?|f[ae]lls? short of|fail(?:s|ed)? to reach)(?: (?:an?|the|grade|score|rating|level|of)){0,4} "
    r"|(?<![是能会该得])(?<!(?<!摘)要)(?:未能?|没有?|不)(?:能|足以|会"
    r"|应该?)?[达够到是给评打得算为上足]{1,2}[到上为成]?(?:等级)?\s?|(?<!除)并?非\s?)(?P<values>[0-9](?:\s?[分级]?(?:,? (?:or|nor|and) "
    r"|\s?[/或和、]\s?)(?:an? )?[0-9])*)(?=\s?[分级]|[^\w\s.]|\.(?![0-9])|\s?$|\s(?:because|since|as|for|but|so|though"
    r"|due)\b)(?![^.。!\n]{0,60}\?)(?![分级]?,?就是)",
    DIGITS,
    "不|未|没|非|not|never|far from|hardly|barely|almost|nearly|n't|n’t|neither|miss|short of|to reach",
)
_UNRELATED = compile_filtered(
    r"(?m)(?:\bnot|n['’]t)(?: (?:at all|in any way|in the least|even|remotely|really|actually)){0,2} relevant\b"
    r"|(?:\bnot|n['’]t) (?:at all )?related to\b|\b(?:irrelevant|off[- ]?topic|unrelated|useless|worthless)\b(?=\W{0,3}$|[.,;!)]"
    r"| (?:to|for|and|because|since|as|here)\b)|\bno(?:thing| \w+)? to do with\b|\b(?:no|zero) (?:relevance|relation|connection|use|help|value)(?: (?:to"
    r"|for|with)\b|(?: at all| whatsoever)?(?=[.!]|$))|\b(?:not|n['’]t|fails? to) (?:answer|address|help)\b[^.,;\n]{0,40} (?:at all|in any way)\b"
    r"|\b(?:is|are|was) (?:just |only |merely |nothing but |simply )?(?:an? )?(?:mere |pure )?(?:demand for a (?:grade|verdict|score)"
    r"|(?:fabricated|fake|forged|made-up) (?:verdict|grade|answer|judge?ment)|keyword (?:pile|stuffing|spam|list)|pile of keywords|error page)\b"
    r"|(?:只是|仅是|不过是|就是|这是|属于)(?:在)?(?:索要(?:等级|评分|判定)|堆砌关键词|关键词堆砌|报错)"
    r"|(?:\bis not|n['’]t|\bis of no) (?:helpful|useful|help|use)\b(?=[.!]|$)|(?:n['’]t|\bnot) help the user\b"
    r"|\b(?:gives?|offers?|provides?) no (?:help|use)\b|没有?帮助(?=[。!]|$)|(?:毫无|没有?(?:任何|什么|一点|半点)?|无任何|并无)(?:关系|关联|联系"
    r"|相关性)|毫不相[关干]|毫无(?:帮助|用处|价值)|(?:不(?:太|怎么|大)?相[关關]|[无無][关關])(?![\u4e00-\u9fff])|答非所问|[跑离偏]题"
    r"|(?:完全|根本)(?:没有?|未|不能|无法)(?:回答|满足|解决)了?(?:用户的?)?(?:该|此|这个)?(?:查询|问题|需求)",
    "不|关系|关联|关键词堆砌|堆砌关键词|完全|帮助|报错|无|根本|無|相关性|答非所问|索要|联系|题|关|relevan|related|topic|useless|worthless|to do with|relation|connection|help|use|value|at all|in any way|demand for|fabricated|fake|forged|made-up|keyword|error page",
)
_COMPLETE = compile_filtered(
    r"\b(?:snippet|page|it|result) (?:really |clearly )?helps the user\b(?=[.!]|$)|\b(?:fully|completely|entirely|perfectly|totally|wholly) (?:answer"
    r"|satisf|address|meet|resolv)\w*(?! (?:another|a different|other)\b)|\b(?:answer|satisf|address)\w* (?:[\w'’]+ ){1,4}(?:in full|completely|fully"
    r"|perfectly|entirely)\b|\b(?:perfect|complete|full|ideal) (?:answer|match|response)\b|\b(?:highly|very|extremely|perfectly|fully) relevant\b"
    r"|(?:完全|完整|充分|全面|完美|彻底)地?(?:回答|解答|满足|解决|回应)|(?:完美|完整)的?(?:答案|回答|匹配)"
    r"|(?:高度|非常|十分|极其|极为|完全|密切)相关(?![\u4e00-\u9fff])",
    "匹配|回应|回答|满足|相关|答案|解决|解答|relevant|address|answer|complete|entirely|fully|helps|match|meet|perfect|resolv|response|satisf|totally|wholly",
)
#: The opposite of either verdict, in the words of the prompt, at the end of a clause.
_NEED = r"(?:用户的?)?(?:该|此|这个)?(?:查询|问题|需求)"
_CLAUSE_END = r"(?=(?:,? (?:in fact|really|actually|though|after all|at all))?\s?[.!。]|$)"
_HELPS = compile_filtered(
    r"(?m)(?:\b(?:is|looks) (?:really |very )?(?:helpful|useful)(?: to the user)?|^\W{0,4}(?:(?:conclusion|so|overall)\W{1,2})?helpful"
    rf"|\b(?:snippet|page|(?<!hope )it) helps(?: the user)?|\banswers the (?:query|question)|有(?:很大)?帮助|(?:回答|满足|解决)了{_NEED})"
    rf"{_CLAUSE_END}",
    "回答|帮助|满足|解决|help|answers the|useful",
)
_HELPS_NOT = compile_filtered(
    r"(?m)(?:(?:\bnot|n['’]t) (?:helpful|useful)(?: to the user)?|\bunhelpful|(?:\bnot|n['’]t) (?:help|answer(?: the (?:query|question))?)|\bfails to (?:help|answer the (?:query|question))|^\W{0,4}no (?:relevant|useful) (?:content|information)"
    rf"|(?:没有?|无法?)(?:任何)?(?:帮助(?:用户)?|用)|(?:[未没]有?|[未不]能|无法)(?:回答|满足|解决){_NEED}"
    rf"|没有?(?:任何)?有用的?(?:信息|内容)){_CLAUSE_END}",
    "回答|无|有用|没|满足|解决|answer|content|help|information|useful",
)
#: What a label of the binary scale has in front of an explanation: "结论：有帮助".
_HELP_WORDS = dict.fromkeys(
    ("有帮助", "有用", "部分有用", "完整回答", "useful", "helpful"), 1
) | dict.fromkeys(("没有帮助", "无帮助", "没有用", "无用", "not useful", "not helpful"), 0)
#: A line that is nothing but a verdict, or that begins with one and explains it.
_VERDICT_LINE = re.compile(
    rf"(?m)^(?:[^\w\n]|_){{0,8}}(?P<value>(?:{ANY_WORD})(?=(?:[^\w\n]|_){{0,8}}$|{_EXPLAINS})|[01](?=[^\w\n.)、]{{0,8}}$))"
)
_MARKS_OF_SCALE = r"(?:grade|score|mark|point|rating)s?\b(?! (?:is|of|=|[0-9])|\s?[:=])"
_TOP = compile_filtered(
    rf"\b(?:top|full|perfect|max(?:imum|imal)?|highest(?: possible)?|best possible) {_MARKS_OF_SCALE}"
    r"|(?:满分|最高(?:分|级|等级|评分|评级))(?!\s?[是为:=(]?\s?[0-9])",
    "最高|满分|grade|mark|point|rating|score",
)
_LOWEST = compile_filtered(
    rf"\b(?:lowest(?: possible)?|min(?:imum|imal)|bottom|zero) {_MARKS_OF_SCALE}|零分|最低(?:分|级|等级|评分|评级)(?!\s?[是为:=(]?\s?[0-9])",
    "最低|零分|bottom|lowest|minim|zero",
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
    r"|claim\w*|want\w*|need\w*|seek\w*|expect\w*|tr(?:y|ies|ied)|ignor\w*|says?|to)\b|n['’]t|[不没未非缺]|无法|难以|让我|要求|声称|试图|需要|[想说]"
    r"|接近|几乎"
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
        or names_other_scale(lead[-MAX_LEAD:], scale, alone=True)
    ):
        return "the text around the answer states another value"
    if any(map(is_attributed, nearest)) or is_embedded(nearest[0], trail):
        return "the answer may be an example, or that of another"
    return ""


def find_stated_values(text: str, scale: Scale) -> set[int | None]:
    """Return the values that prose states; None stands for a value that is not on the scale.

    A value is stated behind a label ("Grade: 2", "结论是否"), alone in a line, a sentence or braces,
    or at the end of a clause. Counts ("3 steps"), dates and the numbers of a list state nothing.
    """
    return _find_values(_DENIED.sub(" ", _simplify(text, scale)[0]), scale)


def contradicts(text: str, grade: int, scale: Scale) -> bool:
    """Return True when prose states another value than `grade`, denies `grade`, or says the opposite."""
    if not re.search(r"\w", text):
        return False
    flat, rejected = _simplify(_NAME.sub(" ", text), scale)
    denied = "".join(match["values"] for match in _DENIED.finditer(flat))
    stated = _DEMANDED.sub(" ", _DENIED.sub(" ", flat) if denied else flat)
    return (
        grade in rejected
        or (scale.name == "graded" and str(grade) in denied)
        or bool(_find_values(stated, scale) - {grade})
        or (scale.name == "graded" and is_rounded(text))
        or any(is_contrary(match["value"], grade, scale) for match in _VERDICT_LINE.finditer(flat))
        or (scale.name == "binary" and _states((_HELPS, _HELPS_NOT)[grade], _DENIES_HELP, flat))
        or (grade >= scale.relevant_from and _states(_UNRELATED, _DENIES_UNRELATED, flat))
        or (grade < scale.relevant_from and _states(_COMPLETE, _DENIES_EXTREME, flat))
        or (grade != scale.top and _states(_TOP, _DENIES_EXTREME, flat))
        or (grade != 0 and _states(_LOWEST, _DENIES_EXTREME, flat))
    )


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
        rejected.update([] if _ONLY_REQUIRES.search(match[0]) else grades)
        return " "

    if scale.name == "graded":
        # Only lines with a grade: the search takes long.
        flat = drop_ignored_demands(RUBRIC.sub("\n", flat), reject)
        lines = TOO_HIGH_OR_LOW.sub(reject, flat).split("\n")
        flat = "\n".join(_THRESHOLD.sub(reject, line) if _ANY_GRADE.search(line) else line for line in lines)
        return flat, rejected
    flat = _CONCESSION.sub(" ", BINARY_RUBRIC.sub("\n", flat))
    if len({item["value"] in "yes是" for item in _CHECKLIST_ITEM.finditer(flat)}) > 1:
        flat = _CHECKLIST_ITEM.sub("\n", flat)
    return drop_ignored_demands(flat), rejected


def _find_values(flat: str, scale: Scale) -> set[int | None]:
    flat = _CONFIDENCE.sub(" ", drop_own_scale(flat, scale))
    labelled = {
        match["value"].rstrip(".").removesuffix(f"/{scale.top}")
        for form in _compile_labelled_value_patterns(scale.name)
        for match in form.finditer(flat)
    }
    if _SECOND_POINT.search(flat):  # few replies have one, and each line takes time
        flat = "\n".join(map(_drop_point_numbers, flat.split("\n")))
    flat = _NO_VALUE.sub(" ", flat)
    bare = {
        match["value"] for form in _compile_bare_value_patterns(scale.name) for match in form.finditer(flat)
    }
    values = {find_value(text, scale) for text in bare} - {None}
    help_words = _HELP_WORDS if scale.name == "binary" else {}
    values |= {help_words.get(text, find_value(text, scale)) for text in labelled}
    if _UNCERTAIN.search(flat):
        values.add(None)
    if scale.name == "binary":
        stated = (match["value"] for match in _RELEVANCE.finditer(flat) if not match["hedge"])
        values |= {0 if _NEGATIVE.search(text) else 1 for text in stated}
    return values


def _drop_point_numbers(line: str) -> str:
    """Return a line without the numbers of its points: "Reason: 1. On topic. 2. No dates."."""
    for number in range(1, 10):
        shorter = _compile_point_pattern(number).sub(r"\g<before> ", line, count=1)
        if shorter == line:
            break
        line = shorter
    return line


def _states(statement: FilteredPattern, denial: re.Pattern[str], text: str) -> bool:
    """Return True when prose makes a statement that its own clause neither denies nor restricts."""
    return any(
        not denial.search(re.split(r"[,;.。!?\n]", text[max(0, match.start() - 120) : match.start()])[-1])
        and not _CONDITION.search(text, max(0, match.start() - 120), match.start())
        for match in statement.finditer(text)
    )


_MARKS = f"[{re.escape(AROUND)}]{{0,4}}"
#: The words of a sentence that states a value and nothing else: "Ok, 3 it is.", "I go with 1 after all".
_FILLER = (
    r"(?:ok|okay|well|so|then|final|finally|really|it|is|be|i|go|going|with|after|all|would|say|settle|for|on|now|let['’]?s|i['’](?:d|ll|m)|it['’]s"
    r"|call|just|take|choose|pick|my|answer|to|an?|that['’]s|for|me)"
)
#: A clause that is nothing but a value between two of the scale, or a doubt.
_UNCERTAIN = re.compile(
    r"(?m)(?:^|[.。!?;,]"
    rf"|(?<![a-z]){build_label_pattern(None)}\s?(?:is|为|是)?\s?[:=](?!\s{{0,3}}{_MARKS}[0-9]))\s{{0,3}}{_MARKS}\[?(?:[0-3](?:\.(?!0+\b)[0-9]{{1,2}}"
    r"|\s?(?:[/~–-]|or|to|或|到|至)\s?[0-9]{1,2}|\s?(?:[+-]|plus|minus))|[~≈]\s?[0-3]|介于[0-3]\s?[分级]?\s?[和与到至]\s?[0-3]\s?[分级]?之间(?!,)|½|(?:yes|no)\b[^\w\n]{1,4}(?:(?:and|or) )?(?:yes|no)\b|(?:(?:it|is|this|that|an?|the|definitely|certainly|really) ){0,4}(?:not|never|almost|nearly|hardly|barely) (?:an? )?(?:yes|no)"
    r"|(?:并非|不算)[是否]|maybe|perhaps|unsure|unclear|nope"
    rf"|not irrelevant|不一定|不确定|不知道|不好说|非相关|不是不相关|是否)\]?{_MARKS}(?:[,;。!?]|\.(?![0-9])|\s?[-–—]\s|$)"
)


@cache
def _compile_point_pattern(number: int) -> re.Pattern[str]:
    """Return the pattern of a point's number: 1 begins a line or a reason, another one follows a point's end."""
    first = rf"^[^\w\n]{{0,8}}+(?:(?:{REASON_LABELS})\s?:[^\w\n]{{0,4}}+)?"
    before = first if number == 1 else r"[.。;!,]\s?|[^\W\d] (?=.\))"
    return re.compile(rf"(?P<before>{before}){number}[.)、]\s?(?=[^\W\d_])")


@cache
def _compile_labelled_value_patterns(scale_name: ScaleName) -> tuple[FilteredPattern, ...]:
    """Return the patterns of a label with its value, of the scale's key with a few words, and of a box."""
    value = r"[-+]?[0-9][0-9./]*[分级]?|[零一二两三](?![\u4e00-\u9fff])" if scale_name == "graded" else (
        r"(?:not relevant|irrelevant|relevant|yes|no)(?![a-z])|不相关|相关|无关|[是否](?![\u4e00-\u9fff])"
    )  # fmt: skip
    joint = r"(?:[:=>→|]|\b(?:is|of|as|be|to)\b|是|为)"
    bare = r"(?=[0-9])" if scale_name == "graded" else r"(?=(?:yes|no|不?相关|否)[^\w:]{0,4}$)"
    # "Grade: 2-3" and "verdict = maybe", but not what announces an object.
    word = r"[^\s\u4e00-\u9fff,;。(){}\[\]]{1,16}"
    words = (
        r"(?:[0-9]|yes\b|no\b)(?:(?!\.\s|\s?[-–—]{1,2}\s?[^\W0-9])[^\n,;。(){}]){0,12}?|[\u4e00-\u9fff]{1,5}"
        rf"|(?!json\b|see\b|below\b|as\b|here\b)(?:[~-]{{1,2}}\w|[^\W0-9]){word}(?: {word})?"
    )
    return (
        compile_filtered(
            rf"(?m)(?<![a-z])(?:(?:final|overall|my)?{build_label_pattern(None)}|correction|更正)(?: value)?{_MARKS}(?:{joint}|{bare}){_MARKS}(?:a "
            rf"|just )?(?P<value>{value})(?!\s{_GRADED_THINGS})(?!{_MARKS}(?:-|–|~|to|到|至)\s?3)(?!\s(?:of"
            rf"|steps?)\b(?! 3))(?!\s?(?:{_UNITS_OF_TIME}))",
            "verdict|answer|judg|decision|conclusion|relevan|label|grade|score|rating|correction|更正|评定|判定|结论|判断|判决|答案|结果"
            "|相关|标签|等级|总分|评分|分数|得分|评级|打分|级别|分值",
        ),
        compile_filtered(
            rf"(?m)(?<![a-z])(?:{'|'.join(KEYS[scale_name])}){_MARKS}[:=]{_MARKS}(?P<value>{words}){_MARKS}(?=(?: out of 3)?[.。!]?\s*$|[,;()}}])",
            "|".join(KEYS[scale_name]),
        ),
        compile_filtered(r"\\boxed\{(?P<value>[^{}\n]{0,24})", "\\boxed{"),
    )


def _compile_sentence_pattern(values: str, words: str) -> FilteredPattern:
    """Return the pattern of a sentence with one of `values`, an alternation, and filling words alone."""
    return compile_filtered(
        r"(?m)(?:^"
        rf"|[.。!?](?![0-9]))\W{{0,4}}(?:{_FILLER}\b\W{{1,3}}){{0,6}}(?P<value>{values})(?:\W{{1,3}}{_FILLER}){{0,5}}[^\w.]{{0,3}}(?=\.(?![0-9])|!|$)",
        words,
    )


@cache
def _compile_bare_value_patterns(scale_name: ScaleName) -> tuple[FilteredPattern, ...]:
    """Return the patterns of a value without a label."""
    stop = rf"(?={_MARKS}(?:[.,:](?![0-9])|[。!;)\]}}】|?→]|[-–—](?![0-9A-Za-z])|$))"
    if scale_name == "binary":
        value = r"(?P<value>(?:yes|no)(?![A-Za-z])|[是否](?![\u4e00-\u9fff]))"
        start = r"(?:^|[.。!?;:,=>→{(\[【]|\b(?:so|thus|hence|therefore|or|is|be|say|make that|to)\b|或者?|所以|因此|严格来?说|[是为成判评])"
        return (
            _compile_sentence_pattern("yes|no", "yes|no"),
            compile_filtered(rf"(?m){start}[,\s]{{0,2}}{_MARKS}{value}{stop}", "yes|no|是|否"),
            compile_filtered(
                rf"(?m)(?<![A-Za-z\u4e00-\u9fff])(?P<value>yes|no|[是否]){_MARKS}[.。!]?{_MARKS}[)\]}}】]?$",
                "yes|no|是|否",
            ),
        )
    number = r"(?<![0-9A-Za-z.$¥￥€£])(?<![0-9][-/:,])(?P<value>[0-9](?:\.0+)?)"
    copula = (
        r"(?=\s?[分级](?![钟布之析子类支开享别数医台运方球甲建])|\s(?:is|was|would|seems|fits|because|since|as|for|so|and|or|instead|rather|at (?:the )?(?:very )?(?:best|least|most)|tops"
        r"|points?\b)\b|\s?(?:更|比较|较|才|吧|因为|合适|或))"
    )
    spelled = (
        r"\b(?:a|an?|grade|score|rating|be|is|to|at|as|give|give it|give this"
        r"|say)\s(?P<value>zero|one|two|three)" + stop
    )
    return (
        _compile_sentence_pattern("[0-9]|zero|one|two|three", f"{DIGITS}|zero|one|two|three"),
        compile_filtered(rf"(?m){number}(?:{stop}|{copula})", DIGITS),
        compile_filtered(f"(?m){spelled}", "zero|one|two|three"),
        compile_filtered(  # "It is a 1 in my view"
            r"(?m)\ba(?:(?<=^a)|(?<=[.!?;,] a)|(?<=\b(?:is|be|as) a)|(?<=\b(?:was|see|say) a)|(?<=\b(?:only|just) a)|(?<=\bworth a)|(?<=\bdeserves a))"
            r"\s(?:(?:solid|weak|strong|clear|low|high|mere|bare|good|fair|generous|firm)\s)?"
            r"(?P<value>[0-9])\s(?:at|in|on|to|by|from|with|overall|here|now|then|though|again)\b(?!\s[0-9])",
            DIGITS,
        ),
        compile_filtered(
            r"(?m)(?:[评给判按]为?|符合\s?)(?P<value>[零一二两三0-3])\s?(?=[。,;!]|计(?:[。,;!]|$)|$|[分级]?的(?:标准|要求|定义))",
            "评|给|判|按|符合",
        ),
        compile_filtered(r"(?m)^\W{0,4}(?P<value>zero|one|two|three)[.!]?$", "zero|one|two|three"),
        compile_filtered(r"(?P<value>[零一二两三])[分级](?![钟布之析子类支开享医台运方球甲建])", "分|级"),
    )
