"""Who grades its own house is told by names, not by the wire that is spoken."""

from __future__ import annotations

import pytest

from judge.measure.kinship import Kin, house, kin


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("qwen2.5-72b-instruct", "Alibaba"),
        ("QwQ-32B", "Alibaba"),
        ("gpt-4o", "OpenAI"),
        ("meta-llama/Llama-3.1-8B", "Meta"),
        ("google_serper", "Google"),
        ("百度搜索", "Baidu"),
        ("brave", None),
        ("searxng", None),
        ("metasearch", None),
        ("metaphor", None),
        ("BaiduSearch", "Baidu"),
        ("google-cse", "Google"),
        ("lexical", None),
        ("", None),
    ],
)
def test_a_name_tells_the_house(name: str, expected: str | None) -> None:
    assert house(name) == expected


def test_the_wire_is_not_the_house() -> None:
    assert kin(["openai:qwen-plus/graded"], ["openai-search", "aliyun_iqs"]) == (
        Kin("openai:qwen-plus/graded", "aliyun_iqs", "Alibaba"),
    )
    assert kin(["langchain:tongyi:deepseek-v3/binary"], ["quark"]) == ()
    assert kin(["openai:Qwen/Qwen2.5-7B/graded"], ["quark"]) == (
        Kin("openai:Qwen/Qwen2.5-7B/graded", "quark", "Alibaba"),
    )


def test_the_server_is_not_the_house() -> None:
    assert kin(["openai:m/graded at https://dashscope.aliyuncs.com/v1"], ["quark"]) == ()


def test_members_of_one_house_are_no_second_opinion() -> None:
    found = kin(["dashscope:qwen-plus/graded", "openai:gpt-5/graded", "openai:qwen-max/graded"], ["brave"])
    assert found == (Kin("dashscope:qwen-plus/graded", "openai:qwen-max/graded", "Alibaba"),)
