"""The table [nightly]: what it may say, and how it is told that it may not."""

import re
from pathlib import Path
from typing import Any

import pytest

from judge.config.nightly import NightlyConfig
from judge.errors import InputError
from tests.support.cases import check_each


def test_what_is_not_said_goes_without_saying() -> None:
    assert NightlyConfig.load({}) == NightlyConfig()
    assert NightlyConfig.load({"measures": ["P@5"], "min_drop": 0.02}) == NightlyConfig(
        measures=("P@5",), min_drop=0.02
    )


@check_each(
    ("table", "expected"),
    [
        ({"min_dorp": 0.1}, "unknown option 'min_dorp'; did you mean 'min_drop'?"),
        ({"alpha": 1.5}, "alpha is 1.5; it must be a share from 0.0001 to 0.5"),
        ({"alpha": 0}, "alpha is 0; it must be a share from 0.0001 to 0.5"),
        ({"canary_alpha": 0.0004}, "canary_alpha is 0.0004; it must be a share from 0.001 to 0.5"),
        ({"min_shared": -0.1}, "min_shared is -0.1; it must be a share from 0 to 1"),
        ({"max_flip_rate": 0.3}, "max_flip_rate is 0.3; it must be a share from 0 to 0.25"),
        ({"alpha": True}, "alpha is true; it must be a share"),
        ({"alpha": float("nan")}, "alpha is nan; it must be a share"),
        ({"min_coverage": "all"}, "min_coverage is 'all'; it must be a share"),
        ({"folder": ""}, "folder is ''; it must be a path in quotes"),
        ({"measures": "AP@10"}, "measures is 'AP@10'; it must be a list"),
        ({"measures": []}, "measures is []; it must be a list"),
        ({"canary_repeats": 1}, "canary_repeats is 1; it must be 2 or more"),
        ({"canary_repeats": 2.5}, "canary_repeats is 2.5; it must be 2 or more"),
        ({"min_shift": -1}, "min_shift is -1; it must be a number of grades"),
        ({"webhook": "https://x"}, "webhook is 'https://x'; it must be a table"),
    ],
)
def test_what_is_wrong_is_named(table: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"judge.toml: [nightly] {expected}")):
        NightlyConfig.load(table, Path("judge.toml"))
