"""Dimensions beside relevance, and analyses of a finished run that are measured on its verdicts."""
