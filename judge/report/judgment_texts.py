"""Texts of the errors of judgments, and of the flags of snippets and replies."""

from __future__ import annotations

from judge.messages import text

#: Why a pair has no grade, by the word that a judgment's `error` holds.
ERRORS = {
    "empty": text("the reply was empty"),
    "refusal": text("the model refused"),
    "truncated": text("the reply was cut off"),
    "malformed": text("the reply could not be read"),
    "missing_key": text("the reply names no grade"),
    "not_a_grade": text("the reply names a grade that does not exist"),
    "not_integer": text("the grade is not a whole number"),
    "ambiguous": text("the reply contradicts itself"),
    "rate_limit": text("the server turned the call away"),
    "server_error": text("the server failed"),
    "transport": text("the connection failed"),
    "content_filter": text("the provider's filter stopped it"),
    "too_long": text("too long for the model"),
    "bad_request": text("the server took the request for malformed"),
    "no_quorum": text("too few of the panel judged it"),
    "no_text": text("the text is missing"),
    "text_cut": text("nothing to read before the length limit"),
    "no_attempt": text("no attempt was allowed"),
}

#: What was noticed about a snippet or a reply, by the first part of its flag.
FLAGS = {
    "instruction": text("speaks to the grader"),
    "fake_verdict": text("brings its own verdict"),
    "fake_turn": text("imitates a chat turn"),
    "fence": text("tries to close the fence"),
    "overthink": text("sets the grader a task"),
    "secrets": text("asks for secrets"),
    "hidden_text": text("hidden words for the grader"),
    "encoded": text("encoded orders"),
    "persuasion": text("praises itself to the grader"),
    "stuffing": text("the query's words piled up"),
    "chat_tokens": text("chat-control tokens, broken up"),
    "invisible": text("hidden characters, dropped"),
    "control": text("control characters, dropped"),
    "surrogate": text("broken characters"),
    "encoding": text("looks wrongly decoded"),
    "truncated": text("cut for the assessor"),
    "textless": text("no text but its title"),
    "no_text": text("the text is missing: unjudged"),
    "text_cut": text("nothing to read before the length limit: unjudged"),
    "empty_snippet": text("no text: grade 0 without a call"),
    "repaired": text("reply not strictly as asked"),
    "reason_capped": text("reason cut short"),
    "no_reason": text("no reason given"),
    "label": text("graded by a person"),
    "re_asked": text("asked twice"),
    "served_by": text("served by another model"),
    "panel_split": text("the panel's members differ"),
    "panel_tie": text("a tie in the panel"),
    "panel_short": text("not every member judged it"),
    "prompt_echo": text("the reason repeats the prompt"),
}
