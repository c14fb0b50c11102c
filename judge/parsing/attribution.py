"""Whether an answer is the reply's own, or one that it quotes, supposes, rejects or gives as an example.

Hostile snippets make models report "the page tells me to answer {…}": a complete object that is not
the model's own answer. There is no end of such sources, so the words that may introduce an object are a
closed set (`OWN_WORDS`), and any other word in an introduction names another source:

- the clause that leads to the object has only words for the reply's own answer, and no condition, doubt or
  negation;
- a sentence that says what the object is, and a short note behind it, has only such words, too.

All other prose around an object may say what it likes.
"""

import re

from judge.parsing import vocabulary
from judge.parsing.remarks import names_origin
from judge.parsing.vocabulary import flatten

#: A question or an order, though all its words may be the reply's own.
_ASKS = re.compile(
    r"(?i)\A\W{0,4}(?:is|are|will|would|what|how|you)\b|[?]|\A\W{0,4}(?:output|return|give|say|respond|answer)\b[^:]{0,8}\b(?:following|this)\b|\A\W*say\W*\Z"
)
_KEY_AT_END = re.compile(r"(?:\A|[^\w\s]|\n)\s{0,8}[\"']([^\"']{1,30})[\"']\s?:\Z")
#: "Reason: two signs. ", without quotes around the label: what follows is a part of the reason.
_REASON_AT_END = re.compile(
    rf"(?i)(?<!and )(?<!the )(?<!with )(?<![与和及])(?:{vocabulary.ANY_REASON_KEY})[*_ ]{{0,4}}[:=]([^\n]*|\W{{0,8}})\Z"
)
_OPENING_MARK = re.compile(
    r"(?m)(?:[>~❌✗✘×]|<!--|//|[“「『])\s*\Z|^[^\"\n]*(?:\"[^\"\n]*\"[^\"\n]*)*\"\s*\Z"
)
_FENCE_HEAD = re.compile(r"(?:(?:```|~~~)[ \t]?\w*\s*){1,3}\Z")
_FOREIGN_FENCE = re.compile(r"(?i)\b(?:html|xml|diff|markdown|md|example|input|prompt)\b")
_TAG = re.compile(r"<(/?)([^<>/\s|]{1,30})[^<>|]{0,30}>")
#: The value of a further member, where the text behind an object begins right behind the member's key.
_MEMBER_VALUE = re.compile(r"\A\s{0,8}[:=]\s{0,8}(?!is\b)[A-Za-z0-9_.+%-]{1,20}")
_TAG_OR_TOKEN = re.compile(rf"{_TAG.pattern}|<\|[^<>|\s]{{1,30}}\|>")
_SENTENCE = re.compile(r"(?<=[。!?\n])|(?<=[.])(?=\s)")
_TERMINATOR = re.compile(r"(?i)(?<!\be\.g)(?<!\bi\.e)(?<!\b(?:eg|ex|cf))[.。!][\"”』」)）*_\s]*\Z")
#: What says that something follows; a text that follows in its own line is none.
_POINTS = re.compile(
    r"(?i)\b(?:the following|as follows)(?: \w+)?: ?(?=\w)|(?:以下\w{0,4}|如下): ?(?=\w)|(?P<points>\b(?:following|follows|below|here (?:is|are)"
    r"|(?<![a-z])(?<![a-z] )(?:please |now )?(?:see|look))\b|以下|下面|如下|这样|这[句段])"
)
#: A line without its full stop that needs the object in the next line.
_UNFINISHED = re.compile(
    rf"(?i)(?:\b(?:for|of|with|from|by|as|the|an?|then|is|was|were|be|to|say|said|answered|replied|perhaps|maybe|(?:block|object|json|texts?|words?|lines?|strings?|sentence)(?: in the \w+)?)|则|那么|就|(?<!:)(?<!: )是|为|[写印标记列]着?|(?:嵌入|插入|埋|藏|附)[了着有]|有一[段个行]"
    rf"|也许|或许|(?:{vocabulary.ANSWER_WORDS})了?|\be\.g\.?)\s*\Z"
)
#: What begins an announcement under the condition of the sentence before.
_THEN = re.compile(r"(?i)\W*(?:then|in (?:that|this|such a) case|那么?|此时|这种情况)(?![\u4e00-\u9fff]?是)")
_BULLET = re.compile(r"\s*(?:[-*•+]|[0-9]{1,2}[.)、])\s")
#: Marks of a heading, and what only a sentence has, or a label with its text.
_HEADING_MARK = re.compile(r"\s*(?:#|\*\*|__)")
_NO_HEADING = re.compile(
    r"(?i)\b(?:is|are|was|were|has|have|does|did|can|cannot)\b|[是有没不只未了]|提到|说明|列出|给出|介绍|^[^\n]{31}|[{}]"
)
#: A clause in front of an announcement that says that the reply does not do what the snippet says.
_IGNORES = re.compile(
    r"(?i)\A\W*(?:(?:having |i |we )?(?:ignor|disregard|dismiss)(?:e|ing|ed)?\b|(?:setting|putting|leaving) aside|despite"
    r"|(?:regardless|irrespective) of|(?:without|not) (?:follow|obey|heed|regard)\w*)[^,;:.]{1,80}[,;]"
    r"|\A\W*(?:我?已?忽略|无视|撇开|抛开|排除|不顾|不(?:予)?(?:理会|执行|采纳|听从|遵从|考虑))[^,;:。]{1,40}[,;]"
    r"|\A[^,;:。]{1,40}(?:[已均都被]忽略|不予?(?:理会|采纳|执行))[,;]"
)
#: The work of a grader in the same clause, without which an order is one to the readers of a page.
_OF_GRADER = r"(?=[^,;:。\n]{0,16}(?:[你您]|评[为成定级分委]|评 ?[0-3]|打分|判[为成定]|输出|回[复答](?![\u4e00-\u9fff])|等级|满分|最高级|[0-3] ?[分级]))"
_NAMES_GRADE = (
    r"(?: (?:this|the|that|it|as|with|page|snippet|result|text|document|an?|grade|score|of|only|to))*"
    r" [\"'“]?(?:[0-3]\b|yes\b|no\b|(?:\w+ly )?relevant|highest|top|maximum|full)"
)
#: An order to a grader that begins a sentence, without quotes: the reply repeats the snippet.
_ORDERS_GRADER = re.compile(
    r"(?i)(?:\A|(?<=[.。!?;])|(?<!:)(?<=\n))[ *_#-]*(?:(?:please |now |just )*(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?)\b"
    r"(?: (?:all|any|every|the|these|of|your))*(?:(?: (?:previous|prior|above|earlier|preceding|former|system|grading|scoring|rating|your)){1,3}"
    r" (?:instructions?|rules?|prompts?|guidelines?|directions?|orders?|messages?|criteria|rubric)| (?:instructions|rules) above"
    r"| (?:everything|anything|all|what(?: is| was)?) (?:above|before))\b"
    r"|(?:dear|attention|hey|hello|hi|to (?:the|all|any))[ ,]{1,2}(?:\w+ )?(?:ais?|llms?|graders?|raters?|assessors?|evaluators?|models?|gpt\w*)\b(?= ?[,:!])"
    r"|(?:system[\w ]{0,12}|new (?:instruction|rule|task)s?) ?: ?(?:you (?:are|must|will|should)|grade|rate|score|give|ignore|output|reply|answer|respond|mark|always)\b"
    r"|you are now (?:an? |the )?(?:\w+ ){0,3}(?:assistant|grader|assessor|evaluator|judge|model|ai|bot)\b"
    r"|from now on\b(?=[^.\n]{0,40}\b(?:grad(?:e|es|ing)|scores?|rate|answer|output|reply|respond|judge)\b)"
    rf"|you must (?:now )?(?:output|grade|rate|score|(?:answer|reply|respond|return|give|assign)(?= as follows|{_NAMES_GRADE}))\b"
    rf"|please (?:always |only |just )*(?:rate|grade|score|mark|give|assign|judge|label|answer|output|respond|reply)\b(?={_NAMES_GRADE})"
    r"|(?:请|务必|必须|立即|马上|现在|你)*(?:忽略|无视|忘记|忘掉|不顾|撇开|抛开)掉?[你您]?的?(?:之前|先前|此前|以前|前面|以上|上面|上述|上文|所有|一切|全部|任何|系统|评[分级测定])"
    r"[^,;:。\n摘片网页注诱攻]{0,12}(?:指[令示]|规则|要求|说明|提示|命令|设定|标准)"
    r"|(?:致|敬告)(?:各位|所有)?(?:ai|人工智能|评[测分审估]|打分|大?语?言?模型)[^,;:。\n]{0,8}[,:!]"
    rf"|(?:系统(?:提示|指令|消息|通知)\s?:|新的?(?:指令|规则|任务|要求)\s?:|从现在(?:起|开始),?|你现在是|请(?:直接|务必|一律|立即|[将把给](?![你您]))){_OF_GRADER}"
    r"|你?(?:务必|一律|必须)(?:输出|回[复答]|返回|[给评打判])[^,;:。\n]{0,4}(?:[0-3三]|yes\b|no\b|[是否](?![\u4e00-\u9fff])|满分|最高))"
)
_IS_SUBJECT = re.compile(f"(?i){vocabulary.SUBJECT_WORDS}")
_IS_OWN = re.compile(f"(?i){vocabulary.OWN_WORDS}")
_IS_SOURCE = re.compile(
    rf"(?i){vocabulary.SOURCE_WORDS}|{vocabulary.ANSWER_WORDS}|{vocabulary.EXAMPLE_WORDS}|\b(?:results?|words)\b|文字|的话"
)
#: What says what kind of page the graded one is.
_IS_PAGE = re.compile(
    r"(?i)(?:页面|网页|官网)[。.]?\Z|\A一[篇个条][^,。]{1,20}(?:文章|页面|网页|网站|帖子)(?=[,。])|\A ?an? (?:[\w-]+ )?(?:page|site|blog|article)\b(?! of\b|['’])"
)
_IS_DEMAND = re.compile(f"(?i){vocabulary.DEMAND_WORDS}")
_IS_CONDITION = re.compile(f"(?i){vocabulary.CONDITION_WORDS}")

