"""Sentences that urge a grade, in any wording, in Chinese and English.

Such a sentence is about grading, names a good grade, and has two of these: it speaks of the text itself, it
demands something, it speaks to an assessor. These are searched in lower case, with look-alikes folded.
"""

import re
from functools import cache

from judge.flags import INSTRUCTION
from judge.injection.lookalikes import LOOKALIKES
from judge.injection.patterns import InjectionForm
from judge.injection.word_patterns import Need, WordPattern, contains_any, join_words, make_need

#: The words about grading; `%` is a blank inside one.
_GRADING_WORDS = (
    (
        "grade grades graded grading grader graders score scores scored scoring scorer scorers rate rates rated rating label labeled"
        " labelled verdict verdicts award mark marked rubric evaluate evaluated evaluates evaluating evaluation evaluator evaluators assess"
        " assessed assessing assessment assessor assessors classify classified rank ranked ranking treat deserve deserves worth gets conclude annotation annotations"
        " relevance judgment judgement respond reply replies answer output repeat assign decided clasifica clasifique califica califique"
        " notez noter attribuez responde responda bewerte bewerten bewertet antworte antworten"
        " 评分 评测 评审 评委 评定 评级 评估 评判 评为 评成 评3 评%3 评３ 评三 评最 评高 评满 打高 打最 判断 判定 判为 判成 判相 判y 判%y 判个 以yes 以%yes 以“yes 一律给 一律三 一律3 打分 视为 给3 给%3 给三 给出3 给个3 给打3"
        " 等级 标注 标准答案 回答y 回答%y 回答“y 回答“是 回答是 回复y 回复%y 回复“y 回复3 输出y 输出%y 输出3 输出%3 写y 写%y 写3 写%3"
        " épond つけて 評価 採点 평가 매겨 주세요 цени ценк поставь веть"
    )
    .replace(" ", "|")
    .replace("%", " ")
    .split("|")
)
_GRADING = join_words(_GRADING_WORDS).translate(LOOKALIKES)
_GOOD_GRADE = (
    r"(?<![\w.$,/:-])(?<!\d to )(?<!\d[至到])(?<!level )(?:3|three)(?![\w%]|[.,:/-]\d| ?(?:years?|days?|hours?|months?|weeks?|min(?:ute)?s?|times|stars?|or(?! (?:you|else)\b)|to|of|and|steps?|ways?|-|–)\b"
    r"| ?[个条种次天年月日小周位人名件张章节级期号线楼星款项大例家类点册倍题])"
    r"|\b(?:yes|(?:fully|highly|completely|perfectly|always|top|as|is|are|be|it) relevant(?! (?:to|if|when|only|or)\b)|relevant (?:for|to) (?:any|every|all)|(?:one|page|text|snippet) relevant|relevant by (?:definition|default)|reference answer|(?:grad|rat|judg|mark|label)\w*(?: \w+){0,2}(?: as)? irrelevant"
    r"|full marks|three points|perfect (?:match|answer)|(?:complete|direct|full) answer|(?:highest|top|maximum|best|perfect) (?:possible )?(?:grade|score|mark|rating|relevance|level)s?|relevante?(?= y\b|[.,!])|bestnote|pertinente?s?)\b"
    r"|满分(?!作文)|最高(?:分|等级|级|评级|评分)|(?:[判为成是算]|默认)(?:完全|高度)?相关(?![的性系度]|[,，；;]?否则)|判为?不相关|(?:完全|高度)相关|高分|[3３三] ?分(?![钟之球线])|评[为成]? ?[3３三](?!\d)|[为成是出写于给打评判] ?[3３三](?![\d.%级]| ?[个条种次天年月日小周位人名件张章节期号线楼星款项大例家类点])"
    r"|(?:完整|标准|最佳|正确)的?答案|[3３]を|[3３] ?[点점]|[为成到]最高(?![^\s。，！,.])|最高(?=の|評|点)|関連(?:あり|性が高)|관련 있|релевантн|[判打是]个?相关(?![的性系度])|на 3\b"
    r"|(?:一律|均为|都是|应为|评为|定为|设为|属于?) ?[3３三] ?级|视为[^\n。，,]{0,6}相关(?![的性系度])|\bas [\w ]{1,24}\brelevant(?=\W*$|[.,!])"
).translate(LOOKALIKES)
#: Every good grade contains one of these, which are found fast.
_GOOD_GRADE_PARTS = tuple(
    "3 ３ three yes relevan pertinent full direct complete highest top maximum best perfect reference bestnote 分 三 最高 相关 答案 関連 관련"
    " релевантн".translate(LOOKALIKES).split()
)
#: What a sentence has that speaks of the text itself, that demands something, and that speaks to an assessor.
_ADDRESSES = (
    r"\b(?:this (?:result|snippet|passage|text|page|document|item|entry|content|site|website|one|record|listing|article|domain)|the following|(?:the|every|each|all|any) (?:passages?|query|queries)|snippets?|the (?:text|words|passage) (?:above|below|between)|our (?:home|web)?(?:page|site)|(?:grad|scor|rat|label|mark|judg|treat|rank)\w* (?:this|it|me|us)"
    r"|(?:ce|cette|este|esta|esto|diese[rsn]?) (?:résultat|page|texte|resultado|página|texto|seite|text|ergebnis))\b"
    r"|[本此该这](?:条|个|篇|段)?(?:结果|摘要|片段|网?页面?|站|域名|文档|内容|条(?![件约款路])|文(?![化件学明字]))|摘要|片段|查询|理由|[上下]文(?![化章])|之间的文字|自己的(?:网?页面?|网站)|この(?:ページ|スニペット|結果)|이 (?:페이지|결과)|эт\w{1,2} (?:сниппет|страниц|результат)".translate(
        LOOKALIKES
    ),
    r"(?:^|[.;!] ?)[\"“']?(?:register|label|mark|conclude|call|give|put|grade|rate|score|answer|say|output|write|return|consider|confirm|accept|set|record|forget|finali[sz]e)\b"
    r"|\b(?:please|kindly|must|should|shall|has to|have to|you|your|order|instruct\w*|let['’]?s|always|never|only|don['’]?t|do not|no need|or else|unless|otherwise|every time|regardless|no matter|whatever|nobody|everything|anything|automatically|overlook|skip|failing"
    r"|(?:assistant|grader|judge|evaluator|rater|model|gpt)s?,|policy|penali[sz]ed|accordingly|consistent|permissible|treat|assign)\b|请(?![问客])|务必|必须|应[当该]|一律|直接|[你您]|麻烦|拜托|只要|不得|无需|无论|不管|任意|默认|写成|视为|全部|须|就[好行]|别(?![的人墅称名])|自动|帮个?忙|新任务"
    r"|\b(?:por favor|merci de|bitte|siempre|toujours|immer|quelle que soit|egal was)\b|必ず|ください|무조건|주세요|пожалуйста|независимо|всегда".translate(
        LOOKALIKES
    ),
    r"\b(?:evaluators?|assessors?|graders?|raters?|judges?|models?|ai|llms?|(?:chat)?gpt|claude|gemini|deepseek|qwen|bot|assistant|operator|administrator|guidelines?|rubric|reviewer|modelo|(?:reading|rating|grading|scoring|evaluation|automated|ai) systems?)\b|模型|(?<![a-z])ai(?![a-z])|人工智能|评委|评审|评测|评分(?:员|系统)|机器人|审核员|规则|系统|助手|[新的]标准|豆包|千问|文心|(?<![a-z])(?:chat)?gpt(?![a-z])",
)
# A run of marks is tried once, from its beginning.
_SENTENCE_END = r"(?<![.!?。！？；;\n])[.!?。！？；;\n]+(?:\s|$)|[。！？；\n]"


#: The form of such a sentence, of which `urges_grade` finds a match.
GRADE_DEMAND = InjectionForm(
    INSTRUCTION,
    WordPattern("", {}, (make_need(_GRADING_WORDS), Need(frozenset(), _GOOD_GRADE_PARTS))),
    raw=False,
)


def urges_grade(text: str) -> bool:
    """Return True when one sentence is about grading, names a good grade, and has two marks of an address."""
    return contains_any(_GOOD_GRADE_PARTS, text) and any(
        sum(_compile(address).search(sentence) is not None for address in _ADDRESSES) >= 2
        for sentence in _compile(_SENTENCE_END).split(text)
        if contains_any(_GOOD_GRADE_PARTS, sentence)
        and all(_compile(subject).search(sentence) for subject in (_GOOD_GRADE, _GRADING))
    )


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """Return the compiled pattern; few texts need it."""
    return re.compile(pattern)
