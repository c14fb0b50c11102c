"""Prices of models, from the shipped table, a file or an option."""
