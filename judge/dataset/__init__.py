"""Datasets: reading, cleaning and pooling the results of engines."""
