"""Han characters, control characters for a terminal, and the approximate number of tokens of a text."""

from __future__ import annotations

import re

#: Han ideographs for a regular expression class: extension A, the basic block, the compatibility block and
#: all later extensions. Escaped, because normalisation replaces the compatibility characters.
HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"


_HAN = re.compile(f"[{HAN}]+")
# Fitted to the tokenizer of Qwen over prompts with 600 Chinese and 600 English web snippets. With the tokens
# that an estimate adds for the chat, the error for the shipped prompts is below 1.5 % in the sum of either
# language, and below 5 % for most single prompts.
_PER_HAN, _PER_OTHER, _PER_DIGIT, _PER_ASCII = 0.75, 0.64, 0.9, 0.235


def estimate_tokens(text: str) -> float:
    """Return the approximate number of tokens of `text`, not rounded.

    Chinese characters, other characters beyond ASCII, digits, and the rest of ASCII each have a rate.
    """
    han = 0 if text.isascii() else sum(map(len, _HAN.findall(text)))
    in_ascii = text.encode("ascii", "ignore")
    ascii_ = len(in_ascii)
    digits = ascii_ - len(in_ascii.translate(None, b"0123456789"))
    others = len(text) - han - ascii_
    return han * _PER_HAN + others * _PER_OTHER + digits * _PER_DIGIT + (ascii_ - digits) * _PER_ASCII


def escape_controls(text: str) -> str:
    """Return `text` for a terminal, with control and invisible characters as escape sequences."""
    return "".join(char if char == "\n" or char.isprintable() else f"\\x{ord(char):02x}" for char in text)
