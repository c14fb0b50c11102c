"""Owns what tokens cost."""

from __future__ import annotations

from dataclasses import dataclass

from judge.records import Usage


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens: fresh input, input served from the provider's cache, output."""

    input: float
    output: float
    cached: float

    def usd(self, usage: Usage) -> float:
        """What `usage` costs, in US dollars."""
        fresh = usage.prompt_tokens - usage.cached_tokens
        return (
            fresh * self.input + usage.cached_tokens * self.cached + usage.completion_tokens * self.output
        ) / 1e6
