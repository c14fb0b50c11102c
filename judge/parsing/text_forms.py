"""Forms of a text that mean the same in a reply: full-width and Traditional Chinese characters, escapes, and blanks."""

import re
from functools import lru_cache

#: Full-width ASCII to ASCII. The full-width quotes and backslash are left alone: inside a string they are plain text.
_FULLWIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if code not in (0xFF02, 0xFF07, 0xFF3C)}
#: Traditional characters of the words that the package looks for, and the simplified ones of its patterns.
_TRADITIONAL = str.maketrans(
    "丟兩嚴個為義書亂於僅從們價優會體餘關決況準減幾擊則剛別動務醫廠參發變臺號後聽圍圖聲處備複夠頭實審寬對導將盡屬帶幹並廣應廢開棄強當錄徹懷總戶執拋"
    "報換據擺數斷無時顯暫機條來極構標樣檔樓畢沒測瀏滿點猶獻現確碼離種稱筆簽簡類級糾約純納細終紹經結給絕統綜編網聯捨慮雖補見規視覽計訂認讓記許論設訪"
    "證評識詞試話詢該詳語誤誘說請讀調貼資轉輪較輯輸達過運還這進連適選釋裡裏針鐘鏈銷錯鍵長問間閱際陸隨難頁項須顧題餌馬驗驟籤內説爲採佔製鬆係註復",
    "丢两严个为义书乱于仅从们价优会体余关决况准减几击则刚别动务医厂参发变台号后听围图声处备复够头实审宽对导将尽属带干并广应废开弃强当录彻怀总户执抛"
    "报换据摆数断无时显暂机条来极构标样档楼毕没测浏满点犹献现确码离种称笔签简类级纠约纯纳细终绍经结给绝统综编网联舍虑虽补见规视览计订认让记许论设访"
    "证评识词试话询该详语误诱说请读调贴资转轮较辑输达过运还这进连适选释里里针钟链销错键长问间阅际陆随难页项须顾题饵马验骤签内说为采占制松系注复",
)
_FOLDED = _FULLWIDTH | _TRADITIONAL
_ANY_FOLDED = re.compile(f"[\uff01-\uff5e{''.join(map(chr, _TRADITIONAL))}]")
_TAG = re.compile(r"<[^<>\n=]{1,30}>")
_BLANKS = re.compile(r"[^\S\n]{3,}")
_BLANK_LINES = re.compile(r"\n\s+")
#: Lines that repeat the one above them, as of a model that repeats itself up to its limit.
_SAME_LINES = re.compile(r"(?m)^(.+\n)\1+")
_ESCAPE = re.compile(r"(?s)\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}


def flatten(text: str) -> str:
    """Return the text with full-width ASCII as ASCII, and simplified; every character keeps its position."""
    return text.translate(_FOLDED) if _ANY_FOLDED.search(text) else text


# Each check of a text simplifies it.
@lru_cache(maxsize=4)
def simplify_prose(text: str) -> str:
    """Return the text flat and in lower case, without tags, long blanks and lines that repeat the one above them."""
    flat = _BLANK_LINES.sub("\n", _BLANKS.sub(" ", _TAG.sub("\n", flatten(text)))).lower()
    return _SAME_LINES.sub(r"\1", flat)


def unescape(text: str) -> str:
    """Return the text with JSON's backslash escapes resolved; unknown escapes and lone surrogates stay."""
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(
        lambda match: chr(int(match[1][1:], 16)) if len(match[1]) == 5 else _ESCAPED.get(match[1], match[0]),
        text,
    )
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
