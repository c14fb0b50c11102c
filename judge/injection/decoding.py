"""Texts in another form: letters that look like Latin ones, and encoded and spaced texts.

Look-alikes are folded to the letters that a reader sees. Of a decoded text only what it says can be
suspicious, not its form.
"""

import base64
import json
import re
import unicodedata
from functools import lru_cache
from urllib.parse import unquote

# Common look-alikes of Latin letters: Cyrillic, Greek, Cherokee (of both cases) and Latin's own.
_CHEROKEE = dict(zip("ᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃᏎ", "ABCDEGHiJKLMPRSTVWZ4", strict=True))
LOOKALIKES = str.maketrans(
    dict(zip("АВЕЅІЈКМНОРСТХУаеорсухѕіјһԁԛԝѵӏкмт", "ABESIJKMHOPCTXYaeopcyxsijhdqwvlkmt", strict=True))
    | dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαονρυικτχεηωγ", "ABEZHIKMNOPTYXaovpuiktxenwy", strict=True))
    | _CHEROKEE
    | {
        chr(ord(letter) - 0x13A0 + 0xAB70): plain.lower()
        for letter, plain in _CHEROKEE.items()
        if ord(letter) < 0x13F0
    }
    | {"ı": "i", "ɡ": "g", "ɑ": "a", "ǀ": "l"}
    # Small capitals, flags, and letters in dark circles and squares, of which NFKC makes no letters.
    | dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘǫʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnopqrstuvwyz", strict=True))
    | {
        chr(first + number): chr(ord("a") + number)
        for first in (0x1F1E6, 0x1F150, 0x1F170)
        for number in range(26)
    }
    # Marks over, under and through a letter that is no other letter with them.
    | dict.fromkeys(map(chr, range(0x300, 0x370)))
)
# The forms of injection have these; NFKC would turn them into ASCII.
CHINESE_MARKS = "，：；！？（）"
# Characters that folding leaves alone, whichever others are around them.
_STABLE = (
    "\x00-\x7f\u2013\u2014\u2018\u2019\u201c\u201d\u3001\u3002\u3008-\u3011\u3400-\u4dbf\u4e00-\u9fff"
    f"{CHINESE_MARKS}\u00a1-\u00a7\u00a9\u00ab-\u00ae\u00b0\u00b1\u00b6\u00b7\u00bb\u00bf-\u00ff\u2022\u2030\u20ac\u30fb"
)
# A run is found faster by its first character.
UNSTABLE = re.compile(f"[^{_STABLE}][^{_STABLE}]*")
#: The shortest run of base64 or hexadecimal that is decoded.
_MIN_ENCODED = 24
# An x for each byte of base64 and a blank for the others, so that runs of them are found fast.
_BASE64 = bytes(ord("x" if re.match(rb"[A-Za-z0-9+/_-]", bytes([byte])) else " ") for byte in range(256))
_ENCODED_RUN, _THREE_PAIRS = b"x" * _MIN_ENCODED, b" xx xx xx "
_ENCODED = re.compile(rf"[A-Za-z0-9+/_-]{{{_MIN_ENCODED},}}")
_HEXADECIMAL = re.compile(r"(?:[0-9A-Fa-f]{2})+")
# A space between two characters, and a run of pairs of digits of hexadecimal.
_SPACE_BETWEEN = re.compile(r"(?<=(?<!\S)\S) (?=\S(?!\S))")
_RUN_OF_PAIRS = re.compile(rf"(?<!\S)(?:[0-9A-Fa-f]{{2}} ){{{_MIN_ENCODED // 2 - 1},}}[0-9A-Fa-f]{{2}}(?!\S)")
# A character again and again between single letters, as in "i.g.n.o.r.e".
_SEPARATORS = "*.#_~|/+·-"
_SEPARATED = re.compile(rf"(?<![^\W_])\S(?=([{_SEPARATORS}]))(?:\1\S)+")
# A digit between letters, which means a letter in leetspeak, and how many of them make a text one.
_LEET = re.compile(r"[013457](?:(?<=[A-Za-z].)(?=[A-Za-z]))")
_MIN_LEET = 2
_LEET_LETTERS = str.maketrans("013457", "oieast")
# Bytes after percent signs, code points in JSON's escapes, and text that is shown from right to left.
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}[\w-]*){3,}")
_ESCAPES = re.compile(r"(?:\\u[0-9A-Fa-f]{4}){3,}")
_OVERRIDE = re.compile("\u202e([^\u202c\n]{4,400})")
_URL_SAFE = str.maketrans("+/", "-_")


