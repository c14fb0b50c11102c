"""Parsing of replies: the final answer, its objects, its labelled lines and the text around them."""
