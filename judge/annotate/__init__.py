"""A small local page where a person labels pairs without seeing what the model said."""
