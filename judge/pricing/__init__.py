"""Prices of tokens, and what calls cost."""
