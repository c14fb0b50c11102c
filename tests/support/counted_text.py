"""Texts that count how often they are compared: a count does not depend on the speed of a machine."""


class CountedText(str):
    """A text; `comparisons` is the number of comparisons of such texts so far, without those of hashes."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        CountedText.comparisons += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def count_comparisons() -> int:
    """Return the number of comparisons since the last call."""
    count, CountedText.comparisons = CountedText.comparisons, 0
    return count
