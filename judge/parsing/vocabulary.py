"""The words of replies in Chinese and English: keys, labels and values of a verdict, and words around it.

The same word has several forms: full-width and Traditional Chinese characters, escapes, and blanks.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache

from judge.errors import ReplyParseError
from judge.records import Scale, ScaleName

#: Full-width ASCII to ASCII. The full-width quotes and backslash are left alone: inside a string they are plain text.
_FULLWIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if code not in (0xFF02, 0xFF07, 0xFF3C)}
#: Traditional characters of the words that the package looks for, and the simplified ones of its patterns.
_TRADITIONAL = str.maketrans(
    "丟兩嚴個為義書亂於僅從們價優會體餘關決況準減幾擊則剛別動務醫廠參發變臺號後聽圍圖聲處備複夠頭實審寬對導將盡屬帶幹並廣應廢開棄強當錄徹懷總戶執拋"
    "報換據擺數斷無時顯暫機條來極構標樣檔樓畢沒測瀏滿點猶獻現確碼離種稱筆簽簡類級糾約純納細終紹經結給絕統綜編網聯捨慮雖補見規視覽計訂認讓記許論設訪"
    "證評識詞試話詢該詳語誤誘說請讀調貼資轉輪較輯輸達過運還這進連適選釋裡裏針鐘鏈銷錯鍵長問間閱際陸隨難頁項須顧題餌馬驗驟籤內説爲採佔製鬆係註復",
    "丢两严个为义书乱于仅从们价优会体余关决况准减几击则刚别动务医厂参发变台号后听围图声处备复够头实审宽对导将尽属带干并广应废开弃强当录彻怀总户执抛"
    "报换据摆数断无时显暂机条来极构标样档楼毕没测浏满点犹献现确码离种称笔签简类级纠约纯纳细终绍经结给绝统综编网联舍虑虽补见规视览计订认让记许论设访"
    "证评识词试话询该详语误诱说请读调贴资转轮较辑输达过运还这进连适选释里里针钟链销错键长问间阅际陆随难页项须顾题饵马验骤签内说为采占制松系注复",
)
_FOLDED = _FULLWIDTH | _TRADITIONAL
_ANY_FOLDED = re.compile(f"[\uff01-\uff5e{''.join(map(chr, _TRADITIONAL))}]")
_TAG = re.compile(r"<[^<>\n=]{1,30}>")
_BLANKS = re.compile(r"[^\S\n]{3,}")
_BLANK_LINES = re.compile(r"\n\s+")
#: Lines that repeat the one above them, as of a model that repeats itself up to its limit.
_SAME_LINES = re.compile(r"(?m)^(.+\n)\1+")
_ESCAPE = re.compile(r"(?s)\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}


def flatten(text: str) -> str:
    """Return the text with full-width ASCII as ASCII, and simplified; every character keeps its position."""
    return text.translate(_FOLDED) if _ANY_FOLDED.search(text) else text


# Each check of a text simplifies it.
@lru_cache(maxsize=4)
def simplify_prose(text: str) -> str:
    """Return the text flat and in lower case, without tags, long blanks and lines that repeat the one above them."""
    flat = _BLANK_LINES.sub("\n", _BLANKS.sub(" ", _TAG.sub("\n", flatten(text)))).lower()
    return _SAME_LINES.sub(r"\1", flat)


def unescape(text: str) -> str:
    """Return the text with JSON's backslash escapes resolved; unknown escapes and lone surrogates stay."""
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(
        lambda match: chr(int(match[1][1:], 16)) if len(match[1]) == 5 else _ESCAPED.get(match[1], match[0]),
        text,
    )
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


