"""Measuring: pure functions over grades, without files, network or clock."""

#: The largest probability of a false alarm of a test.
ALPHA = 0.05
