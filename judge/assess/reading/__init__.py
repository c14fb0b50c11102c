"""Owns how a reply is taken apart: what is its final answer, its objects, its words and its damage."""
