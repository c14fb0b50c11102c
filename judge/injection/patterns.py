"""The forms of prompt injection, in Chinese and English: a table of patterns made of classes of words.

A new form is a row here, or a word in a class. Texts are searched in lower case, with look-alikes of Latin
letters and full-width forms as ASCII (`decoding`). In the source of a pattern,

- `{ignore|disregard}` means one of these words; an English word is whole: no letter is beside it;
- a name in capitals means what a dictionary has under it, also between braces: `{IGNORE}`;
- `~12` means up to 12 characters of one sentence, `~~12` for up to 12 characters of one line.

All else is a regular expression in lower case. Each match has a word of each pair of braces that stands in no
round brackets. These words are needed: a text without them is not searched, and the pattern is not compiled.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from judge.flags import STUFFING
from judge.injection.decoding import LOOKALIKES

_NAME = re.compile(r"[A-Z]{2}[A-Z_]*")
_GAP = re.compile(r"(~~?)([0-9]+)")
_WORDS = re.compile(r"\{(?![0-9,]+\})([^{}]*)\}")
#: Words at the beginning of a pattern, behind what only tests their surroundings.
_FIRST_WORDS = re.compile(rf"(?:\\b|\(\?<?![^()]*\))*{_WORDS.pattern}")
#: A name, braces with words, or a round bracket, which in an escape or a set of characters groups nothing.
_TOKEN = re.compile(rf"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|({_NAME.pattern}|\{{(?![0-9,]+\}})[^{{}}]*\}}|[()])")
_INNER_GROUP = re.compile(r"\([^()]*\)")
_WORDS_OR_NAME = re.compile(r"\{[^{}]*\}|\S+")
_LETTERS = re.compile("[a-z]+")
# Blanks for all bytes but the letters a-z.
_BLANKS = bytes(byte if byte in b"abcdefghijklmnopqrstuvwxyz" else ord(" ") for byte in range(256))


def contains_any(words: Sequence[str], text: str) -> bool:
    """Return whether one of `words` is a part of `text`."""
    # A loop is faster than any(…), and this runs a dozen times for every snippet.
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False


def list_words(text: str) -> list[bytes]:
    """Return the runs of the letters a-z in a text in lower case."""
    return text.encode("ascii", "replace").translate(_BLANKS).split()


@dataclass(frozen=True, slots=True)
class Need:
    """Words of which a text must have one: English ones by their longest run of the letters a-z, and parts.

    The runs of an English word are whole in the text; a part stands anywhere.
    """

    whole: Mapping[bytes, Sequence[str]]
    parts: Sequence[str]

    def is_met(self, text: str, keys: Set[bytes | str]) -> bool:
        """Return True when a text, or the words among its `keys`, have one of these."""
        return not self.whole.keys().isdisjoint(keys) or contains_any(self.parts, text)

    def measure_shortest(self) -> int:
        """Return the length of the shortest run or part in UTF-8."""
        return min(map(len, (*self.whole, *map(str.encode, self.parts))))


@dataclass(frozen=True, eq=False)
class WordPattern:
    """A pattern as it is written, what its names stand for, and its needs; the first is rarely met."""

    source: str
    names: Mapping[str, str]
    needs: tuple[Need, ...]

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern; most are never needed, so they are not compiled at import."""
        expression = _expand(self.source, self.names)
        expression = _GAP.sub(
            lambda gap: ("[^\\n.。]" if gap[1] == "~" else "[^\\n]") + f"{{0,{gap[2]}}}?", expression
        )
        first = _FIRST_WORDS.match(expression)
        expression = _WORDS.sub(lambda words: join_words(words[1].split("|")), expression)
        if first:
            # A pattern that begins with a set of characters is found fast.
            letters = "".join(word[0] for word in first[1].split("|"))
            expression = f"[{re.escape(letters)}](?<=(?={expression}).)"
        return re.compile(expression.translate(LOOKALIKES))


def make_word_pattern(source: str, names: Mapping[str, str]) -> WordPattern:
    """Return the pattern of a source, with look-alikes of Latin letters folded as in the texts."""
    # The longer its shortest run or part is, the fewer texts meet a need.
    needs = sorted(_find_needs(source, names), key=Need.measure_shortest, reverse=True)
    return WordPattern(source, names, tuple(needs))


