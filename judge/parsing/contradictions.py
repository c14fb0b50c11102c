"""The values, corrections and refusals that the prose of a reply states.

An object or a labelled line is the answer only if no statement around it contradicts it.
"""

from __future__ import annotations

import re
from functools import cache

from judge.parsing.tolerant_json import flatten
from judge.parsing.vocabulary import AROUND, label_pattern, value_of
from judge.records import Scale

_REFUSAL = re.compile(
    r"(?:i['’]?m |i am |we['’]?re )?(?:very |so |really )?(?:sorry|afraid)\b"
    r"|(?:unfortunately,? )?(?:i|we) (?:cannot|can['’]?t|can not|won['’]?t|will not|must decline|am unable)"
    r"|i['’]m unable|i decline|as an? (?:ai|language model),? i|i apologi[sz]e|my apologies"
    r"|(?:很|非常)?(?:抱歉|对不起|不好意思)|(?:我|本模型)?(?:无法|不能|没办法|拒绝)"
    r"|作为(?:一个|一名)?\s?(?:ai|人工智能|大?语言模型|大模型)",
    re.IGNORECASE,
)
#: What begins a sentence in which the reply corrects itself.
_STARTS_CORRECTION = (
    r"(?:no|wait|actually|hmm|oops|edit|update|correction|rather|better|sorry|apologies|"
    r"or|instead|lower|raise"
    r"|hold on|strike|never mind|nevermind|amend\w*|upon|looking (?:again|back|closer)|"
    r"please use|in fact|or rather|on (?:second|further|reflection|closer|review)|after (?:re\w+|"
    r"another|more|further)"
    r"|thinking again|having (?:re\w+|thought))\b(?! (?:further|outside|other|more|"
    r"additional|external|one)\b)"
    r"|或者?|不[,是对]|等等|等一下|其实|抱歉|实际上|更准确|准确地说|订正|改[为成]"
)
_CORRECTION = re.compile(
    rf"(?:\A|[.!?。;\n—(-])[\s{re.escape(AROUND)}(（—-]{{0,8}}(?:{_STARTS_CORRECTION})"
    r"|\b(?:correction|on second thought|i (?:mean|meant)\b|i['’]d rather|scratch (?:that|"
    r"it)|make (?:that|it)\b"
    r"|(?:chang\w+|revis\w+|updat\w+|lower\w*|rais\w+|adjust\w*|correct\w*|amend\w*) "
    r"(?:it|this|that|my|the (?:answer|grade|verdict|score|rating))\b"
    r"|let me (?:revise|reconsider|correct|rethink|re-?check|re-?read|re-?evaluate|"
    r"think again|change|try again|redo)"
    r"|(?:revised|updated|corrected|amended|new) (?:answer|grade|verdict|score|rating|json)"
    r"|my mind|my mistake|i was wrong|i (?:over|under)(?:rated|estimated|graded)|mistaken(?:ly)?|"
    r"reconsider\w*"
    r"|t(?:ake|ook) (?:that|it|this|the \w+) back"
    r"|(?:disregard|ignore|discard|forget|delete) (?:the|that|this|my|it|what|above|everything|all)\b"
    r"|(?:i|we) (?:made|have made|['’]ve made) an? (?:\w+ )?(?:error|mistake|slip)|"
    r"(?:need|have|want|like|going) to (?:correct|revise|change|amend|adjust|retract)"
    r"|(?:no longer|don['’]t|do not|cannot) (?:stand by|agree|support|endorse)|disagree|"
    r"instead[.。!]|(?<!snippet )(?<!page )(?<!text )(?:would|may|might|could) be (?:more|"
    r"better|fairer|closer)|use (?:yes|no|[0-9]|不?相关|[是否])"
    r"|(?:grade|score|verdict|rating|answer)\b[^.。\n]{0,10}\b(?:should|ought|needs? to|"
    r"must)\b|just kidding|retract\w*|withdraw\w*|too (?:high|low|generous|harsh|strict|"
    r"lenient|kind)"
    r"|(?:should|ought to) (?:have been|be (?:a |an )?(?:[0-9]|yes|no|higher|lower|zero|one|two|three))"
    r"|not (?:so )?sure (?:about|of) (?:that|this|it|the (?:grade|verdict|score))"
    r"|(?:the correct|a better|the right|the real|the true) (?:answer|grade|verdict|score|rating))"
    r"|(?:grade|score|verdict|rating|answer|judge?ment|json|object|output|above|that|"
    r"this|it)\b[^.。\n]{0,20}"
    r"\b(?:is|was|are)(?: not|n['’]t)? (?:just |only |a |an |quite )?(?:\w+ly )?"
    r"(?:wrong|incorrect|mistakes?|errors?|not right|right|correct|invalid|void|off|inaccurate)\b"
    r"|更正|修正|纠正|订正|应为|应(?:该|当)?[是为评给]|应评|(?:修改|调整|改|更新)[为成到]|"
    r"改(?:给|判|评)|[降升调][为到至]|(?:does|do|did)(?: not|n['’]t) (?:hold|stand|count|apply)"
    r"|重新(?:看|考虑|评|审视|判断|想|思考)|再(?:想|考虑|看|斟酌)|不对[,。!，]|(?:说|给|搞|弄|判|评)错"
    r"|(?:判断|判定|等级|评分|评级|结果|答案|结论|以上|上面|上述|刚才|刚刚)[^。\n]{0,12}(?:有误|"
    r"错误|错了|不准|不正确|不当|偏高|偏低)"
    r"|改主意|失误|误判|欠妥|不妥|推翻|为准|应(?:该|当)?[再更]?.{0,2}(?:[低高]|下调|"
    r"上调|降|升|改)|(?:要|需要?|想|得)(?:修改|更改|改|调整|更正|订正)(?!格式)|不要采[用纳]|"
    r"请采用|请改|收回|撤回|撤销|作废|不算数?[。!]|(?:忽略|无视|丢弃)(?:以|上|前|刚|"
    r"掉)|太[高低][了。!]|过[高低][了。!]|更(?:合适|恰当|准确|合理)",
    re.IGNORECASE,
)
#: The statements of relevance, on the binary scale; "partially relevant" states nothing.
_RELEVANCE = re.compile(
    r"(?P<hedge>\b(?:partial|partly|somewhat|margin|slight|may|might|how|whether|if|"
    r"part|loose)\w*\s(?:be )?(?:\w+ly )?"
    r"|部分|有些|略|稍|是否|弱|多少|可能)?"
    r"(?P<value>\b(?:not (?:\w+ly )?relevant|isn['’]t (?:\w+ly )?relevant|irrelevant|"
    r"relevant)\b|不(?:直接|太|怎么)?相关|不相關|无关|無關|相关|相關)"
    rf"(?=[{re.escape(AROUND)}]{{0,4}}(?:[.,;!。)}}]|$)"
    r"|\s(?:to|for) (?:the|this) (?:query|topic|search|question|user|need|request))(?![性度])",
    re.IGNORECASE | re.MULTILINE,
)
_NEGATIVE = re.compile(r"n['’]t|\bnot|irr|不|无|無", re.IGNORECASE)
_SPELLED = {
    "zero": "0",
    "one": "1",
    "two": "2",
    "three": "3",
    "零": "0",
    "一": "1",
    "二": "2",
    "两": "2",
    "三": "3",
}
#: A number in front of what it counts or names ("step 3", "第2"), a scale and the number of
#: a list item state no value.
_NO_VALUE = re.compile(
    r"\b(?:steps?|sections?|parts?|pages?|points?|items?|chapters?|versions?|v|no\.|"
    r"figures?|tables?|top|type|stage|level of"
    r"|phase|question|criteri(?:on|a)|grades?|scores?|scale|error|code|http|#)\s?#?(?:of |"
    r"from |is )?[0-9][0-9.]*(?= ?[-–~,:]| to |(?: and [0-9])\b)"
    r"|\b(?:steps?|sections?|parts?|pages?|points?|items?|chapters?|versions?|figures?|"
    r"tables?|top|type|stage|phase|criterion|error)\s?#?[0-9][0-9.]*"
    r"|(?:第|步骤|图|表|步)\s?[0-9]+|(?:\(|from |scale of |of )?\b0\s?(?:[-–~到至]|"
    r"to)\s?3\b\)?|\(?\s?(?:/|out of)\s?3\b\)?"
    r"|^[ \t>*-]{0,8}[0-9]{1,2}[.)、]\s{0,4}(?=[^\s0-9])",
    re.IGNORECASE | re.MULTILINE,
)
_TAG = re.compile(r"<[^<>\n=]{1,30}>")
_BLANKS = re.compile(r"[^\S\n]{3,}")
_BLANK_LINES = re.compile(r"\n\s+")