#: What a sentence behind an object calls the object.
_THAT = (
    r"(?:\bthis\b(?! (?:search )?(?:snippet|page|text|passage|result|article|document|query|site|website|source)\b)"
    r"|\bthat(?:['’]s\b| (?:is|was|came|comes|json|object|answer|output|verdict|grade)\b)|\bit (?:is|was|comes|came)\b|(?:\bthe )?\babove\b"
    r"|\bsuch an? \w+|\bthese (?:lines|words)\b|\b(?:the|this|that) (?:\w+ )?(?:json|object|answer|output|verdict|grade)\b(?!['’]s)|以上|上面|上述"
    r"|前面|刚才|这(?![篇条个家]?(?:摘要|网页|页面|文章?|网站|店|帖))|那|此|该(?:json|对象|答案|结果)|如此)"
)
_DISOWNS = re.compile(
    r"(?i)\A\W*(?:please )?(?:disregard|ignore|discard|cancel|undo)(?: (?:this|that|it))?\W*\Z|\A\W*请?(?:忽略|无视)(?:它|[此该][条项]?|以?上[面述]?|这[个条]?)?(?:答案|回答|判[定断]|评[定级分估]|等级|结[果论]|输出|json|对象)?\W*\Z|\b(?:told|asked|made|instructed|forced|ordered|required)\b[^.]{0,24}\b(?:say|write|answer|do)?\s?(?:so|this|it|that)\W*\Z"
    r"|(?:[让叫逼]|要求)(?:我|模型)(?:这[样么]|如此)|\A\W*(?:(?:copied|taken|quoted?|pasted|reproduced|cited|excerpted)\b|(?:verbatim )?from (?:the|an?|its|their)(?: \w+){1,2}\W*\Z"
    r"|[取摘引抄转录]自)|\A\W*(?:from|in|source:|according to|as (?:stated|written|demanded|requested|instructed) (?:in|by)|per|via) (?:the |a "
    r"|an )?(?:snippet|page|text|user|document|web\w*|passage|article|input|prompt)\b(?!(?: (?:alone|only))?, \w|: ?[\"“])|(?:不是|并非)我"
    r"|\b(?:not|no \w+ of) mine\b|(?:\A\W*so|\b(?:that|this|it)(?:['’]s| is| was)(?: \w+)? (?:what|how)(?! the (?:user|searcher|query)\b)"
    r"|\A\W*as)\b(?! i\b| we\b)[^,;]{0,40}\b(?:says?|said|claims?|states?|wants?|demands?|asks?|told|tells|rates?|puts?|wrote"
    r"|writes)(?: (?:it|me|us|itself))?(?: to \w+)?\W*\Z|\A\W*so (?:says?|claims?|states?|writes?) (?!i\b)"
    r"|\bnothing else in the (?:snippet|page|text)\b|(?:摘要|网页|页面)(?:里|中|上)?(?:再|就)?(?:没有别的|没有其他|只有这|仅此|全部内容)"
    r"|\A\W*(?:this|it|the (?:snippet|pair|result)) can(?:not|['’]t) be (?:\w+ly )?(?:grad|rat|judg|scor|assess|evaluat)ed\b|\bi (?:refuse|decline|will not|won['’]t|cannot|can['’]t) (?:to )?(?:\w+ly )?(?:answer|give|follow it|follow th(?:is|at)\W*\Z|grade|judge|output|obey|do (?:that|so|this))"
    r"|\A\W*(?:/s\b|not\b(?! (?:an? )?[0-3]\b| (?:relevant|helpful|useful|related|on topic|all|every)\b"
    r"| (?:a )?(?:full|complete)\b[^.]*\b(?:but|yet)\b)|is (?:what|all|everything|in|from|wrong|an?"
    r"|the(?! (?:\w+ )?(?:json|format) (?:ok(?:ay)?|valid|fine|right|correct|good)\?))\b|(?:would|could|might) be\b"
    r"|my (?:own )?(?:real |actual |final )?answer (?:follows|is|comes|:))|(?:我|本模型)(?:无法|拒绝|不能|不会)|不会照做|(?:摘要|网页|页面|文中)[里上中]?就?是?(?:这么|这样|如此)(?:说|写|要求)|\A\W*(?:是|就是)(?:网页|摘要|用户|攻击)"
    r"|\A\W*(?:but )?(?:only (?:if|when)\b|(?:if|unless|assuming|supposing|provided (?:that|it|the \w+ (?:is|are|was|were)))\b(?!.*(?:,|\b(?:would|could"
    r"|might|let|please|just|you)\b)))|\b(?:this|that) (?:would|could|might) (?:only )?be (?:the|my) (?:\w+ )?(?:answer|verdict|grade|output)\b"
    r"|\A\W*[但不过]*(?:前提|条件)是|\A\W*(?:但|不过)?(?:仅当|除非|假[设定如]|如果|若是?|要是)(?!.*[,则就可会应请])"
    r"|(?:仅当|只有|除非|假[设定如]|如果|若|要是)[^,。]{1,30}[才则就]会?(?:如此|这[样么])"
)  # fmt: skip
#: The subject and verb of a sentence about the object; some verbs say where it comes from.
_ABOUT_OBJECT = re.compile(
    rf"(?i)\A\W*+(?:(?:please )?note(?: that)?|请?注意|说明)?\W*+(?:{_THAT}|json|object|答案|对象"
    r"|结果)(?:(?! (?:that|which|what|because) )[^.。!?\n]){0,30}?(?:(?P<origin>\b(?:comes?|came|belongs?|appears?|stands?|sits?|stems?|originates?"
    r"|reproduces?|repeats?|copie[sd]|quote[sd]?|taken|found|pasted)\b|[取摘引抄转来出]自|属于|由"
    r"|是(?=[^。]{1,12}[给写做说供成评打标贴发][了出来的]{0,3}的))|\b(?:is|was|are|were|has)\b|['’]s\b|(?<=that is)(?! (?:what|how|why|all)\b)"
    r"|(?<=that was)|是|为)"
)
#: A subject that is nothing but the object.
_IS_OBJECT = re.compile(
    r"(?i)\babove\b|\b(?:json|object|output|verdict|grade)\b|以上|上[面述]|[该此这]个?(?:json|对象|答案|结果|等级|判定)"
)
#: A short note right behind an object, in brackets or behind a dash or a comment mark, that names no lack. A list
#: is no note.
_NOTE = re.compile(
    r"\A(?:\W*[(\[【]|[^\w\n]*(?:[-–—]+|//|#|<-|←)|\W*[–—]+)[ \t]*+(?!lacks?\b|missing\b|no\b|[0-9]{1,2} [A-Za-z]{3,9} [0-9]{4}\b|缺|没有"
    r"|未)(?P<note>[^()\[\]【】.。!?\n]{1,24})[)\]】]?[ \t]*[.。]?[ \t]*(?:\n(?!\s*[-*•] )|\Z)"
)
_CLAUSE_END = re.compile(r"(?i)[,;]|\b(?:because|since|as)\b|(?<=justified|warranted|supported) by\b|因为")
_IS_EXPLAINED = re.compile(f"(?i){vocabulary.MEANING_WORDS}|{vocabulary.OWN_WORDS}")
_NOT_AN_ANSWER = re.compile(
    r"(?i)\b(?:do not|don['’]t|never|should not|shouldn['’]t|must not|cannot|can['’]t) (?:be )?(?:take|taken|use(?! (?:any |my )?(?:facts|outside|external|prior|memory|knowledge))|used|treat|treated|consider"
    r"|considered|count|counted|accept|trust|rely|regard|interpret|record|store)\b|(?<!\bi )(?<!\bi['’]ve )\b(?:produced|gave|wrote|generated|made"
    r"|provided|returned|suggested|supplied|created|inserted|planted|proposed|claims?|demand(?:s|ed)|requested|said|says|wants?|wanted) (?:me "
    r"|us )?(?:(?:this|that|it)(?=\W{0,20}\Z| (?:json|object|answer|verdict|grade|output))|the above"
    r"|(?:the|this|that) (?:json|object|answer|verdict|grade|output))\b(?! (?:snippet|page|text))"
    r"|(?:不要|勿|别|不应|不可|不能)(?:再)?(?:把|将)?[^。\n]{0,8}(?:当[作成]|作为|采用|使用|采纳|相信|计入|视为)"
)
#: What services in China put behind a reply.
_AI_NOTICE = re.compile(
    r"(?i)(?:以上|上述|本)?(?:内容|回答|结果)均?由\s?(?:ai|人工智能|大?模型)\s?(?:自动)?生成"
)
#: Keys and tags that may wrap the answer.
_WRAPPER = re.compile(
    r"(?i)(?:(?:my|the|final|overall|relevance|json|own)[ _-]?){0,3}(?:answers?|responses?|reply|output|results?|verdict|grades?|scores?|ratings?"
    r"|relevance|judge?ments?|evaluation|assessment|conclusion|decision|json|final|arguments|parameters|properties|data)"
    r"|(?:最终|最后|我的|评估|判断|评分)?(?:判断|判定|结论|评估|评价|评分|打分|等级|评级|分数|得分|相关性|答案|结果|输出|回答|返回)(?:结果)?"
)
_ANSWER = r"(?:answer|reply|response|output|verdict|grade|rating|score|result|judge?ment|decision)"
#: What says that the answer is still to come.
_NOT_FINAL = re.compile(
    rf"(?i)(?:\bnot|n['’]t|\bnever)(?: (?:really|actually|yet|necessarily|quite))? (?:(?:my|our)(?: \w+)?(?: \w+)? {_ANSWER}"
    rf"|(?:the |a |yet )?(?:final|official)(?: {_ANSWER})?\b(?! to\b))|(?:\bnot|n['’]t|\byet to)(?: yet)? (?:been )?(?:decided?|made up my mind"
    rf"|final(?:ly|ized|ised))\b|\b(?:my|the) (?:final|real|actual|true) {_ANSWER} (?:comes|follows|will|is (?:different|another|below|to come))"
    rf"|\bfinal {_ANSWER} (?:(?:is|still) ){{0,2}}(?:pending|to (?:come|follow))\b|\b{_ANSWER} (?:above |below )?(?:is|was)(?: not|n['’]t) mine\b|(?:不是|并非|非|不算|不作为|不代表)(?:我的?|本次)?(?:最终|最后|真正"
    r"|正式)的?(?:答案|判断|判定|评分|等级|结果|结论|评估)|(?:还没有?|尚未|还未)(?:最终)?(?:决定|确定|定论|想好)"
    r"|(?:最终|真正的?)(?:答案|判断|结果|评分)(?:稍后|随后|另|还)"
)
#: Limits of the text that is searched in front of an object, and of the text behind an answer.
MAX_LEAD, MAX_TRAIL = 400, 4_000


