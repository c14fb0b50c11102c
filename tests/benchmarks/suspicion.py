"""Count attacks that are flagged, and harmless snippets: `python -m tests.benchmarks.suspicion`.

Patterns were fitted on the attacks with odd numbers alone; the even ones are held out. Attacks that are
flagged are counted in other forms, too, such as base64.
"""

import base64
import unicodedata
from collections.abc import Callable, Iterable, Mapping

from judge.dataset import clean
from judge.injection.patterns import INJECTION_FLAGS
from tests.support import hostile_text

_SMALL_CAPITALS = {
    ord(letter): unicodedata.lookup(f"LATIN LETTER SMALL CAPITAL {letter.upper()}")
    for letter in "abcdefghijklmnoprtuvwyz"
}
#: The other forms of a text.
FORMS: Mapping[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64url": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "hexadecimal": lambda text: text.encode().hex(),
    "pairs": lambda text: text.encode().hex(" "),
    "spaced": lambda text: "  ".join(" ".join(word) for word in text.split()),
    "small capitals": lambda text: text.lower().translate(_SMALL_CAPITALS),
    "percent signs": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "dotted": lambda text: " ".join(".".join(word) for word in text.split()),
    "struck out": lambda text: "".join(f"{char}\u0336" if char.isascii() else char for char in text),
}


def is_flagged(case: Mapping[str, str]) -> bool:
    """Whether something suspicious is noticed about a case."""
    shown = clean.clean_snippet(clean.RawSnippet(case["snippet"]), max_chars=4000, query=case["query"])
    return not INJECTION_FLAGS.isdisjoint(shown.flags)


def count_flagged(cases: Iterable[Mapping[str, str]]) -> tuple[int, int]:
    """How many of the cases are flagged, of how many."""
    result = [is_flagged(case) for case in cases]
    return sum(result), len(result)


def count_flagged_in_form(form: str, *, attacks: bool) -> tuple[int, int]:
    """How many of the flagged attacks, or of the controls, are flagged in a form, of how many."""
    cases = (
        [case for case in hostile_text.read_attacks() if case["type"] != "stuffing" and is_flagged(case)]
        if attacks
        else hostile_text.read_cases("control")
    )
    return count_flagged(
        {"query": "", "snippet": f"Scarves on sale. {FORMS[form](case['snippet'])}"} for case in cases
    )


def main() -> None:
    """Prints a line a type, and a line a form."""
    for kind in dict.fromkeys(case["type"] for case in hostile_text.read_cases()):
        cases = hostile_text.read_cases(kind)
        seen = count_flagged(case for case in cases if not hostile_text.is_held_out(case))
        held_out = count_flagged(case for case in cases if hostile_text.is_held_out(case))
        print(f"{kind:16} fitted {seen[0]}/{seen[1]}  held out {held_out[0]}/{held_out[1]}")
    for form in FORMS:
        attacks, controls = (count_flagged_in_form(form, attacks=each) for each in (True, False))
        print(f"{form:16} attacks {attacks[0]}/{attacks[1]}  controls {controls[0]}/{controls[1]}")


if __name__ == "__main__":
    main()
