"""Time reading one text, beside an alternative in the same run: `python -m tests.benchmarks.texts`.

A snippet of 600 characters is cleaned and searched for injection; the alternative searches it for every
pattern. A reply is parsed; the alternatives are the reader for any form of reply, and `json.loads`.
CPU microseconds; the texts are those of `judge demo`.
"""

import json
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

from judge import example
from judge.characters import detect_text_language
from judge.dataset.clean import RawSnippet, clean_snippet
from judge.injection.decoding import fold_lookalikes
from judge.injection.patterns import INJECTION_FORMS
from judge.parsing.any_form import parse_any
from judge.parsing.verdict import parse_verdict
from judge.records import GRADED, Snippet
from tests.support.datasets import read_dataset

LENGTH = 600
REPLY = '{"reason": "The snippet names two signs of anaemia in a puppy and says what to do.", "grade": 2}'


def time_fastest(work: Callable[[str], object], texts: Sequence[str], rounds: int = 7) -> float:
    """Return the CPU microseconds that `work` takes for a text in the fastest round."""
    times = []
    for _ in range(rounds):
        started = time.process_time()
        for text in texts:
            work(text)
        times.append(time.process_time() - started)
    return 1e6 * min(times) / len(texts)


def make_texts(language: str) -> list[str]:
    """Return texts of `LENGTH` characters, made of the snippets of `judge demo` in a language."""
    rankings = read_dataset(example.find_dataset(), lang="auto", max_chars=4000).rankings
    snippets = [snippet.text for ranking in rankings for snippet in ranking.snippets]
    chosen = [text for text in snippets if detect_text_language(text) == language]
    return [(f"{one} {two} " * LENGTH)[:LENGTH] for one, two in pairwise(chosen)]


def clean_text(text: str) -> Snippet:
    return clean_snippet(RawSnippet(text), max_chars=4000, query="anaemia 贫血")


def search_every_pattern(text: str) -> None:
    folded = fold_lookalikes(text).lower()
    for form in INJECTION_FORMS:
        form.pattern.compiled.search(folded)


def main() -> None:
    """Print a line for each kind of text."""
    for language in ("zh", "en"):
        texts = make_texts(language)
        ours = time_fastest(clean_text, texts)
        every = time_fastest(search_every_pattern, texts)
        print(
            f"{language} snippet: cleaned in {ours:.1f} µs, every pattern {every:.1f} µs, ×{every / ours:.1f}"
        )
    replies = [REPLY] * 2_000
    ours, full, plain = (
        time_fastest(work, replies)
        for work in (
            lambda text: parse_verdict(text, GRADED),
            lambda text: parse_any(text, GRADED, "stop"),
            json.loads,
        )
    )
    print(f"reply: parsed in {ours:.1f} µs, by the reader of any form {full:.1f} µs, ×{full / ours:.1f};")
    print(f"       json.loads {plain:.1f} µs, ×{ours / plain:.1f}")


if __name__ == "__main__":
    main()