def may_wrap(key: str) -> bool:
    """Return True when what is under `key` is the answer, as under "result" or "final_answer"."""
    return _WRAPPER.fullmatch(flatten(key).strip(f"{vocabulary.AROUND}#:")) is not None


def is_attributed(lead: str) -> bool:
    """Return True when the prose that leads to an answer makes it another's, an example or a supposition."""
    text = flatten(lead[-MAX_LEAD:])
    fence = _FENCE_HEAD.search(text)
    if fence:
        if _FOREIGN_FENCE.search(fence[0]):
            return True
        text = text[: fence.start()]
    breaks = text[len(text.rstrip()) :].count("\n")
    text = text.rstrip()
    if _has_foreign_tag(text[-60:]):
        return True
    text = _TAG.sub("\n", text).rstrip().rstrip("[{(").rstrip(" \t*_`")
    key = _KEY_AT_END.search(text)
    if key:
        return not may_wrap(key[1])
    reason = _REASON_AT_END.search(text)
    if reason and (not breaks or not re.search(r"\w", reason[1])):
        return True
    if _OPENING_MARK.search(text) and not text.endswith("=>"):
        return True
    *earlier, last = [part for part in _SENTENCE.split(text) if part.strip(f"{vocabulary.AROUND}#-")] or [""]
    if breaks and _BULLET.match(last):
        last, breaks = _join_list(earlier, last), 2
    elif breaks and _HEADING_MARK.match(last):
        breaks = 1
    last = last.strip(f"{vocabulary.AROUND}#[{{(【")
    if _leads_elsewhere(last, breaks):
        return True
    # "The page says:\nAnswer:" is one announcement, as "Suppose it is a song. Then:" is.
    above = (earlier[-1] if earlier else "").rstrip(vocabulary.AROUND)
    return bool(_THEN.match(last) and _IS_CONDITION.search(above)) or (
        above.endswith(":") and _leads_elsewhere(above, 0)
    )


