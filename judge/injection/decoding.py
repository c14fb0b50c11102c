"""What encoded, reversed and spaced texts say: only that can be suspicious, not their form."""

import base64
import codecs
import json
import re
from collections.abc import Collection, Iterable
from urllib.parse import unquote

#: Stand for ROT13, and for a text written from its end to its beginning, among what a text may be.
ROT13, REVERSED = "rot13", "reversed"
#: The shortest run of base64 or hexadecimal that is decoded.
_MIN_ENCODED = 24
# An x for each byte of base64 and a blank for the others, so that a run is found fast.
_BASE64 = bytes(ord("x" if re.match(rb"[A-Za-z0-9+/_-]", bytes([byte])) else " ") for byte in range(256))
_ENCODED_RUN = b"x" * _MIN_ENCODED
_ENCODED = re.compile(rf"[A-Za-z0-9+/_-]{{{_MIN_ENCODED},}}")
_HEXADECIMAL = re.compile(r"(?:[0-9A-Fa-f]{2})+")
# Three pairs of digits of hexadecimal, which begin with a plain character and so are found fast; a space
# between two characters, and a run of pairs.
_PAIRS = re.compile(r" [0-9A-Fa-f]{2} [0-9A-Fa-f]{2} [0-9A-Fa-f]{2} ")
_SPACE_BETWEEN = re.compile(r"(?<=(?<!\S)\S) (?=\S(?!\S))")
_RUN_OF_PAIRS = re.compile(rf"(?<!\S)(?:[0-9A-Fa-f]{{2}} ){{{_MIN_ENCODED // 2 - 1},}}[0-9A-Fa-f]{{2}}(?!\S)")
# A character again and again between single letters, as in "i.g.n.o.r.e".
_SEPARATORS = "*.#_~|/+·-"
_SEPARATED = re.compile(rf"(?<![^\W_])\S(?=([{_SEPARATORS}]))(?:\1\S)+")
# A digit between letters, which stands for a letter in leetspeak, and how many of them make a text one.
_LEET = re.compile(r"[013457](?:(?<=[A-Za-z].)(?=[A-Za-z]))")
_MIN_LEET = 2
_LEET_LETTERS = str.maketrans("013457", "oieast")
# Bytes after percent signs, code points in JSON's escapes, and text that is shown from right to left.
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}[\w-]*){3,}")
_ESCAPES = re.compile(r"(?:\\u[0-9A-Fa-f]{4}){3,}")
_OVERRIDE = re.compile("\u202e([^\u202c\n]{4,400})")
_URL_SAFE = str.maketrans("+/", "-_")


def _classify(char: str) -> str:
    """Return the class of a character of Latin-1; "?" is what the other ones are encoded as."""
    if char.isalpha() or char == "?":
        return "a"
    if char.isdecimal():
        return "0"
    if char in _SEPARATORS:
        return "."
    return " " if char == " " else "!"


#: The shape of a text has the class of each of its characters: a part of it is found faster than a pattern.
_CLASSES = "".join(_classify(chr(code)) for code in range(256)).encode()
_SPACED, _SEPARATED_LETTERS, _LETTER_AND_DIGIT = b" a a a a ", b".a.a.a.", b"a0"


def decode(cleaned: str, raw: str, forms: Collection[str]) -> list[str]:
    """Return what a text says where it is encoded, reversed or spaced, in lower case.

    It is read as ROT13 and from its end only when `forms` has `ROT13` and `REVERSED`.
    """
    shape = _make_shape(cleaned)
    raw_shape = shape if raw == cleaned else _make_shape(raw)
    texts = [*_decode_characters(cleaned, shape), *_decode_spaced(cleaned, shape, raw, raw_shape)]
    if ROT13 in forms:
        texts.append(codecs.encode(cleaned, "rot13"))
    if REVERSED in forms:
        texts.append(cleaned[::-1])
    if "\u202e" in raw:
        texts += [span[::-1] for span in _OVERRIDE.findall(raw)]
    return [text.lower() for text in texts if text]


def _make_shape(text: str) -> bytes:
    return text.encode("latin-1", "replace").translate(_CLASSES)


def _decode_characters(cleaned: str, shape: bytes) -> Iterable[str]:
    """Yield what bytes or code points in digits and letters spell."""
    if _ENCODED_RUN in cleaned.encode("ascii", "replace").translate(_BASE64):
        yield "".join(map(_decode_run, _ENCODED.findall(cleaned)))
    if "%" in cleaned:
        yield from (unquote(run, errors="ignore") for run in _PERCENT.findall(cleaned))
    if "\\u" in cleaned:
        yield from (json.loads(f'"{run}"') for run in _ESCAPES.findall(cleaned))
    if shape.count(_LETTER_AND_DIGIT) >= _MIN_LEET and len(_LEET.findall(cleaned)) >= _MIN_LEET:
        yield cleaned.translate(_LEET_LETTERS)


def _decode_spaced(cleaned: str, shape: bytes, raw: str, raw_shape: bytes) -> Iterable[str]:
    """Yield a text without what stands between its characters."""
    if _SEPARATED_LETTERS in shape:
        yield _SEPARATED.sub(lambda match: match[0][::2], cleaned)
    if _SPACED in raw_shape:
        # More spaces separate words, and cleaning makes one of them.
        yield " ".join(_SPACE_BETWEEN.sub("", raw).split())
    if _PAIRS.search(raw):
        yield from (_decode_run(run.replace(" ", "")) for run in _RUN_OF_PAIRS.findall(raw))


def _decode_run(run: str) -> str:
    """Return the text of a run in hexadecimal or base64; bytes that are not UTF-8 are left out."""
    if _HEXADECIMAL.fullmatch(run):
        return bytes.fromhex(run).decode("utf-8", "ignore")
    texts = []
    # The characters before the base64, such as a path, can be a part of the run: its groups of four shift.
    for start in range(4):
        groups = run[start:].translate(_URL_SAFE)
        # One character more than whole groups of four holds no byte.
        whole = groups[: len(groups) - (len(groups) % 4 == 1)]
        data = base64.urlsafe_b64decode(whole + "=" * (-len(whole) % 4))
        texts.append(data.decode("utf-8", "ignore"))
    return "\n".join(texts)
