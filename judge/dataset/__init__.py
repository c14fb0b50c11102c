"""Owns what engines returned: reading it, cleaning it, pooling it."""
