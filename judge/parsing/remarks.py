"""What a reply says of its own answer: that it declines or corrects it, where it comes from, that it is rounded or off.

Some sentences speak of the answer alone: of its origin, of rounding, of a higher or lower grade, or of a doubt. Such a
sentence has a word for one of these, and besides it only words for an answer and its text. Any other word gives
it another subject: "rounded from 2.4" and "rounded corners", "says the page" and "the page says when it opens".
"""

import re
from collections.abc import Callable, Sequence

from judge.parsing.vocabulary import (
    ANSWER_WORDS,
    AROUND,
    CHINESE,
    ENGLISH,
    EXAMPLE_WORDS,
    PARTY_WORDS,
    flatten,
    simplify_prose,
)
from judge.records import Scale

_SENTENCE = re.compile(
    r"(?<![0-9])\.|\.(?![0-9])|[。!?;\n]|//|[*]/|/[*]|\s[-–—]+\s|——|\b(?:because|since)\b|因为|由于|(?<=如下):|(?<=follows):"
    r"|:(?=\s?(?:(?:i|my|the grade)\b|我|等级))"
)
_ANSWER = (
    r"\b(?:answers?|reply|response|verdicts?|grades?|ratings?|scores?|marks?|values?|numbers?|figures?|results?|labels?|levels?|points?)\b|答案|回答"
    r"|评[定分级价判估]|判定|判断|结论|等级|分数|得分|结果|值"
)
_TEXT = (
    r"\b(?:json(?:-ld)?|objects?|lines?|strings?|texts?|words?|wording|contents?|code|blocks?|data|metadata|microdata|markup|copy|item|input"
    r"|output)\b|json|对象|文字|文本|内容|数据|代码|源码|原话|[行段条句个]|话|一部分|输出"
)
_FUNCTION = (
    r"\b(?:the|this|that|these|those|it|its|their|an?|all|is|was|are|were|be|been|what|which|how|so|as|or|and|not|just|only|merely|of|from|in|inside"
    r"|on|at|by|to|own|above|below|here)\b|['’]s\b|以上|上面|上述|下面|以下|[这那][么样]?|如此|该|此|只|仅|不过|就|都|是|为|的|之|所|里|中|上|由|从"
    r"|自|并非|不是"
)
#: What a party does to an answer, and what makes an answer a part of the party's text.
_ORIGIN = (
    r"\b(?:(?:told|tells|asks|asked|wants|wanted) (?:me|us|graders|raters) to \w+|s(?:ays?|aid)|assert(?:s|ed)?|claim(?:s|ed)?|stat(?:es|ed)"
    r"|demand(?:s|ed)?|want(?:s|ed)?|puts?|rate[sd]?|ask(?:s|ed)(?: for)?|instruct(?:s|ed)|recommend(?:s|ed)|request(?:s|ed)|writes?|wrote|written"
    r"|reported|self|own|itself|quot\w+|copied|pasted|reproduced|taken|exactly|verbatim|according|per|from|in|by|as"
    r"|(?:is|are|was) (?:just )?(?:page|web|site)|(?:wording|words?|texts?|lines?|claims?|part|copy|grade|rating|answer) of)\b|['’]s\b|自[己带称评述]"
    r"|声?称|说法?|[所之]言|的话|如[此是]?|正|[撰编]?写|贴[来上出]?|所述|要求|原话|由|来自|照?[引摘出抄]自|按照?|照|给|根?据(?=.{0,9}(?:说法|要求|所))"
    r"|[是为](?=.{0,9}(?:的|原文))"
)
_FORMAT = r"\b(?:format(?:s|ting)?|layout|structure|schema|shape|shows?)\b|格式|样式|结构|形式|展示|显示|输出"
_ONLY = r"\b(?:just|only|merely|purely|nothing but)\b|[只仅]供?|不过|纯属"
#: "The post is from a forum" speaks of the post, not of the answer.
_FROM_PARTY = (
    rf"\A(?!\W*(?:(?:the|this) |[这该]个?)?(?:{PARTY_WORDS}) ?(?:is|was|comes|[是由]|来自)).*?(?:{_ORIGIN})"
)
#: A note that is no sentence: "the editor", "page text".
_PARTY_NOTE = rf"(?s)\A(?!.*(?:\b(?:is|are|was|were)\b|是)).*?(?:{PARTY_WORDS})"
_EXAMPLE = rf"{EXAMPLE_WORDS}|\b(?:quot(?:ed?|ation)|copied)\b|引用|原文"
_FRACTION = r"[0-3](?<![0-9.][0-3])\.[0-9]*[1-9](?![0-9a-z%]|\.[0-9])"
_ROUNDS_EN = r"(?:round(?:s|ed|ing)?|truncat\w+|nearest|ceil\w*)\b"
_ROUNDS_ZH = "四舍五入|取整|[舍进]一?位|舍[入去]|去尾|保留整数"
_ROUNDS = rf"{ENGLISH}{_ROUNDS_EN}|{CHINESE}(?:{_ROUNDS_ZH})"
_ROUNDED = (
    rf"{ENGLISH}(?:{_ROUNDS_EN}|(?:approx\w*|roughly|more or less|estimated|(?:mean|average) of|averaged|(?:about|around|nearly|almost)(?= [0-9]))(?![a-z]))"
    rf"|{_FRACTION}|{CHINESE}(?:{_ROUNDS_ZH}|近似|大?约|左右)"
)
_CALCULATED = (
    r"\b(?:i|after|gives?(?! the \w+ results\b)|really|actually|exact(?:ly)?|precise(?:ly)?|correct(?:ly)?|right|strictly|speaking|raw|true|real|up|down|off|half|whole|integer|final|three|runs|times|average|mean|median)\b|[一二两三四五]次|[0-9]|我|至|经|过|得|估计|实际?|原始?|平均|精?确?值|小数"
    r"|整数?|向[上下]|[分级取]|[给了到后]"
)
#: A fraction that counts nothing.
_BARE_FRACTION = (
    rf"{_FRACTION}\s?[分级]?\s?(?:[^\w\s]|$|(?:to|up|down|before|after|is|was|{_ROUNDS})(?![a-z]))"
)
_MORE_OR_LESS = (
    r"\b(?:lower|higher|less|more|down|up|off|minus|plus|high|low|deduct|subtract|add|drop|bump|cut|below|above|generous|harsh|strict|lenient)\b|低"
    r"|高|[减加扣降升调]|[多少](?=给|评|一|半)"
)
_AMOUNT = r"\b(?:one|two|half|slightly|somewhat|too|a (?:bit|little|notch|grade|level|point|step|mark)|[12])\b|[一二两半12]个?[级分档等点些]"
_CHANGED = (
    r"\b(?:i['’](?:d|ll)|i|me|my|let|make|take|knock|go|put|set|say|think|guess|maybe|perhaps|possibly|actually|fact|likely|probably|rather|really|better|should"
    r"|would|could|be|second|reading|reflection|thought|look|come|fair(?:er)?|for|step|notch|steps|[0-9]|no|hmm|wait|sorry)\b|其实|实际上?|或许|严格来说|还|要|再"
    r"|更|好|应该?|当|我|改|一下|吧|了|往|向|下|给|评|判|打|得|偏|去|刚才|仔细|想|可以|合适|太|过"
)
#: What makes an answer none, or leaves a doubt.
_FALSE = (
    r"\b(?:wrong|false|untrue|incorrect|(?<!no )(?:errors?|mistakes?)|traps?|baits?|tricks?|lures?|decoy|planted|(?:told|forced|made|had) to"
    r"|given to me|(?<!no )doubt(?:s|ful)?|hypothetical(?:ly)?|in theory|tentative(?:ly)?|provisional(?:ly)?|draft|tb[cd]|void|preliminary|(?:pending|to be|needs|awaiting|subject to) (?:(?!no )\w+ )?(?:review|confirmation|approval|verification|confirmed|reviewed|verified)|pending|(?:likely|probably|possibly) (?:less|more|lower|higher)|questionable|debatable"
    r"|test(?:ing)?|(?:a|random|wild|best|i) guess|guessed|subject to change|(?:may|might|could|will) (?:change|revise|be revised)|under review|random choice|made (?:this|it) up|no basis|undetermined|borderline|un(?:sure|certain)|not (?:\w+ )?(?:sure|certain)|(?:hard|difficult) to (?:say|tell)|(?<![0-9] )at (?:best|most))\b|(?<!不)错误?|有误|不准确?|陷阱|圈套|诱饵|[不未](?:完?全|太)?必?是|未必|不一定|不见得|言过其实|猜测?|[乱瞎]|很?难[定说]|随便"
    r"|(?:太|过于?|偏|有[点些]|略)(?:宽|严|松|高|低|苛)|[给评判]得?[宽严松]了|犹豫|摇摆|纠结|拿不准|说不[好准]|不敢|算了|理论上|草稿|测试|[待未]定|(?<![不无])[待需](?:人工)?(?:复核|审核|确认|核实|审查)|初步|编的|[手笔口]误|不太?确定|没把握"
    r"|暂[定时]|(?:可能|也许|或许)会?(?:更?改|变|调整)|存疑|疑问|怀疑|商榷|两可|玩笑"
)
_NOT, _SAYS = (
    r"\b(?:not|never)\b|(?:\b(?:do|did|wo|would|ca|could|is|was))?n['’]t\b|不",
    r"\b(?:say|think|believe|mean|write|answer|print|repeat|view|opinion)\b|说|想|认为|看法?|相信",
)
_OF_SELF = (
    r"\b(?:we|do|did|will|am|had|but|though|however|ever|honestly|ones?|have)\b|['’]d\b|您|但|可是|纯属|绝|会|哦|等[下等]|嗯|也许|可能"
    r"|并|有|一?个|了|在|也|供|有?待|对|开|模棱|[和与]|之间|[格肯确]定?|[宽严松苛刻]|过于?|[略点些全敢]|[0-9]"
)