#: Keys of the verdict in an object, by scale; the first is what the prompts ask for.
KEYS: dict[ScaleName, tuple[str, ...]] = {
    "binary": ("verdict", "判定", "结论"),
    "graded": ("grade", "等级", "评分", "分数"),
}
REASON_KEYS = ("reason", "理由", "原因")
#: "not" and the end of "isn't". It begins with a letter, so that a search fails early at each other one.
NOT = r"n(?:(?<=\bn)ot|['’]t)"
#: In front of alternatives that begin with an English word of prose in lower case, or with a Chinese character:
#: a search tries them nowhere else.
ENGLISH, CHINESE = r"(?=[a-z])\b", r"(?=[\u4e00-\u9fff])"
#: As alternatives of a regular expression.
ANY_REASON_KEY = "|".join(REASON_KEYS)
ANY_KEY = "|".join((*KEYS["binary"], *KEYS["graded"], *REASON_KEYS))
QUOTES = "\"'“”„‘’＂＇"
#: A known key in quotation marks, the closing one doubled or not, with its colon.
QUOTED_KEY = re.compile(
    rf"[{QUOTES}]\s{{0,4}}(?:{ANY_KEY})\s{{0,4}}[{QUOTES}]{{1,2}}\s{{0,4}}[:：]", re.IGNORECASE
)
#: The key of a member that answers the question of the verdict once more, on whatever scale.
SAME_QUESTION = re.compile(
    r"(?:(?:is|final|overall|relevance|是否|最终)[ _]?){0,3}(?:relevan(?:t|ce|cy)|verdict|grade|label|score|rating|answer|result|judge?ment|decision"
    r"|相关[性度]?|判定|结论|判断|结果|答案|等级|评分|分数|得分|评级|标签)"
)
#: The key of a member that gives the verdict in another way, such as `adjusted_grade` and `调整后等级`.
_VARIANT = re.compile(
    r"(?!max|min|top|scale|满分|最高|最低)(?:.{1,40}(?:grade|verdict|等级|判定|结论)|(?:adjusted|new|true|second|real|better|reconsidered|latest"
    r"|amended|my|assigned|last|modified|total|actual)[ _-]?(?:score|rating|label|relevance|judge?ment)"
    r"|(?:调整|修改|真实|重新|最后|综合|总|新).{0,4}(?:评分|分数|得分|评级|判断))"
)
#: Words in a key beside the verdict's own that make its value a later one.
_LATER = re.compile("final|correct|revis|updat|actual|instead|最终|更正|修正|修订|实际")
#: Words that announce a value in prose, by scale, as alternatives of a regular expression.
_GRADE_LABELS: dict[ScaleName, str] = {
    "binary": r"verdict|answer|judge?ment|decision|conclusion|relevan(?:t|ce)|label"
    r"|评定|判定|结论|判断|判决|答案|结果|是否相关|相关性|相关(?=:)|标签",
    "graded": r"grade|score|rating|answer|relevance|label"
    r"|评定|等级|总分|评分|分数|得分|评级|打分|级别|分值|答案|结果|相关[性度]|标签",
}
#: Words in front of a label.
LABEL_LEAD = (
    r"(?:(?:so|thus|therefore|hence|and|my|the|your|final|overall|relevance|snippet's|assigned|因此|所以|综上|故|最终的?|最后的?|我的|我给出的|综合|总体"
    r"|该摘要的?|此摘要的?|这条摘要的?|摘要的?|相关性?的?)[ ,]{0,3}){0,4}"
)
#: Words that announce a reason in prose.
REASON_LABELS = r"reason(?:ing|s)?|rationale|explanation|justification|analysis|why|(?:评分|判断|判定)?(?:理由|原因|依据)|解释|说明|分析"
#: Characters around a value that do not belong to it.
AROUND = " \t\r\n\u3000\xa0\u200b\u200c\u200d\u2060\ufeff\ufe0f✅✔☑*_`\"'“”„‘’「」『』＂＇"
#: Values that mean none.
_NO_VALUE = ("", "null", "None", "none", "无")

_YES = ("yes", "是", "是的", "相关", "relevant", "true")
_NO = ("no", "否", "不是", "不相关", "无关", "irrelevant", "not relevant", "false")
_WORDS = dict.fromkeys(_YES, 1) | dict.fromkeys(_NO, 0)
SPELLED_GRADES = dict(zip("zero one two three 零 一 二 两 三".split(), "012301223", strict=True))
#: As alternatives of a regular expression, longer ones first.
ANY_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
#: What says beside a grade that the relevance is high, or that there is none.
_DEGREES = {"high": True, "highly relevant": True, "高": True, "高度相关": True, "none": False, "无": False}
_GRADE = re.compile(r"([0-9])(?:\.0{1,9})?\s?[分级]?")
_FRACTION = re.compile(r"[-+]?[0-9]{0,20}\.[0-9]{1,20}")
#: "yes(相关)" and "Yes, relevant": a word and another one for the same.
_TWICE = re.compile(r"([^(),0-9]{1,12}?)\s?(?:\(([^(),0-9]{1,12})\)|,\s?([^(),0-9]{1,12}))")
_PLACEHOLDER = re.compile(
    r"(?i)<.*>|\.{2,4}|…{1,2}|int(?:eger)?|str(?:ing)?|0\s?[-~–—/|到至]\s?3|0([|/,])\s?1\1\s?2\1\s?3|\"?yes\"?\s?(?:[|/]|or)\s?\"?no\"?"
    r"|是\s?[|/或]\s?否"
)  # fmt: skip


