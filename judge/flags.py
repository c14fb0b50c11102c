"""Flags: what was noticed about a snippet, a reply or a judgment. They never change a grade.

Files have these words; after some of them follow a colon and details. `judge.injection.patterns` has
the other flags of prompt injection.
"""

from collections.abc import Mapping

from judge.messages import Message

#: A snippet has only a title; it is empty; its text is missing; nothing can be read in the part of it that
#: `max_chars` allows. The last two are also the kinds of error of its judgments.
TITLE_ONLY, EMPTY_SNIPPET, TEXT_MISSING, TEXT_CUT = "textless", "empty_snippet", "no_text", "text_cut"
#: The flags of a snippet whose text is unknown; such a pair is unjudged.
UNKNOWN_TEXT = frozenset({TEXT_MISSING, TEXT_CUT})
#: A snippet that is cut to `max_chars`: its length and a hash follow.
TRUNCATED = "truncated"
#: What cleaning removes or breaks up: control tokens of chats, characters that cannot be seen, control
#: characters, halves of surrogate pairs; and a text that was read in a wrong encoding.
CHAT_TOKENS, INVISIBLE, CONTROL_CHARACTERS = "chat_tokens", "invisible", "control"
SURROGATES, MISDECODED = "surrogate", "encoding"
#: A snippet that only repeats the words of the query, instructs the assessor, or does so in an encoded text.
STUFFING, INSTRUCTION, ENCODED, HIDDEN_TEXT = "stuffing", "instruction", "encoded", "hidden_text"

#: A reply that was repaired, one to a second request, and one of another model than the requested one.
REPAIRED, RE_ASKED, SERVED_BY = "repaired", "re_asked", "served_by"
#: A reason that is missing, was cut here, was cut by the server, or repeats the prompt.
NO_REASON, REASON_CAPPED, REASON_TRUNCATED, PROMPT_ECHO = (
    "no_reason",
    "reason_capped",
    "reason_truncated",
    "prompt_echo",
)

#: A judgment whose grade is the label of a person; one of a pair that the prompt shows with its grade.
LABEL, SHOWN_AS_EXAMPLE = "label", "shown_as_example"
#: A judgment of a panel: members differ, the median is a tie, the grade of a member is missing.
PANEL_SPLIT, PANEL_TIE, PANEL_SHORT = "panel_split", "panel_tie", "panel_short"

#: What each flag means, without its details.
FLAGS: Mapping[str, Message] = {
    INSTRUCTION: Message("addresses the assessor"),
    "fake_verdict": Message("contains a verdict"),
    "fake_turn": Message("imitates a chat turn"),
    "fence": Message("tries to close the fence"),
    "overthink": Message("sets the assessor a task"),
    "secrets": Message("asks for secrets"),
    HIDDEN_TEXT: Message("hidden words for the assessor"),
    ENCODED: Message("encoded orders"),
    "persuasion": Message("praises itself to the assessor"),
    STUFFING: Message("only repeats the words of the query"),
    CHAT_TOKENS: Message("chat-control tokens, broken up"),
    INVISIBLE: Message("hidden characters, dropped"),
    CONTROL_CHARACTERS: Message("control characters, dropped"),
    SURROGATES: Message("broken characters"),
    MISDECODED: Message("looks wrongly decoded"),
    TRUNCATED: Message("cut for the assessor"),
    TITLE_ONLY: Message("no text but its title"),
    TEXT_MISSING: Message("the text is missing: unjudged"),
    TEXT_CUT: Message("nothing to read before the length limit: unjudged"),
    EMPTY_SNIPPET: Message("no text: grade 0 without a call"),
    REPAIRED: Message("reply not strictly as asked"),
    REASON_CAPPED: Message("reason cut short"),
    REASON_TRUNCATED: Message("reason cut off by the server"),
    NO_REASON: Message("no reason given"),
    LABEL: Message("graded by a person"),
    SHOWN_AS_EXAMPLE: Message("an example in the prompt"),
    RE_ASKED: Message("asked again after an unreadable reply"),
    SERVED_BY: Message("served by another model"),
    PANEL_SPLIT: Message("the panel's members differ"),
    PANEL_TIE: Message("a tie in the panel"),
    PANEL_SHORT: Message("not every member judged it"),
    PROMPT_ECHO: Message("the reason repeats the prompt"),
}