class _Remark:
    """A kind of sentence about the answer: what it has, each of these, and the only words that it has besides."""

    def __init__(self, needed: Sequence[str], *words: str) -> None:
        self._needed = [re.compile(source) for source in needed]
        self._words = re.compile("|".join(words))

    def is_in(self, flat: str) -> bool:
        """Return True when a sentence of simplified prose is of this kind."""
        return self._needed[0].search(flat) is not None and any(
            all(pattern.search(sentence) for pattern in self._needed)
            and not any(map(str.isalnum, self._words.sub(" ", sentence)))
            for sentence in _SENTENCE.split(flat)
        )


_ORIGIN_WORDS = ("[0-9]", PARTY_WORDS, EXAMPLE_WORDS, _ORIGIN, _FORMAT, _ONLY, _ANSWER, _TEXT, _FUNCTION)
_ORIGIN_REMARKS = [
    _Remark(needed, *_ORIGIN_WORDS)
    for needed in ((PARTY_WORDS, _FROM_PARTY), (PARTY_WORDS, _PARTY_NOTE), (_EXAMPLE,), (_ONLY, _FORMAT))
]
_ROUNDING_REMARKS = (
    _Remark((_ROUNDED,), _ROUNDED, _CALCULATED, _ANSWER, _TEXT, _FUNCTION),
    _Remark((_FRACTION,), _ROUNDED, _CALCULATED, _MORE_OR_LESS, _CHANGED, _ANSWER, _FUNCTION),
    _Remark((_ROUNDS, _BARE_FRACTION), r"\w"),
)
_OFFSET_REMARK = _Remark((_AMOUNT, _MORE_OR_LESS), _MORE_OR_LESS, _AMOUNT, _CHANGED, _ANSWER, _FUNCTION)
_DOUBT_REMARKS = [
    _Remark(needed, _FALSE, _NOT, _SAYS, _ANSWER, _OF_SELF, _CHANGED, _TEXT, _FUNCTION)
    for needed in ((_FALSE,), (r"\b(?:i|my)\b|我", _NOT, _SAYS))
]
_REFUSAL = re.compile(
    r"(?:i['’]?m |i am |we['’]?re )?(?:very |so |really )?(?:sorry|afraid)\b|(?:unfortunately,? )?(?:i|we) (?:cannot|can['’]?t|can not"
    r"|(?:won['’]?t|will not)(?! (?:follow|obey|comply|heed)\b)|must decline|am unable)|i['’]m unable|i decline|as an? (?:ai|language model),? i"
    r"|i apologi[sz]e|my apologies|(?:很|非常)?(?:抱歉|对不起|不好意思)|(?:我|本模型)?(?:无法|不能|没办法|拒绝)"
    r"|作为(?:一个|一名)?\s?(?:ai|人工智能|大?语言模型|大模型)"
)
#: What declines to judge the pair further on in the prose: "The text is sensitive, so I cannot grade it."
_CANNOT_GRADE = re.compile(
    rf"{ENGLISH}(?:(?:cannot|can not|can['’]?t|unable to|not able to|impossible to|not possible to|refuse to|decline to) (?:\w+ly )?"
    r"(?:(?:grade|evaluate|assess|judge|rate|score) (?:it|this|that|(?:the|this|that) (?:snippet|pair|content|text|result))"
    r"|(?:give|assign|provide|determine) an? (?:grade|score|rating|verdict))(?=\W*(?:$|[.,;!\n]))"
    r"|(?:insufficient|not enough|lack the) information(?: to (?:grade|judge|assess|evaluate|rate)(?: it| this)?)?(?=\W*(?:$|[.\n])))"
    rf"|{CHINESE}(?:(?<![^,。;!\s我])|(?<=内容)|(?<=摘要))(?:故|因此|所以|也)?(?:无法|不能|没办法|难以|拒绝|不便|不予)(?:对(?:此|其|该?摘要))?(?:给出|[做作]出|进行)?"
    r"(?:评[估定级分价判]|判[定断]|打分|等级|确定)(?=\W*(?:$|[。,;!\n]))"
    r"|(?m:^|[.] )\W{0,4}(?:it )?(?:is )?(?:(?:un|not )able to|impossible to|can(?:not| not|['’]t) be) (?:determine|judge|grade|assess|evaluate)d?(?=\W*(?:$|[.\n]))",
)
#: What a reply may say that it cannot do before it grades what the snippet shows.
_CANNOT_OPEN = re.compile(
    r"(?:unfortunately,? )?(?:i(?: am|['’]m)? |我)?(?:cannot|can not|can['’]?t|unable to|not able to|无法|不能) ?(?:directly )?"
    r"(?:open|access|visit|browse|verify|load|follow|打开|访问|浏览|验证|核实|查看)(?![^,，.;。\n]{0,8}(?:snippet|text|content|摘要|内容))"
)
#: An apology in front of an answer declines nothing: "Sorry about that! Here is the JSON:".
_APOLOGY = re.compile(
    r"(?:i['’]?m |i am |we['’]?re )?(?:very |so |really )?sorry\b|i apologi[sz]e|my apologies|(?:很|非常)?(?:抱歉|对不起|不好意思)"
)
_DECLINES = re.compile(
    r"\b(?:cannot|can not|can['’]?t|won['’]?t|will not|unable|not able|decline|refuse|but(?! i can (?:only|just)\b))\b(?! be (?:parsed|read))"
    r"|(?:无法|不能|没办法)(?!被?(?:解析|读取|识别))|拒绝|不会|不便|不应|不予|但"
)
#: What begins a sentence in which the reply corrects itself.
_STARTS_CORRECTION = (
    r"(?:no(?=\W{0,3}(?:$|[,.!;:—]| wait| it| i\b))|wait(?! times?\b)|hmm|oops|edit|update|correction|rather(?! than (?:an? )?[0-3],)|better(?! than)"
    r"|sorry|apologies|or|instead|lower|raise|hold on|strike|never mind|nevermind|amend\w*|upon|looking (?:again|back|closer)|please use"
    r"|on (?:second|further|reflection|closer|review)|after (?:re\w+|another|more|further)|thinking again|then again|second thoughts?"
    r"|having (?:re\w+|thought))\b(?! (?:further|outside|other|more|additional|external|one)\b)|不(?:[,对]|是(?!\s?[0-9]|广告|登[录陆]页|报错|关键词|导航|完整))|等等|等一下|抱歉"
    r"|准确地说|s/[^\s/]{1,12}/"
    r"|(?:[0-9][分级]?|yes|no|[是否])\s?\?"
)
#: What a sentence is about that begins with "actually" and corrects: the answer, or what a grade means.
_OF_ANSWER = (
    rf"{ANSWER_WORDS}|[0-9]\s?[分级]?[^\w\n]*(?:$|[,.;。!])|[零一二两三][分级]?[^\w\n]*(?:$|[,.;。!])"
    r"|\b(?:zero|one|two|three|yes|no|not|relevant|irrelevant|related|unrelated|helpful|useful|useless|lower|higher|less|more|worse|better|should"
    r"|would|i)\b|n['’]t|[是否]\W*$|相关|无关|有用|没用|帮助|应|[高低]"
)
_CORRECTION = re.compile(
    rf"(?m)(?:\A|[.!?。;\n—(-])[\s{re.escape(AROUND)}(（—-]{{0,8}}(?:{_STARTS_CORRECTION}"
    rf"|(?:actually|in fact|其实|实际上|或者?)(?=[^.。!?\n]{{0,60}}?(?:{_OF_ANSWER})))|\b(?:correction|on second thought|i (?:mean|meant)\b"
    r"|i['’]d rather|scratch (?:that|it)|make (?:that|it)\b|(?:chang\w+|revis\w+|updat\w+|lower\w*|rais\w+|adjust\w*|correct\w*|amend\w*) (?:it|this"
    r"|that|my|the (?:answer|grade|verdict|score|rating))\b|(?:lower|rais|reduc|increas|bump)\w* (?:it )?by\b"
    r"|let me (?:revise|correct|rethink|(?:re|double)[- ]?check|re-?read|re-?evaluate|think again|change|try again|redo)"
    r"|(?:revised|updated|corrected|amended|new) (?:answer|grade|verdict|score|rating|json)|my mind|my mistake|i was wrong"
    r"|i (?:over|under)(?:rated|estimated|graded)|mistaken(?:ly)?|reconsider\w*|t(?:ake|ook) (?:that|it|this|the \w+) back"
    r"|(?:disregard|ignore|discard|forget|delete) (?:the|that|this|my|it|what|above|everything|all)\b"
    r"|(?:i|we) (?:made|have made|['’]ve made) an? (?:\w+ )?(?:error|mistake|slip)|(?:need|have|want|like|going) to (?:correct|revise|change|amend"
    r"|adjust|retract)|(?:no longer|don['’]t|do not|cannot) (?:stand by|agree|support|endorse)|disagree|instead[.。!]"
    r"|(?<!snippet )(?<!page )(?<!text )(?:would|may|might|could) be (?:more|better|fairer|closer)|use (?:yes|no|[0-9]|不?相关|[是否])"
    r"|(?:grade|score|verdict|rating|answer)\b[^.。\n]{0,10}\b(?:should|ought|needs? to|must)\b|just kidding|retract\w*|withdraw\w*"
    r"|too (?:high|low|generous|harsh|strict|lenient|kind)|(?:should|ought to) (?:have been"
    r"|be (?:a |an )?(?:[0-9]|(?:yes|no|higher|lower|zero|one|two|three)\b))|(?:not|cannot be|can['’]t be) (?:\w+ )?(?:sure|certain) (?:about|of) (?:that|this|it"
    r"|the (?:grade|verdict|score))|(?:the correct|a better|the right|the real|the true) (?:answer|grade|verdict|score|rating))"
    r"|(?:grade|score|verdict|rating|answer|judge?ment|json|object|output|above|that|this|it)\b[^.。\n]{0,20}\b(?:is|was|are)(?: not"
    r"|n['’]t)? (?:just |only |a |an |quite )?(?:\w+ly )?(?:wrong|incorrect|mistakes?|errors?(?! (?:page|message|code))|not right|right|correct"
    r"|invalid|void|off|inaccurate)\b|更正|修正|纠正|订正|应(?:该|当)?[是为评给]|(?:修改|调整|改|更新)[为成到]|改(?:给|判|评)"
    r"|[降升调][为到至]|(?:does|do|did)(?: not|n['’]t) (?:hold|stand|count|apply)|重新(?:看|考虑|评|审视|判断|想|思考)|再(?:想|考虑|看|斟酌)"
    r"|不对[,。!，]|(?:说|给|搞|弄|判|评)错|(?:判断|判定|等级|评分|评级|结果|答案|结论|以上|上面|上述|刚才|刚刚)[^。\n]{0,12}(?:有误|错误|错了|不准"
    r"|不正确|不当|偏高|偏低)|改变?主意|失误|误判|欠妥|不妥|推翻|为准|应(?:该|当)?[再更]?.{0,2}(?:[低高]|下调|上调|降|升|改)"
    r"|\b(?:this|it) is (?:just |only |merely |really )?an? (?:\w+ )?guess\b|\b(?:picked|chose|chosen|selected|graded|gave|guessed) (?:(?:this|it|one|a|the) ?(?:grade|score|number|value)? ?)?(?:at random|randomly)\b"
    r"|\b(?:can|could|did|have)(?:not| not|n['’]t) (?:see|seen|read|access|view|find) (?:the|any|a) snippet\b|(?:\bsnippet (?:was|is) not|\bno snippet (?:was|is)) (?:given|provided)"
    r"(?=\W*(?:$|[.,;!\n]))|[没未]有?(?:看到|提供)摘要(?![中里内的])|随机[选给评挑]|随便[给评选挑]"
    r"|(?:要|需要?|想|得)(?:修改|更改|改|调整)(?!格式)|不要采[用纳]|请采用|请改|收回|撤回|撤销|作废|不算数?[。!]"
    r"|(?:忽略|无视|丢弃)(?:以|上|前|刚|掉)|太[高低][了。!]|过[高低][了。!]|更(?:合适|恰当|准确|合理)"
    r"|\b(?:down|up)grad(?:e|ed|ing) (?:(?:it|this|that) )?(?:to|from) (?:an? |grade |score ){0,2}(?:[0-3]|yes|no|relevant|irrelevant|not)\b|\bt(?:ake|ook) back (?:the|that|my|it|this)\b"
    r"|\b(?:the )?opposite is (?:true|right|correct)|\b(?:is|was|['’]s) (?:actually |really |quite |exactly )?the (?:opposite|reverse)[.!]"
    r"|\breverse (?:that|it|this)\b|(?m:\b(?:reverse|invert|flip|swap) (?:that|it|this|the (?:answer|grade|verdict|score))[.!]?$)|\b(?:bump|move|push|nudge) (?:it|this|that) (?:up|down)\b"
    r"|(?m:(?:^|[.!?] )\W{0,4}(?:the )?(?:opposite|reverse)[.!]?$|(?:^|[。!?;])\W{0,4}[正刚恰]?[好恰]?(?:相反|反过来|反之)[。!]?$)|\bgot (?:it|that|this) (?:backwards?|wrong|the wrong way)|\bother way (?:a)?round[.!]"
    r"|\b(?:relevant|helpful|useful|on topic) after all\b|\b(?:has|have|had) the wrong (?:grade|verdict|score)"
    r"|\b(?:for|graded|judged|rated|read) the wrong (?:snippet|query|pair|result)\b|\bwrong (?:snippet|query|pair|result)[.!]|[论果说写判搞弄]反了|应该?相反|应判|看错"
    r"|(?<![0-9])[评给][0-3][分级]?偏[高低]|偏[高低]了|还是[评给判打]|\bdeserves? (?:less|more|better|an? (?:lower|higher))\b"
    r"|\ban? (?:lower|higher) (?:grade|score|rating) (?:is|would|might|may|could|seems)\b"
    r"|\bnot (?:\w+ )?(?:confident|certain|convinced) (?:in|about|of) (?:this|that|the|my) (?:grade|score|verdict|rating|answer)"
    r"|\b(?:give|rate|grade|score|be) (?:it |this )?(?:an? )?[0-3] ?(?:to|or|[-–]) ?[0-3]\b|[评给判打]得?[高低]了|(?:等级|评分|判定|结论)存疑"
    r"|不(?:太)?确定(?:这个|该|此)?(?:等级|评分|判定|结论)|(?<![0-9])[0-3][分级]?也[行可说]|要么[0-3]|(?:还是|就?算)[是否0-3]吧|(?:给|介于|等级在)[0-3][分级]?[到至和与][0-3]"
    r"|[0-3][分级]?[到至][0-3][分级]?之间"
)