#: Sites, texts and people whose words a snippet consists of.
PARTY_WORDS = (
    rf"{ENGLISH}(?:snippets?|(?:web ?)?(?:page|site)s?|passages?|excerpts?|documents?|articles?|posts?|blogs?|forums?|listings?|adverts?|search results?|html"
    r"|authors?|editors?|publishers?|sellers?|vendors?|merchants?|shops?|stores?|owners?|webmasters?|bloggers?|posters?|advertisers?|users?|readers?"
    r"|customers?|reviewers?|moderators?|sponsors?|attackers?|hackers?|bots?|texts?(?= (?:says?|claims?|demands?|wants?|asks?)\b)|(?<=by the )text"
    rf"|(?<=in the )text|(?<=from the )text)\b(?!-)|{CHINESE}(?:摘[要录]|片段|网[页站店友]|页面|站[点长]|文章|文中|[正原]文|[原跟]?帖子?|博[客主]|论坛|[楼店]主"
    r"|用户|[商卖店厂]家|广告[商主]?|小?编辑?|客服|版主|评论区|源代码|[搜检]索结果|[\u4e00-\u9fff]{1,2}(?<![或前后两二])者)"
)
EXAMPLE_WORDS = r"\b(?:examples?|samples?|templates?|placeholders?|dummy|demo|mock\w*|(?:for )?illustrat\w+)\b|示[例意范]|例子|样[例本]|范例|模板|占位符?|演示"
#: Texts and people that may be the source of an object.
SOURCE_WORDS = (
    rf"{PARTY_WORDS}|\b(?:texts?|sources?|contents?|titles?|person|queries|query|prompts?|instructions?|request|inject\w*|attack\w*|adversar\w*"
    r"|payload|system message|input|quotes?|quoted|quotation)\b(?!-)|搜索引擎|文本|文档|段落|内容|标题|来源|查询者|提示词|提示语|指令|注入|攻击|输入"
    r"|引用|引述|原话"
)
#: What demands an answer, or gives one to another: it leads to no answer of the reply's own.
DEMAND_WORDS = (
    r"\b(?:instruct\w*|demand\w*|command\w*|order(?:s|ed)|told|inject\w*|attack\w*|(?:ask|want|tell|expect|require|urge|beg|make|force)(?:s"
    r"|ed)? (?:me|us|you|(?:the |any |all )?(?:graders?|raters?|assessors?|models?|ai)))\b"
    r"|\baccording to (?!(?:my|our|your|the (?:criteria|rubric|rules|scale|guidelines))\b)|指示|指令|命令|诱导|说法|[让叫要]我"
    r"|(?:摘要|片段|网页|页面|文章|文中|正文|内容|攻击者|用户)[里中上内]?的?.{0,4}?(?:要求|规则|标准|认为|声称)"
)
ANSWER_WORDS = (
    r"\b(?:answers?|replies|reply|response|output|verdict|grades?|ratings?|scores?|evaluation|assessment|judge?ment|label|objects?)\b|答案"
    r"|回[答复]|输出|评[定估价分级]|判[定断]|打分|等级|结[果论]|json|对象"
)
#: The words that may introduce the reply's own answer: for the answer, for what the reply does, and for the
#: form. The set is closed, because there is no end of other sources.
OWN_WORDS = (
    r"\b(?:grade|score|rating|is|as|an?|of|to)(?: [=→])? [0-9]\b|\A\W*[0-9]\W*\Z|0\s?[-–~到至]\s?3|json ?(?:format|格式)|\bno (?:problem|worries)\b"
    rf"|\b(?:is|was|been) (?:evaluated|assessed|graded|judged|rated|scored)\b|\bof course\b|\bthere you go\b|没有?问题|当然|给[你您]|{ANSWER_WORDS}|\b(?:i|we)(?:['’](?:ve|d|ll|m)| have| would| will"
    r"| am)?(?: (?:now|also|therefore|then))* (?:(?:evaluat|assess|judg|grad|rat|scor|analy[sz]|review|conclud|decid|determin|arriv)ed|came)\b"
    r"|\b(?:my|i(?:['’](?:d|ll|ve|m))?|me|our|we|us|you|your|it|the|this|these|an?|so|thus|therefore|hence|then|now|here(?:['’]s)?|is|are|be|will"
    r"|would|as|below|above|follows?|following|in|of|on|to|up|with|for|by|and|all|how|what|only|just|let(?:['’]s)?|see|looks? like|step|sure"
    r"|ok(?:ay)?|alright|understood|done|certainly|absolutely|gladly|great|thanks?|assistant(?:['’]s)?|found|yes|evaluat(?:e|ing|ions?)|assess(?:ing|ments?)?"
    r"|judg(?:e|ing)|judge?ments|grad(?:e|ing)|rat(?:e|ing)|scor(?:e|ing)|conclu(?:de|sions?)|decisions?|decide|determine|give|go|find"
    r"|contains (?=my)|provide|present|produce|return|respond|think|say|relevanc[ey]|results?|verdicts|levels?|values?|reason(?:s|ing)?|explanation"
    r"|justification|analysis|summary|report|findings?|final(?:ly)?|overall|complete|requested|required|structured|(?:re)?formatted|strict(?:ly)?"
    r"|valid|correct(?:ed)?(?= json)|own|honest|brief|short|[0-9](?= out of)|out of [0-9])\b|(?<=[为得给评判])[0-9](?: ?[分级])?|我们?|您|本[次轮]?"
    r"|最[终后]|综合|总结?|整?[体的]|完[成整毕]|正式|有效|严格|直接|具体|详细|简[要短]|规范|唯一|一[个条份下]|[评判]为|评(?=[0-9])|[只仅](?=[回返输]| ?json)|结构化|返回|相关[性度]|等?级别?|分数|得分"
    r"|理由|原因|依据|说明|解释|分析|总结|意见|认为|看法|思路|地|是|为|如[下此]?|以下?|下[面方]|所[示以述]?|[这那]|该|此|现在?|将|会|已经?|给出?"
    r"|[做作得]出?|得到?|则|那么|就|即|于是|因此|故|综上|总之|用|按照?|和|与|及|并|请?查收|请?看|好的?|明白|收到|可以|(?:标准|正确的?)(?= ?json)|重新"
    r"|应(?=[评判])|因|答|先行|了|上|进行|来(?=[评判分逐])|让(?=我)|\A\W*(?:ai|助手|no|否|评)\W*\Z|\A\W*(?:ai|机器)(?=评)|\bbegin(?= output\b)|\bat(?= (?:this|it)\b)|\bbreak (?:this|it|that) down\b|\bplease(?= (?:find|see)\b)|\bgraded(?= output)|逐步|格式(?=输出)|(?<=\bstep )[0-9](?=\W{0,4}(?:grade|output|answer|result|final|json)|\Z)|\A\W*[一二三四五](?=[、,.])"
)
_THING = r"(?:quer(?:y|ies)|snippets?|(?:web ?)?pages?|texts?|content|passages?|documents?|(?:search )?results?|pairs?|(?:(?:grading|rating) )?scale|(?:criteria|rubric|guidelines|needs?|intent)(?! (?:of|in|on|from)\b))"
_ZH_THING = r"(?:查询词?|(?:网页搜索)?摘要|片段|网页|页面|[搜检]索结果|结果|内容|文本|相关性)"
#: What a grade means, and why: no source is called so.
MEANING_WORDS = (
    r"用户[想需要][^，。]{0,4}的|\b(?:partial(?:ly)?|partly|useful|helpful|relevant|irrelevant|unrelated|incomplete|complete|good|decent|okay|no"
    r"|further|more|but|and|yet|weak|strong|direct|on|off|topic|part|half|some|help|not|very|truncated|cut|end|snippet was|valid|final|fair"
    r"|reflection|max(?:imum)?|points?|scale|out of|why|solely|appropriate|justified|deserved|reasonable|based|judged|assessed|consistent|low|high"
    r"|higher|lower|confidence|(?:login|error) page|navigation|keywords?)\b|登[录陆]页面?|导航|关键词|结束|一?部分|有用|有帮助|没有?|帮助|不|无关|切题|离题|相关|完整?|直接|一般|尚可|较?好|偏|[0-9低高弱强分制]|满分|截断|摘要被|置信度|仅|只"
    r"|供参考|符合|的|中|备?注|表示|代表|整数|答案|integers?|means|用[中英]文|书写|written in (?:english|chinese)"
)
#: What an answer is about, and the form that was asked for: "based on the snippet", "对该摘要的评估".
SUBJECT_WORDS = (
    r"\b(?:based (?:solely |only |purely )?(?:up)?on|considering|given (?:the|this|both)|of|for|about|regarding|against|between|after|having"
    r"|(?:judge|grade|rate|assess|evaluate|score)|(?:in (?:relation|regard|response)|with respect) to|(?:have )?(?:read|review|analy[sz]|assess|evaluat|consider|judg|grad|compar)(?:ing|ed)"
    r"|read)(?: (?:the|this|that|your|both|all|above|given|provided|visible|shown|web|user['’]s|reading|reviewing|comparing)){0,4}(?:(?: the)?(?: and"
    rf"| with| to|,|-|–|/)?[ –-]?(?:the )?{_THING}\b(?!['’])(?: [\"“][^\"“”\n]{{1,80}}[\"”])?(?: (?:shown|given|provided|above|alone)\b)?){{1,3}}|\bsnippet (?=(?:relevance )?(?:evaluation|assessment)\b)|\b(?:the|this) snippet (?=(?:is|was|has been|can be) (?:evaluat|assess|grad|judg|rat|scor)ed\b)|\bon this (?:snippet|pair)\b|\b(?:of|on|by) what (?:is|the {_THING}) \w+"
    r"|\b(?:(?:evaluation|assessment|judge?ment|(?<=\bmy )rating) of|for) (?:the|this) \w+\b(?!['’])|\A\W*我?对[^,]{1,6}?的(?=[评判看])"
    r"|\bbased on (?:the |this |my )?(?:(?:above|preceding) )?(?:analysis|reasoning|assessment|evaluation|considerations)\b|as (?:you )?requested|you(?:['’]ve| have)? (?:asked for|requested|wanted|need(?:ed)?|specified)"
    r"|your (?:\w+ )?(?:request\w*|instructions?|requirements?)|(?:in|per|using|with|to|follow\w*|match\w*) (?:the |this |your "
    r"|a )?(?:\w+ ){0,3}(?:format|form|schema|structure)\b(?! (?:is|as follows|would|should))|as an? [^,:]{0,30}(?=,)"
    r"|(?:按照?|根据|依据|基于|结合|对于?|针对|关于|阅读|分析|查看|参照)(?:该|此|这[条个]|本条?|上述|以上|所给|[您你]?提供的|给定的|用户的?(?:需求)?|和|与|及|(?:评分)?(?:规则|标准(?![答结回]))"
    rf"|[“\"][^“”\"\n]{{1,40}}[”\"]|这一|{_ZH_THING}){{1,8}}的?|(?:[按依]照?|根据|以|用|符合|遵循)?[您你]?的?要求的?(?:格式)?(?!格式|[是为])"
    r"|(?:(?:该|此|这[条个]|本)条?(?:摘要|片段|[搜检]索结果|结果)(?:内容)?|查询(?:词?[与和](?:该|此)?摘要)?"
    r"|(?:[搜检]索|网页)?摘要(?=[与和的评]))(?:[与和](?:用户)?的?查询)?的?(?=应?为?(?:[评判]|等级|打分|相关|json|结[果论]|最终|我))"
)
CONDITION_WORDS = (
    r"\b(?:if|unless|suppos\w+|assum(?:e|es|ing)|provided (?:it|that|the)|were (?:i|it|the|this)|had (?:i|it|the|this) (?:been|had|said|given)"
    r"|(?<!\bi )(?<!\bwe )would|should|could|might|otherwise)\b|如果|若是|(?<![\u4e00-\u9fff])若(?!干)|(?<![如以])[上前下另]一[条个篇]|假如|假设|假定|倘|要是|除非|换[个一]|[本理]应|应该?[是为当]|不要|别输出"
    r"|否则|本来|可能|或许|也许|大概"
)


