"""Prose in which a reply declines to judge, or corrects what it said."""

from __future__ import annotations

import re

from judge.parsing.contradictions import simplify_around
from judge.parsing.remarks import is_offset
from judge.parsing.vocabulary import ANSWER_WORDS, AROUND
from judge.records import Scale

_REFUSAL = re.compile(
    r"(?:i['’]?m |i am |we['’]?re )?(?:very |so |really )?(?:sorry|afraid)\b|(?:unfortunately,? )?(?:i"
    r"|we) (?:cannot|can['’]?t|can not|(?:won['’]?t|will not)(?! (?:follow|obey|comply|heed)\b)|must decline"
    r"|am unable)|i['’]m unable|i decline|as an? (?:ai|language model),? i|i apologi[sz]e|my apologies|(?:很"
    r"|非常)?(?:抱歉|对不起|不好意思)|(?:我|本模型)?(?:无法|不能|没办法|拒绝)|作为(?:一个|一名)?\s?(?:ai"
    r"|人工智能|大?语言模型|大模型)"
)
#: An apology in front of an answer declines nothing: "Sorry about that! Here is the JSON:".
_APOLOGY = re.compile(
    r"(?:i['’]?m |i am |we['’]?re )?(?:very |so |really )?sorry\b|i apologi[sz]e|my apologies"
    r"|(?:很|非常)?(?:抱歉|对不起|不好意思)"
)
_DECLINES = re.compile(
    r"\b(?:cannot|can not|can['’]?t|won['’]?t|will not|unable|not able|decline|refuse|but(?! i can (?:only"
    r"|just)\b))\b(?! be (?:parsed|read))|(?:无法|不能|没办法)(?!被?(?:解析|读取|识别))|拒绝|不会|不便|不应"
    r"|不予|但"
)
#: What begins a sentence in which the reply corrects itself.
_STARTS_CORRECTION = (
    r"(?:no(?=\W{0,3}(?:$|[,.!;:—]| wait| it| i\b))|wait(?! times?\b)|hmm|oops|edit|update"
    r"|correction|rather(?! than (?:an? )?[0-3],)|better(?! than)|sorry|apologies|or|instead|lower|raise"
    r"|hold on|strike|never mind|nevermind|amend\w*|upon|looking (?:again|back|closer)|please use"
    r"|or rather|on (?:second|further|reflection|closer|review)|after (?:re\w+|another|more|further)"
    r"|thinking again|then again|second thoughts?|having (?:re\w+|thought))\b(?! (?:further|outside|other"
    r"|more|additional|external|one)\b)|不(?:[,对]|是(?!\s?[0-9]))|等等|等一下|抱歉|更准确|准确地说|订正"
    r"|改[为成]"
)
#: What a sentence is about that begins with "actually" and corrects: the answer, or what a grade means.
_OF_ANSWER = (
    rf"{ANSWER_WORDS}|[0-9]\s?[分级]?[^\w\n]*(?:$|[,.;。!])|[零一二两三][分级]?[^\w\n]*(?:$|[,.;。!])"
    r"|\b(?:zero|one|two|three|yes|no|not|relevant|irrelevant|related|unrelated|helpful|useful|useless|lower"
    r"|higher|less|more|worse|better|should|would|i)\b|n['’]t|[是否]\W*$|相关|无关|有用|没用|帮助|应|[高低]"
)
_CORRECTION = re.compile(
    rf"(?:\A|[.!?。;\n—(-])[\s{re.escape(AROUND)}(（—-]{{0,8}}(?:{_STARTS_CORRECTION}|(?:actually|in fact"
    rf"|其实|实际上|或者?)(?=[^.。!?\n]{{0,60}}?(?:{_OF_ANSWER})))"
    r"|\b(?:correction|on second thought|i (?:mean|meant)\b|i['’]d rather|scratch (?:that|it)|make (?:that"
    r"|it)\b|(?:chang\w+|revis\w+|updat\w+|lower\w*|rais\w+|adjust\w*|correct\w*|amend\w*) (?:it|this|that"
    r"|my|the (?:answer|grade|verdict|score|rating))\b|(?:lower|rais|reduc|increas|bump)\w* (?:it )?by\b"
    r"|let me (?:revise|reconsider|correct|rethink"
    r"|re-?check|re-?read|re-?evaluate|think again|change|try again|redo)|(?:revised|updated|corrected"
    r"|amended|new) (?:answer|grade|verdict|score|rating|json)|my mind|my mistake|i was wrong|i (?:over"
    r"|under)(?:rated|estimated|graded)|mistaken(?:ly)?|reconsider\w*|t(?:ake|ook) (?:that|it|this"
    r"|the \w+) back|(?:disregard|ignore|discard|forget|delete) (?:the|that|this|my|it|what|above"
    r"|everything|all)\b|(?:i|we) (?:made|have made|['’]ve made) an? (?:\w+ )?(?:error|mistake|slip)"
    r"|(?:need|have|want|like|going) to (?:correct|revise|change|amend|adjust|retract)|(?:no longer"
    r"|don['’]t|do not|cannot) (?:stand by|agree|support|endorse)|disagree|instead[.。!]"
    r"|(?<!snippet )(?<!page )(?<!text )(?:would|may|might|could) be (?:more|better|fairer|closer)"
    r"|use (?:yes|no|[0-9]|不?相关|[是否])|(?:grade|score|verdict|rating|answer)\b[^.。\n]{0,10}\b(?:should"
    r"|ought|needs? to|must)\b|just kidding|retract\w*|withdraw\w*|too (?:high|low|generous|harsh|strict"
    r"|lenient|kind)|(?:should|ought to) (?:have been|be (?:a |an )?(?:[0-9]|(?:yes|no|higher|lower|zero"
    r"|one|two|three)\b))|not (?:so )?sure (?:about|of) (?:that|this|it|the (?:grade|verdict|score))"
    r"|(?:the correct|a better|the right|the real|the true) (?:answer|grade|verdict|score|rating))|(?:grade"
    r"|score|verdict|rating|answer|judge?ment|json|object|output|above|that|this|it)\b[^.。\n]{0,20}\b(?:is"
    r"|was|are)(?: not|n['’]t)? (?:just |only |a |an |quite )?(?:\w+ly )?(?:wrong|incorrect|mistakes?"
    r"|errors?(?! (?:page|message|code))|not right|right|correct|invalid|void|off|inaccurate)\b|更正|修正"
    r"|纠正|订正|应为|应(?:该|当)?[是为评给]|应评|(?:修改|调整|改|更新)[为成到]|改(?:给|判|评)"
    r"|[降升调][为到至]|(?:does|do|did)(?: not|n['’]t) (?:hold|stand|count|apply)|重新(?:看|考虑|评|审视"
    r"|判断|想|思考)|再(?:想|考虑|看|斟酌)|不对[,。!，]|(?:说|给|搞|弄|判|评)错|(?:判断|判定|等级|评分|评级"
    r"|结果|答案|结论|以上|上面|上述|刚才|刚刚)[^。\n]{0,12}(?:有误|错误|错了|不准|不正确|不当|偏高|偏低)"
    r"|改主意|失误|误判|欠妥|不妥|推翻|为准|应(?:该|当)?[再更]?.{0,2}(?:[低高]|下调|上调|降|升|改)|(?:要"
    r"|需要?|想|得)(?:修改|更改|改|调整|更正|订正)(?!格式)|不要采[用纳]|请采用|请改|收回|撤回|撤销|作废"
    r"|不算数?[。!]|(?:忽略|无视|丢弃)(?:以|上|前|刚|掉)|太[高低][了。!]|过[高低][了。!]|更(?:合适|恰当"
    r"|准确|合理)|\b(?:down|up)grad(?:e|ed|ing) (?:(?:it|this|that) )?(?:to|from)\b|\bt(?:ake"
    r"|ook) back (?:the|that|my|it|this)\b|\b(?:the )?opposite is (?:true|right|correct)|\b(?:is|was"
    r"|['’]s) (?:actually |really |quite |exactly )?the (?:opposite|reverse)[.!]|\breverse (?:that|it"
    r"|this)\b|\bgot (?:it|that|this) (?:backwards?|wrong|the wrong way)|\bother way (?:a)?round[.!]"
    r"|\b(?:relevant|helpful|useful|on topic) after all\b|\b(?:has|have|had) the wrong (?:grade|verdict"
    r"|score)|\b(?:for|graded|judged|rated|read) the wrong (?:snippet|query|pair|result)\b"
    r"|[论果说写判搞弄]反了|应该?相反|应判|看错|(?<![0-9])[评给][0-3][分级]?偏[高低]|偏[高低]了"
    r"|还是[评给判打]|\bdeserves? (?:less|more|better|an? (?:lower|higher))\b|\ban? (?:lower"
    r"|higher) (?:grade|score|rating) (?:is|would|might|may|could|seems)\b|\bnot (?:\w+ )?(?:confident"
    r"|certain|convinced) (?:in|about|of) (?:this|that|the|my) (?:grade|score|verdict|rating|answer)"
    r"|\b(?:give|rate|grade|score|be) (?:it |this )?(?:an? )?[0-3] ?(?:to|or|[-–]) ?[0-3]\b"
    r"|[评给判打]得?[高低]了|(?:等级|评分|判定|结论)存疑|不(?:太)?确定(?:这个|该|此)?(?:等级|评分|判定"
    r"|结论)|给[0-3][分级]?也[行可说]|还是[是否0-3]吧|(?:给|介于|等级在)[0-3][分级]?[到至和与][0-3]"
    r"|[0-3][分级]?[到至][0-3][分级]?之间",
    re.MULTILINE,
)

#: What says that nothing is to be corrected.
_NO_CHANGE = re.compile(
    r"(?:无[需须]|不需要?|不用|不必|没有必要)(?:再|[作做进]行?)?(?:任何)?(?:修改|更改|改动|调整|更正|订正)"
    r"|\bno (?:further |other )?(?:changes?|corrections?|edits?|revisions?|updates?)(?: (?:is|are))? (?:needed|required|necessary)"
)


def is_refusal(text: str, *, is_lead: bool = False) -> bool:
    """Return True when prose begins by declining to judge.

    `is_lead` is True for the prose in front of an answer, where an apology alone declines nothing.
    """
    flat = text.lstrip(AROUND).lower()
    if is_lead and _APOLOGY.match(flat) and not _DECLINES.search(flat):
        return False
    return _REFUSAL.match(flat) is not None


def has_correction(text: str, grade: int, scale: Scale) -> bool:
    """Return True when prose behind an answer with `grade` corrects it or takes it back."""
    flat = _NO_CHANGE.sub(" ", simplify_around(text, grade, scale))
    return is_offset(flat) or _CORRECTION.search(flat) is not None
