"""Owns what engines return: asking their APIs politely, keeping each raw answer, making a dataset of them."""