def find_value(text: str, scale: Scale) -> int | None:
    """Return the grade that a value states, 1 or 0 on the binary scale; None when it states none.

    A value is one word or number. Case, full-width forms, quotes, emphasis and one closing mark do
    not matter.
    """
    if len(text) > 64:
        return None
    word = _strip_value(text)
    value = _parse_word(word, scale)
    if value is None and (match := _TWICE.fullmatch(word)):
        value, second = _parse_word(match[1].strip(), scale), _strip_value(match[2] or match[3])
        return value if value == _parse_word(second, scale) else None
    return value


def parse_value(text: str, scale: Scale) -> int:
    """Return the grade that a value states.

    Raise ReplyParseError: `not_integer` for a fraction, `not_a_grade` for all else.
    """
    value = find_value(text, scale)
    if value is not None:
        return value
    fraction = scale.name == "graded" and _FRACTION.fullmatch(_strip_value(text))
    raise ReplyParseError("not_integer" if fraction else "not_a_grade", f"{text[:64]!r} is not on the scale")


def _strip_value(text: str) -> str:
    word = flatten(text[:64]).strip(AROUND)
    return word[:-1].strip(AROUND) if word[-1:] in ("。", ".", "!") else word


def _parse_word(word: str, scale: Scale) -> int | None:
    if scale.name == "binary":
        return _WORDS.get(word.casefold(), {"1": 1, "0": 0}.get(word))
    digit = _GRADE.fullmatch(word)
    grade = digit[1] if digit else SPELLED_GRADES.get(word.casefold().removesuffix("分").removesuffix("级"))
    return int(grade) if grade and int(grade) <= scale.top else None


