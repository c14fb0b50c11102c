"""Every spelling of a key is masked, and nothing else is."""

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import NoResponse
from judge.models.chat_messages import parse_response, read_chat_completion
from judge.models.error_mapping import ErrorResponse
from judge.models.redaction import MIN_SECRET_LENGTH, find_secrets, mask, redact
from judge.models.server import find_proxy_secrets
from tests.support.cases import check_each

KEY = "kä/9e41+not.like=a~key&<\"\\'"
SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "percent": lambda key: quote(key, safe=""),
    "percent, slashes kept": quote,
    "percent, lower case": lambda key: re.sub("%..", lambda result: result[0].lower(), quote(key, safe="")),
    "form": quote_plus,
    "every byte as percent": lambda key: "".join(f"%{byte:02X}" for byte in key.encode()),
    "HTML": html.escape,
    "decimal entities": lambda key: "".join(f"&#{ord(char)};" for char in key),
    "hexadecimal entities": lambda key: "".join(f"&#x{ord(char):04X};" for char in key),
    "named entities": lambda key: key.replace("&", "&amp;").replace("<", "&lt;").replace("/", "&sol;"),
    "JSON": lambda key: json.dumps(key)[1:-1],
    "JSON beyond ASCII": lambda key: json.dumps(key, ensure_ascii=False)[1:-1],
    "JSON in JSON": lambda key: json.dumps(json.dumps(json.dumps(key)[1:-1].replace("/", "\\/"))[1:-1])[1:-1],
    "JSON of PHP": lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
    "every character as an escape": lambda key: "".join(f"\\u{ord(char):04x}" for char in key),
    "hexadecimal": lambda key: key.encode().hex(),
    "mixed": lambda key: "".join(
        quote(char, safe="") if at % 2 else f"&#{ord(char)};" for at, char in enumerate(key)
    ),
}


@check_each("key", [KEY, "Canary_9e41-not-like-a-key"])
@check_each("spell", SPELLINGS.values())
def test_a_key_is_masked_in_every_spelling(spell: Callable[[str], str], key: str) -> None:
    assert redact(f"before {spell(key)} behind {spell(key)}", "other-secret", key) == "before *** behind ***"


@given(st.binary(max_size=12), st.binary(max_size=12), st.booleans())
def test_a_key_is_masked_in_base64_wherever_it_begins(before: bytes, behind: bytes, url_safe: bool) -> None:
    encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
    text = encode(before + b"canary-9e41-not-like" + behind).decode()
    masked = redact(text, "canary-9e41-not-like")
    assert "***" in masked
    rest = masked.replace("***", "")
    assert len(rest) <= len(text) - len("canary-9e41-not-like") * 4 // 3 + 3


@given(st.text(max_size=60))
def test_a_text_without_the_key_stays_as_it_is(text: str) -> None:
    assert redact(text, KEY, "canary-9e41-not-like") == text


@check_each("key", ["", "x", "none", "EMPTY", "a" * (MIN_SECRET_LENGTH - 1)])
def test_a_short_key_damages_no_reason(key: str) -> None:
    reason = f"The snippet is x-rated, none of it is EMPTY, {'a' * 20}"
    assert redact(reason, key) == reason
    assert redact(f"{key} and {KEY}", key, KEY) == f"{key} and ***"


@check_each("spell", SPELLINGS.values())
def test_the_shortest_key_that_is_masked_is_masked_in_a_text_of_nothing_else(
    spell: Callable[[str], str],
) -> None:
    key = "a1b2c3d4"
    assert len(key) == MIN_SECRET_LENGTH
    assert redact(spell(key), key) == "***"


def test_of_two_keys_that_begin_alike_nothing_is_left() -> None:
    assert redact("canary-1-more canary-1", "canary-1", "canary-1-more") == "*** ***"


def test_errors_lose_what_is_shaped_like_a_key_and_reasons_do_not() -> None:
    text = "api_key=0123456789 and sk-0123456789"
    assert mask(text) == "api_key=*** and ***"
    assert redact(text, KEY) == text


def test_secrets_are_named_so() -> None:
    named = {"OPENAI_API_KEY": " k1 ", "X_TOKEN": "k2", "A_SECRET": "k3", "PASSWORD": "k4", "EMPTY_KEY": ""}
    assert find_secrets({**named, "KEYBOARD": "de", "PATH": "/bin"}) == ("k1", "k2", "k3", "k4")


def test_an_answer_is_masked_before_it_is_read_or_cut() -> None:
    output = {"choices": [{"message": {"content": f"it is {KEY}"}}], "model": KEY, "id": KEY}
    answer = parse_response(200, json.dumps(output).encode(), {}, KEY)
    assert not isinstance(answer, ErrorResponse)
    completion = read_chat_completion(answer, {}, [KEY])
    assert (completion.text, completion.model, completion.request_id) == ("it is ***", "***", "***")
    fault = parse_response(500, f"<html>{'x' * 4990}{html.escape(KEY)}</html>".encode(), {}, KEY)
    assert isinstance(fault, ErrorResponse)
    assert fault.message.split()[-1] == "x" * 4990 + "***"


@check_each("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_response_in_another_encoding_is_masked(encoding: str) -> None:
    for text in ('{"error": {"message": "§"}}', "<html>§</html>", "§"):
        fault = parse_response(401, text.replace("§", KEY).encode(encoding), {}, KEY)
        assert isinstance(fault, ErrorResponse)
        assert fault.message.strip() == "***"
    with pytest.raises(NoResponse, match=r"no whole JSON object: '\*\*\*'$"):
        parse_response(200, KEY.encode(encoding), {}, KEY)


def test_a_completion_of_a_library_is_masked() -> None:
    choices = [{"message": {"content": [{"type": "text", "text": KEY}]}, "finish_reason": "stop"}]
    result = read_chat_completion({"choices": choices, "model": KEY, "id": KEY}, {}, [KEY])
    assert (result.text, result.model, result.request_id) == ("***", "***", "***")


def test_the_password_of_a_proxy_is_a_secret_as_it_is_named_and_as_it_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://ann:p%40ssw0rd-long@proxy.example:3128")
    monkeypatch.delenv("https_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    secrets = find_proxy_secrets("https://model.example/v1")
    assert secrets == ("p@ssw0rd-long", "ann:p@ssw0rd-long")
    sent = base64.b64encode(b"ann:p@ssw0rd-long").decode()
    assert "ann" not in redact(f"Basic {sent}", *secrets).replace("Basic", "")
    assert redact("http://ann:p%40ssw0rd-long@proxy.example", *secrets) == "http://***@proxy.example"
    assert find_proxy_secrets("http://127.0.0.1/v1") == ()