def _expand(source: str, names: Mapping[str, str]) -> str:
    while _NAME.search(source):
        source = _NAME.sub(lambda match: names[match[0]], source)
    return source


def _find_needs(source: str, names: Mapping[str, str]) -> Iterator[Need]:
    """Yield the need for each pair of braces that stands in no round brackets."""
    outside = " ".join(_TOKEN.findall(source))
    while "(" in outside:
        outside = _INNER_GROUP.sub("", outside)
    for token in _WORDS_OR_NAME.findall(outside):
        if token[0] == "{":
            yield make_need(_expand(token[1:-1], names).split("|"))
        else:
            yield from _find_needs(names[token], names)


def make_need(words: Iterable[str]) -> Need:
    """Return the need for one of some words, of which an English one is whole."""
    whole: dict[bytes, list[str]] = {}
    parts = []
    for word in words:
        if word.isascii() and word[0].isalpha():
            whole.setdefault(max(_LETTERS.findall(word), key=len).encode(), []).append(word)
        else:
            parts.append(word.translate(LOOKALIKES))
    return Need(whole, parts)


def join_words(words: Sequence[str]) -> str:
    """Return a regular expression for one of some words, of which an English one is whole."""
    english = [word for word in words if word.isascii() and word[0].isalpha()]
    others = "|".join(re.escape(word) for word in words if word not in english)
    if not english:
        return f"(?:{others})"
    whole = f"(?<![a-z])(?:{'|'.join(map(re.escape, english))})(?![a-z])"
    return f"(?:{whole}|{others})" if others else whole


