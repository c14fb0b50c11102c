"""What a million tokens cost: tables of dated rows, the shipped one and people's own."""

import tomllib
from datetime import date
from typing import Any

import pytest

from judge.errors import InputError
from judge.pricing.costs import sum_cost
from judge.pricing.prices import SHIPPED_PRICES, Price, PriceRow, find_common_price, find_price, read_prices
from judge.records import ANSWERED, Call, Usage
from tests.support.cases import check_each

ROW: dict[str, Any] = {"models": ["qwen-plus"], "input": 0.4, "output": 1.2, "as_of": date(2026, 7, 2)}
INTL = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"


def test_cached_input_has_its_own_price() -> None:
    price = Price(input=2.0, output=10.0, cached=0.5)
    usage = Usage(prompt_tokens=1000, cached_tokens=400, completion_tokens=100)
    # 600 fresh at 2 + 400 cached at 0.5 + 100 out at 10, per million
    assert price.compute_usd(usage) == pytest.approx(0.0024)


def test_more_cached_tokens_than_tokens_earn_no_money() -> None:
    usage = Usage(prompt_tokens=100, cached_tokens=400, completion_tokens=10)
    # no fresh ones, 400 cached at 0.5, 10 out at 10, per million
    assert Price(input=2.0, output=10.0, cached=0.5).compute_usd(usage) == pytest.approx(0.0003)


def test_a_request_in_a_batch_costs_a_share_of_the_price() -> None:
    usage = Usage(prompt_tokens=1000, completion_tokens=100)
    assert Price(input=2.0, output=10.0, cached=0.5).compute_usd(usage, in_batch=True) == pytest.approx(
        0.0015
    )
    [half], [third] = (read_prices([{**ROW, **more}], "p.toml") for more in ({}, {"batch": 0.3}))
    assert (half.price.batch_share, third.price.batch_share) == (0.5, 0.3)
    calls = [Call(ANSWERED, usage), Call(ANSWERED, usage, in_batch=True), Call("server_error", in_batch=True)]
    # 0.4 a million in and 1.2 out: $0.00052 in realtime
    assert sum_cost(calls, half.price).usd == pytest.approx(0.00078)
    assert sum_cost(calls, third.price).usd == pytest.approx(0.000676)


@check_each(
    ("models", "endpoint", "model", "address", "fits"),
    [
        (["qwen-plus"], "*", "openai:qwen-plus", INTL, True),
        (["qwen-plus"], "*", "openai:qwen-plus-2025-07-28", INTL, False),
        (["qwen-plus*"], "*", "dashscope:qwen-plus-2025-07-28", INTL, True),
        (["gpt-?", "qwen-plus"], "*", "langchain:openai:qwen-plus", INTL, True),
        (["qwen3:8b"], "*", "openai:qwen3:8b", "http://localhost:11434/v1", True),
        (["qwen-plus"], "dashscope-intl.aliyuncs.com", "openai:qwen-plus", INTL, True),
        (["qwen-plus"], "dashscope.aliyuncs.com", "openai:qwen-plus", INTL, False),
        (["qwen-plus"], "*.aliyuncs.com", "openai:qwen-plus", "https://aliyuncs.com.evil.example/v1", False),
        (["qwen-plus"], "api.openai.com", "langchain:tongyi:qwen-plus", "", False),
        (["qwen-plus"], "*", "langchain:tongyi:qwen-plus", "", True),
    ],
)
def test_a_row_is_for_its_models_at_its_servers(
    models: list[str], endpoint: str, model: str, address: str, *, fits: bool
) -> None:
    row = PriceRow(models=tuple(models), endpoint=endpoint, input=1.0, output=1.0, as_of=date(2026, 11, 1))
    assert row.matches(model, address) == fits


def test_the_first_row_that_fits_gives_the_price_with_its_day_and_source() -> None:
    dear = {**ROW, "endpoint": "dashscope-*", "input": 9, "source": "https://prices.example", "cached": 0.1}
    rows = read_prices([dear, ROW], "mine.toml")
    assert find_price(rows, "openai:qwen-plus", INTL) == Price(
        9, 1.2, 0.1, "2026-07-02", "https://prices.example"
    )
    assert find_price(rows, "openai:qwen-plus", "http://vllm:8000/v1") == Price(
        0.4, 1.2, 0.4, "2026-07-02", "mine.toml"
    )
    assert find_price(rows, "openai:other", INTL) is None


@check_each(
    ("wrong", "named"),
    [
        ({"models": "qwen-plus"}, "models is 'qwen-plus'"),
        ({"models": []}, "models is []"),
        ({"input": "0.4"}, "input is '0.4'"),
        ({"input": None}, "input is None"),
        ({"output": -1}, "output is -1"),
        ({"output": float("nan")}, "output is nan"),
        ({"cached": True}, "cached is true"),
        ({"as_of": "2026-07-02"}, "as_of is '2026-07-02'"),
        ({"as_of": None}, "as_of is None"),
        ({"endpoint": 1}, "endpoint is 1"),
        ({"source": 1}, "source is 1"),
        ({"imput": 1}, "unknown option 'imput'; did you mean 'input'?"),
        ({"currency": "CNY"}, "unknown option 'currency'"),
    ],
)
def test_a_bad_row_is_named_with_its_field(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError) as refused:
        read_prices([ROW, {**ROW, **wrong}], "mine.toml")
    assert str(refused.value).startswith("mine.toml: [[prices]] row 2 (USD): ")
    assert named in str(refused.value)


def test_every_shipped_row_has_a_day_and_a_source_and_hides_no_other() -> None:
    table = tomllib.loads(SHIPPED_PRICES.read_text(encoding="utf-8"))["prices"]
    rows = read_prices(table, SHIPPED_PRICES.name)
    assert all(row.price.source.startswith("https://") and row.endpoint != "*" for row in rows)
    for row in rows:
        assert row.price.as_of is not None
        assert date(2025, 1, 1) < date.fromisoformat(row.price.as_of)
        assert 0 <= row.price.cached <= row.price.input <= row.price.output
        for name in row.models:
            server = f"https://{row.endpoint}/v1"
            assert find_price(rows, f"openai:{name.replace('?', '0')}", server) is row.price


def test_a_panel_has_a_price_where_its_members_share_one() -> None:
    assert find_common_price([Price(1, 2, 1), Price(1, 2, 1)]) == Price(1, 2, 1)
    assert find_common_price([Price(1, 2, 1), Price(1, 3, 1)]) is None
    assert find_common_price([None, None]) is None