def agree_on_grade(values: Sequence[str], scale: Scale) -> int:
    """Return the one grade of all values; raise ReplyParseError when they do not agree, or state none."""
    grades = {find_value(value, scale) for value in values}
    if grades == {None}:
        return parse_value(values[0], scale)  # raises the error of the first one
    grade = grades.pop()
    if grades or grade is None:
        raise ReplyParseError("ambiguous", f"{len(values)} values that do not agree")
    return grade


def is_contrary(text: str, grade: int, scale: Scale) -> bool:
    """Return True when a value for the same question, on either scale, contradicts `grade`.

    "No" agrees with any grade that is not relevant, "yes" with any but 0. Words that are not a value
    contradict nothing.
    """
    word = _strip_value(text).casefold()
    if word in _WORDS:
        return grade == 0 if _WORDS[word] else grade >= scale.relevant_from
    if word in _DEGREES:
        return _DEGREES[word] != (grade >= scale.relevant_from)
    if scale.name == "binary":
        digit = _GRADE.fullmatch(word)
        return digit is not None and (int(digit[1]) > 0) != (grade == 1)
    return _parse_word(word, scale) not in (None, grade)


def states_another(key: str, value: str, grade: int, scale: Scale) -> bool:
    """Return True for a member that states another value than `grade` for the same question.

    Its key may be a later one, such as `final_grade`, one of the other scale, or this scale's, misspelt.
    """
    name = fold_key(key)
    is_later = _LATER.search(name) is not None and value not in _NO_VALUE
    if is_later and find_value(value, scale) != grade:
        return True
    if not is_contrary(value, grade, scale):
        return False
    is_same = SAME_QUESTION.fullmatch(name) or _VARIANT.fullmatch(name)
    return bool(is_same or get_close_matches(name, KEYS[scale.name], cutoff=0.8))


