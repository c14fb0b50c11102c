"""Letters that look like Latin ones, and folding of a text to the letters that a reader sees."""

import re
import unicodedata
from functools import lru_cache

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
