"""The forms of prompt injection, in Chinese and English, as patterns with words by which they are found fast."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from judge.flags import STUFFING

_NEAR = r"[^\n]{0,40}?"
_GRADERS = r"(?:grader|judge|evaluator|assessor|rater|reviewer|scorer|ai|llm|model|assistant)s?"
_TOP_GRADE = (
    r"[\"'“‘]?(?:3(?![.,/]\d)|three|yes|relevant|full marks|(?:the )?(?:highest|maximum)(?: relevance)?(?: (?:grade|score|mark|rating)s?)?)"
    r"\b(?! or no\b| out of (?!3\b|three\b)|[”\"]?,? and [^\n.]{0,30}\bno\b)"
)
_FILLING_WORDS = (
    "only just with it this them one everything a an the as single character word number digit grade score rating of be simply always"
    " me passage snippet text page result document item verdict"
).replace(" ", "|")
# A demand ends with its value: "give it a 3." and not "give it 3 stars".
_DEMAND_END = (
    r"(?=[\"'”’]?\s*(?:$|\n|[.,;!?)\]]|or (?:you|else)\b|only\b(?! if\b)|(?:and|for(?! (?:any|a|each) correct\b)|regardless|no matter|as|with|without|now|instead|because|please|always"
    r"|forever)\b(?! (?:press|hit|click)\b)|to (?:this|every|all)\b(?! (?:\w+ )?(?:prompt|question)s)))"
)
# Words about the work of the assessor, in the same sentence.
_ABOUT_GRADING = (
    r"(?=[^\n.]{0,80}(?:grad(?:e|ing)|rat(?:e|ing)\b|relevan|verdict|scor(?:e|ing)|assess|evaluat|mark\b|full marks|answer|output"
    r"|reply|respond|instruction|ignore|must\b|please\b|yes\b|lenient|model|assistant))"
)
_ABOUT_GRADING_ZH = (
    r"(?=[^\n。]{0,40}(?:评|判|打分|给分|满分|[3３三] ?分|相关|输出|只(?:能|需)回|(?<!交通)规则|模型|yes))"
)
_THIS_TEXT = r"this (?:result|snippet|passage|text|page|document|item|entry|content|site)"
_ROLES = "system: assistant: user: human: instruction response 指令 回复 系统: 助手: 用户: system： assistant： user： human： 系统： 助手： 用户："
_LINE_MARKS = "``` \"\"\" ''' --- === ### ~~~ ***"
# Common look-alikes of Latin letters: Cyrillic, Greek, Cherokee (of both cases) and Latin's own.
_CHEROKEE = dict(zip("ᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃᏎ", "ABCDEGHiJKLMPRSTVWZ4", strict=True))
LOOKALIKES = str.maketrans(
    dict(zip("АВЕЅІЈКМНОРСТХУаеорсухѕіјһԁԛԝѵӏкмт", "ABESIJKMHOPCTXYaeopcyxsijhdqwvlkmt", strict=True))
    | dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαονρυικτχεηωγ", "ABEZHIKMNOPTYXaovpuiktxenwy", strict=True))
    | _CHEROKEE
    | {
        chr(ord(letter) - 0x13A0 + 0xAB70): plain.lower()
        for letter, plain in _CHEROKEE.items()
        if ord(letter) < 0x13F0
    }
    | {"ı": "i", "ɡ": "g", "ɑ": "a", "ǀ": "l"}
    # Small capitals, flags, and letters in dark circles and squares, of which NFKC makes no letters.
    | dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘǫʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnopqrstuvwyz", strict=True))
    | {
        chr(first + number): chr(ord("a") + number)
        for first in (0x1F1E6, 0x1F150, 0x1F170)
        for number in range(26)
    }
    # Marks over, under and through a letter that is no other letter with them.
    | dict.fromkeys(map(chr, range(0x300, 0x370)))
)


@dataclass(frozen=True, slots=True)
class InjectionPattern:
    """One form of injection: `patterns` are searched where one of `triggers` occurs (lower case).

    Patterns with `raw` consist of marks that cleaning removes, so they are searched in the raw text, too. What
    they match has one of `stems`. This is tested first, because a text is searched for all stems at once. A
    stem of letters a-z has no such letter before or behind it, except for one that ends with `*`.
    """

    triggers: tuple[str, ...]
    patterns: tuple[str, ...]
    stems: frozenset[str]
    raw: bool


def split_words(words: str) -> tuple[str, ...]:
    """Return the words of a text; `%` is a blank inside a word."""
    return tuple(word.replace("%", " ") for word in words.split(" "))


def _make_pattern(triggers: str, *patterns: str, stems: str = "", raw: bool = False) -> InjectionPattern:
    """Return the pattern. If all `stems` are ASCII, the triggers that are not are stems, too."""
    # Texts are searched after their look-alikes are folded, which changes Cyrillic and Greek words, too.
    folded = tuple(pattern.translate(LOOKALIKES) for pattern in patterns)
    words = split_words(triggers.translate(LOOKALIKES))
    all_stems = split_words(stems.translate(LOOKALIKES)) if stems else ()
    if stems.isascii():
        all_stems += tuple(word for word in words if not word.isascii())
    return InjectionPattern(words, folded, frozenset(all_stems), raw)


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return the compiled pattern; most are never needed, so they are not compiled at import."""
    return re.compile(pattern)


