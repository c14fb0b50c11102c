"""Whether an answer is the reply's own, or one that it quotes, supposes, rejects or gives as an example.

Hostile snippets make models report "the page tells me to answer {…}": a complete object that is not
the model's own answer. Text around an object is harmless unless it has one of these forms:

- the clause that leads to the object names another source (the snippet, the user, another grader, an
  example, a format), a condition, a doubt or a negation;
- a sentence behind it says where the object comes from, or that it is not an answer.
"""

from __future__ import annotations

import re

from judge.parsing import vocabulary
from judge.parsing.remarks import names_origin, presents_text
from judge.parsing.tolerant_json import flatten

#: Phrases for the origin of an object.
_ORIGIN = re.compile(
    rf"\b(?:from|in|inside|within|part of|found on|by|at the (?:end|top|bottom|start) of) (?:the |"
    rf"this |that |a |an |its |my )?(?:\w+ )?(?:{vocabulary.SOURCE_WORDS})"
    rf"|(?:{vocabulary.PARTY_WORDS})[^,。:的]{{0,3}}[里中内上带附置设嵌贴发写给备供荐议][^,。:的]?的"
    r"(?:json|对象|数据|答案|回答|结果|评[分定]|等级|判定|输出)",
    re.IGNORECASE,
)
#: What only another than the reply itself does.
_SAYS = re.compile(
    r"\b(?:wrote|writes|said|says|claims?|claimed|told|replied|insists?|wants?|demands?)\b", re.IGNORECASE
)
_PART_OF = re.compile(
    rf"\b(?:part|end|top|bottom|start) of (?:the|this|that|a) (?:\w+ )?(?:{vocabulary.SOURCE_WORDS})",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:i|my|we|our)\b|我", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:\b(?:not|never|than|but|without|avoid)|n['’]t(?: \w+)?|\b(?:not|never|n['’]t|refuse|decline"
    r"|won['’]t|cannot|can['’]t)(?: to)? (?:output|answer|say|return|reply|print|follow|write|give)[^.]*"
    r"|(?:不[会能该应可要]|拒绝|避免)(?:按\S{0,12})?(?:输出|回答|返回|给出|写|说|照)?[^。]{0,4}"
    r"|不(?:输出|回答|返回|给出|写|说|是|选|给)?)\s*\Z",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\A\W{0,4}(?:is|are|do|does|should|shall|would|could|can|may|must|did|was|what|which|why|how|who)\b|[?]"
    r"|是不是|是否应|吗\Z|\A\W{0,4}(?:you (?:said|asked|told|want|are|should|must)|i was (?:told|asked"
    r"|instructed))|你(?:让|要|说|叫)|请(?:按|回答|输出|返回|只)|please|\b(?:respond|reply|answer) (?:like"
    r"|with|as|in) (?:this|the following)|output the following|\A(?:input|old|before|given|context|user|human"
    r"|system)\s*\Z",
    re.IGNORECASE,
)
_KEY = re.compile(r"(?:\A|[^\w\s]|\n)\s{0,8}[\"']([^\"']{1,30})[\"']\s?:\Z")
#: The key of an object whose value prose leads to: {"result": The page says {"grade": 3}}
_OPEN_MEMBER = re.compile(
    rf"[{{\[]\s{{0,8}}[\"']?(?!{vocabulary.ANY_REASON_KEY})\w{{1,30}}[\"']?\s?[:=](?=[\s\[]{{0,4}}[^\W\d_])",
    re.IGNORECASE,
)
#: "Reason: two signs. ", without quotes around the label: what follows is a part of the reason.
_REASON = re.compile(rf"(?:{vocabulary.ANY_REASON_KEY})[*_ ]{{0,4}}[:=]([^\n]*|\W{{0,8}})\Z", re.IGNORECASE)
_FORMAT = re.compile(
    r"\Aformats?\b|(?<!json)(?<!json )(?<!结果)格式(?:如下|为|是|要求)?\s*\Z"
    r"|\bformat(?: is)?(?: as follows)?\s*\Z",
    re.IGNORECASE,
)
_OPENING_MARK = re.compile(
    r"(?:[>~❌✗✘×]|<!--|//|[“「『])\s*\Z|^[^\"\n]*(?:\"[^\"\n]*\"[^\"\n]*)*\"\s*\Z", re.MULTILINE
)
_FENCE_HEAD = re.compile(r"(?:(?:```|~~~)[ \t]?\w*\s*){1,3}\Z")
_FOREIGN_FENCE = re.compile(r"\b(?:html|xml|diff|markdown|md|example|input|prompt)\b", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([^<>/\s|]{1,30})[^<>|]{0,30}>")
#: The value of a further member, where the text behind an object begins right behind the member's key.
_MEMBER_VALUE = re.compile(r"\A\s{0,8}[:=]\s{0,8}(?!is\b)[A-Za-z0-9_.+%-]{1,20}")
_TAG_OR_TOKEN = re.compile(rf"{_TAG.pattern}|<\|[^<>|\s]{{1,30}}\|>")
_ROLE = re.compile(
    r"<\|?(?:im_start|start_header_id|start)\|?>\s*(?:user|system|human)|<\|(?:user|human)\|>"
    r"|^\W{0,4}(?:user|human|用户)\W{0,4}:",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE = re.compile(r"(?<=[。!?\n])|(?<=[.])(?=\s)")
_LEADS_ON = re.compile(
    r"(?:[:,]|则|那么|就|是|为|\b(?:then|is|was|be|to|output|answer(?:ed)?|return|say|but|not|than|except"
    r"|never|reads?|wants?|says|suggests|contains|only|json|like|rating|grade|verdict))\s*\Z",
    re.IGNORECASE,
)
#: A sentence whose last word needs another one: the object in the next line.
_UNFINISHED = re.compile(r"\b(?:for|of|with|from|by|as|the|an?)\s*\Z", re.IGNORECASE)
#: "The blog's answer": the answer of a third party.
_POSSESSIVE = re.compile(
    r"\b(?!(?:it|here|that|let|what|there|snippet|pair)['’])\w+['’]s (?:own )?(?:answer|verdict|grade"
    r"|rating|score|result|label|decision|output|response|reply|judge?ment)\b|\b(?!(?:it|here|that|let|what"
    r"|there)['’])\w+['’]s (?:\w+ ){0,2}(?:json|object|data)\b|\b(?:answer|verdict|grade"
    r"|rating|score) (?:of|by|from) (?:an?|the|my) (?!(?:snippet|page|text|passage|pair|result|search|above"
    r"|given)\b)\w+",
    re.IGNORECASE,
)
_TERMINATOR = re.compile(r"(?<!\be\.g)(?<!\bi\.e)[.。!][\"”』」)）*_\s]*\Z")
_POINTER = re.compile(
    r"\b(?:following|follows|below|here is|this|these|see|look)\b|以下|下面|如下|这样|这[是句段]",
    re.IGNORECASE,
)
#: A pointer with the text that it points to: "the following: pale gums".
_POINTER_WITH_TEXT = re.compile(
    r"\b(?:the following|as follows)(?: \w+)?: ?(?=\w)|(?:以下\w{0,4}|如下): ?(?=\w)", re.IGNORECASE
)
#: A label of the query or the snippet with its text.
_LINE_WITH_TEXT = re.compile(
    r"(?:[-*] )?(?:the |user )?(?:query|snippet|title|search|topic|intent|查询(?:意图)?"
    r"|摘要(?:内容)?|标题|结论)\s?:\s?[^:{}]{2,200}[^:]",
    re.IGNORECASE,
)
#: A clause in front of an announcement that says that the reply does not do what the snippet says.
_IGNORES = re.compile(
    r"\A\W*(?:(?:having |i |we )?(?:ignor|disregard|dismiss)(?:e|ing|ed)?\b|(?:setting|putting|leaving) aside"
    r"|despite|(?:regardless|irrespective) of|(?:without|not) (?:follow|obey|heed|regard)\w*)"
    r"[^,;:.]{1,80}[,;]"
    r"|\A\W*(?:我?已?忽略|无视|撇开|抛开|排除|不顾|不(?:予)?(?:理会|执行|采纳|听从|遵从|考虑))[^,;:。]{1,40}[,;]"
    r"|\A[^,;:。]{1,40}(?:[已均都被]忽略|不予?(?:理会|采纳|执行))[,;]",
    re.IGNORECASE,
)
_IS_SOURCE = re.compile(vocabulary.SOURCE_WORDS, re.IGNORECASE)
_IS_OTHER = re.compile(vocabulary.OTHER_ANSWER_WORDS, re.IGNORECASE)
_IS_SPEECH = re.compile(vocabulary.SPEECH_WORDS, re.IGNORECASE)
_IS_OWN = re.compile(vocabulary.OWN_ANSWER_WORDS, re.IGNORECASE)
_IS_DEMAND = re.compile(vocabulary.DEMAND_WORDS, re.IGNORECASE)
_IS_DOUBT = re.compile(rf"{vocabulary.CONDITION_WORDS}|{vocabulary.DOUBT_WORDS}", re.IGNORECASE)
_IS_ABOUT = re.compile(vocabulary.SUBJECT_WORDS, re.IGNORECASE)
_PRONOUN_SPEAKS = re.compile(
    r"\b(?:it|they|he|she|one|that|which) (?:\w+ )?(?:says?|said|wants?|asks?|expects?|tells?|demands?|reads?"
    r"|claims?|quotes?|states?|contains?)\b|[它他她][们]?(?:说|想|要|期望|希望|让)",
    re.IGNORECASE,
)

#: What a sentence behind an object calls the object.
_THAT = (
    r"(?:\bthis\b(?! (?:search )?(?:snippet|page|text|passage|result|article|document|query|site|website"
    r"|source)\b)|\bthat(?:['’]s\b| (?:is|was|came|comes|json|object|answer|output|verdict|grade)\b)"
    r"|\bit (?:is|was|comes|came)\b|\babove\b|\bsuch an? \w+|\bthese (?:lines|words)\b|\b(?:the|this"
    r"|that) (?:\w+ )?(?:json|object|answer|output|verdict|grade)\b(?!['’]s)|以上|上面|上述|前面|刚才|这|那"
    r"|此|该(?:json|对象|答案|结果)|如此)"
)
_DISOWNS = re.compile(
    r"\A\W*(?:from|in|quoted?(?: from)?|source:|copied from|according to|as (?:stated|written|demanded"
    r"|requested|instructed) (?:in|by)|per|via) (?:the |a |an )?(?:snippet|page|text|user|document|web\w*"
    r"|passage|article|input|prompt)\b(?!(?: (?:alone|only))?, \w|: ?[\"“])|(?:不是|并非)我"
    r"|\bnot mine\b|\bnothing else in the (?:snippet|page|text)\b|(?:摘要|网页"
    r"|页面)(?:里|中|上)?(?:再|就)?(?:没有别的|没有其他|只有这|仅此|全部内容)"
    r"|\bi (?:refuse|decline|will not|won['’]t|cannot|can['’]t) (?:to )?(?:answer|give|follow it|grade"
    r"|judge|output|obey|do (?:that|so|this))"
    r"|\A\W*(?:/s\b|not\b(?! (?:an? )?[0-3]\b)|is (?:what|all|everything|in|from|wrong|an?|the)\b|(?:would"
    r"|could|might) be\b|my (?:own )?(?:real |actual |final )?answer (?:follows|is|comes|:))"
    r"|(?:我|本模型)(?:无法|拒绝|不能|不会)(?:给出|做出|进行|照做)?(?:判定|判断|评分|回答)?|不会照做"
    r"|\A\W*(?:是|就是)(?:网页|摘要|用户|攻击)",
    re.IGNORECASE,
)  # fmt: skip
#: The subject and verb of a sentence about the object.
_ABOUT_OBJECT = re.compile(
    rf"\A\W*(?:note(?: that)?|please note that|注意|说明)?\W*(?:{_THAT}|json|object|答案|对象"
    rf"|结果)[^.。!?\n]{{0,30}}?(?:\b(?:is|was|are|were|has|comes?|came|belongs?|appears?|stands?|stems?"
    rf"|originates?|reproduces?|repeats?|copies|quotes?)\b|['’]s\b|(?<=that is)(?! what)|(?<=that was)"
    rf"|是|由|来自|属于|出自|取自|摘自|引自|为)",
    re.IGNORECASE,
)
_NOT_AN_ANSWER = re.compile(
    r"\b(?:do not|don['’]t|never|should not|shouldn['’]t|must not|cannot|can['’]t) (?:be )?(?:take|taken|use"
    r"|used|treat|treated|consider|considered|count|counted|accept|trust|rely|regard|interpret|record"
    r"|store)\b|(?<!\bi )(?<!\bi['’]ve )\b(?:produced|gave|wrote|generated|made|provided|returned|suggested"
    r"|supplied|created|inserted|planted|proposed|demanded|requested|said|says|wants?|wanted) (?:me "
    r"|us )?(?:(?:this|that|it)(?=\W{0,20}\Z| (?:json|object|answer|verdict|grade|output))|the above|(?:the"
    r"|this|that) (?:json|object|answer|verdict|grade|output))\b(?! (?:snippet|page|text))|(?:不要|勿|别|不应"
    r"|不可|不能)(?:再)?(?:把|将)?[^。\n]{0,8}(?:当[作成]|作为|采用|使用|采纳|相信|计入|视为)",
    re.IGNORECASE,
)
_DISOWNS_NOT = re.compile(
    r"\b(?:based|because|why|ignored|disregarded|judged|assessed|evaluated|considers?|reflect\w*|valid"
    r"|final|fair|consistent with|in line with|summar\w+|opinion|follows? the (?:required|requested))\b"
    r"|仅?(?:基于|根据|依据|针对|符合|遵循|遵守|按照?要求)|因为|原因|已忽略|已被忽略|忽略了",
    re.IGNORECASE,
)
_MY_OWN = re.compile(
    r"\A\W*(?:this|that|it|above|以上|上述|这|此)\W{0,3}(?:['’]s|is|was|就?是|为)?\s?(?:my|"
    r"我的?|本次)(?!.*(?:要求|让我|asked|told|example|draft|示例))",
    re.IGNORECASE,
)
#: Keys and tags that may wrap the answer.
_WRAPPER = re.compile(
    r"(?:(?:my|the|final|overall|relevance|json|own)[ _-]?){0,3}(?:answers?|responses?|reply|output|results?"
    r"|verdict|grades?|scores?|ratings?|relevance|judge?ments?|evaluation|assessment|conclusion|decision|json"
    r"|final|arguments|parameters|properties|data)|(?:最终|最后|我的|评估|判断|评分)?(?:判断|判定|结论|评估"
    r"|评价|评分|打分|等级|评级|分数|得分|相关性|答案|结果|输出|回答|返回)(?:结果)?",
    re.IGNORECASE,
)
_ANSWER = r"(?:answer|reply|response|output|verdict|grade|rating|score|result|judge?ment|decision)"
#: What says that the answer is still to come.
_NOT_FINAL = re.compile(
    rf"(?:\bnot|n['’]t|\bnever)(?: (?:really|actually|yet|necessarily|quite))? (?:(?:my"
    rf"|our)(?: \w+)?(?: \w+)? {_ANSWER}|(?:the |a |yet )?(?:final|official)(?: {_ANSWER})?\b(?! to\b))"
    rf"|\b(?:not|n['’]t|yet to)(?: yet)? (?:decided?|made up my mind|final(?:ly|ized|ised))\b|\b(?:my"
    rf"|the) (?:final|real|actual|true) {_ANSWER} (?:comes|follows|will|is (?:different|another|below"
    rf"|to come))|\b{_ANSWER} (?:above |below )?(?:is|was)(?: not|n['’]t) mine\b"
    r"|(?:不是|并非|非|不算|不作为|不代表)(?:我的?|本次)?(?:最终|最后|真正|正式)的?(?:答案|判断|判定|评分"
    r"|等级|结果|结论|评估)|(?:还没有?|尚未|还未)(?:最终)?(?:决定|确定|定论|想好)|(?:最终|真正的?)(?:答案"
    r"|判断|结果|评分)(?:稍后|随后|另|还)",
    re.IGNORECASE,
)
#: A heading for thinking, a format, and what no answer can be.
_LEADS_TO_OTHER_TEXT = re.compile(
    r"(?:\A|[.。!?:]\s?|\bmy )(?:initial )?(?:thinking|thoughts?|(?:thought|thinking|reasoning) process"
    r"|chain[ -]of[ -]thought|scratchpad|monologue)\s*\Z|(?:思考|思维|推理|思路)(?:过程|链|内容)?\s*\Z"
    r"|(?:写|印|标|记|列)(?:着|道|有)(?:的是)?\s*\Z|\A(?:your|the) (?:requested |required )?format(?: (?:that"
    r" )?you (?:asked for|gave|want(?:ed)?))?(?: is)?\s*\Z|\b(?:cannot be|must (?:look like|be)"
    r"|disagree with)\s*\Z|(?:回复|输出|答案|格式)应该?(?:如下|为)\s*\Z",
    re.IGNORECASE,
)
#: What says what a page is about, or what kind of page it is.
_DESCRIBES_PAGE = re.compile(
    rf"\s?an? (?:(?!of|from|in|on|by)[\w-]+ ){{0,3}}(?:{vocabulary.PARTY_WORDS})"
    r"|\s?(?:is|was)? ?(?:all |only |mainly )?about\b|\s?(?:is|was)? ?(?:an?|the) (?:(?!of|from|in|on"
    r"|by)[\w-]+ ){0,3}(?:page|homepage|list)\b(?!['’])|[是为]?[^,。]{0,16}(?:页面|网页|官网)[。.]?\Z",
    re.IGNORECASE,
)
#: Limits of the text that is searched in front of an object, and of the text behind an answer.
MAX_LEAD, MAX_TRAIL = 400, 4_000


def may_wrap(key: str) -> bool:
    """Return True when what stands under `key` is the answer, as under "result" or "final_answer"."""
    return _WRAPPER.fullmatch(flatten(key).strip(f"{vocabulary.AROUND}#:")) is not None


def is_attributed(lead: str) -> bool:
    """Return True when the prose that leads to an answer makes it another's, an example or a supposition."""
    text = flatten(lead[-MAX_LEAD:])
    fence = _FENCE_HEAD.search(text)
    if fence:
        if _FOREIGN_FENCE.search(fence[0]):
            return True
        text = text[: fence.start()]
    same_line = "\n" not in text[len(text.rstrip()) :]
    is_apart = re.search(r"\n[^\S\n]*\n\s*\Z", text) is not None
    text = text.rstrip()
    if _ROLE.search(text) or _has_foreign_tag(text[-60:]):
        return True
    text = _TAG.sub("\n", text).rstrip().rstrip("[{(").rstrip(" \t*_`")
    key = _KEY.search(text)
    if key:
        return not may_wrap(key[1])
    text = _OPEN_MEMBER.sub("\n", text)
    reason = _REASON.search(text)
    if reason and (same_line or not re.search(r"\w", reason[1])):
        return True
    if _OPENING_MARK.search(text) and not text.endswith("=>"):
        return True
    *earlier, last = [part for part in _SENTENCE.split(text) if part.strip(f"{vocabulary.AROUND}#-")] or [""]
    last = last.strip(f"{vocabulary.AROUND}#[{{(【")
    # "Snippet: pale gums", and an empty line: a line with its text leads to nothing.
    if is_apart and _LINE_WITH_TEXT.fullmatch(last) and not _IS_DEMAND.search(last):
        return _IS_OTHER.search(_IS_ABOUT.sub(" ", last)) is not None
    if _leads_elsewhere(last, same_line=same_line):
        return True
    # "The page says:\nAnswer:" is one announcement.
    above = (earlier[-1] if earlier else "").rstrip(vocabulary.AROUND)
    return above.endswith(":") and _leads_elsewhere(above, same_line=True)


def _has_foreign_tag(text: str) -> bool:
    """Return True when a tag that is still open names a source, or the reason."""
    open_tags: list[str] = []
    for tag in _TAG.finditer(text):
        if not tag[1]:
            open_tags.append(tag[2])
        elif tag[2] in open_tags:
            open_tags.remove(tag[2])
    return any(
        _IS_SOURCE.search(name) or _IS_OTHER.search(name) or name.casefold() in vocabulary.REASON_KEYS
        for name in open_tags
    )


def _leads_elsewhere(sentence: str, *, same_line: bool) -> bool:
    """Return True when a sentence in front of an object leads to it as another's answer."""
    sentence = _IGNORES.sub("", sentence).strip()
    if not sentence:
        return False
    head = sentence.rstrip(f"{vocabulary.AROUND}:.…")
    if _NOT_FINAL.search(sentence) or _LEADS_TO_OTHER_TEXT.search(head):
        return True
    if _TERMINATOR.search(sentence):
        if not _POINTER.search(_POINTER_WITH_TEXT.sub(" ", _IS_ABOUT.sub(" ", sentence))) and not re.search(
            r"(?:话|内容|文字)[.。!]", sentence
        ):
            return False
        return _names_source(_POINTER.sub(" ", sentence))
    words = sentence.rstrip(": ")
    # A line that neither ends nor announces is a heading when it is short, else a finished thought.
    leads_on = same_line or _LEADS_ON.search(sentence) or _UNFINISHED.search(words)
    if not (leads_on or _POINTER.search(words)) and len(words) > 20:
        return bool(_IS_OTHER.search(_IS_ABOUT.sub(" ", words)) or _IS_DEMAND.search(words))
    if _IS_DEMAND.search(words) or _IS_DOUBT.search(words) or _NEGATED.search(words):
        return True
    announcement = words[max(words.rfind(","), words.rfind(";")) + 1 :]
    if _POSSESSIVE.search(announcement):
        return True
    # What leads to an object directly must name the reply's own answer.
    if (
        (same_line or sentence.endswith(":") or _UNFINISHED.search(words))
        and any(map(str.isalnum, announcement))
        and not (_IS_OWN.search(words) or _IS_ABOUT.search(words))
    ):
        return True
    # Each part ends with its announcement: "judged as follows: Input:".
    clauses = [
        re.split(r"[,;]", part.rstrip(" ,"))[-1].strip(vocabulary.AROUND) for part in re.split("[:=]", words)
    ]
    return any(
        _ASKS.search(clause)
        or _FORMAT.search(_IS_ABOUT.sub(" ", clause))
        or presents_text(clause)
        or _names_source(clause)
        for clause in clauses
    )


def _names_source(clause: str) -> bool:
    """Return True when a clause names a source of the object, and not only what the answer is about."""
    rest = _IS_ABOUT.sub(" ", clause)
    return bool(
        _ORIGIN.search(rest)
        or (_SAYS.search(rest) and not _FIRST_PERSON.search(rest))
        or _PART_OF.search(clause)
        or _IS_OTHER.search(rest)
        or _PRONOUN_SPEAKS.search(rest)
        or (_IS_SOURCE.search(rest) and (_IS_SPEECH.search(rest) or not _IS_OWN.search(rest)))
    )


def is_embedded(lead: str, trail: str) -> bool:
    """Return True when an object stands in the midst of a sentence, as a quotation does."""
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
    if _ROLE.search(text):
        return True
    text = _TAG_OR_TOKEN.sub("\n", re.sub(r"\A[\s}\])]*(?:```|~~~)?", "", text))
    text = re.sub(r"[^\S\n]{3,}", " ", text)
    # An announcement behind the object leads to another answer, which is missing.
    if re.match(r"\W{0,3}\?|\s?~~|\s?-->", text) or (
        is_last and text.rstrip(vocabulary.AROUND).endswith(":")
    ):
        return True
    if names_origin(text):
        return True
    sentences = _SENTENCE.split(text)
    # The rest of an object, or of a list around it, may stand in front of a sentence or behind it.
    sentences += [part for sentence in sentences for part in re.split(r"[}\]]", sentence)]
    return any(_disowns(sentence.strip()) for sentence in dict.fromkeys(sentences))


def _disowns(sentence: str) -> bool:
    """Return True when a sentence behind an object says that it is another's, or no answer."""
    if _NOT_AN_ANSWER.search(sentence) or _NOT_FINAL.search(sentence):
        return True
    if _DISOWNS_NOT.search(sentence) or _MY_OWN.search(sentence):
        return False
    if _DISOWNS.search(sentence):
        return True
    subject = _ABOUT_OBJECT.search(sentence)
    if subject is None:
        return False
    predicate = sentence[subject.end() :]
    if _DESCRIBES_PAGE.match(predicate):
        return False
    rest = _IS_ABOUT.sub(" ", predicate)
    return bool(
        _PART_OF.search(predicate)
        or _ORIGIN.search(rest)
        or _IS_OTHER.search(predicate)
        or _IS_DEMAND.search(predicate)
        or re.match(r"\W*(?:not|n['’]t|不|非|未必)(?!\W*(?:an? |the )?(?:grade |score )?[0-9])", predicate)
        or _IS_SOURCE.search(rest)
    )