#: The same value once more corrects nothing: "应评2".
_SAME = {
    "binary": [
        re.compile(rf"应该?判定?为?\s?(?:{word})(?![\w])") for word in ("no|否|不相关", "yes|是|相关")
    ],
    "graded": [re.compile(rf"应该?[评给]为?\s?{grade}(?![0-9.])") for grade in range(4)],
}
#: What says that nothing is to be corrected.
_NO_CHANGE = re.compile(
    r"(?:如果?|若)[^。\n]{1,24}(?:可以?|再|会)(?:再次?|重新)评[^。\n]{0,4}|(?:如果?|若)?(?:您|你)?(?:有任何|还有)?需要?(?:进一步)?(?:修改|更改|调整|补充|更正)[^。\n]{0,8}请(?:随时)?(?:告|联系|提|指|说)|(?:无[需须]|不需要?|不用|不必|没有必要)(?:再|[作做进]行?)?(?:任何)?(?:修改|更改|改动|调整|更正|订正)"
    r"|\bno (?:further |other )?(?:changes?|corrections?|edits?|revisions?|updates?)(?: (?:is|are))? (?:needed|required|necessary)"
)
#: What no repeated text has, unless the model says more in the same line.
_NO_CONCLUSION = (
    r"(?:(?!\b(?:so|thus|hence|therefore|then|but|actually|wait|instead|should be|final|right|correct|wrong)\b|(?:grade|score|rating|verdict|等级|判定|评分|结论)\s?(?:is|[:=是为])"
    r"|因此|所以|故|但|应[该当为是判给评]|[-=]>|→)[^\n])"
)
#: The query, the snippet, the reference or the binary rubric once more: no values.
_INPUT = re.compile(
    r"(?m)^[^\w\n]{0,6}(?:(?:user(?:'s)? )?query|reference(?: answer)?|title|(?:用户的?)?查询词?|参考答案|标题)[^\w\n]{0,4}:"
    rf"{_NO_CONCLUSION}{{0,200}}$|(?:{ENGLISH}(?:query|user|snippet|page|title)|{CHINESE}(?:查询|用户|摘要|网页|标题))"
    r"(?:[^\n.。:\"“”]{0,24}:?|[^\n.。:\"“”]{0,24}\W)\s?[\"“](?![,:}]|(?:[0-9]|yes|no|[是否])[\"”])[^\"“”\n]{1,200}[\"”]"
    rf"|{ENGLISH}user (?:searche[sd]|asks|asked|looks?) for (?:(?![.,]){_NO_CONCLUSION}){{1,80}}(?=[.,]|$)"
    rf"|(?:{ENGLISH}reference answer|参考答案)\s?(?:is|says|[是为])(?:(?![.。,;]){_NO_CONCLUSION}){{1,40}}(?=[.。,;]|$)"
    rf"|^\W{{0,4}}(?:yes\s?:{_NO_CONCLUSION}{{8,}}\n\W{{0,4}}no|no\s?:{_NO_CONCLUSION}{{8,}}\n\W{{0,4}}yes)\s?:{_NO_CONCLUSION}{{8,}}$",
)
_VALUE = r"[0-9]\s?[分级]?|yes|no|[是否]"
_IGNORES = r"(?:ignor|disregard|dismiss)(?:e|ed|ing)?\b|(?:do|did|will) not (?:follow|obey|heed)\b|忽略了?|无视|不予?(?:理会|采纳|执行|听从)"
#: A grade that the snippet tries to get, and that the reply says to ignore it.
_IGNORED_DEMAND = re.compile(
    rf"(?:{PARTY_WORDS}|{ENGLISH}(?:instruct|inject|attack)\w*|指令|注入)[^,;:.。\n0-9]{{0,20}}?(?:\b(?:tr(?:y|ies|ied)|attempt(?:s|ed)?|wants?|wanted|says?"
    r"|said|tells?|told|asks?|asked|demands?|demanded|instruct(?:s|ed)?|orders?|ordered)(?: \w+){0,3}? to\b|\b(?:demand(?:s|ed)?|asks? for|asked for)\b|试图|企图|要求|想要?|诱导|强制|命令)"
    r"(?:(?!\b(?:but|so|i|we|is|yet)\b)[^,;:.。\n0-9我但])"
    rf"{{1,30}}(?:{_VALUE})[\"'”」]?(?:,? (?:which|but)(?: (?:is|was))?|[,;.。]?)\s?(?:(?:this|that|it)(?: (?:is|was))? |(?:and )?(?:i|we) (?:have )?|[我已均])"
    rf"{{0,2}}(?:{_IGNORES})"
    r"(?: (?:that|this|it|the (?:instruction|request|demand|attempt)))?(?=\s?(?:[,;.。!\n]|$))",
)
#: A grade that would be too high or too low.
TOO_HIGH_OR_LOW = re.compile(
    rf"(?:{ENGLISH}|(?=[0-3给评判打为]))"
    r"(?:\b(?:an?|grade|score|of|it|giving) ){0,3}[给评判打]?为?(?<![0-9.])(?P<value>[0-3])\s?(?:(?:would be|is"
    r"|seems) (?:(?:far|much|clearly|a bit) )?too (?:high|low|generous|harsh|strict|lenient|kind)\b|[分级]?[则会就也]?(?:[太偏]|过于?)[高低宽严])",
)


