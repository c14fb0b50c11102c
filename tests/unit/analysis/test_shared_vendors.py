"""Vendors that models and engines share."""

from judge.analysis.shared_vendors import SharedVendor, find_shared_vendors, find_vendor
from tests.support.cases import check_each


@check_each(
    ("name", "expected"),
    [
        ("qwen2.5-72b-instruct", "Alibaba"),
        ("QwQ-32B", "Alibaba"),
        ("gpt-4o", "OpenAI"),
        ("meta-llama/Llama-3.1-8B", "Meta"),
        ("google_serper", "Google"),
        ("百度搜索", "Baidu"),
        ("必应国际版", "Microsoft"),
        ("谷歌", "Google"),
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
def test_a_name_tells_the_vendor(name: str, expected: str | None) -> None:
    assert find_vendor(name) == expected


def test_the_wire_is_not_the_vendor() -> None:
    assert find_shared_vendors(["openai:qwen-plus/graded"], ["openai-search", "aliyun_iqs"]) == (
        SharedVendor("openai:qwen-plus/graded", "aliyun_iqs", "Alibaba"),
    )
    assert find_shared_vendors(["langchain:tongyi:deepseek-v3/binary"], ["quark"]) == ()
    assert find_shared_vendors(["openai:Qwen/Qwen2.5-7B/graded"], ["quark"]) == (
        SharedVendor("openai:Qwen/Qwen2.5-7B/graded", "quark", "Alibaba"),
    )


def test_the_server_is_not_the_vendor() -> None:
    assert find_shared_vendors(["openai:m/graded at https://dashscope.aliyuncs.com/v1"], ["quark"]) == ()


def test_members_of_one_vendor_are_no_second_opinion() -> None:
    result = find_shared_vendors(
        ["dashscope:qwen-plus/graded", "openai:gpt-5/graded", "openai:qwen-max/graded"], ["brave"]
    )
    assert result == (SharedVendor("dashscope:qwen-plus/graded", "openai:qwen-max/graded", "Alibaba"),)