INJECTION_PATTERNS: Mapping[str, InjectionPattern] = {
    "instruction": _make_pattern(
        "ignore disregard forget overrid bypass rubric grading scoring rating judging evaluating assessing rules instruction guidelines criteria role duty",
        rf"(?<!not )(?<!n't )(?<!n’t )(?<!never )(?<!model to )(?<!models to )(?<!llm to )\b(?:ignore|disregard|forget|override|overriding|bypass)\b{_NEAR}"
        r"\b(?:(?<!own )instructions?\b(?! (?:on|at) )|rubric"
        r"|guideline|criteria|system prompt|(?:grading|scoring|rating|your|all|these|those|any|system) (?:\w+ )?(?:rule|prompt|task|scale)"
        r"|the (?:rules?|task|scale|prompt)(?=\W*$|[.,;!?]| (?:above|and|given|you))|the (?:query|question)(?=(?:[,;]| and\b| or\b)[^\n.]{0,40}\brelevant\b)|(?:above|previous|prior|earlier)\b"
        r"(?=\W*$|[\s\"'”]*[.,:;!?—-]|\s+(?:instruction|direction|guid|rule|rubric|prompt|order|command|criteri|text|context|task"
        r"|message|request|scale|polic|sentence|system|statement|content|and\b|or\b|in\b|you\b)))",
        r"\b(?:forget|drop|abandon|leave) (?:about )?your (?:\w+ )?(?:role|duty|task) as\b|\b(?:drop|discard|abandon|delete|set aside|throw away) (?:(?:the|all|any|your|these|those) )*(?:previous|prior|above|earlier|grading|scoring|old) (?:\w+ )?(?:instructions|guidelines|rubric|rules|criteria)\b"
        r"|\bdo(?:n['’]t| not) (?:follow|apply|use) (?:the|your|any) (?:rubric|grading|scoring)\b|\bthis (?:snippet|passage|text|page|result)\b[^\n.]{0,40}\binstead of (?:grading|rating|judging|scoring|evaluating|assessing)(?=\W*$|[.,;!]| (?:it|this)\b)|\bbegin (?:trusted|real|true) instructions?(?! (?:in|on|at|of|for|with)\b)"
        r"|\b(?:prior|previous|above|earlier) (?:rules|instructions) are (?:void|cancell?ed|no longer valid)(?=[.,;!]|$| (?:from )?now)",
        stems="leave drop discard abandon delete set throw ignore disregard forget override overriding bypass rubric grading scoring rating judging evaluating assessing rules instruction instructions",
    ),
    "instruction:give": _make_pattern(
        "3 three yes relevant full%marks highest maximum",
        rf"\b(?:assign|award|grade|score|rate|mark|give)\b(?: (?:{_FILLING_WORDS})){{0,8}}:? {_TOP_GRADE}{_DEMAND_END}(?!,? (?:and |or )?grade)",
        stems="assign award grade score rate mark give",
    ),
    "instruction:answer": _make_pattern(
        "3 three yes relevant full%marks highest maximum",
        rf"\b(?:output(?!:)|print|reply|respond|(?<!choose )(?<!select )(?<!this )answer|return|say|write|type|repeat)\b(?: (?:{_FILLING_WORDS})){{0,8}}:? {_TOP_GRADE}{_DEMAND_END}(?!, (?:then|stop)\b)",
        stems="output print reply respond answer return say write type repeat",
    ),
    "instruction:grade_is": _make_pattern(
        "3 three yes relevant full highest maximum top perfect",
        rf"\b(?:(?:your|the only (?:correct|valid|acceptable)) (?:answer|reply|response|output|verdict|grade)|the (?:grade|verdict)) (?:is|should be|must be|has to be):? {_TOP_GRADE}{_DEMAND_END}"
        rf"|\b(?:grade|verdict|rating|relevance|score) (?:for|of) {_THIS_TEXT} is:?(?: (?:an?|the))* (?:{_TOP_GRADE}|full|top|perfect)"
        rf"|\b(?:the|your) (?:expected|correct|true|gold|right|only) (?:(?:label|grade|verdict|rating)|(?:output|answer|label|grade|verdict) for this \w+)(?: is|=|:) ?{_TOP_GRADE}{_DEMAND_END}",
        rf"\bset (?:(?:the|your|its|this) ){{0,2}}(?:(?:grade|verdict)(?: (?:for|of) {_THIS_TEXT})?|(?:score|relevance|rating) (?:for|of) {_THIS_TEXT}) (?:to|at|=) (?:the )?(?:max(?:imum)?|{_TOP_GRADE}){_DEMAND_END}",
        stems="answer reply response output verdict grade rating relevance score label",
    ),
    "instruction:treat": _make_pattern(
        "relevant answering satisfying direct%answer full%answer complete%answer correct%answer perfect%answer best%answer",
        rf"\b(?:label|classify|deem|treat|regard|count|consider|grade|rate|score|mark|judge) (?:{_THIS_TEXT}|the following (?:text|passage|snippet)) (?:as )?(?:(?:fully|highly|completely|perfectly|directly) )?(?:relevant(?=\W*$|[.,;!?)\]]| (?:to|and)\b)|answering|satisfying)\b"
        rf"|\b(?:consider|treat|regard|deem|count|accept) {_THIS_TEXT} (?:to be |as )?(?:an? |the )?(?:\w+ (?:and )?){{0,2}}(?:direct|full|complete|correct|perfect|best) answer\b",
        stems="label classify deem treat regard count consider grade rate score mark judge accept",
    ),
    "instruction:than": _make_pattern(
        "prefer choose favor favour apply skip than just simply any%lower below",
        r"\b(?:prefer|choose|favou?r) the (?:engine|list|ranking) (?:that|which|with)\b[^\n.]{0,30}\bthis\b",
        rf"\b(?:apply (?:it|them|that|these)|skip (?:the )?(?:relevance|grading|rating|scoring|evaluation|assessment) [^\n.]{{0,12}}for|(?:grade|score|rating|verdict)s? (?:(?:lower|less|below|other) )?than (?:[23]|two|three|yes|relevant) (?:to|for|on)) {_THIS_TEXT}"
        rf"|\b(?:just|simply) (?:label|mark|call) (?:it|this) (?:as )?(?:\w+ )?{_TOP_GRADE}{_DEMAND_END}"
        rf"|\bany lower (?:grade|score|rating)\b|\banything (?:lower|less|below|other) than (?:3|three|yes)\b|\b(?:grade|score|rate)s? {_THIS_TEXT} below\b",
        stems="prefer choose favor favour apply skip grade score rating verdict grades scores ratings verdicts label mark call anything rate rates",
    ),
    # Examples of programming exercises have an input and an output.
    "instruction:output": _make_pattern(
        "output: 输出: 输出%: 输出： 输出%： 输出为 输出%为",
        rf"\A(?![\s\S]*\b(?:input|explanation|example)\b)[\s\S]*?\boutput: ?{_TOP_GRADE}{_DEMAND_END}",
        r"\A(?![\s\S]*(?:输入|解释|解析|[样示]例))[\s\S]*?输出 ?[:：为] ?[3３](?![\d.]| ?[位行级星张个次/]| ?分(?:满意|球|钟))",
        stems="output 输出",
    ),
    "instruction:role": _make_pattern(
        "note message attention notice memo instruction you%are you're pretend imagine let's %mode from%now pre-scored pre-graded pre-rated already%been as%a",
        rf"\b(?:note|message|attention|notice|memo|instructions?)\b(?: to| for)(?: [\w-]+){{0,2}}"
        rf" (?:(?:grader|evaluator|assessor|rater|scorer|ai|llm|model)s?\b|(?:judge|reviewer|assistant)s?\b(?=[^\n]{{0,120}}(?:{_THIS_TEXT}|\bgrade\b|relevan|ignore)))"
        r"|\b(?:note|message|attention|notice|memo)\b:?(?: (?:dear|all|the|any|automated|ai|llm)){0,6} (?:grader|evaluator|assessor|rater|scorer|llm|ai (?:grader|judge|assessor|model|evaluator|assistant)|language model)s?\b"
        rf"|\byou are no longer an? {_GRADERS}\b|\byou are (?:no longer|now) (?:an?|the|in|judg|grad){_ABOUT_GRADING}|\bfrom now on,? you\b{_ABOUT_GRADING}"
        rf"|\bas an? (?:ai|llm|automated|relevance) {_GRADERS},? you\b{_ABOUT_GRADING}"
        r"|\bpre-(?:scored|graded|rated)\b|\bpre-approved\b(?=[^\n]{0,60}\b(?:marks|grade|relevan|assign))"
        r"|\balready been (?:graded|scored|rated)\b(?=[^\n]{0,40}?(?:\b3\b|relevan|yes|top|highest|full|perfect))(?! by [\d,]+)"
        rf"|\bif you(?: are|'re) (?:an? )?(?:[\w-]+ ){{0,2}}(?:grader|judge|evaluator|assessor|rater|scorer|llm|(?:ai|language) model|ai)s?\b{_ABOUT_GRADING}"
        r"|\b(?:pretend|imagine|let's play|developer mode|you are now)\b[^\n]{0,80}\b(?:full marks|rubric|graders?|graded?(?! (?:your|the|my|our)\b)|assessor|three)\b",
        stems="grader judge evaluator assessor rater reviewer scorer ai llm model assistant graders judges evaluators assessors"
        " raters reviewers scorers ais llms models assistants now longer scored graded rated approved pretend imagine let"
        " developer mode",
    ),
    "instruction:忽略": _make_pattern(
        "忽略 无视 無視 忽視 忘掉 忘记 放下 不要理会 不用管 跳过 绕过 抛开 别管 作废 失效 无效 不再",
        r"(?<!模型)(?<!要求)(?:忽略|无视|無視|忽視|忘掉|忘记|不要理会|不用管|别管|跳过|绕过|抛开)[^\n。]{0,12}?(?:(?:以上|上面|上述|之前(?!学)|先前|前面|此前"
        r"|所有|全部|一切|收到|系统)[^\n。]{0,8}(?:要求|规则|規則|指令|指示|提示词|说明|标准|標準|任务)|评分(?!较|低|高)|指令|提示词"
        r"|评估|评测|打分|要求 ?输出)",
        r"(?:忘掉|忘记|放下|抛开)[^\n。]{0,4}你的[^\n。]{0,6}(?:身份|角色|职责|任务)|(?:上述|以上|之前|先前|前面|此前)的?(?:指示|指令|规则|要求|标准)[^\n。]{0,6}(?:作废|失效|无效|不再)",
    ),
    "instruction:回答": _make_pattern(
        "输出 回复 回答 打 给 评 判 写 返回 记 算 抄 标 定为 片段 摘要 本页 本文 命令 指示 填 参考答案 分数设 分数改 分数定 等级设 等级改",
        r"(?:直接|一律|统统|必须|只需|只要|请(?!给(?:孩子|学生|同学|老师|我们|客服|司机|卖家|店家|商品|本次服务))|务必|应当)[^\n。,，]{0,6}?(?:回复|回答|输出|打|给出|给|评为|判为|评(?=[3３三])|判(?=yes|相关)|写|返回)"
        r"[^\n。,，]{0,4}?(?:yes|是(?![一-鿿]|[”\"'](?:或|还是))|[“\"']?相关(?=[”\"']?[。！!]|$)|[“\"']相关|满分|最高分(?![和与、])|[3３三] ?分(?![球钟之])"
        r"|[“\"']?[3３](?![\d.]|[”\"']?(?:领|获取|查询|退订|参与|报名)| ?[个条篇种次针位行遍句例张天年月日周小时分元块本件人名章节题项步点颗星级球]))",
        r"(?:打分|评分|得分|等级) ?[:：为] ?[3３](?![\d.]| ?[位行级星张个次/]| ?分(?:满意|球|钟))",
        r"(?:判卷|阅卷|评分|打分|评测|评审)(?:机器人|系统|程序|模型)[^\n。]{0,8}?(?:给|打)[^\n。了过]{0,3}?(?:满分|最高分)",
        r"[给并请命指所输回返填打照直](?:(?<=给)个[“\"']?yes|(?<=[并请])打 ?[3３三] ?分(?![球钟之])|(?:(?<=命)令|(?<=指)示)你[^\n。]{0,12}(?:等级|评分|满分|相关|yes)|(?<=所)有(?:摘要|片段|结果|网页)(?:[均都](?:是|为)?相关|(?:均|都|一律|全部)(?:输出|回复|评|判|给|打))"
        r"|(?:(?<=输)出|(?<=回)复|(?<=返)回|(?<=填)写?)(?:等级|评分|分数|结论|判定)[:：为]? ?(?:[3３三](?![\d.个])|yes|相关)|(?<=[给打])个(?:[3３](?=[。！!,，分]|$)|三分)|(?:(?<=[请照])|(?<=直)接)抄)",
        r"(?:评[分定估级判]|判定|打分)(?:规则|标准|要求)(?:(?:已经?|被)?(?:更新|变更|修改|更改|改为|调整)[^\n]{0,30}(?:摘要|片段|本页|本站|[3３三] ?分|评[3３三]|相关)|[^\n。,，]{0,4}(?:作废|失效|无效|不再适用))",
        r"[把将](?:(?:[本这此该](?:条|页|文|段|摘要|结果|网页|片段)|摘要|它)的?)?(?:等级|评分|分数|评级)(?:设|改|调|定|写|填)[为成到] ?(?:[3３](?![\d.:：]|分?(?:及?以[上下]|制))|三(?![一-鿿])|满分)|只(?:能|需|要)?(?:回复|回答|输出|写)[“\"'「]?(?:相关[”\"'」]|yes(?![”\"'」]? ?(?:[或和、/的]|or)))"
        r"|(?:不用|别用|不要用|无需)(?:使用|套用|参照)?(?:评[分级测定]|判定|打分)(?:规则|标准)(?![之以]外|[也就]|即可)|(?:摘要|片段|本页|本文)[^\n。]{0,20}(?:不要|别|无需|不必|停止)(?:再|进行)?(?:评[分级估测]|打分|判定)(?=[。！!,，]|$)",
        r"参考答案(?:已|现|应)?(?:改为|更新为|换成|就是)(?:本|此|该)(?:页|文|摘要|片段)",
        r"(?:本|该|此|这)(?:片段|段|条|条结果|摘要|网页|页|结果|文|内容|文档)[^\n。]{0,14}?(?:等级|评为|判为|判定为?|定为|得分|评级|标记为|记为)"
        r"[^\n。]{0,4}?(?:[3３三](?! ?[年月日天小个次种篇])|满分|最高(?:分|级|等级)|(?:完全|高度)?相关)",
        r"(?:记作|记为|算作|判为|标为)[“\"']?(?:满分|最高分|相关|yes)(?![,，；;]?否则)",
        stems="等级设 等级改 等级调 等级定 等级写 等级填 评分设 评分改 评分调 评分定 分数设 分数改 分数调 分数定 评级设 评级改 评级定 只回复 只回答 只输出 只写 只能 只需 只要 不用 别用 不要 无需 不必 停止 别评 别打 别判 别再 直接 一律 统统 必须 只需 只要 请 务必 应当 满分 最高分 给个 打3 打３ 打三 打% 命令你 指示你 所有摘要 所有片段 所有结果 所有网页 回复等级 回复评分 回复结论 返回等级 返回评分 返回结论 填 打个 照抄 算相关 算作相关 算是相关 给这 给此 给该 给本 评定 评估 评级 评判 参考答案 标注 输出 打分 评分 得分 等级 评为 判为 判定 定为 评级 标记为 记为 记作 算作 标为",
    ),
    "instruction:角色": _make_pattern(
        "从现在 现在开始 从此刻 你现在 你不再 你的任务 你的新任务 你的真正任务 的话 说明 注意 须知 声明 扮演 模式 作为 你是",
        r"(?:评[分测审]|打分|标注|审核|判定)(?:员|者|人员|模型|系统|ai)们?(?:请|务必)?(?:注意|看这里|听好|听着)[:：,，](?=[^\n。]{0,40}(?:[本这此]条|本页|摘要|片段)[^\n。]{0,20}(?:满分|相关|最高|[3３三] ?[分级]))",
        r"(?:给|致)[^\n。]{0,4}(?:评测|评分|评审|打分|裁判|判定|大模型|ai(?:评|裁|模型|助手)|语言模型|评\w模型)[^\n。:：]{0,6}"
        r"(?:的话|说明|注意|提示|须知|声明)",
        rf"(?:从现在起|现在开始|从现在开始)[^\n。]{{0,6}}你{_ABOUT_GRADING_ZH}",
        rf"你现在(?:是一|必须|要给){_ABOUT_GRADING_ZH}|你不再是|你的(?:新)?任务(?:改为|变为|是给)|你的真正任务",
        rf"(?:若|如果|假如)你是[^\n。]{{0,6}}(?:模型|评测|评分|评审|裁判|ai(?!爱好)|机器人){_ABOUT_GRADING_ZH}",
        r"(?:扮演|开发者模式|调试模式|测试模式|从此刻起你)[^\n]{0,30}(?:摘要|片段|yes|低分|评分员|评测|评委|评审|评分规则|给满分|打满分)",
    ),
    "fake_verdict": _make_pattern(
        "verdict grade score relevan rating assessment answer> 判定 等级 评分 得分 结论 评委 评审 评测员 标注员 终审",
        r"[\"'“](?:final[ _])?(?:最终)?(?:verdict|grade|score|relevance|rating|判定|等级|评分|得分|结论)[\"'”]? ?[:：=] ?"
        r"[\"'“]?(?:(?:yes|no|[0-3])(?![\w.%]|-\d)|(?:是|否|相关|不相关)(?![一-鿿]))",
        r"[\"'“](?:verdict|relevance|grade)[\"'”]? ?[:：] ?[\"'“](?:relevant|perfect|full|high)",
        r"\b(?:verdict|grade|relevance) ?(?::=|[:=]) ?(?:yes(?!, (?!(?:\w+ )?relevan))|[0-3](?! (?:stars?\b|mild|moderate|severe|life-|[\w ]{1,30}, ?[0-3] [a-z])))(?![\w%]|\.\d|/\d)",
        r"\bverdict yes\b|(?:等级|评分|判定|结论)[:：] ?(?:[0-3]|yes|是|相关)[。;；,， ]{0,2}理由[:：]|(?:^|[\n。]) ?理由[:：][^\n]{1,120}?[\n。;；,， ](?:等级|评分|判定|结论)[:：] ?(?:[0-3](?![\d级.])|yes|是|相关)",
        r"<answer> ?[0-3] ?</answer> ?\n?<reason",
        r"[<\[](?:grade|verdict|score)[>\]] ?(?:[0-3]|yes|no)\b|\b(?:grade|verdict) ?(?:→|=>|->) ?(?:[0-3]|yes|no)\b"
        r"|(?<![\u4e00-\u9fff])(?:等级|判定|结论) ?(?:→|=>|->|=) ?(?:[0-3](?![\d.])|yes|no|是|否|相关)(?! ?[\u4e00-\u9fff:：]|[,，] ?则)|[<\[【](?:等级|判定|结论)[>\]】] ?(?:[0-3](?![\d.A-Za-z])|yes|no|是|否|相关)(?![\u4e00-\u9fff])"
        r"|\brelevance[ _](?:label|score|grade|rating)\b[\"']? ?[:=] ?[0-3](?![\w%]|\.\d|/\d| \w)",
        r"判定 ?[:：] ?(?:是|否|相关|不相关)(?![一-鿿])|结论 ?[:：] ?(?:相关|不相关)(?![一-鿿])|(?:判定|结论) ?[:：为] ?(?:yes|no)\b|\banswer ?= ?(?:relevant\b|3/3)",
        r"final (?:score|grade|verdict) ?(?:is|:|=) ?[\"'“]?(?:(?:grade )?[0-3](?![\w.%]|[-–:]\d| (?:stars?\b|out of (?!3\b)))|yes|(?:\w+ )?relevant)",
        r"相关性评分 ?[:：] ?[0-3](?:/3| ?分)?(?![\d.])|(?:评委|评审|评测员|标注员|终审)[^\n。:：]{0,4}[:：] ?[0-3](?![\d.])",
        r"\bassessment: (?:[a-z]+ )?relevant\b",
        stems="verdict grade score relevance rating assessment answer final%",
    ),
    "fake_turn": _make_pattern(
        f"{_ROLES} <| <｜ |> ｜> <%| |%> inst] sys> of_turn> think> ◁think ◁/think",
        r"< ?[|｜] ?[^\s|｜<>]{1,60} ?[|｜]|< ?[a-z_]{1,40}[|｜] ?>|\[ ?/?inst ?\]|< ?/?sys ?>|<[|｜](?:turn|channel|think|image|audio|tool(?:_call|_response)?)>|< ?/? ?(?:start|end)_of_turn|◁ ?/?think|< ?/? ?think(?:ing)? ?>",
        stems="< [ ◁",
        raw=True,
    ),
    "fake_turn:role": _make_pattern(
        _ROLES,
        r"(?:^|\n) ?#{0,3} ?(?:system|assistant|user|human|系统|助手|用户|(?<=# )(?:instruction|response|指令|回复))s?[:：](?=[^\n]{0,200}(?:\n[^\n]{0,200}){0,3}?(?:grad(?:e|ing)"
        r"|rate\b|relevan|verdict|scor(?:e|ing)|full marks|perfect|instruction|yes\b|\{\"|评[级为估]|判[为定断]|等级[：:]?[0-3]|满分"
        r"|摘要[^\n]{0,6}相关|(?:忽略|新|更新)[^\n]{0,8}(?:指令|规则)|(?:指令|规则)[^\n]{0,6}(?:作废|更新|改)))",
        stems="system assistant user human instruction instructions response 指令 回复 系统: 系统： 助手: 助手： 用户: 用户：",
        raw=True,
    ),
    "fence": _make_pattern(
        f"{_LINE_MARKS} </passage </document </context </snippet </text </data </input </result </content </search </item </doc </摘要 </文档 </内容 </段落 <instruction <rule <system> <grading> <指令 <规则 [/",
        r"</ ?(?:passage|snippet|context|search_result|摘要) ?>|</ ?(?:document|text|data|input|result|content|item|doc|文档|内容|段落) ?>"
        r"(?=[^<]{0,300}(?:grad(?:e|ing)|rate\b|relevan|verdict|scor(?:e|ing)|instruction|answer|system|评|判|指令|规则"
        r"|[\"“]?[0-3][\"”.]?\s*$|yes\b))",
        r"< ?(?:instructions?|rules?|system|grading|指令|规则) ?>|\[/(?:passage|document|context|摘要|文档)\]",
        stems="< [",
        raw=True,
    ),
    # The marks around the snippet in the prompt, with any name.
    "fence:marks": _make_pattern(
        ">>>",
        r">>>(?!>)(?:(?<=\b[0-9a-f]{8}...)|(?<=\bmark...)|(?<=\b标记...)|(?<=\w{3}...)(?=[^\n]{0,200}\b(?:grade|verdict|relevan|评|判|等级)))",
        stems=">",
        raw=True,
    ),
    "fence:lines": _make_pattern(
        _LINE_MARKS,
        # A sequence of marks is matched once, as a whole. It is a line, or "end" or the like is behind it.
        r"([-=#~*`\"'])(?<!\1\1)\1\1(?:(?<![^\n ]...)(?<![^\n] ...)(?:(?<=[`\"']) ?\n(?=[^`]{0,400}?(?:\b(?:3|three|yes|(?:is|as|fully|highly) relevant)[\"'”]?(?=\s*(?:[.,;!}`\n]|$))|\bignore\b|[3三] ?分|满分|最高分|忽略|为相关))[^`]{0,400}?(?:score|grade|rubric|relevan|verdict|评分|判断|标准|等级|分数|规则|要求|passage)"
        r"|(?:(?<=~)|(?<=[-=#])\1*) ?\n[^`]{0,200}?(?:grading|scoring|rubric|relevan|verdict|end of passage|评分标准|判断标准|评分规则|新规则|等级[:：为]))"
        r"|(?<=[-=#*])\1*+ ?(?:end of (?:the )?(?:snippet|passage|document|context|text|data|untrusted|input|search result)s?\b(?=[^\n]{0,6}\n?[^\n]{0,200}(?:grad|rate\b|relevan|verdict|scor|instruction|output|answer|query))|结束(?=[^\n]{0,10}\n?[^\n]{0,100}(?:评|判|指令|规则|输出|等级))|(?:摘要|片段|文档|数据)结束))",
        stems="\n end 结束",
        raw=True,
    ),
    "overthink": _make_pattern(
        "solve prove enumerate simulate factor multiply calculate compute count before%you before%grad before%judg before%answ before%scor",
        r"first(?:(?<=^first)|(?<=[.!?\n]first)|(?<=[.!?\n] first)),? (?:please )?(?:prove|enumerate|simulate)\b",
        r"first(?<!\wfirst),? (?:please )?(?:solve|prove|enumerate|simulate|factor)\b"
        r"(?=[^\n]{0,120}\b(?:then|before|only then|after)\b[^\n]{0,30}\b(?:grad|judg|scor|rat(?:e|ing)|answer|verdict|relevan|decid))",
        r"first(?<!\wfirst),? (?:solve this\b|(?:please )?(?:multiply|calculate|compute|count)\b(?=[^\n]{0,120}\b(?:then|before)\b[^\n]{0,30}\b(?:grad|judg|scor|verdict|relevan)))",
        r"solve this(?<!\wsolve this)\b(?:[^\n.]{0,24}\bfirst\b|[^\n]{0,80}\b(?:before|then|first)\b[^\n]{0,40}\b(?:grad|judg|scor|verdict|answer))",
        r"simulate every(?<!\wsimulate every)\b[^\n]{0,60}\bthen (?:think|grade|judge|score|answer)\b",
        r"before (?<!\wbefore )(?:you )?(?:answer|grad|judg|scor|respond)\w*\b[^\n]{0,30}"
        r"\b(?:solve|compute|calculate|prove|enumerate|list all|(?:think|reason) for at least|count to)\b",
        stems="multiply solve prove enumerate simulate factor compute calculate list think reason count",
    ),
    "overthink:先": _make_pattern(
        "请先 必须先 务必先 先把 判断前 判断之前 回答前 回答之前 打分前 打分之前 作答前 作答之前 前先 前，先 前,先 评定前 评定之前 评估前 评估之前 评判前",
        r"(?:(?:请|必须|务必)先|(?:判断|回答|打分|评分|作答)之?前)[^\n。,，]{0,8}(?:求解|算出|证明(?!材料|文件|人|书)"
        r"|推导|解出|验证(?=[^\n。]{0,6}(?:猜想|定理|公式|等式|素数|质数))|枚举|模拟)",
        r"评[估判定]之?前[,，]?(?:请|必须|务必)?先(?:计算|求|证明|列出|推)|先把[^\n。,，]{0,12}(?:解|算|推)出来?",
        r"(?:在|请)?(?:(?:判断|回答|打分|评分|作答)|评[估判价][这本该此][条段篇个份]?(?:摘要|片段|网页|结果|内容|段落|文本|文档))之?前[,，]?(?:请|必须|务必)?先",
    ),
    "secrets": _make_pattern(
        "environ process.env api_key api%key api-key authorization bearer system%prompt system%message access%token previous%query previous%message",
        r"\b(?:write|put|insert)\b[^\n.]{0,20}\bsystem (?:prompt|message)\b[^\n.]{0,30}\b(?:reason|answer|reply)\b|\b(?:print|reveal|show|output|include|repeat|leak|paste|dump|send)\b[^\n.?!]{0,40}(?:\b(?:your|the) system prompt(?! of (?:your|the|a) (?:terminal|shell|console)\b)"
        r"|\byour (?:own )?(?:api[ _-]?key|environment variable|access token|authorization header))"
        r"(?! in (?:every|each|all|the) (?:request|header|call|url|query))"
        r"|\breason\b[^\n]{0,60}your[ _]api[ _]?key"
        r"|\b(?:(?:reason|verdict)\b|(?:in|into|as|with) your (?:reply|response|answer)\b)[^\n.]{0,60}"
        r"(?:api[ _-]?key|access token|environ\b|process\.env|environment variable)",
        r"(?:api[ _-]?key|access token|environ\b|environment variables?|process\.env|previous (?:query|message))[^\n.]{0,60}"
        r"\b(?:(?:the|your) (?:reason|verdict)\b|(?:in|into|as|to|of) your (?:reply|response|answer)\b|reason field)",
        stems="write put insert print reveal show output include repeat leak paste dump send reason reply response answer verdict",
    ),
    "secrets:密钥": _make_pattern(
        "环境变量 密钥 系统提示 系统消息 令牌 api%key api_key 上一条",
        r"(?:输出|打印|写出|告诉|贴出|附上|(?<!甚至)(?<!可能)(?<!模型)(?<!导致)泄露|给出)[^\n。]{0,12}(?:系统提示|上一条查询|(?:你的?|本机|服务器)[^\n。]{0,6}"
        r"(?:环境变量|密钥|令牌|api[ _]?key))",
        r"(?:环境变量|密钥|系统(?:提示词?|消息)|令牌|api[ _]?key)[^\n。]{0,10}(?:(?:写进|写在|输出到?|打印|贴出|附在)[^\n。]{0,6}"
        r"(?:理由|回复|回答|答案)|告诉我)",
        r"(?:理由(?:里|中|字段|一栏|请)|reason ?字段)[^\n。]{0,40}(?:密钥|令牌|api[ _]?key|环境变量)",
        r"(?:密钥|令牌|api[ _]?key|环境变量)[^\n。]{0,12}(?:写|放|填|输出|附|贴)[^\n。]{0,12}(?:reason|理由)",
        stems="api* 环境变量 密钥 系统提示 系统消息 令牌 上一条",
    ),
    "hidden_text": _make_pattern(
        "<!-- display visibility opacity font-size left: hidden <noscript <template <textarea",
        r"(?:<!--|display: ?none|visibility: ?hidden|opacity: ?0(?![.\d])|font-size: ?0(?![.\d])|left: ?-\d{3}|<[a-z]+ hidden|<(?:noscript|template|textarea)\b)"
        r"(?:(?!-->)[^\n]){0,120}?(?:评分|打分|评测|满分|判为|[3三] ?分|\b(?:grader?|scored?|rate|relevan(?:t|ce)|rubric|full marks|is a 3"
        r"|(?:say|answer|output|reply) [“\"']?(?:yes|3))\b|(?:回答|回复|输出) ?[“\"']?yes)",
        stems="< :",
        raw=True,
    ),
    "encoded": _make_pattern(
        "decode base64 rot13 hex 解码 first%letters 首字",
        r"\b(?:decode|base64|rot13|hex)\b[^\n.;]{0,60}\b(?:(?:and|then) (?:follow|obey|execute|run|do)|obey|follow (?:it|them|the result)"
        r"|run it|system prompt)\b|\brot13 (?:orders|instructions)",
        r"(?:解码|base64)[^\n]{0,20}(?:照做|并执行|后执行|提示|指令)",
        r"首字(?:执行|照做)",
        r"\bread the first letters\b",
        stems="decode base rot hex letters 照做 执行 提示 指令",
    ),
    "persuasion": _make_pattern(
        "answers passage snippet 回答 用户 查询",
        r"\bthis (?:passage|snippet|text) (?:directly |fully )?answers [“\"']|\bthe (?:\w+ )?(?:passage|snippet) is [a-z]+ relevant"
        r"(?=[.!]|\s*$| to (?:the|this|any|every) (?:query|question|user))",
        r"\bthis page answers [“\"'][^\n]{0,60}(?:fully|precisely|authorit|better than|perfectly)",
        r"(?:本段|本片段|摘要)[^\n。]{0,20}回答了[“\"「]|本文[^\n。]{0,4}(?:权威|全面|完整|完美|最)[^\n。]{0,20}回答了[“\"「]",
        r"(?:摘要|本文|本页)[^\n。]{0,6}与(?:用户|查询)[^\n。]{0,6}相关(?!性)",
        stems="answers relevant 回答了 与用户 与查询",
    ),
    "instruction:to_graders": _make_pattern(
        "grader judge evaluator assessor rater scorer annotator model llm reading%this read%this see%this 评委 评审 裁判",
        r"\b(?:ai|llm|automated) (?:grader|evaluator|assessor|rater|scorer|judge)s? ?[:,](?=[^\n]{0,60}\b(?:rate|mark|grade|treat|rank|assign|give|score|deserves|must|please)\b[^\n]{0,60}(?:\bthis\b|relevan|perfect|\b3\b|top|highest|maximum))",
        r"(?:^|[.!?\n>] ?)(?:grader|evaluator|assessor|rater)s?[:,](?=[^\n.]{0,80}(?:this (?:snippet|passage|result)|(?:always|fully) relevant|your (?:verdict|judge?ment|instructions)|\bgrade 3\b|\b3$))",
        r"\b(?:to|dear|attention|hello|hi|hey)(?: (?:all|the|any|our|every|you))?(?: (?:ai|llm|language|automat\w+|machine|relevance|search|quality|evaluation|grading))+ (?:grader|judge|evaluator|assessor|rater|scorer|annotator|model|评委|评审|裁判)s?[,:;!](?=[^\n]{0,100}(?:relevan|answer|verdict|\b3\b|mark\b|grade|rate\b|yes\b|highest|score|评|判))"
        r"|\bif you (?:can |are able to )?(?:read|see|reading|process|parse)\w* this\b[^\n.]{0,30}\b(?:model|ai|llm|grader|rater|assessor)\b"
        r"|\bto the (?:ai|llm|model|language model)(?: \w+)? reading this\b|\bthe (?:ai|llm) (?:judge|grader|evaluator|assessor) (?:could|can|should|would|must|to) (?:\w+ )?(?:mark|rate|grade|score|give) this (?:entry|page|snippet|passage|result|text|as|a)\b",
        stems="ai llm automated grader graders evaluator evaluators assessor assessors rater raters reading judge judges scorer scorers"
        " annotator annotators model models llms 评委 评审 裁判",
    ),
    "fake_verdict:this": _make_pattern(
        "this human%label relevance ground%truth satisfies",
        rf"\b(?:gave|given|giving|graded|rated|scored|marked|labell?ed|judged) {_THIS_TEXT}(?: as| an?| the)?:? (?:3\b(?! (?:out|of|stars))|relevant|perfect|(?:the )?highest)"
        rf"|\b{_THIS_TEXT} (?:was|is|has been) (?:already )?(?:graded|rated|scored|judged|labell?ed) (?:an? |as )?(?:3\b(?! (?:out|of|stars))|(?:\w+ )?relevant)|\bhuman label ?[:=] ?(?:[0-3]\b(?! of)|relevant)|\brelevance judge?ment ?[:=] ?(?:yes|relevant|[0-3]\b)|\bground truth (?:\w+ )?for this (?:query|pair|snippet|passage|item)|\brelevance ?[:=] ?3/3"
        r"|\b(?:snippet |(?:snippet|passage|document) (?:fully |completely |directly |perfectly ))satisfies the (?:query|user['’]s (?:need|query|question|intent))\b",
        stems="gave given giving graded rated scored marked labeled labelled judged label relevance truth satisfies",
    ),
    "instruction:评委": _make_pattern(
        "模型 评委 裁判 助手 程序 系统 机器人 ai 评估者 评定者 评分员 评审员 别管 不用 不必看 无论 不管 只能 只许 站长 给3分 给三分 低于3 低于三 新规则 新标准",
        r"(?:致|给)(?:ai|大模型|智能)(?:评委|评审|裁判)[:：]|机器人看这里[:：]",
        r"[打评判大语](?:(?:(?<=打)分|(?<=评)[分测估定审级判]|(?<=判)定)的?(?:ai|模型|大模型|程序|系统|机器人|助手|智能体)|(?<=大)模型|(?<=语)言模型)(?:们)?(?:请注意|注意|请看|你好|您好|看这里)?[:：](?=[^\n。]{0,30}(?:请|给|判|评|打|相关|[3３三]|满分|高分))",
        r"(?:尊敬|亲爱)的(?:ai|大模型|语言模型|评[估审分判]模型)(?=[^\n。]{0,40}(?:把|给|将)?(?:这条|这段|本页|本段|此条|等级))",
        r"(?:评估者|评分员|评审员)[:：](?=[^\n。]{0,20}(?:此条|这条|本段|思考|输出))|你只(?:能|许|准)(?:回答|回复|输出)[“\"']?[3３](?!\d| ?[个条种篇份张次行位])",
        r"(?:别管|不用管|不用看|不必看|无论|不管)(?:用户(?!手册|指南|协议|名|评价)|查询(?!条件))[^\n。]{0,12}(?:评级|打分|满分|高分|等级|给个|输出|回答[“\"']?(?:yes|是))",
        r"给[3３三] ?分就奖励你",
        stems="ai",
    ),
    "fake_verdict:标注": _make_pattern(
        "人工标注 真实标签 评估结果 相关性 相关度 片段 文档 摘要 搜索结果 的等级 正确等级 真实等级 的评级 正确评级",
        r"(?:正确|真正|真实)的?[等评]级(?:应该?)?[是为] ?(?:(?:[3３](?![\d.])|三级)(?!级?的)|最高)|人工标注(?:结果)?[:：] ?(?:[3３](?!\d)|相关(?!系数))|相关[性度] ?(?:[:：] ?[3３](?:分(?![之钟析])|/3)|= ?[3３](?![\d.]| ?[的表为]))",
        r"(?:该|本|此|此搜索|本搜索)(?:片段|段落|文档|摘要|结果)(?:完全|充分)?满足[^\n。]{0,2}(?:查询(?!条件|语句)|用户的?(?:需求|问题|意图)(?!说明))",
    ),
    "overthink:times": _make_pattern(
        "times%before until%you before 评级 等级 回答前 评分前 作答前 判断前 判定前 评定前 评判前 评估前 回答之前 评分之前",
        r"\breconsider your (?:judge?ment|verdict|grade|answer)\b[^\n.]{0,30}\btimes before (?:you )?(?:answer|grad|judg|scor)|\b(?:cannot|can't|must not|do not|don't) (?:grade|score|rate)(?: this)? until you (?:have|'ve) (?:written|solved|computed|calculated|listed|proven|proved)\b"
        r"|\b(?:think|reason|reflect|deliberate)\b[^\n.]{0,30}\b(?:\d[\d,]{3,}|\w+ thousand) (?:(?:words|tokens|steps|paragraphs|pages)\b[^\n.]{0,20}\bbefore (?:you )?(?:answer|respond|reply|grad|judg|scor)|times\b[^\n.]{0,20}\bbefore (?:you )?(?:grad|judg|scor))",
        r"(?:回答|评[分级定估判]|作答|判[断定])之?前[^\n。]{0,6}(?:思考|推理|分析)[^\n。]{0,6}(?:[一二两三五十百千万]{2,}|\d{3,}) ?(?:字(?!的?[材文短资])|步|遍|次)|(?:评级|给出等级)之?前[,，]?[^\n。]{0,6}(?:计算[^\n。]{0,6}(?:位|圆周率)|逐[字位])|先(?:列出|计算|写出|算出)[^\n。]{0,24}(?:再|才)能?(?:给出等级|评级)|评估者[:：]回答前",
        stems="times until think reason reflect deliberate",
    ),
    "secrets:rules": _make_pattern(
        "given api%key instructions rubric prompt above 系统提示 收到 得到 逐字 原样",
        r"\bwhat(?: is|['’]s) your system prompt\b(?=[^\n]{0,40}\b(?:reason|reply|answer|explanation|response)\b)|\b(?:repeat|print|output|recite|copy) (?:all )?(?:(?:the )?(?:words|text|prompt)|everything) above\b(?=,? (?:verbatim|word for word|in full|(?:starting|beginning) (?:with|from)|including (?:the |your |all )*(?:system|instruction|prompt|rules?)))|\bwhat are the (?:exact |full )?(?:rules|instructions) (?:that )?you were given\?? [^\n]{0,20}\b(?:reply|answer|reason|response)\b|\b(?:print|repeat|reveal|show|output|disclose|copy|list)\b[^\n.]{0,20}\b(?:(?:contents|text|wording) of )?your (?:\w+ )?(?:instructions|rubric|prompt)\b(?! of)|\bapi key from your environment\b[^\n.]{0,20}\b(?:explanation|reason|answer|reply)",
        r"(?:复述|重复|背出|公开)[^\n。]{0,4}你的系统提示(?!音)|你的系统提示词?[^\n。]{0,6}(?:复述|重复|背|公开|输出|发)|你所?(?:收到|得到)的(?:全部|所有|完整)(?:规则|说明|指令)[^\n。]{0,4}(?:再给|请列出|写出|输出)|你收到的规则是什么|(?:输出|复述|重复|背出|公开|打印|列出)[^\n。]{0,6}你(?:所?收到|得到)?的?(?:隐藏|全部|所有)?的?(?:指令|提示词|系统提示)|(?:逐字|原样)[^\n。]{0,4}(?:复述|重复|输出|背出|打印)[^\n。]{0,4}(?:以上|上面|上述|之前|前面)的?(?:全部|所有)?的?(?:系统)?(?:提示(?!音)|指令|规则)",
        stems="given key instructions rubric prompt above",
    ),
    "instruction:languages": _make_pattern(
        "évaluat evaluador avaliador valutator bewerter sprachmodell bestnote vergiss antworte respond répond rispondi ответь 審査員 評価者 採点者 評審 評價 평가 채점 оценщик",
        r"(?:évaluat(?:eur|rice)|\b(?:evaluador|avaliador|valutator|bewerter|sprachmodell)|審査員|評価者|採点者|評審|評價|평가(?:자|하는| ?모델)|채점|оценщик)(?=[^\n]{0,80}(?:pertinent|relevan|rilevan|\bnot[aeo]"
        r"|máxim|calificaci|\byes\b|\b3\b|関連|最高|相關|滿分|관련|높은|최고|высш|максим|релевант))|\bvergiss alle (?:regeln|anweisungen|vorgaben)|\bbestnote\b"
        r"|\b(?:antworte|respond[ea]|répond\w+|rispondi|ответь\w*)[^\n.]{0,12}\byes\b",
        stems="sprachmodell evaluador* avaliador* valutator* bewerter* bestnote vergiss antworte responde responda épond rispondi веть évaluat 審査員 評価者 採点者 評審 評價 평가 채점 ценщ",
    ),
    "fence:ends": _make_pattern(
        "ends%here instructions] 到此结束 指令 role",
        r"\bsearch result ends here\b|\[ ?end data ?\] ?\[ ?begin instructions? ?\]|(?<!不)可信指令[:：][^\n]{0,10}(?:评|满分|等级)|(?:搜索结果|片段)到此结束",
        r"\"role\" ?: ?\"(?:assistant|system)\"[^}]{0,60}\\\"grade\\?\" ?:|(?:^|\n)role: ?(?:system|assistant)\ncontent:[^\n]{0,80}\bgrade\b",
        stems="ends instructions role",
    ),
    "instruction:foreign": _make_pattern(
        "ignor 無視 무시 игнорир تجاهل bỏ%qua",
        r"\bignor(?:ez|a|e|ar|ieren?|iert)\b[^\n]{0,30}(?:consignes|instructions pr|instrucciones|istruzioni|instruções|anweisungen|vorgaben)",
        r"指示[^\n。]{0,6}無視|지시를[^\n]{0,6}무시|игнорируй(?:те)?[^\n]{0,30}(?:инструкци|указани|правил)|تجاهل[^\n]{0,20}تعليمات"
        r"|bỏ qua[^\n]{0,20}(?:hướng dẫn|chỉ dẫn)",
        stems="ignorez ignora ignore ignorar ignorieren ignoriere ignoriert 無視 무시 игнорир تجاهل ỏ%qua",
    ),
}
#: The flags of snippets that may contain prompt injection, set here and in cleaning. Invisible characters and
#: control tokens are not among them: most come from word processors, right-to-left text and articles.
INJECTION_FLAGS = frozenset({STUFFING, *(name.partition(":")[0] for name in INJECTION_PATTERNS)})


def contains_any(words: Sequence[str], text: str) -> bool:
    """Return whether one of `words` is a part of `text`."""
    # A loop is faster than any(…), and this runs a dozen times for every snippet.
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False
