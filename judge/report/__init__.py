"""Owns what people open: the run's folder and the words on the terminal."""
