"""The verdict store: the only package with SQL."""