def is_refusal(text: str) -> bool:
    """Return True when prose begins by declining to judge."""
    return _REFUSAL.match(text.lstrip(AROUND)) is not None


def has_correction(text: str) -> bool:
    """Return True when prose behind an answer corrects it or takes it back."""
    return _CORRECTION.search(_simplify(text)) is not None


def stated_values(text: str, scale: Scale) -> set[int | None]:
    """Return the values that prose states; None stands for a value that is not on the scale.

    A value is stated behind a label ("Grade: 2", "结论是否"), alone in a line, a sentence or braces,
    or at the end of a clause. Counts ("3 steps"), dates and the numbers of a list state nothing.
    """
    flat = _simplify(text)
    values = {value_of(match["value"], scale) for match in _labelled(scale).finditer(flat)}
    flat = _NO_VALUE.sub(" ", flat)
    values |= {
        value_of(_SPELLED.get(match["value"].casefold(), match["value"]), scale)
        for form in _forms(scale)
        for match in form.finditer(flat)
    } - {None}
    if scale.name == "binary":
        values |= relevance_of(flat)
    return values


def relevance_of(text: str) -> set[int | None]:
    """Return 1 and 0 for the statements in prose that something is relevant, or is not."""
    return {
        0 if _NEGATIVE.search(match["value"]) else 1
        for match in _RELEVANCE.finditer(text)
        if not match["hedge"]
    }


