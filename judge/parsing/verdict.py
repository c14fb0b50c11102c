"""Parse a reply into a verdict, or refuse it.

A reply in exactly the form that the prompts ask for is parsed here, any other in `judge.parsing.any_form`.
"""

import json

from judge.records import Scale, Verdict, is_complete_reply

#: Longer reasons are capped, so that a report stays readable.
MAX_REASON = 4_000
#: A longer reply is not parsed, even where it is sound.
MAX_SOUND_CHARS = 200_000
#: The key of the grade by scale, as the prompts ask for it.
_KEYS = {"binary": "verdict", "graded": "grade"}
#: Made once, because `json.loads` makes another for each text; an object becomes the list of its members.
_PAIR_DECODER = json.JSONDecoder(object_pairs_hook=list)


def parse_verdict(text: str, scale: Scale, finish_reason: str | None = "stop") -> Verdict:
    """Return the verdict of a reply.

    `finish_reason` is what the server reports, None if it reports nothing. Only the final answer
    counts, never thinking: one object with the scale's key, or several that agree, labelled lines, or
    the bare value. Flags: `repaired` (the JSON was damaged), `reason_truncated`, `reason_capped`,
    `no_reason`. Raise ReplyParseError when the value is not certain.
    """
    if verdict := _parse_strict(text, scale, finish_reason):
        return verdict
    from judge.parsing.any_form import parse_any  # a tenth of the CPU time of all imports of a run

    return parse_any(text, scale, finish_reason)


def _parse_strict(text: str, scale: Scale, finish_reason: str | None) -> Verdict | None:
    """Return the verdict of a reply that is exactly what the prompts ask for, None for any other.

    It may be in a Markdown fence. `parse_any` returns the same verdict, only slower.
    """
    text = text.strip()
    if text.startswith("```json\n") and text.endswith("\n```"):
        text = text[8:-4]
    if len(text) > MAX_SOUND_CHARS or not text.startswith("{") or not is_complete_reply(finish_reason):
        return None
    try:
        pairs, end = _PAIR_DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    if end < len(text):
        return None
    # Two pairs with two keys: none is repeated.
    members = dict(pairs) if len(pairs) == 2 and all(type(pair) is tuple for pair in pairs) else {}
    value, reason = members.get(_KEYS[scale.name]), members.get("reason")
    if scale.name == "binary":
        value = {"yes": 1, "no": 0}.get(value) if type(value) is str else None
    if type(value) is not int or not 0 <= value <= scale.top or type(reason) is not str:
        return None
    if len(reason) > MAX_REASON:
        return Verdict(value, reason[:MAX_REASON], ("reason_capped",))
    return Verdict(value, reason, () if reason else ("no_reason",))