def fold_lookalikes(text: str) -> str:
    """Return `text` with compatibility forms (NFKC) and letters that look like Latin ones as those.

    A stable character composes only with unstable ones behind it, so each run of these is folded together
    with the character in front of it. Chinese marks stay as they are.
    """
    if text.isascii():
        return text
    pieces: list[str] = []
    end = 0
    for match in UNSTABLE.finditer(text):
        start = match.start()
        if start > end and text[start - 1] not in CHINESE_MARKS:
            start -= 1
        pieces += text[end:start], _fold_run(text[start : match.end()])
        end = match.end()
    return "".join([*pieces, text[end:]]) if pieces else text


@lru_cache(maxsize=8192)
def _fold_run(run: str) -> str:
    return unicodedata.normalize("NFKC", run).translate(LOOKALIKES)


def _classify(char: str) -> str:
    """Return the class of a character of Latin-1; "?" is what the other ones are encoded as."""
    if char.isalpha() or char == "?":
        return "a"
    if char.isdecimal():
        return "0"
    if char in _SEPARATORS:
        return "."
    return " " if char == " " else "!"


#: The class of each character of a text: a part of these is found faster than a pattern.
_CLASSES = "".join(_classify(chr(code)) for code in range(256)).encode()
_SPACED, _SEPARATED_LETTERS, _DIGIT_IN_WORD = b" a a a a ", b".a.a.a.", b"a0a"


def decode(cleaned: str, raw: str) -> list[str]:
    """Return what a text says where it is encoded or spaced, in lower case."""
    classes, runs = _classify_bytes(cleaned)
    texts = _decode_raw(raw, *(_classify_bytes(raw) if raw != cleaned else (classes, runs)))
    if _ENCODED_RUN in runs:
        texts.append("".join(map(_decode_run, _ENCODED.findall(cleaned))))
    if "%" in cleaned:
        texts += (unquote(run, errors="ignore") for run in _PERCENT.findall(cleaned))
    if "\\" in cleaned:
        texts += (json.loads(f'"{run}"') for run in _ESCAPES.findall(cleaned))
    if _DIGIT_IN_WORD in classes and len(_LEET.findall(cleaned)) >= _MIN_LEET:
        texts.append(cleaned.translate(_LEET_LETTERS))
    if _SEPARATED_LETTERS in classes:
        texts.append(_SEPARATED.sub(lambda match: match[0][::2], cleaned))
    return [text.lower() for text in texts if text]


def _decode_raw(raw: str, classes: bytes, runs: bytes) -> list[str]:
    """Return what a text says where cleaning would join its words, or drop what turns them around."""
    texts = []
    if _SPACED in classes:
        texts.append(" ".join(_SPACE_BETWEEN.sub("", raw).split()))
    if _THREE_PAIRS in runs:
        texts += [_decode_run(run.replace(" ", "")) for run in _RUN_OF_PAIRS.findall(raw)]
    if "\u202e" in raw:
        texts += [span[::-1] for span in _OVERRIDE.findall(raw)]
    return texts


def _classify_bytes(text: str) -> tuple[bytes, bytes]:
    """Return the classes of the characters of a text, and which of them base64 has."""
    encoded = text.encode("latin-1", "replace")
    return encoded.translate(_CLASSES), encoded.translate(_BASE64)


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
