"""Owns what counts as Chinese writing."""

#: The inside of a character class: Han ideographs, extension A, the basic block and the compatibility one.
HAN = "㐀-䶿一-鿿豈-﫿"
