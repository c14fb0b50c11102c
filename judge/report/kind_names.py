"""Names of the kinds of errors and of flags, as people read them."""

from __future__ import annotations

from judge import flags
from judge.errors import JUDGMENT_ERRORS
from judge.messages import make_text

#: Why a pair has no grade, by the word that a judgment's `error` holds.
ERRORS = {kind: make_text(text) for kind, text in JUDGMENT_ERRORS.items()}
#: What was noticed about a snippet or a reply, by the first part of its flag.
FLAGS = {
    flags.INSTRUCTION: make_text("speaks to the assessor"),
    "fake_verdict": make_text("brings its own verdict"),
    "fake_turn": make_text("imitates a chat turn"),
    "fence": make_text("tries to close the fence"),
    "overthink": make_text("sets the assessor a task"),
    "secrets": make_text("asks for secrets"),
    "hidden_text": make_text("hidden words for the assessor"),
    flags.ENCODED: make_text("encoded orders"),
    "persuasion": make_text("praises itself to the assessor"),
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
