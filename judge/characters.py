"""Owns what counts as Chinese writing."""

#: The inside of a character class: Han ideographs, extension A, the basic block, the compatibility one
#: and all the later extensions. Escaped, because the compatibility ones don't survive normalisation.
HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
