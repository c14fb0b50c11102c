"""Collecting: query search engines, keep each raw answer, and derive a dataset from the answers."""