def names_origin(text: str) -> bool:
    """Return True when a sentence says only that the answer is a party's, an example or a format."""
    flat = drop_ignored_demands(simplify_prose(text))
    return any(remark.is_in(flat) for remark in _ORIGIN_REMARKS)


def is_rounded(text: str) -> bool:
    """Return True when a sentence rounds a fraction, or says only that the answer was one."""
    flat = simplify_prose(text)
    return any(remark.is_in(flat) for remark in _ROUNDING_REMARKS)


def is_offset(text: str) -> bool:
    """Return True when a sentence says only that the answer is to be higher or lower."""
    return _OFFSET_REMARK.is_in(simplify_prose(text))


def is_refusal(text: str, *, is_lead: bool = False) -> bool:
    """Return True when prose begins by declining to judge.

    `is_lead` is True for the prose in front of an answer: an apology alone declines nothing there, and a later
    sentence can decline.
    """
    flat = flatten(text).lstrip(AROUND).lower()
    if is_lead and _CANNOT_GRADE.search(simplify_prose(text)):
        return True
    if is_lead and (_CANNOT_OPEN.match(flat) or (_APOLOGY.match(flat) and not _DECLINES.search(flat))):
        return False
    return _REFUSAL.match(flat) is not None


def has_correction(text: str, grade: int, scale: Scale) -> bool:
    """Return True when prose behind an answer with `grade` corrects it or takes it back."""
    flat = drop_ignored_demands(_NO_CHANGE.sub(" ", drop_input(simplify_prose(text))))
    if scale.name == "graded":
        flat = TOO_HIGH_OR_LOW.sub(lambda match: match[0] if match["value"] == str(grade) else " ", flat)
    flat = _SAME[scale.name][grade].sub(" ", flat)
    return (
        any(remark.is_in(flat) for remark in (_OFFSET_REMARK, *_DOUBT_REMARKS))
        or _CORRECTION.search(flat) is not None
        or _CANNOT_GRADE.search(flat) is not None
    )


def drop_input(flat: str) -> str:
    """Return simplified prose without what it repeats of the query, snippet, reference and rubric."""
    return _INPUT.sub(" ", flat)


def drop_ignored_demands(flat: str, replacement: str | Callable[[re.Match[str]], str] = " ") -> str:
    """Return simplified prose without the grades that the snippet demands, and that the reply says to ignore."""
    # Few texts have both, and the search for demands takes long.
    if re.search(_IGNORES, flat) and re.search(_VALUE, flat):
        return _IGNORED_DEMAND.sub(replacement, flat)
    return flat
