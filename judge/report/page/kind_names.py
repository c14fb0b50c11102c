"""Owns words for the kinds of failures, flags and grades, in English and Chinese."""

from __future__ import annotations

from judge.report.charts import Said

#: Why a pair has no grade, by the word that a judgment's `error` holds.
ERRORS = {
    "empty": Said("the reply was empty", "答复为空"),
    "refusal": Said("the model refused", "模型拒绝回答"),
    "truncated": Said("the reply was cut off", "答复被截断"),
    "malformed": Said("the reply could not be read", "答复无法读取"),
    "missing_key": Said("the reply names no grade", "答复里没有等级"),
    "not_a_grade": Said("the reply names a grade that does not exist", "答复里的等级不存在"),
    "not_integer": Said("the grade is not a whole number", "等级不是整数"),
    "ambiguous": Said("the reply contradicts itself", "答复自相矛盾"),
    "rate_limit": Said("the server turned the call away", "服务端限流"),
    "server_error": Said("the server failed", "服务端出错"),
    "transport": Said("the connection failed", "连接失败"),
    "content_filter": Said("the provider's filter stopped it", "被服务商的内容审核拦下"),
    "too_long": Said("too long for the model", "超出模型的长度限制"),
    "bad_request": Said("the server took the request for malformed", "服务端认为请求有误"),
    "no_quorum": Said("too few of the panel judged it", "合议人数不足"),
    "no_text": Said("nobody has the text", "没有拿到文字"),
    "text_cut": Said("nothing to read before the length limit", "长度上限之内没有可读的文字"),
    "no_attempt": Said("no attempt was allowed", "未获准尝试"),
}

#: What was noticed about a snippet or a reply, by the first part of its flag.
FLAGS = {
    "instruction": Said("speaks to the grader", "对评测员喊话"),
    "fake_verdict": Said("brings its own verdict", "自带判定"),
    "fake_turn": Said("imitates a chat turn", "伪造对话轮次"),
    "fence": Said("tries to close the fence", "试图闭合边界"),
    "overthink": Said("sets the grader a task", "给评测员出题"),
    "secrets": Said("asks for secrets", "索要密钥"),
    "hidden_text": Said("hidden words for the grader", "藏有写给评测员的话"),
    "encoded": Said("encoded orders", "藏有编码过的指令"),
    "persuasion": Said("praises itself to the grader", "向评测员自夸"),
    "stuffing": Said("the query's words piled up", "堆砌查询词"),
    "chat_tokens": Said("chat-control tokens, broken up", "含对话控制符，已拆开"),
    "invisible": Said("hidden characters, dropped", "含隐藏字符，已去除"),
    "control": Said("control characters, dropped", "含控制字符，已去除"),
    "surrogate": Said("broken characters", "含残缺字符"),
    "encoding": Said("looks wrongly decoded", "疑似乱码"),
    "truncated": Said("cut for the assessor", "太长，评测员只看到前面一部分"),
    "textless": Said("no text but its title", "除标题外没有文字"),
    "no_text": Said("nobody has the text: unjudged", "没有拿到文字：不判定"),
    "text_cut": Said(
        "nothing to read before the length limit: unjudged", "长度上限之内没有可读的文字：不判定"
    ),
    "empty_snippet": Said("no text: grade 0 without a call", "没有文字：不经评测员，直接记 0"),
    "repaired": Said("reply not strictly as asked", "答复格式不规范"),
    "reason_capped": Said("reason cut short", "理由过长，已截断"),
    "no_reason": Said("no reason given", "没有给理由"),
    "re_asked": Said("asked twice", "问了两次"),
    "served_by": Said("served by another model", "实际由另一模型作答"),
    "panel_split": Said("the panel's members differ", "合议成员意见不一"),
    "panel_tie": Said("a tie in the panel", "合议打平"),
    "panel_short": Said("not every member judged it", "有成员未能判定"),
    "prompt_echo": Said("the reason repeats the prompt", "理由照抄了提示词"),
}