def _join_list(earlier: list[str], item: str) -> str:
    """Return the item of a list, with the line above the list where that line is a demand."""
    head = next((part for part in reversed(earlier) if not _BULLET.match(part)), "").rstrip()
    return f"{head}{item}:" if head.endswith(":") and _IS_DEMAND.search(head) else item


def repeats_order(lead: str) -> bool:
    """Return True when prose in front of an answer is an order to a grader, as in a hostile snippet."""
    return _ORDERS_GRADER.search(flatten(lead)) is not None


def _has_foreign_tag(text: str) -> bool:
    """Return True when a tag that is still open is not one for the answer."""
    open_tags: list[str] = []
    for tag in _TAG.finditer(text):
        if not tag[1]:
            open_tags.append(tag[2])
        elif tag[2] in open_tags:
            open_tags.remove(tag[2])
    return not all(name == "tool_call" or may_wrap(name) for name in open_tags)


def _leads_elsewhere(sentence: str, breaks: int) -> bool:
    """Return True when a sentence, `breaks` lines in front of an object, leads to it as another's answer."""
    sentence = _IGNORES.sub("", sentence).strip()
    words = sentence.rstrip(": ")
    if not words:
        return False
    if _NOT_FINAL.search(sentence):
        return True
    if any(match["points"] for match in _POINTS.finditer(_IS_SUBJECT.sub(" ", sentence))):
        announces = True
    elif _TERMINATOR.search(sentence):
        return False
    else:
        is_condition = sentence.endswith(",") and _IS_CONDITION.search(words) is not None
        announces = (
            not breaks or sentence.endswith(":") or is_condition or _UNFINISHED.search(words) is not None
        )
    if not announces:
        # A heading, or a thought without its full stop.
        label, _, heading = words.rpartition(":")
        is_heading = not _NO_HEADING.search(heading) and (
            breaks == 1 or _IS_SOURCE.search(heading) is not None
        )
        return _IS_DEMAND.search(words) is not None or (
            is_heading and _is_own(re.split("[,;]", label)[-1]) and not _is_own(heading)
        )
    if _IS_DEMAND.search(words) or _IS_CONDITION.search(words):
        return True
    # Each part ends with its announcement: "judged as follows: Input:".
    clauses = [re.split(r"[,;]", part.rstrip(" ,"))[-1] for part in re.split("[:=]", words)]
    return any(_ASKS.search(clause) or not _is_own(clause) for clause in clauses)