def contradicts(text: str, grade: int, scale: Scale) -> bool:
    """Return True when prose states another value than `grade`."""
    return bool(stated_values(text, scale) - {grade})


def _simplify(text: str) -> str:
    """Return the text flat, without tags and long blanks, so that patterns with short gaps match."""
    return _BLANK_LINES.sub("\n", _BLANKS.sub(" ", _TAG.sub("\n", flatten(text))))


_MARKS = f"[{re.escape(AROUND)}]{{0,4}}"


@cache
def _labelled(scale: Scale) -> re.Pattern[str]:
    """Return the pattern of a label with what could be its value."""
    value = r"[-+]?[0-9][0-9./]*[分级]?" if scale.name == "graded" else (
        r"(?:not relevant|irrelevant|relevant|yes|no)(?![A-Za-z])|不相关|相关|无关|[是否](?![\u4e00-\u9fff])"
    )  # fmt: skip
    joint = r"(?:[:=>→|]|\b(?:is|of|as|be|to)\b|是|为)"
    bare = r"(?=[0-9])" if scale.name == "graded" else r"(?=(?:yes|no|不?相关|否)[^\w:]{0,4}$)"
    return re.compile(
        rf"(?<![A-Za-z])(?:{label_pattern(None)}|correction|更正)(?: value)?{_MARKS}(?:{joint}|"
        rf"{bare}){_MARKS}(?:a |just )?(?P<value>{value})"
        rf"(?!{_MARKS}(?:-|–|~|to|到|至)\s?3)(?!\s(?:of|steps?)\b(?! 3))",
        re.IGNORECASE | re.MULTILINE,
    )


@cache
def _forms(scale: Scale) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a value without a label."""
    stop = rf"(?={_MARKS}(?:[.。!,;:)\]}}|?→]|[-–—](?![0-9A-Za-z])|$))"
    if scale.name == "binary":
        value = r"(?P<value>(?:yes|no)(?![A-Za-z])|[是否](?![\u4e00-\u9fff]))"
        start = (
            r"(?:^|[.。!?;:,=>→{(]|\b(?:so|thus|hence|therefore|or|is|be|say|make that|"
            r"to)\b|或者?|所以|因此|[是为成])"
        )
        return (
            re.compile(rf"{start}[,\s]{{0,2}}{_MARKS}{value}{stop}", re.IGNORECASE | re.MULTILINE),
            re.compile(
                rf"(?<![A-Za-z\u4e00-\u9fff])(?P<value>yes|[是否]){_MARKS}[.。!]?{_MARKS}[)\]}}]?$",
                re.IGNORECASE | re.MULTILINE,
            ),
        )
    number = r"(?<![0-9A-Za-z.])(?<![0-9][-/:,])(?P<value>[0-9](?:\.0+)?)"
    copula = (
        r"(?=\s?[分级](?![钟布之析子类支开享别数])|\s(?:is|was|would|seems|fits|because|"
        r"since|as|for|so|and|or|instead|rather|points?\b)\b"
        r"|\s?(?:更|比较|较|才|吧|因为|合适|或))"
    )
    spelled = r"\b(?:a|an?|grade|score|rating|be|is|to|at|as|give|say)\s(?P<value>zero|one|two|three)" + stop
    return (
        re.compile(rf"{number}(?:{stop}|{copula})", re.IGNORECASE | re.MULTILINE),
        re.compile(spelled, re.IGNORECASE | re.MULTILINE),
        re.compile(r"(?P<value>[零一二两三])[分级](?![钟布之析子类支开享])"),
    )
