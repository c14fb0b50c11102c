"""Owns measuring: pure functions over grades; no file, no network, no clock."""
