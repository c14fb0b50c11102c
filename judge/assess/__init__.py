"""Judging of pairs: prompts, assessor, the run over a pool, the estimate before it."""
