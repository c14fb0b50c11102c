"""Names of the kinds of errors and of flags, as people read them."""

from __future__ import annotations

from judge import flags
from judge.messages import Translator, make_text

#: Why a pair has no grade, by the word that a judgment's `error` holds.
ERRORS = {
    "empty": make_text("the reply was empty"),
    "refusal": make_text("the model refused"),
    "truncated": make_text("the reply was cut off"),
    "malformed": make_text("the reply could not be read"),
    "missing_key": make_text("the reply names no grade"),
    "not_a_grade": make_text("the reply names a grade that does not exist"),
    "not_integer": make_text("the grade is not a whole number"),
    "ambiguous": make_text("the reply contradicts itself"),
    "rate_limit": make_text("the server turned the call away"),
    "server_error": make_text("the server failed"),
    "transport": make_text("the connection failed"),
    "content_filter": make_text("the provider's filter stopped it"),
    "too_long": make_text("too long for the model"),
    "bad_request": make_text("the server took the request for malformed"),
    "no_quorum": make_text("too few of the panel judged it"),
    flags.TEXT_MISSING: make_text("the text is missing"),
    flags.TEXT_CUT: make_text("nothing to read before the length limit"),
    "no_attempt": make_text("no attempt was allowed"),
}


def name_error(t: Translator, kind: str) -> str:
    """Return the kind of an error as the terminal shows it: in English it is the word that files have."""
    return kind if t.language == "en" or kind not in ERRORS else ERRORS[kind].zh


#: What was noticed about a snippet or a reply, by the first part of its flag.
FLAGS = {
    flags.INSTRUCTION: make_text("speaks to the grader"),
    "fake_verdict": make_text("brings its own verdict"),
    "fake_turn": make_text("imitates a chat turn"),
    "fence": make_text("tries to close the fence"),
    "overthink": make_text("sets the grader a task"),
    "secrets": make_text("asks for secrets"),
    "hidden_text": make_text("hidden words for the grader"),
    flags.ENCODED: make_text("encoded orders"),
    "persuasion": make_text("praises itself to the grader"),
    flags.STUFFING: make_text("only repeats the words of the query"),
    flags.CHAT_TOKENS: make_text("chat-control tokens, broken up"),
    flags.INVISIBLE: make_text("hidden characters, dropped"),
    flags.CONTROL_CHARACTERS: make_text("control characters, dropped"),
    flags.SURROGATES: make_text("broken characters"),
    flags.MISDECODED: make_text("looks wrongly decoded"),
    flags.TRUNCATED: make_text("cut for the assessor"),
    flags.TITLE_ONLY: make_text("no text but its title"),
    flags.TEXT_MISSING: make_text("the text is missing: unjudged"),
    flags.TEXT_CUT: make_text("nothing to read before the length limit: unjudged"),
    flags.EMPTY_SNIPPET: make_text("no text: grade 0 without a call"),
    flags.REPAIRED: make_text("reply not strictly as asked"),
    flags.REASON_CAPPED: make_text("reason cut short"),
    flags.REASON_TRUNCATED: make_text("reason cut off by the server"),
    flags.NO_REASON: make_text("no reason given"),
    flags.LABEL: make_text("graded by a person"),
    flags.SHOWN_AS_EXAMPLE: make_text("an example in the prompt"),
    flags.RE_ASKED: make_text("asked twice"),
    flags.SERVED_BY: make_text("served by another model"),
    flags.PANEL_SPLIT: make_text("the panel's members differ"),
    flags.PANEL_TIE: make_text("a tie in the panel"),
    flags.PANEL_SHORT: make_text("not every member judged it"),
    flags.PROMPT_ECHO: make_text("the reason repeats the prompt"),
}
