"""The questions about a pool, by number: their keys are in memory, and their pairs are read when needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

import numpy as np

from judge.assess.assessor import Assessor, Question
from judge.cache import FileCache
from judge.judgment_log import Places
from judge.records import Pair, Pool

#: Bytes of a key; the store has it in hexadecimal digits.
_KEY_SIZE = 32
#: Questions that are in memory at once.
_BLOCK = 1000
PlacedQuestion = tuple[int, Question]


@dataclass(frozen=True, slots=True)
class VerdictRequest:
    """The first of the questions with one key, and the `others`: one verdict answers them all."""

    place: int
    question: Question
    others: tuple[PlacedQuestion, ...] = ()

    @property
    def questions(self) -> tuple[PlacedQuestion, ...]:
        """All questions with their places."""
        return (self.place, self.question), *self.others


class QuestionPlan:
    """The questions of `assessor` about each pair of `pool` in each of `repeats`.

    The place of a question is its number: those of the first repeat come first, each in pool order. Questions
    with one key are one request.
    """

    def __init__(self, pool: Pool, assessor: Assessor, repeats: int, cache: FileCache | None = None) -> None:
        self._pool = pool
        self._assessor = assessor
        self._repeats = repeats
        self._keys = self._read_keys(cache) if cache and pool.digest else self._make_keys()

    def _read_keys(self, cache: FileCache) -> bytes | bytearray:
        """Return the keys in `cache`; make them where it has none, or others."""
        name = self._assessor.make_cache_key(self._pool, self._repeats)
        with suppress(ValueError):
            cached = b"".join(bytes.fromhex(line.decode()) for line in cache.read(name) or ())
            if len(cached) == _KEY_SIZE * len(self):
                return cached
        keys, size = self._make_keys(), _KEY_SIZE * _BLOCK
        cache.write(name, (f"{keys[at : at + size].hex()}\n" for at in range(0, len(keys), size)))
        return keys

    def _make_keys(self) -> bytes | bytearray:
        keys = [bytearray() for _ in range(self._repeats)]
        for pair in self._pool.pairs:
            questions = self._assessor.make_questions(pair, self._repeats)
            for of_repeat, question in zip(keys, questions, strict=True):
                of_repeat += bytes.fromhex(question.key)
        return keys[0] if self._repeats == 1 else b"".join(keys)

    def _key(self, place: int) -> str:
        return self._keys[_KEY_SIZE * place : _KEY_SIZE * (place + 1)].hex()

    def __len__(self) -> int:
        return self._repeats * len(self._pool.pairs)

    def list_keys(self, places: Places) -> Iterator[str]:
        """Yield the key of each question at `places`."""
        for first in range(0, len(places), _BLOCK):
            for place in places[first : first + _BLOCK].tolist():
                yield self._key(place)

    def read_blocks(self) -> Iterator[list[PlacedQuestion]]:
        """Yield all questions with their places, pair by pair."""
        pairs = enumerate(self._pool.pairs)
        while block := list(islice(pairs, max(1, _BLOCK // self._repeats))):
            yield [
                self._make_question(repeat, index, pair)
                for index, pair in block
                for repeat in range(self._repeats)
            ]

    def select_open(self) -> Places:
        """Return the places of the questions that no rule answers."""
        by_rule = [
            place
            for block in self.read_blocks()
            for place, question in block
            if self._assessor.judge_by_rule(question)
        ]
        return np.delete(np.arange(len(self)), np.array(by_rule, np.int64))

    def select_requests(self, places: Places) -> tuple[Places, dict[int, list[int]]]:
        """Return the first of `places` with each key, and the others with its key; `places` are sorted."""
        # Whole keys are compared only where these parts of them are equal.
        parts = np.frombuffer(self._keys, np.int64)[:: _KEY_SIZE // 8][places]
        order = np.argsort(parts, kind="stable")
        equal = parts[order][1:] == parts[order][:-1]
        alike = np.append(equal, False) | np.append(False, equal) if len(places) else equal
        first_places: dict[str, int] = {}
        others: dict[int, list[int]] = {}
        for place in np.sort(places[order[alike]]).tolist() if equal.any() else ():
            first = first_places.setdefault(self._key(place), place)
            if first != place:
                others.setdefault(first, []).append(place)
        later = [place for of_key in others.values() for place in of_key]
        return np.setdiff1d(places, later, assume_unique=True) if later else places, others

    def read_requests(self, places: Places) -> Iterator[VerdictRequest]:
        """Yield the requests for the questions at the sorted `places`, in this order."""
        firsts, others = self.select_requests(places)
        places_of_others = sorted(place for of_key in others.values() for place in of_key)
        later = dict(self._read(np.array(places_of_others, np.int64)))
        for place, question in self._read(firsts):
            alike = tuple((other, later[other]) for other in others.get(place, ()))
            yield VerdictRequest(place, question, alike)

    def _read(self, places: Places) -> Iterator[PlacedQuestion]:
        """Yield the questions at the sorted `places`; each repeat with one reads the pairs once."""
        count = len(self._pool.pairs)
        for repeat in range(self._repeats):
            start, end = np.searchsorted(places, [repeat * count, (repeat + 1) * count])
            if start == end:
                continue
            is_wanted = np.zeros(count, bool)
            is_wanted[places[start:end] - repeat * count] = True
            for index, (pair, wanted) in enumerate(zip(self._pool.pairs, is_wanted.tobytes(), strict=True)):
                if wanted:
                    yield self._make_question(repeat, index, pair)

    def _make_question(self, repeat: int, index: int, pair: Pair) -> PlacedQuestion:
        place = repeat * len(self._pool.pairs) + index
        version = self._assessor.prompt_version(pair)
        return place, Question(self._key(place), pair, repeat + 1, version)


def list_request_keys(pool: Pool, assessor: Assessor, repeats: int) -> list[str]:
    """Return the key of each request that judging `pool` takes, whether its verdict is stored or not."""
    plan = QuestionPlan(pool, assessor, repeats)
    return list(plan.list_keys(plan.select_requests(plan.select_open())[0]))
