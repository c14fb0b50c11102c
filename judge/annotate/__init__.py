"""A small local page where a person labels pairs without seeing the grades of the model."""
