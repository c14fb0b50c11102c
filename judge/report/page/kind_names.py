"""Texts for kinds of failures and for flags, in English and Chinese."""

from __future__ import annotations

from judge.messages import Text

#: Why a pair has no grade, by the word that a judgment's `error` holds.
ERRORS = {
    "empty": Text("the reply was empty", "答复为空"),
    "refusal": Text("the model refused", "模型拒绝回答"),
    "truncated": Text("the reply was cut off", "答复被截断"),
    "malformed": Text("the reply could not be read", "答复无法读取"),
    "missing_key": Text("the reply names no grade", "答复里没有等级"),
    "not_a_grade": Text("the reply names a grade that does not exist", "答复里的等级不存在"),
    "not_integer": Text("the grade is not a whole number", "等级不是整数"),
    "ambiguous": Text("the reply contradicts itself", "答复自相矛盾"),
    "rate_limit": Text("the server turned the call away", "服务端限流"),
    "server_error": Text("the server failed", "服务端出错"),
    "transport": Text("the connection failed", "连接失败"),
    "content_filter": Text("the provider's filter stopped it", "被服务商的内容审核拦下"),
    "too_long": Text("too long for the model", "超出模型的长度限制"),
    "bad_request": Text("the server took the request for malformed", "服务端认为请求有误"),
    "no_quorum": Text("too few of the panel judged it", "合议人数不足"),
    "no_text": Text("nobody has the text", "没有拿到文字"),
    "text_cut": Text("nothing to read before the length limit", "长度上限之内没有可读的文字"),
    "no_attempt": Text("no attempt was allowed", "未获准尝试"),
}

#: What was noticed about a snippet or a reply, by the first part of its flag.
FLAGS = {
    "instruction": Text("speaks to the grader", "对评测员喊话"),
    "fake_verdict": Text("brings its own verdict", "自带判定"),
    "fake_turn": Text("imitates a chat turn", "伪造对话轮次"),
    "fence": Text("tries to close the fence", "试图闭合边界"),
    "overthink": Text("sets the grader a task", "给评测员出题"),
    "secrets": Text("asks for secrets", "索要密钥"),
    "hidden_text": Text("hidden words for the grader", "藏有写给评测员的话"),
    "encoded": Text("encoded orders", "藏有编码过的指令"),
    "persuasion": Text("praises itself to the grader", "向评测员自夸"),
    "stuffing": Text("the query's words piled up", "堆砌查询词"),
    "chat_tokens": Text("chat-control tokens, broken up", "含对话控制符，已拆开"),
    "invisible": Text("hidden characters, dropped", "含隐藏字符，已去除"),
    "control": Text("control characters, dropped", "含控制字符，已去除"),
    "surrogate": Text("broken characters", "含残缺字符"),
    "encoding": Text("looks wrongly decoded", "疑似乱码"),
    "truncated": Text("cut for the assessor", "太长，评测员只看到前面一部分"),
    "textless": Text("no text but its title", "除标题外没有文字"),
    "no_text": Text("nobody has the text: unjudged", "没有拿到文字：不判定"),
    "text_cut": Text(
        "nothing to read before the length limit: unjudged", "长度上限之内没有可读的文字：不判定"
    ),
    "empty_snippet": Text("no text: grade 0 without a call", "没有文字：不经评测员，直接记 0"),
    "repaired": Text("reply not strictly as asked", "答复格式不规范"),
    "reason_capped": Text("reason cut short", "理由过长，已截断"),
    "no_reason": Text("no reason given", "没有给理由"),
    "re_asked": Text("asked twice", "问了两次"),
    "served_by": Text("served by another model", "实际由另一模型作答"),
    "panel_split": Text("the panel's members differ", "合议成员意见不一"),
    "panel_tie": Text("a tie in the panel", "合议打平"),
    "panel_short": Text("not every member judged it", "有成员未能判定"),
    "prompt_echo": Text("the reason repeats the prompt", "理由照抄了提示词"),
}
