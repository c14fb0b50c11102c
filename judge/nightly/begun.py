"""Owns a run of a night that was begun before: it goes on as judge.toml and the dataset are now.

What was paid for is in the store under what was asked, so nothing that was asked otherwise is mixed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge import factory
from judge.config.run import Config
from judge.nightly.differences import different
from judge.runs.folder import RunFolder, dump_json


def identity(config: Config) -> Mapping[str, Any]:
    """What a run asks of whom; reads the dataset, so that a bad one costs nothing."""
    assessors = factory.build_assessors(config)
    return factory.open_run_folder(config, factory.read_dataset(config), assessors)[1]


def go_on(folder: RunFolder, who: Mapping[str, Any]) -> None:
    """Makes the run in `folder`, if one was begun there, that of `who`."""
    begun = folder.read_if_there("config.json")
    if begun is not None and begun["identity"] != who:
        folder.write("config.json", [dump_json({**begun, "identity": who}, indent=2), "\n"])


def asked_otherwise(folder: RunFolder, asked: Config) -> list[str]:
    """The options that are other ones than when the run in `folder` was made."""
    then = (folder.read_if_there("config.json") or {"identity": {}})["identity"]
    # What the identity says of prompts is what is in them, the option is where they are.
    return list(different(then, asked.options(), free={"prompts"}))
