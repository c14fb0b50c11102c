"""Measuring: pure functions over grades, without files, network or clock."""