def fold_key(key: str) -> str:
    """Return the key of a member as KEYS has it."""
    return flatten(key).strip().casefold()


def is_placeholder(text: str) -> bool:
    """Return True for what an echoed format has in place of a value, such as `0-3` or `yes|no`."""
    return _PLACEHOLDER.fullmatch(text.strip(AROUND)) is not None


def build_label_pattern(scale_name: ScaleName | None) -> str:
    """Return a regular expression for a label without its value, as in "grade (0-3):" or "判定：".

    None means the labels of both scales.
    """
    labels = "|".join(_GRADE_LABELS.values())
    if scale_name:
        # "Result: 2" is an answer, "Result: 2 pages" and "Result 2" are none.
        value = ANY_WORD if scale_name == "binary" else "[0-9]"
        help_labels = r"|(?:helpful|(?:是否)?有(?:帮助|用))(?=[:?])" if scale_name == "binary" else ""
        labels = rf"{_GRADE_LABELS[scale_name]}{help_labels}|result(?=\s{{0,4}}[:=]\W{{0,8}}(?:{value})\W{{0,4}}\Z)"
    return (
        rf"(?:{labels})(?: (?:score|grade|rating|level|label|verdict)|等级|评分|分数|得分|级别"
        rf"|结果)?(?: (?:for|of) (?:this|the) (?:snippet|pair|result))?"
        r"\s{0,2}(?:[(\[](?:0\s?[-~–到至]\s?3|yes\s?/\s?no|是\s?/\s?否)[)\]])?"
    )
