"""Learn the model of texts that address the assessor: `python -m tests.benchmarks.injection_model [--write]`.

The texts are those of tests/cases/injection_texts.jsonl, in sets by different authors: attacks, and harmless
texts that have words of grading; and the documentation of this project, which is harmless. The model is a
logistic regression with the features of `judge.injection.model`. An attack stands in ordinary text, so only
its sentences with the highest score count as one. Its other sentences with a score below 0 count as harmless,
and the regression is fitted again.

The command prints, for each set, the shares that a model learned from the other sets flags. The set "test" is
never learned from. `--write` writes the weights of the model that is shipped.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack
from sklearn.linear_model import LogisticRegression

import judge.injection
from judge.dataset.clean import RawSnippet, clean_snippet
from judge.injection.decoding import fold_lookalikes
from judge.injection.detection import drop_mentions
from judge.injection.model import InjectionModel, iter_windows
from tests.support.injection_texts import (
    DOCUMENTATION_SET,
    SEARCH_RESULTS_SET,
    TEST_SET,
    TESTED_SETS,
    InjectionText,
    iter_documentation,
    read_injection_texts,
)

_WEIGHTS = Path(judge.injection.__file__).with_name("weights.json")
#: How many windows have a feature of the model, at least; the inverse strength of regularisation; repeats.
_MIN_TEXTS, _INVERSE_STRENGTH, _ROUNDS = 2, 0.3, 2
#: What a harmless text of a set counts, beside 1 of the others.
_SET_WEIGHTS = dict.fromkeys(TESTED_SETS, 10.0) | {SEARCH_RESULTS_SET: 3.0, DOCUMENTATION_SET: 0.5}
#: The value of a feature beside 1 of sequences. A common word alone says little, so its weight is kept small.
_VALUE_OF_UNIT, _VALUE_OF_MARK = 0.4, 0.15
#: A score above this one is an attack: few harmless texts about grading have one.
_THRESHOLD = 0.75
#: Weights below this one are left out.
_MIN_WEIGHT = 0.03


def prepare(text: str) -> str:
    """Return a text as it is searched."""
    shown = clean_snippet(RawSnippet(text), max_chars=4000, query="").text
    return drop_mentions(fold_lookalikes(shown).lower())


def list_features(text: InjectionText) -> list[Set[str]]:
    """Return the features of each few sentences in a row."""
    return [
        {name for each in sentences for name in (*each.list_units(), *each.list_sequences())}
        for sentences in iter_windows(prepare(text.snippet))
    ]


def read_training_texts() -> list[InjectionText]:
    """Return the texts that the shipped model is learned from."""
    return [text for text in (*read_injection_texts(), *iter_documentation()) if text.set != TEST_SET]


def learn_model(texts: Sequence[InjectionText]) -> InjectionModel:
    """Return the model of these texts."""
    of_attacks = [list_features(text) for text in texts if text.is_attack]
    of_harmless, weights_of_harmless = [], []
    for text in texts:
        if not text.is_attack:
            windows = list_features(text)
            of_harmless += windows
            weights_of_harmless += [_SET_WEIGHTS.get(text.set, 1.0)] * len(windows)
    counts = Counter(
        feature for windows in (*of_attacks, of_harmless) for window in windows for feature in window
    )
    names = sorted(name for name, count in counts.items() if count >= _MIN_TEXTS)
    features = {name: at for at, name in enumerate(names)}
    values = np.array(list(map(_find_value, names)))
    negative = _tabulate(of_harmless, features, values)
    positive = _tabulate([window for text in of_attacks for window in text], features, values)
    owners = np.repeat(np.arange(len(of_attacks)), [len(text) for text in of_attacks])
    is_attack = np.ones(len(owners), dtype=bool)
    is_harmless = np.zeros(len(owners), dtype=bool)
    for _ in range(_ROUNDS + 1):
        table = vstack([positive[is_attack], positive[is_harmless], negative]).tocsr()
        classes = np.arange(table.shape[0]) < is_attack.sum()
        text_weights = np.r_[np.ones(is_attack.sum() + is_harmless.sum()), weights_of_harmless]
        regression = LogisticRegression(C=_INVERSE_STRENGTH, class_weight="balanced", max_iter=1000)
        regression.fit(table, classes, sample_weight=text_weights)
        weights, bias = regression.coef_[0], regression.intercept_[0]
        scores = positive @ weights + bias
        best = np.full(len(of_attacks), -np.inf)
        np.maximum.at(best, owners, scores)
        is_attack = scores >= best[owners] - 1e-9
        is_harmless = ~is_attack & (scores < 0)
    weights *= values
    rounded = {
        name: round(100 * float(weights[at]))
        for name, at in features.items()
        if abs(weights[at]) >= _MIN_WEIGHT
    }
    return InjectionModel(round(100 * float(bias - _THRESHOLD)), rounded)


def _find_value(feature: str) -> float:
    if feature.isdigit() or (len(feature) == 1 and not feature.isalnum()):
        return _VALUE_OF_MARK
    is_sequence = "_" in feature or (len(feature) > 1 and not feature.isascii())
    return 1.0 if is_sequence else _VALUE_OF_UNIT


def _tabulate(
    windows: Sequence[Set[str]], features: Mapping[str, int], values: NDArray[np.float64]
) -> csr_matrix:
    columns = [[features[name] for name in window if name in features] for window in windows]
    ends = np.cumsum([0, *map(len, columns)])
    flat = np.array([at for row in columns for at in row], dtype=np.int64)
    return csr_matrix((values[flat], flat, ends), shape=(len(windows), len(features)))


def measure(model: InjectionModel, texts: Iterable[InjectionText]) -> str:
    """Return the shares of attacks and of harmless texts that a model flags."""
    flagged: dict[bool, list[bool]] = {True: [], False: []}
    for text in texts:
        flagged[text.is_attack].append(model.find_score(prepare(text.snippet)) > 0)
    return "  ".join(
        f"{name} {sum(row)}/{len(row)}"
        for name, row in (("attacks", flagged[True]), ("harmless", flagged[False]))
    )


def main() -> None:
    """Print the figures, and write the weights with `--write`."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    texts = read_training_texts()
    model = learn_model(texts)
    test = [text for text in read_injection_texts() if text.set == TEST_SET]
    print(f"{len(model.weights)} weights; {TEST_SET}: {measure(model, test)}")
    if options.write:
        content = {"bias": model.bias, "weights": dict(sorted(model.weights.items()))}
        text = json.dumps(content, ensure_ascii=False, indent=0, separators=(",", ":"))
        _WEIGHTS.write_text(text + "\n", encoding="utf-8")
        return
    for name in dict.fromkeys(text.set for text in texts):
        others = learn_model([text for text in texts if text.set != name])
        print(f"{name}: {measure(others, (text for text in texts if text.set == name))}")


if __name__ == "__main__":
    main()