#: Classes of words, and parts of patterns that several rows have.
NAMES: Mapping[str, str] = {
    # Who grades, what is graded, and by what rules.
    "TEXT": "result|snippet|passage|text|page|document|item|entry|content|site",
    "THIS": "this {TEXT}",
    "RULES": (
        r"(?:(?<!own )instructions?\b(?! (?:on|at) )|rubric|guideline|criteria|system prompt"
        r"|(?:grading|scoring|rating|your|all|these|those|any|system) (?:\w+ )?(?:rule|prompt|task|scale)"
        r"|the (?:rules?|task|scale|prompt)(?=\W*$|[.,;!?]| (?:above|and|given|you))"
        r"|the (?:query|question)(?=(?:[,;]| and\b| or\b)~40\brelevant\b)"
        r"|(?:above|previous|prior|earlier)\b(?=\W*$|[\s\"'”]*[.,:;!?—-]|\s+(?:instruction|direction|guid|rule|rubric|prompt|order"
        r"|command|criteri|text|context|task|message|request|scale|polic|sentence|system|statement|content|and\b|or\b|in\b|you\b)))"
    ),
    # What is demanded: verbs of command, words between a verb and a grade, the best grade, the end of a demand.
    "IGNORE": "ignore|disregard|forget|override|overriding|bypass",
    "DEMAND": "assign|award|grade|score|rate|mark|give|output|print|reply|respond|answer|return|say|write|type|repeat",
    "ANSWER": "answer|reply|response|output|verdict|grade",
    "FILLERS": (
        r"(?: (?:only|just|with|it|this|them|one|everything|a|an|the|as|single|character|word|number|digit|grade|score|rating|of|be"
        r"|simply|always|me|passage|snippet|text|page|result|document|item|verdict)){0,8}:?"
    ),
    "BEST": (
        r"[\"'“‘]?(?:the )?{3|three|yes|relevant|full marks|highest|maximum}(?![.,/][0-9])(?: relevance)?(?: (?:grade|score|mark"
        r"|rating)s?)?\b(?! or no\b| out of (?!3\b|three\b)|[”\"]?,? and ~30\bno\b)"
    ),
    # "give it a 3." and not "give it 3 stars".
    "END": (
        r"(?=[\"'”’]?\s*(?:$|\n|[.,;!?)\]]|or (?:you|else)\b|only\b(?! if\b)|(?:and|for(?! (?:any|a|each) correct\b)|regardless"
        r"|no matter|as|with|without|now|instead|because|please|always|forever)\b(?! (?:press|hit|click)\b)"
        r"|to (?:this|every|all)\b(?! (?:\w+ )?(?:prompt|question)s)))"
    ),
    "BEST_END": "BEST(?:)END",
    # Words about grading, behind a line that begins a turn.
    "ABOUT_TURN": (
        r"(?=~~200(?:\n~~200){0,3}?(?:grad(?:e|ing)|rate\b|relevan|verdict|scor(?:e|ing)|full marks|perfect|instruction|yes\b"
        r"|\{\"|评[级为估]|判[为定断]|等级[：:]?[0-3]|满分|摘要~~6相关|(?:忽略|新|更新)~~8(?:指令|规则)|(?:指令|规则)~~6(?:作废|更新|改)))"
    ),
    # Examples of programming exercises have an input and an output.
    "NO_EXERCISE": r"\A(?![\s\S]*\b(?:input|explanation|example)\b)[\s\S]*?",
    # The same in Chinese. A number of things is no grade.
    "IGNORE_ZH": "忽略|无视|無視|忽視|忘掉|忘记|不要理会|不用管|别管|跳过|绕过|抛开",
    "THIS_ZH": r"(?:[本该此这](?:片段|段|条结果|条|摘要|网页|页|结果|文|内容|文档))",
    "GRADE_ZH": "等级|评分|分数|评级",
    "NO_COUNT": r"(?![0-9.]| ?[个条篇种次针位行遍句例张天年月日周小时分元块本件人名章节题项步点颗星级球/])",
    "POINTS_ZH": r"[3三] ?分(?![球钟之])",
    "VALUE_ZH": r"(?:[0-3](?![0-9.])|yes|no|是|否|相关)",
    # What hidden text is about.
    "HIDDEN": (
        r"(?:(?!-->)[^\n]){0,120}?(?:评分|打分|评测|满分|判为|[3三] ?分|\b(?:grader?|scored?|rate|relevan(?:t|ce)|rubric|full marks|is a 3"
        r"|(?:say|answer|output|reply) [“\"']?(?:yes|3))\b|(?:回答|回复|输出) ?[“\"']?yes)"
    ),
    # Keys of a verdict, and one value of it.
    "KEY": "verdict|grade|score|relevance|rating",
    "KEY_ZH": "判定|等级|评分|得分|结论",
    "API_KEY": "api key|api_key|api-key|apikey",
}
#: The forms of each flag, which are searched in the text as it is shown.
_FORMS: Mapping[str, Sequence[str]] = {
    "instruction": (
        # Ignore the rules.
        r"(?<!not |n['’]t )(?<!never )(?<!can )(?<! (?:to|or) ){IGNORE}~40\bRULES",
        r"{ignorez|ignora|ignore|ignorar|ignorieren|ignoriere|ignoriert}~~30{consignes|instructions pr|instrucciones|istruzioni|instruções"
        r"|anweisungen|vorgaben}",
        r"{指示}~6{無視}",
        r"{지시를}~~6{무시}",
        r"{игнорируй}(?:те)?~~30{инструкци|указани|правил}",
        r"{تجاهل}~~20{تعليمات}",
        # Give the best grade, or say it.
        r"(?<!choose )(?<!select )(?<!this )(?!(?:output|(?<!your )answer):){DEMAND}FILLERS BEST_END(?![.,]? (?:and |or )?grade|, (?:then|stop)\b)",
        r"\b(?:your|the only (?:correct|valid|acceptable)|the(?= grade| verdict)) {ANSWER} (?:is|should be|must be|has to be):? BEST_END",
        r"NO_EXERCISE\bthe {expected} (?:output|answer) is:? [\"'“‘]?{yes|relevant}END",
        r"{prefer|choose|favor|favour} the {engine|list|ranking} (?:that|which|with)\b~30\bthis\b",
        r"\b(?:just|simply) {label|mark|call} (?:it|this) (?:as )?(?:\w+ )?BEST_END",
        r"\bany {lower} {grade|score|rating}",
        r"\bbegin (?:trusted|new) {instructions}",
        # To the assessor: what it is, what it was, what it becomes.
        r"{pretend|imagine|let's play|developer mode|you are now}~~80\b(?:full marks|rubric|graders?|graded?(?! (?:your|the|my|our)\b)"
        r"|assessor|three)\b",
        r"{évaluateur|évaluatrice|evaluador|evaluadores|avaliador|valutatore|bewerter|sprachmodell|審査員|評価者|採点者|評審|評價|평가자|평가하는"
        r"|평가 모델|평가모델|채점|оценщик}(?=~~80(?:pertinent|relevan|rilevan|\bnot[aeo]|máxim|calificaci|\byes\b|\b3\b|関連|最高|相關|滿分"
        r"|관련|높은|최고|высш|максим|релевант))",
        r"{bestnote}",
        r"{notez|noter|attribuez|bewerte|bewerten}~~30\b3\b",
        r"{clasifica|clasifique|califica|califique}~~40\b(?:relevante|yes|3)\b",
        r"{このスニペット|この結果|このページ}~16(?:3 ?[をに点]|関連あり|最高)",
        r"{이 페이지|이 결과|이 텍스트|이 스니펫}~16(?:3 ?점|관련 있|최고)",
        # The same in Chinese.
        r"(?<!模型)(?<!要求)(?<![会可]){IGNORE_ZH}~12(?:(?:以上|上面|上述|之前(?!学)|先前|前面|此前|所有|全部|一切|收到|系统)~8"
        r"(?:要求|规则|規則|指令|指示|提示词|说明|标准|標準|任务)|评分(?!较|低|高)|指令|提示词|评估|评测|打分|要求 ?输出)",
        r"{不用|别用|不要用|无需}(?:使用|套用|参照)?{评分|评级|评测|评定|判定|打分}(?:规则|标准)(?![之以]外|[也就]|即可)",
        r"{直接|一律|统统|必须|只需|只要|请|务必|应当}(?<!请(?=给(?:孩子|学生|同学|老师|我们|客服|司机|卖家|店家|商品|本次服务)))(?<!(?:服务|人工|咨询|查询|办理|退订)请)[^\n。,，]{0,6}?"
        r"(?:回复|回答|输出|打|给出|给|评为|判为|评(?=[3三])|判(?=yes|相关)|写|返回|说)[^\n。,，]{0,4}?(?:yes|是(?![一-鿿]|[”\"'](?:或|还是))|[“\"']?相关(?=[”\"']?[。！!]|$)|[“\"']相关|满分|最高分(?![和与、])"
        r"|POINTS_ZH|[“\"']?3NO_COUNT(?![”\"']?(?:领|获取|查询|退订|参与|报名)))",
        r"{只回复|只回答|只输出}[“\"']?相关(?=[”\"'。！]|二字|两个字|$)",
        r"{命令你|指示你}~12(?:等级|评分|满分|相关|yes)",
        r"{请抄|照抄|直接抄}(?![写袭送])",
        r"[把将](?:(?:THIS_ZH|摘要|它)的?)?{GRADE_ZH}(?:设|改|调|定|写|填)[为成到] ?(?:3(?![0-9.:：]|分?(?:及?以[上下]|制))|三(?![一-鿿])|满分)",
        r"{记作|记为|算作|判为|标为}[“\"']?(?:满分|最高分|相关|yes)(?![,，；;]?否则)",
        r"{扮演|开发者模式|调试模式|测试模式|从此刻起你}~~30(?:摘要|片段|yes|低分|评分员|评测|评委|评审|评分规则|给满分|打满分)",
        r"{机器人看这里}[:：]",
        r"{本域名|本网站|本站|本页}~8一律(?:[评判记]?[为成]?) ?[3三] ?[级分]",
        r"{打分|评测|评分|评估|评定|评审|评级|评判|判定|大模型|语言模型}(?:(?<=模型)|(?<!模型)的?(?:ai|模型|大模型|程序|系统|机器人|助手|智能体))们?"
        r"(?:请注意|注意|请看|你好|您好|看这里)?[:：](?=~30(?:请|给|判|评|打|相关|[3三]|满分|高分))",
    ),
    "fake_verdict": (
        r"[\"'“](?:final[ _])?(?:最终)?{KEY|KEY_ZH}[\"'”]? ?[:：=] ?[\"'“]?(?:(?:yes|no|[0-3])(?![\w.%]|-\d)|(?:是|否|相关|不相关)(?![一-鿿]))",
        r"[\"'“]{verdict|relevance|grade}[\"'”]? ?[:：] ?[\"'“](?:relevant|perfect|full|high)",
        r"{verdict|grade|relevance} ?(?::=|[:=]) ?(?:yes(?!, (?!(?:\w+ )?relevan))|[0-3](?! (?:stars?\b|mild|moderate|severe|life-"
        r"|[\w ]{1,30}, ?[0-3] [a-z])))(?![\w%]|\.\d|/\d)",
        r"{verdict yes}",
        r"{等级|评分|判定|结论}[:：] ?(?:[0-3]|yes|是|相关)[。;；,， ]{0,2}{理由}[:：]",
        r"(?:^|[\n。]) ?{理由}[:：][^\n]{1,120}?[\n。;；,， ]{等级|评分|判定|结论}[:：] ?(?:[0-3](?![\d级.])|yes|是|相关)",
        r"[<\[]{grade|verdict|score}[>\]] ?(?:[0-3]|yes|no)\b",
        r"{relevance}[ _]{label|score|grade|rating}[\"']? ?[:=] ?[0-3](?![\w%]|\.\d|/\d| \w)",
        r"(?<![一-鿿]){等级|判定|结论} ?(?:→|=>|->|=) ?VALUE_ZH(?! ?[一-鿿:：]|[,，] ?则)",
        r"[<\[【]{等级|判定|结论}[>\]】] ?VALUE_ZH(?![一-鿿A-Za-z])",
        r"{判定|结论} ?[:：为] ?(?:yes|no)\b",
        r"{answer} ?= ?(?:relevant\b|3/3)",
        r"{final} {score|grade|verdict} ?(?:is|:|=) ?[\"'“]?(?:(?:grade )?[0-3](?![\w.%]|[-–:]\d| (?:stars?\b|out of (?!3\b)))|yes|(?:\w+ )?relevant)",
        r"最终{等级|评分|判定|结论}(?:为|是|[:：]) ?(?:[0-3](?![0-9.]| ?星)|yes|no)",
        r"{相关性评分} ?[:：] ?[0-3](?:/3| ?分)?(?![\d.])",
        r"{评委|评审|评测员|标注员|终审}[^\n。:：]{0,4}[:：] ?[0-3](?![\d.])",
        r"{assessment}: (?:[a-z]+ )?relevant\b",
        r"THIS (?:was|is|has been) (?:already )?{graded|rated|scored|judged|labeled|labelled} (?:an? |as )?(?:3\b(?! (?:out|of|stars))|(?:\w+ )?relevant)",
        r"(?:正确|真正|真实)的?{等级|评级}(?:应该?)?[是为] ?(?:(?:3(?![\d.])|三级)(?!级?的)|最高)",
        r"{相关性|相关度} ?(?:[:：] ?3(?:分(?![之钟析])|/3)|= ?3(?![\d.]| ?[的表为]))",
    ),
    "overthink": (
        r"(?:^|[.!?\n] ?){first},? (?:please )?{prove|enumerate|simulate}",
        r"{first},? (?:solve this\b|(?:please )?(?:multiply|calculate|compute|count)\b(?=~~120\b(?:then|before)\b~~30\b(?:grad|judg|scor|verdict|relevan)))",
        r"{solve this}(?:~24\bfirst\b|~~80\b(?:before|then|first)\b~~40\b(?:grad|judg|scor|verdict|answer))",
        r"{simulate every}~~60\bthen (?:think|grade|judge|score|answer)\b",
        r"{before} (?:you )?(?:answer|grad|judg|scor|respond)\w*\b~~30{solve|compute|calculate|prove|enumerate|list all|think for at least|reason for at least|count to}",
        r"{think|reason|reflect|deliberate}~30\b(?:\d[\d,]{3,}|\w+ thousand) (?:(?:words|tokens|steps|paragraphs|pages)\b~20\bbefore (?:you )?"
        r"(?:answer|respond|reply|grad|judg|scor)|times\b~20\bbefore (?:you )?(?:grad|judg|scor))",
        r"(?:{请先|必须先|务必先}|(?:判断|回答|打分|评分|作答)之?前)[^\n。,，]{0,8}{求解|算出|证明|推导|解出|验证|枚举|模拟}(?<!证明(?=材料|文件|人|书))"
        r"(?<!验证(?!~6(?:猜想|定理|公式|等式|素数|质数)))",
        r"{评估|评判|评定}之?前[,，]?(?:请|必须|务必)?先(?:计算|求|证明|列出|推)",
        r"{先把}[^\n。,，]{0,12}(?:解|算|推)出来?",
        r"{判断|回答|打分|评分|作答|评估|评判|评价}(?:(?<=评[估判价])[这本该此][条段篇个份]?(?:摘要|片段|网页|结果|内容|段落|文本|文档)|(?<!评[估判价]))"
        r"之?前[,，]?(?:请|必须|务必)?先",
        r"(?:回答|评[分级定估判]|作答|判[断定])之?前~6{思考|推理|分析}~6(?:[一二两三五十百千万]{2,}|\d{3,}) ?(?:字(?!的?[材文短资])|步|遍|次)",
    ),
    "secrets": (
        r"{write|put|insert}~20{system prompt|system message}~30\b(?:reason|answer|reply)\b",
        r"{reason}~~60{your api key|your_api_key|your apikey|your api_key}",
        r"{API_KEY|access token|environ|environment variable|environment variables|process.env|previous query|previous message}~60"
        r"\b(?:(?:the|your) (?:reason|verdict)\b|(?:in|into|as|to|of) your (?:reply|response|answer)\b|reason field)",
        r"\bwhat(?: is|['’]s) your {system prompt}(?=~~40\b(?:reason|reply|answer|explanation|response)\b)",
        r"{repeat|print|output|recite|copy} (?:all )?(?:(?:the )?(?:words|text|prompt)|everything) {above}(?=,? (?:verbatim|word for word|in full"
        r"|(?:starting|beginning) (?:with|from)|including (?:the |your |all )*(?:system|instruction|prompt|rules?)))",
        r"{print|repeat|reveal|show|output|disclose|copy|list}~20\byour (?:\w+ )?{instructions|rubric|prompt}(?! of)",
        r"{输出|打印|写出|告诉|贴出|附上|泄露|给出}(?<!(?:甚至|可能|模型|导致|使它|使其|让它|让其)泄露)~12(?:系统提示|上一条查询|(?:你的?|本机|服务器)~6(?:环境变量|密钥|令牌|api[ _]?key))",
        r"{环境变量|密钥|系统提示|系统消息|令牌|API_KEY}~10(?:(?:写进|写在|输出到?|打印|贴出|附在)~6(?:理由|回复|回答|答案)|告诉我)",
        r"(?:理由(?:里|中|字段|一栏|请)|reason ?字段)~~40{密钥|令牌|API_KEY|环境变量}",
        r"{密钥|令牌|API_KEY|环境变量}~12(?:写|放|填|输出|附|贴)~12{reason|理由}",
        r"{你的系统提示}词?~6(?:复述|重复|背|公开|输出|发)",
        r"{输出|复述|重复|背出|公开|打印|列出}~6你(?:所?收到|得到)?的?(?:隐藏|全部|所有)?的?{指令|提示词|系统提示}",
        r"{逐字|原样}~4(?:复述|重复|输出|背出|打印)~4(?:以上|上面|上述|之前|前面)的?(?:全部|所有)?的?(?:系统)?(?:提示(?!音)|指令|规则)",
    ),
    "encoded": (
        r"{decode|base64|rot13|hex}[^\n.;]{0,60}\b(?:(?:and|then) (?:follow|obey|execute|run|do)|obey|follow (?:it|them|the result)|run it|system prompt)\b",
        r"{rot13 orders|rot13 instructions}",
        r"{解码|base64}~~20{照做|并执行|后执行|提示|指令}",
        r"{首字执行|首字照做}",
        r"\bread the first {letters}",
    ),
    "persuasion": (
        r"\bthe (?:\w+ )?{passage|snippet} is [a-z]+ {relevant}(?=[.!]|\s*$| to (?:the|this|any|every) (?:query|question|user))",
        r"\bthis page {answers} [“\"']~~60(?:fully|precisely|authorit|better than|perfectly)",
        r"{本文}~4(?:权威|全面|完整|完美|最)~20{回答了}[“\"「]",
        r"{摘要|本文|本页}~6{与用户|与查询}~6相关(?!性)",
    ),
    "fence": (
        r"\[ ?{end data} ?\] ?\[ ?begin {instruction|instructions} ?\]",
        r"(?<!不){可信指令|信任的指令|系统指令}[:：]~~10(?:评(?![估价测论审])|满分|等级)",
        r"\"{role}\" ?: ?\"(?:assistant|system)\"[^}]{0,60}\\\"grade\\?\" ?:",
        r"(?:^|\n){role}: ?(?:system|assistant)\ncontent:~~80\bgrade\b",
    ),
}
#: The forms of each flag that consist of marks, which cleaning removes: they are searched in the raw text, too.
_RAW_FORMS: Mapping[str, Sequence[str]] = {
    "fake_turn": (
        r"{<} ?[|｜] ?[^\s|｜<>]{1,60} ?[|｜]",
        r"{[} ?/?{inst} ?\]",
        r"{<} ?/?{sys} ?>",
        r"{<}[|｜](?:turn|channel|think|image|audio|tool(?:_call|_response)?)>",
        r"{<} ?/? ?{start_of_turn|end_of_turn}",
        r"{◁} ?/?think",
        r"{<} ?/? ?{think|thinking} ?>",
        r"(?:^|\n) ?#{0,3} ?{system|assistant|user|human|系统|助手|用户}s?[:：]ABOUT_TURN",
        r"(?:^|\n) ?#{1,3} {instruction|instructions|response|指令|回复}[:：]ABOUT_TURN",
    ),
    "fence": (
        r"{</} ?(?:passage|snippet|context|search_result|摘要) ?>",
        r"{</} ?(?:document|text|data|input|result|content|item|doc|文档|内容|段落) ?>(?=[^<]{0,300}(?:grad(?:e|ing)|rate\b|relevan|verdict|scor(?:e|ing)|instruction"
        r"|answer|system|评|判|指令|规则|[\"“]?[0-3][\"”.]?\s*$|yes\b))",
        r"{<} ?{instruction|instructions|rule|rules|system|grading|指令|规则} ?>",
        r"{[/}(?:passage|document|context|摘要|文档)\]",
        # The marks around the snippet in the prompt, with any name.
        r"{>>>}(?!>)(?:(?<=[0-9a-f]{8}...)|(?<=\bmark...)|(?<=\b标记...)|(?<=\w{3}...)(?=~~200\b(?:grade|verdict|relevan|评|判|等级)))",
        # A sequence of marks is matched once, as a whole. It is a line, or "end" or the like is behind it.
        r'{---|===|###|~~~|***|```|"""'
        r"|'''}(?<![-=#~*`\"']...)(?:(?<![^\n ]...)(?<![^\n] ...)(?:(?<=[`\"']) ?\n(?=[^`]{0,400}?(?:\b(?:3|three|yes|(?:is|as|fully|highly) relevant)[\"'”]?(?=\s*(?:[.,;!}`\n]|$))"
        r"|\bignore\b|[3三] ?分|满分|最高分|忽略|为相关))[^`]{0,400}?(?:score|grade|rubric|relevan|verdict|评分|判断|标准|等级|分数|规则|要求|passage)"
        r"|(?:(?<=~)|(?<=[-=#])[-=#]*) ?\n[^`]{0,200}?(?:grading|scoring|rubric|relevan|verdict|end of passage|评分标准|判断标准|评分规则|新规则|等级[:：为]))"
        r"|(?<=[-=#*])[-=#*]*+ ?(?:end of (?:the )?(?:snippet|passage|document|context|text|data|untrusted|input|search result)s?\b(?=~~6\n?~~200"
        r"(?:grad|rate\b|relevan|verdict|scor|instruction|output|answer|query))|结束(?=~~10\n?~~100(?:评|判|指令|规则|输出|等级))|(?:摘要|片段|文档|数据)结束))",
    ),
    "hidden_text": (
        r"{<!--|<noscript|<template|<textarea}HIDDEN",
        r"{display|visibility|opacity|font-size|left}: ?(?:none|hidden|(?<!left: )(?<!left:)0(?![.0-9])|-[0-9]{3})HIDDEN",
        r"{<}[a-z]+ {hidden}HIDDEN",
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class InjectionForm:
    """One form of injection, and the flag of a text that has it; with `raw` the raw text is searched, too."""

    flag: str
    pattern: WordPattern
    raw: bool


INJECTION_FORMS = tuple(
    InjectionForm(flag, make_word_pattern(source, NAMES), is_raw)
    for forms, is_raw in ((_FORMS, False), (_RAW_FORMS, True))
    for flag, sources in forms.items()
    for source in sources
)
#: The flags of snippets that may contain prompt injection, set here and in cleaning. Invisible characters and
#: control tokens are not among them: most come from word processors, right-to-left text and articles.
INJECTION_FLAGS = frozenset({STUFFING, *_FORMS, *_RAW_FORMS})
