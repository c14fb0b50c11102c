"""Owns judging: asking, reading replies, retrying, remembering."""
