"""Detection of text that seems to address the assessor, in Chinese and English (prompt injection).

A flag never changes a grade. Text is searched as it is shown, without what it only mentions, and as it reads
when it is decoded (`decoding`). Comments and attributes of HTML are searched, too.

An article about prompt injection quotes what attacks say, and the documentation of an interface shows objects
with a grade. Neither addresses the assessor. In a text that reports attacks, all quotations and code are
examples, unless the text orders to do what they say.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from judge.flags import ENCODED, HIDDEN_TEXT, INSTRUCTION
from judge.injection.decoding import decode, fold_lookalikes
from judge.injection.model import SUBJECTS, load_injection_model
from judge.injection.patterns import INJECTION_FORMS, InjectionForm, list_words

#: The comments of HTML, and the attributes that hold text.
_HIDDEN_MARKUP = re.compile(
    r"<!--((?:(?!-->).){1,2000})|\b(?:alt|title|content|aria-label)\s?=\s?(?:\"([^\"<>]{1,400})\"|'([^'<>]{1,400})')",
    re.DOTALL,
)
_WORD = re.compile(r"[a-z0-9]+|[㐀-鿿]")
_PAIR = re.compile("[^\x00-\x7f]{2}")
#: The characters of a raw text that are searched, or twice as many as its cleaned form has.
_MAX_CHARS = 8000
# Invisible characters that encode ASCII.
_TAGS = re.compile("[\U000e0020-\U000e007e]")
# A word in these, which is no flag of a region; and letters or Chinese characters with invisible ones between
# each two. No script needs them there. A pattern that begins with a set of characters is found fast.
_HIDDEN_WORD = re.compile(
    "[\U000e0020-\U000e007e\u200b-\u200d\u2060-\u2064\ufeff]"
    "(?:(?<=[\U000e0020-\U000e007e])(?<![\U0001f3f4\U000e0020-\U000e007e].)[\U000e0020-\U000e007e]{2}"
    "|(?<![\U000e0020-\U000e007e])(?:[0-9A-Za-z㐀-鿿][\u200b-\u200d\u2060-\u2064\ufeff]+){2})"
)
# A pattern that begins with one plain character is found fast, too.
_BREAK_IN_CHINESE = re.compile(r"\n(?<=[㐀-鿿，、]\n) ?(?=[㐀-鿿])")
_BLANK_AND_BREAK_IN_CHINESE = re.compile(r" \n(?<=[㐀-鿿，、] \n) ?(?=[㐀-鿿])")
# A quotation or code, which can have line breaks but no blank line.
_QUOTED = "|".join(
    rf"{start}(?:[^{end}\n]|\n(?!\n)){{4,200}}{end}"
    for start, end in ('""', "“”", "‘’", "「」", "『』", "``", (r"(?<!\w)'", r"'"))
)
_QUOTATION = re.compile(_QUOTED)
#: Quotations behind words that introduce an example of a text.
_MENTION = re.compile(
    r"(?:\b(?:such as|like|e\.g\.|for example|(?:the|a) (?:phrase|sentence|string|text|line|words?)"
    r"|phrases?|reads?|called|named|wrote|typed|means"
    r"|(?:attackers?|hackers?|adversar(?:y|ies)|scammers?|people|they) (?:\w+ )?"
    r"(?:writes?|says?|adds?|inserts?|hides?|types?|puts?|plants?))\b"
    r"|(?:写[入着有上了]|[会常]写|例如|比如|譬如|诸如|类似|插入|藏[有着]|一[句段]|手法|所谓|意思)(?:的?话)?)[^\n.。\"“'‘「]{0,16}[:：,，]?\s?"
    rf"(?:{_QUOTED})"
)
_ATTACKS = (
    r"\b(?:injections?|inject(?:s|ed|ing)?|attack(?:s|ed|ing|ers?)?|jailbreaks?|adversarial|payloads?"
    r"|poison(?:s|ed|ing)|red[- ]team(?:s|ing)?|black[- ]hat|seo|hidden (?:prompts?|text)|llm-as-a-judge"
    r"|manipulat(?:e|es|ed|ion))\b|注入|攻击|越狱|红队|对抗样本|投毒|黑帽|操纵|隐藏(?:的?)(?:文字|提示|指令)|中招|藏了"
)
_REPORTS = (
    r"\b(?:writes?|wrote|says?|said|adds?|inserts?|hid|hides?|carr(?:y|ied)|tr(?:y|ies|ied)|reads?|has|have"
    r"|contain(?:s|ed)?|tell|told|such as|like|for (?:example|instance)|as in|e\.g\.|prompts|worked"
    r"|persuades?|succeed(?:s|ed)?|defen[dc]\w*)\b"
    r"|写|说|称|藏|埋|塞|指|发现|演示|例如|比如|譬如|诸如|如 "
    r"|一类|分成|报道|防御|防范|诱|骗|成功率"
)
#: A sentence of an article about attacks, outside of its quotations: these are examples. The name of an
#: attack alone is none, because whoever sells protection from attacks uses it, too.
_ABOUT_ATTACKS = re.compile(
    rf"(?:{_ATTACKS})(?=[^\n.。!?！？]{{0,80}}?(?:{_REPORTS}))|(?:{_REPORTS})[^\n.。!?！？]{{0,80}}?(?:{_ATTACKS})"
    r"|\bpayloads:"
)
#: An order to do what a quotation says. Such a quotation is no example.
_ORDERS_QUOTED = re.compile(
    r"(?<!not )(?<!n['’]t )(?<!to )(?<!never )\b(?:follow|obey|execute|comply with|do (?:what|as)"
    r"|act on|carry out)\b"
    r"(?=[^\n.]{0,30}(?:\bquot|\bbelow\b|\bfollowing\b|\bline\b|\bsentence\b|\bsays\b|:))"
    r"|(?:请|须|应当|必须|务必|一律)[^\n。不勿别拒否]{0,4}(?:照|按|遵|听从|执行|服从)[^\n。不勿别拒否]{0,12}"
    r"(?:引号|引文|引语|照?做|照办|执行|[:：])"
)
_OBJECT = re.compile(r"\{[^{}]{1,600}\}")
_KEY = re.compile(r"[\"'“]([^\"'“”:：\\]{1,30})\\?[\"'”]\s?[:：]")
#: The keys of an object that may pose as a verdict.
_VERDICT_KEYS = re.compile(
    r"(?:final[ _])?(?:verdict|grade|score)|relevan\w+|rating|reason(?:ing|s)?|rationale|explanation"
    r"|confidence|label|role|content|(?:(?:passage|snippet|pair|item)_?)?id|rank"
    r"|判定|等级|评分|得分|结论|理由|原因|依据|说明|置信度|最终\w{2}"
)
#: What says in front of an object that it documents an interface.
_DOCUMENTS = re.compile(
    r"(?:\b(?:example|returns|api|endpoint|schema|template)\b|示例|样例|接口|模板)[^\n{}(（请]{0,30}\Z"
)
#: Tokens in a line about tokens; whatever else the line says is still searched.
_TOKEN = re.compile(r"< ?/?[|｜]? ?[^\s|｜<>]{1,60}[|｜]? ?>|\[ ?/?inst ?\]|<< ?/?sys ?>>")
_ABOUT_TOKENS = re.compile(
    r"\b(?:tokens?|tokenizers?|tokenization|templates?|tags?|markers?|markup|delimiters?)\b|标记|标签|模板|分词|占位|符号"
)


class _KeyedText(NamedTuple):
    """A text (lower case), the same on one line, and the keys of the index that it has."""

    text: str
    line: str
    keys: frozenset[bytes | str]


def detect_injection(raw: str, cleaned: str) -> tuple[str, ...]:
    """Return the sorted flags of the forms of injection in `raw` or its `cleaned` form.

    Names: instruction, fake_verdict, fake_turn, fence, overthink, secrets, hidden_text, encoded,
    persuasion. Of `raw`, only the beginning is searched.
    """
    raw = raw[: max(_MAX_CHARS, 2 * len(cleaned))]
    visible = fold_lookalikes(cleaned).lower()
    # Most raw texts have other blanks and line breaks only: what hides a text would be a part of a word.
    has_other_words = raw != cleaned and raw.split() != cleaned.split()
    if has_other_words and (hidden := "".join(_TAGS.findall(raw))):
        visible += "\n" + "".join(chr(ord(char) - 0xE0000) for char in hidden).lower()
    keyed = _find_keys(visible)
    forms = _find_possible(keyed)
    raw_text = visible
    if has_other_words or (raw != cleaned and (forms or "<" in visible)):
        raw_text = fold_lookalikes(raw).lower()
    if has_other_words:
        forms |= _find_possible(_find_keys(raw_text))
    flags = _find_flags(forms, visible, raw_text)
    if flags:
        flags = _find_flags(forms, drop_mentions(visible), drop_mentions(raw_text))
    # Few texts have such a score, and what they mention takes long to drop.
    if not flags and _addresses_assessor(keyed) and _addresses_assessor(_find_keys(drop_mentions(visible))):
        flags = {INSTRUCTION}
    if has_other_words and _HIDDEN_WORD.search(raw):
        flags.add(HIDDEN_TEXT)
    if hidden := _find_hidden_markup(raw_text) if raw_text is not visible else "":
        flags |= {HIDDEN_TEXT} if _search(hidden) else set()
    for decoded in decode(cleaned, raw):
        if _search(decoded) and (more := _search(drop_mentions(decoded))):
            flags |= more | {ENCODED}
    return tuple(sorted(flags))


def _search(text: str) -> set[str]:
    """Return the flags of all forms that a text (lower case) has, or that of the model."""
    keyed = _find_keys(text)
    flags = _find_flags(_find_possible(keyed), text, text)
    return flags or ({INSTRUCTION} if _addresses_assessor(keyed) else set())


def _find_flags(forms: Collection[InjectionForm], visible: str, raw_text: str) -> set[str]:
    """Return the flags of the forms that a text has."""
    if not forms:
        return set()
    # A line break can part a sentence. Entities and invisible characters can hide a mark in the raw text.
    texts = dict.fromkeys((visible, _join_lines(visible)))
    raw_texts = dict.fromkeys((raw_text, visible))
    flags: set[str] = set()
    for form in forms:
        search = form.pattern.compiled.search
        if form.flag not in flags and any(map(search, raw_texts if form.raw else texts)):
            flags.add(form.flag)
    return flags


def _find_hidden_markup(raw_text: str) -> str:
    """Return the comments and the attributes with text of an HTML text, a line each."""
    if "<" not in raw_text:
        return ""
    return "\n".join("".join(match.groups("")) for match in _HIDDEN_MARKUP.finditer(raw_text))


def drop_mentions(text: str) -> str:
    """Return a text (lower case) without what it only mentions."""

    def is_foreign(match: re.Match[str]) -> bool:
        is_documented = _DOCUMENTS.search(text, max(0, match.start() - 60), match.start())
        return bool(is_documented) or not all(map(_VERDICT_KEYS.fullmatch, _KEY.findall(match[0])))

    without_objects = _OBJECT.sub(lambda match: " " if is_foreign(match) else match[0], text)
    without_quotations = _QUOTATION.sub(" ", without_objects)
    if _ORDERS_QUOTED.search(without_quotations):
        without_quotations = without_objects
    elif not _ABOUT_ATTACKS.search(without_quotations):
        without_quotations = _MENTION.sub(" ", without_objects)
    lines = [(line, _TOKEN.sub(" ", line)) for line in without_quotations.split("\n")]
    return "\n".join(bare if _ABOUT_TOKENS.search(bare) else line for line, bare in lines)


def _find_keys(text: str) -> _KeyedText:
    """Return a text (lower case) with its keys."""
    index = _make_index()
    line = _join_lines(text)
    pairs = [] if line.isascii() else index.pair.findall(line)
    marks = [mark for mark in index.marks if mark in line]
    return _KeyedText(text, line, index.keys.intersection((*list_words(line), *pairs, *marks)))


def _addresses_assessor(keyed: _KeyedText) -> bool:
    """Return whether a text addresses the assessor, by the model that is shipped."""
    return not SUBJECTS.isdisjoint(keyed.keys) and load_injection_model().find_score(keyed.text) > 0


def _find_possible(keyed: _KeyedText) -> set[InjectionForm]:
    """Return the forms that a text may have."""
    _, line, keys = keyed
    forms_by_key = _make_index().forms
    forms = {form for key in keys for word, form in forms_by_key.get(key, ()) if word in line}
    return {form for form in forms if all(need.is_met(line, keys) for need in form.pattern.needs[1:])}


class _Index(NamedTuple):
    """What is looked up in a text by its keys: whole words, two characters in a row, single characters."""

    #: The keys of the forms with what these need, and of the subjects of the model.
    keys: frozenset[bytes | str]
    #: Has the two characters of a pair in its group, because pairs overlap.
    pair: re.Pattern[str]
    marks: Sequence[str]
    #: The forms, each with one of its words, by a key that a text with this word has.
    forms: Mapping[bytes | str, Sequence[tuple[str, InjectionForm]]]


@cache
def _make_index() -> _Index:
    """Return the index of all forms by the words that are needed and rarely met."""
    forms: dict[bytes | str, list[tuple[str, InjectionForm]]] = {}
    for form in INJECTION_FORMS:
        need = form.pattern.needs[0]
        for run, words in need.whole.items():
            forms.setdefault(run, []).extend((word, form) for word in words)
        for part in need.parts:
            is_pair = _PAIR.search(part)
            key = is_pair[0] if is_pair else part[0] if part.isascii() else max(part)
            forms.setdefault(key, []).append((part, form))
    needed = (need.whole for form in INJECTION_FORMS for need in form.pattern.needs)
    keys = SUBJECTS.union(forms, *needed)
    texts = [key for key in keys if isinstance(key, str)]
    pairs = [key for key in texts if len(key) > 1]
    firsts, seconds = (re.escape("".join(sorted(set(chars)))) for chars in zip(*pairs, strict=True))
    pair = re.compile(f"[{firsts}](?<=(?=(.[{seconds}])).)")
    return _Index(keys, pair, sorted({*texts} - {*pairs}), forms)


def _join_lines(text: str) -> str:
    """Return the text on one line, without a blank where Chinese continues."""
    if "\n" not in text:
        return text
    if " \n" in text:
        text = _BLANK_AND_BREAK_IN_CHINESE.sub("", text)
    return _BREAK_IN_CHINESE.sub("", text).replace("\n", " ")


def is_stuffed(query: str, text: str) -> bool:
    """Return True when the words of the query are repeated and make up most of the text.

    Two occurrences are common in titles ("novel.txt, free download of novel.txt"). A title beside its text
    repeats the query, too, so each is tested alone.
    """
    wanted, chinese = _list_words(query)
    # Chinese has no case, and to lower a text takes longer than to count.
    if not text or len(wanted) < 2 or any(text.count(char) < 2 for char in chinese):
        return False
    text = text.lower()
    if any(text.count(word) < 2 for word in wanted):
        return False
    words = _WORD.findall(text)
    hits = sum(word in wanted for word in words)
    return hits >= 2.5 * len(wanted) and hits / len(words) > 0.6


@lru_cache(maxsize=64)
def _list_words(query: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the words of a query (lower case), and which of them are Chinese characters."""
    words = frozenset(_WORD.findall(query.lower()))
    return words, tuple(word for word in words if not word.isascii())