def _is_own(clause: str, *, explained: bool = False) -> bool:
    """Return True when a clause has no words but those for the reply's own answer.

    With `explained`, it may also say what the grade means.
    """
    words = _IS_EXPLAINED if explained else _IS_OWN
    return not any(map(str.isalnum, words.sub(" ", _IS_SUBJECT.sub(" ", clause))))


def is_embedded(lead: str, trail: str) -> bool:
    """Return True when an object is inside a sentence, as a quotation is."""
    before, behind = flatten(lead).rstrip(" \t`*"), flatten(trail).lstrip(" \t`*")
    line, rest = before[before.rfind("\n") + 1 :], behind.partition("\n")[0]
    return bool(
        line.lstrip().startswith("|")  # a row of a table quotes, too
        or (line.count('"') % 2 and rest.count('"') % 2)
        or (re.search(r"\w\Z", before.rstrip()) and behind.startswith(","))
        or (
            (re.search(r"[\w,]\Z", line) or (line.endswith(("-", "–", "—")) and re.search(r"\w", line)))
            and re.search(r"\w", rest)
            and not re.match(r"[A-Z]", rest)
        )
    )


def is_disowned(trail: str, *, is_last: bool = True) -> bool:
    """Return True when the prose behind an answer attributes it to another, or takes it back.

    `is_last` is False for prose with another object behind it.
    """
    # A longer text is not an explanation of a verdict.
    if len(trail.strip()) > MAX_TRAIL:
        return True
    text = _MEMBER_VALUE.sub(r"\g<0>\n", flatten(trail))
    text = _TAG_OR_TOKEN.sub("\n", re.sub(r"\A[\s}\])]*(?:```|~~~)?", "", text))
    text = _AI_NOTICE.sub(" ", re.sub(r"[^\S\n]{3,}", " ", text))
    # An announcement behind the object leads to another answer, which is missing.
    if re.match(r"\W{0,3}\?|\s?~~|\s?-->", text) or (
        is_last and text.rstrip(vocabulary.AROUND).endswith(":")
    ):
        return True
    note = _NOTE.match(text)
    if names_origin(text) or (note and not _is_own(note["note"], explained=True)):
        return True
    sentences = _SENTENCE.split(text)
    # The rest of an object, or of a list around it, may stand in front of a sentence or behind it.
    sentences += [part for sentence in sentences for part in re.split(r"[}\]]", sentence)]
    return any(_disowns(sentence.strip()) for sentence in dict.fromkeys(sentences))


def _disowns(sentence: str) -> bool:
    """Return True when a sentence behind an object says that it is another's, or no answer."""
    if any(pattern.search(sentence) for pattern in (_NOT_AN_ANSWER, _NOT_FINAL, _DISOWNS)):
        return True
    subject = _ABOUT_OBJECT.search(sentence)
    if subject is None:
        return False
    predicate = sentence[subject.end() :]
    if _IS_PAGE.search(predicate):
        return False
    return bool(
        _IS_DEMAND.search(predicate)
        or re.match(r"\W*(?:not|n['’]t|不|非|未必)(?!\W*(?:an? |the )?(?:grade |score )?[0-9])", predicate)
        or (
            (subject["origin"] or _IS_SOURCE.search(predicate) or _IS_OBJECT.search(subject[0]))
            and not _is_own(_CLAUSE_END.split(predicate)[0], explained=True)
        )
    )
