"""Owns the parts that report.html is put together from."""
