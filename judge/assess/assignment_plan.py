"""The assignments of an assessor, by number: an assignment is one pair in one repeat.

Their keys are in memory, and their pairs are read when needed.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice

import msgspec
import numpy as np

from judge.assess.assessor import Assessor, Assignment
from judge.files.cache import FileCache
from judge.files.judgment_log import Indices
from judge.models.providers import ModelResult
from judge.records import Judgment, Pair
from judge.store.store import VerdictStore

#: Bytes of a key; the store has it in hexadecimal digits.
_KEY_SIZE = 32
#: Assignments that are in memory at once.
_BLOCK = 1000


class VerdictRequest(msgspec.Struct, frozen=True):
    """The `assignments` with one key, which one verdict answers.

    `batch_reply` is the reply to the first of them in a batch that has ended.
    """

    assignments: tuple[Assignment, ...]
    batch_reply: ModelResult | None = None

    @property
    def assignment(self) -> Assignment:
        """The first of the assignments, whose pair the model is asked about."""
        return self.assignments[0]


@dataclass(frozen=True, slots=True)
class AssignmentBlock:
    """Some assignments: by index the judgments that follow from a rule, and those for the model."""

    by_rule: dict[int, Judgment]
    for_model: list[Assignment]


class AssignmentPlan:
    """The assignments of `assessor`: each of `pairs` in each of `repeats`.

    The index of an assignment is its number: those of the first repeat come first, in the order of the pairs.
    Assignments with one key are one request. The keys are in `cache` if the pool of the pairs has a cache
    key, `pool_key`.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        assessor: Assessor,
        repeats: int,
        cache: FileCache | None = None,
        pool_key: str = "",
    ) -> None:
        self._pairs = pairs
        self.assessor = assessor
        self.repeats = repeats
        self._keys = self._load_keys(cache, pool_key) if cache and pool_key else self._make_keys()

    def _load_keys(self, cache: FileCache, pool_key: str) -> bytes | bytearray:
        """Return the keys in `cache`; where it has none, or those of other pairs, make and write them."""
        name = self.assessor.make_cache_key(pool_key, self.repeats)
        with suppress(ValueError):
            cached = bytearray()
            for line in cache.read(name) or ():
                cached += bytes.fromhex(line.decode())
            if len(cached) == _KEY_SIZE * len(self):
                return cached
        keys, size = self._make_keys(), _KEY_SIZE * _BLOCK
        cache.write(name, (f"{keys[at : at + size].hex()}\n" for at in range(0, len(keys), size)))
        return keys

    def _make_keys(self) -> bytes | bytearray:
        keys = [bytearray() for _ in range(self.repeats)]
        for pair in self._pairs:
            for of_repeat, key in zip(keys, self.assessor.make_keys(pair, self.repeats), strict=True):
                of_repeat += key
        return keys[0] if self.repeats == 1 else b"".join(keys)

    def _get_key(self, index: int) -> str:
        return self._keys[_KEY_SIZE * index : _KEY_SIZE * (index + 1)].hex()

    def __len__(self) -> int:
        return self.repeats * len(self._pairs)

    def iter_keys(self, indices: Indices) -> Iterator[str]:
        """Yield the key of each assignment at `indices`."""
        for first in range(0, len(indices), _BLOCK):
            for index in indices[first : first + _BLOCK].tolist():
                yield self._get_key(index)

    def iter_distinct_keys(self, indices: Indices) -> Iterator[str]:
        """Yield the keys of the assignments at the sorted `indices`, each once."""
        return self.iter_keys(self.select_requests(indices)[0])

    def read_blocks(self) -> Iterator[AssignmentBlock]:
        """Yield all assignments, pair by pair, about a thousand at a time."""
        pairs = enumerate(self._pairs)
        while some := list(islice(pairs, max(1, _BLOCK // self.repeats))):
            block = AssignmentBlock({}, [])
            for number, pair in some:
                for repeat in range(self.repeats):
                    assignment = self._make_assignment(repeat, number, pair)
                    if judgment := self.assessor.judge_by_rule(assignment):
                        block.by_rule[assignment.index] = judgment
                    else:
                        block.for_model.append(assignment)
            yield block

    def find_known_judgments(self, store: VerdictStore) -> Iterator[dict[int, Judgment]]:
        """Yield the judgments that need no call, by index, some at a time: by a rule, or by the store."""
        for block in self.read_blocks():
            answers = store.find_answers(assignment.key for assignment in block.for_model)
            yield block.by_rule | {
                assignment.index: self.assessor.make_judgment(assignment, answer)
                for assignment in block.for_model
                if (answer := answers.get(assignment.key))
            }

    def find_missing(self, store: VerdictStore | None = None) -> Indices:
        """Return the indices of the assignments that neither a rule nor the `store` answers."""
        missing: list[int] = []
        for block in self.read_blocks():
            answers = store.find_answers(assignment.key for assignment in block.for_model) if store else {}
            missing += [assignment.index for assignment in block.for_model if assignment.key not in answers]
        return np.array(sorted(missing), np.int64)

    def select_requests(self, indices: Indices) -> tuple[Indices, dict[int, list[int]]]:
        """Return the first of `indices` with each key, and the others with its key; `indices` are sorted."""
        # Whole keys are compared only where these parts of them are equal.
        parts = np.frombuffer(self._keys, np.int64)[:: _KEY_SIZE // 8][indices]
        in_order = np.sort(parts)
        repeated = in_order[1:][in_order[1:] == in_order[:-1]]
        first_indices: dict[str, int] = {}
        others: dict[int, list[int]] = {}
        for index in indices[np.isin(parts, repeated)].tolist():
            first = first_indices.setdefault(self._get_key(index), index)
            if first != index:
                others.setdefault(first, []).append(index)
        later = list(chain.from_iterable(others.values()))
        return np.setdiff1d(indices, later, assume_unique=True) if later else indices, others

    def read_requests(self, indices: Indices) -> Iterator[VerdictRequest]:
        """Yield the requests for the assignments at the sorted `indices`, in this order."""
        firsts, others = self.select_requests(indices)
        indices_of_others = np.array(sorted(chain.from_iterable(others.values())), np.int64)
        later = {assignment.index: assignment for assignment in self._read_assignments(indices_of_others)}
        for assignment in self._read_assignments(firsts):
            same_key = (later[index] for index in others.get(assignment.index, ()))
            yield VerdictRequest((assignment, *same_key))

    def _read_assignments(self, indices: Indices) -> Iterator[Assignment]:
        """Yield the assignments at the sorted `indices`; each repeat with one reads the pairs once."""
        count = len(self._pairs)
        for repeat in range(self.repeats):
            start, end = np.searchsorted(indices, [repeat * count, (repeat + 1) * count])
            if start == end:
                continue
            is_wanted = np.zeros(count, bool)
            is_wanted[indices[start:end] - repeat * count] = True
            for number, (pair, wanted) in enumerate(zip(self._pairs, is_wanted.tobytes(), strict=True)):
                if wanted:
                    yield self._make_assignment(repeat, number, pair)

    def _make_assignment(self, repeat: int, number: int, pair: Pair) -> Assignment:
        index = repeat * len(self._pairs) + number
        return Assignment(index, self._get_key(index), pair, repeat + 1)


def list_request_keys(pairs: Sequence[Pair], assessor: Assessor, repeats: int) -> list[str]:
    """Return the key of each request that judging `pairs` takes, whether its verdict is stored or not."""
    plan = AssignmentPlan(pairs, assessor, repeats)
    return list(plan.iter_distinct_keys(plan.find_missing()))
