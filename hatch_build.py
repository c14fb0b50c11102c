"""Compile the message catalogues when the package is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileMessages(BuildHookInterface[Any]):
    """Write judge/messages/*.mo beside their *.po and ship them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile every catalogue; `version` is "standard" or "editable"."""
        for source in sorted(Path(self.root, "judge", "messages").glob("*.po")):
            with source.open("rb") as file:
                catalogue = read_po(file, locale=source.stem, abort_invalid=True)
            with source.with_suffix(".mo").open("wb") as file:
                write_mo(file, catalogue)
        build_data["artifacts"].append("judge/messages/*.mo")
