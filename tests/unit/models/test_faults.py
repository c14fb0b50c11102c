"""What providers say when a call fails, and what it means to a run."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import AccountError, CallError, GatewayTimedOut, Overloaded, RequestRejected, RetryableError
from judge.models.chat_messages import parse_response, read_chat_completion
from judge.models.error_mapping import DETAIL_LENGTH, ErrorResponse, classify, shorten
from judge.models.http_responses import read_retry_after, read_wait
from judge.models.redaction import mask
from tests.support.cases import check_each

ERRORS = [
    (
        429,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
        "quota",
    ),
    (
        429,
        "rate_limit_exceeded",
        "Limit 3/min. Add a payment method at /account/billing to raise it.",
        "rate_limit",
    ),
    (429, "Throttling.RateQuota", "Requests rate limit exceeded, please try again later.", "rate_limit"),
    (
        429,
        "Throttling.AllocationQuota",
        "Allocated quota exceeded, please increase your quota limit.",
        "rate_limit",
    ),
    (
        429,
        "Throttling.AllocationQuota",
        "You exceeded your current quota, please check your plan and billing details.",
        "rate_limit",
    ),
    (429, "CommodityNotPurchased", "Commodity has not purchased yet.", "quota"),
    (403, "AllocationQuota.FreeTierOnly", "The free tier of the model has been exhausted.", "quota"),
    (400, "Arrearage", "Access denied, please make sure your account is in good standing.", "quota"),
    (402, "invalid_request_error", "Insufficient Balance", "quota"),
    # https://docs.bigmodel.cn/cn/faq/api-code
    (429, "1113", "您的账户已欠费，请充值后重试", "quota"),
    (429, "1112", "您的账户已被锁定，请联系客服解锁", "quota"),
    (429, "1304", "该 API 已达今日调用次数限额，如有更多需求，请联系客服购买", "quota"),
    (429, "1308", "已达到 5 小时的使用上限。您的限额将在 18:00 重置。", "quota"),
    (429, "1302", "您当前使用该 API 的并发数过高，请降低并发，或联系客服增加限额", "rate_limit"),
    (400, "1211", "模型不存在，请检查模型代码", "model_not_found"),
    (400, "1301", "系统检测到输入或生成内容可能包含不安全或敏感内容", "content_filter"),
    # https://github.com/continuedev/continue/issues/11823, https://github.com/zai-org/GLM-5/issues/148
    (429, "", "余额不足或无可用资源包,请充值。", "quota"),
    (429, "1113", "Insufficient balance or no resource package. Please recharge.", "quota"),
    # https://www.kimi.com/code/docs/en/kimi-code/error-reference.html and
    # https://github.com/harry0703/MoneyPrinterTurbo/issues/339
    (403, "", "You've reached your usage limit for this billing cycle", "quota"),
    (429, "exceeded_current_quota_error", "Your account is not active", "quota"),
    (429, "", "Your account org-x is suspended, please check your plan and billing details", "quota"),
    (429, "rate_limit_reached_error", "Your account reached max request: 3", "rate_limit"),
    # https://github.com/feder-cr/invisible_playwright_mcp/issues/145
    (429, "rate_limit_exceeded requests", "on requests per day (RPD): Try in 7m12s", "quota"),
    # https://github.com/continuedev/continue/issues/10920, https://github.com/elizaOS/eliza/issues/4040
    (429, "rate_limit_exceeded", "on tokens per day (TPD): Limit 100000, Used 97050", "quota"),
    (429, "rate_limit_exceeded", "on tokens per minute (TPM): Limit 6000, Used 5990", "rate_limit"),
    # https://github.com/google-gemini/gemini-cli/issues/8437, https://ai.google.dev/gemini-api/docs/api-errors
    (429, "", "You exceeded your current quota: GenerateRequestsPerMinutePerProjectPerModel", "rate_limit"),
    (429, "", "You exceeded your current quota: PerMinutePerModel, PerDayPerProject", "quota"),
    (429, "quota_exceeded", "Daily quota exceeded", "quota"),
    # https://cloud.baidu.com/doc/WENXINWORKSHOP/s/tlmyncueh
    (429, "17", "Open api daily request limit reached", "quota"),
    (429, "18", "Open api qps request limit reached", "rate_limit"),
    (429, "19", "Open api total request limit reached", "quota"),
    (200, "110", "Access token invalid or no longer valid", "auth"),
    (200, "111", "Access token expired", "auth"),
    (200, "2", "Service temporarily unavailable", "server_error"),
    # https://ai.baidu.com/ai-doc/AppBuilder/4m8sgh88y
    (429, "BILLING_INSUFFICIENT_BALANCE", "Your account has insufficient balance", "quota"),
    (429, "QUOTA_USER_DAILY_REQUEST", "Daily request quota per user exceeded", "quota"),
    # https://github.com/FoundationAgents/OpenManus/issues/438, https://volcengine.com/docs/82379/1299023
    (403, "30011", "Your paid balance is insufficient. Please top up and try again.", "quota"),
    (403, "AccountOverdueError", "your account has an overdue balance", "quota"),
    (403, "insufficient_user_quota", "用户额度不足, 剩余额度: ＄0.00", "quota"),
    # https://github.com/continuedev/continue/issues/10373, https://github.com/Anantys-oss/koan/issues/2412
    (429, "", "Your team has either used all available credits or reached its monthly limit", "quota"),
    (403, "permission-denied", "Your newly created team doesn't have any credits yet.", "quota"),
    (403, "", "You have run out of credits or need a Grok subscription.", "quota"),
    # https://github.com/BerriAI/litellm/issues/14144, https://github.com/BerriAI/litellm/pull/37000
    (400, "400 budget_exceeded", "Budget has been exceeded! Current cost: 14, Max budget: 10", "quota"),
    (429, "429 budget_exceeded", "LiteLLM User: me, exceeded budget for model=m", "quota"),
    (429, "429", "No deployments available - crossed budget: Exceeded budget for deployment m", "quota"),
    # https://github.com/theopenco/llmgateway/pull/3838, https://github.com/FerroxLabs/wayland/issues/545
    (412, "PRECONDITION_FAILED", "Account a is suspended, possibly due to reaching the limit", "quota"),
    # https://github.com/anthropics/claude-code/issues/38035
    (400, "invalid_request_error", "You have reached your specified API usage limits.", "quota"),
    # https://www.volcengine.com/docs/82379/1299023
    (429, "SetLimitExceeded", "Your account [2] has reached the set inference limit for m", "quota"),
    (429, "QuotaExceeded", "Your account [2] has exhausted its free trial quota for m.", "quota"),
    # https://docs.bigmodel.cn/cn/faq/api-code
    (429, "1311", "当前订阅套餐暂未开放GLM-5权限", "quota"),
    # https://github.com/cohere-ai/cohere-developer-experience/pull/199
    (429, "", "You are using a Trial key, which is limited to 1000 API calls / month.", "quota"),
    (429, "", "You are using a Trial key, which is limited to 10 API calls / minute.", "rate_limit"),
    (429, "RateLimitReached", "Rate limit of 150 per 86400s exceeded for UserByModelByDay.", "quota"),
    # https://ai.google.dev/gemini-api/docs/billing: waiting does not help
    (429, "429", "Your prepayment credits are depleted. Please go to AI Studio.", "quota"),
    (429, "429", "Your project has exceeded its monthly spending cap.", "quota"),
    # New API, Novita, Azure API Management, Hunyuan
    (403, "pre_consume_token_quota_failed new_api_error", "token quota is not enough", "quota"),
    (403, "403", "not enough balance", "quota"),
    (403, "", "Out of call volume quota. Quota will be replenished in 09:11:13.", "quota"),
    (400, "3008 runtime_error", "资源包余量已用尽，请购买资源包或开通后付费", "quota"),
    # A server that repeats the prompt says nothing of the account.
    (422, "", "Input should be shorter: '话费余额不足怎么办，欠费停机 daily'", "bad_request"),
    # https://platform.stepfun.com/docs/zh/guide/exception: about one pair, while others are let through
    (451, "censorship_blocked", "The content you provided is blocked.", "content_filter"),
    (451, "something_new", "no", "bad_request"),
    (451, "", "Unavailable For Legal Reasons", "auth"),
    (407, "", "Proxy Authentication Required", "auth"),
    (401, "invalid_api_key", "Incorrect API key provided.", "auth"),
    (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", "auth"),
    (403, "AccessDenied.Unpurchased", "Access to model denied.", "auth"),
    # https://github.com/google-gemini/gemini-cli/issues/24641, https://console.groq.com/docs/errors
    (400, "400", "User location is not supported for the API use.", "auth"),
    (400, "organization_restricted", "Organization has been restricted.", "auth"),
    # The service Spark: https://www.xfyun.cn/doc/spark/HTTP%E8%B0%83%E7%94%A8%E6%96%87%E6%A1%A3.html
    (200, "10013", "输入内容审核不通过，涉嫌违规，请重新调整输入内容", "content_filter"),
    (200, "10014", "输出内容涉及敏感信息，审核不通过，后续结果无法展示给用户", "content_filter"),
    # https://github.com/vllm-project/vllm/pull/40324
    (400, "", "max_tokens=512 cannot be greater than max_model_len=max_total_tokens=256.", "bad_parameter"),
    (
        400,
        "",
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        "too_long",
    ),
    # xAI, TensorRT-LLM
    (
        400,
        "",
        "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
        "too_long",
    ),
    (
        400,
        "",
        "The sum of prompt length (4000.0), query length (0) should not exceed max_num_tokens",
        "too_long",
    ),
    # OpenAI: the reply of one pair was longer than its limit
    (
        400,
        "invalid_request_error",
        "Could not finish the message because max_tokens was reached.",
        "bad_request",
    ),
    (400, "invalid_request_error", "logprobs is not supported for this model", "bad_parameter"),
    # https://platform.minimax.io/docs/api-reference/errorcode.md
    (200, "1004", "login fail: Please carry the API secret key", "auth"),
    (200, "1002", "rate limit", "rate_limit"),
    (403, "model_not_found", "Project `p` does not have access to model `gpt-9`", "model_not_found"),
    (404, "", "The model `qwen2.5-none` does not exist.", "model_not_found"),
    (400, "Model.NotExist", "Model not exist.", "model_not_found"),
    (400, "InvalidParameter", "url error, please check url!", "model_not_found"),
    # https://github.com/valentinfrlch/ha-llmvision/issues/324,
    # https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/618
    (400, "model_decommissioned", "The model `m` has been decommissioned.", "model_not_found"),
    (400, "", "The model `m` is no longer available.", "model_not_found"),
    (200, "", "Unexpected endpoint or method. (POST /chat/completions)", "model_not_found"),
    # https://github.com/Gitlawb/openclaude/issues/214
    (500, "500", "404 NOT_FOUND", "model_not_found"),
    # https://github.com/BerriAI/litellm/issues/9663, https://github.com/tmc/langchaingo/issues/1233,
    # https://github.com/RightNow-AI/openfang/issues/697
    (400, "400", "Invalid model name passed in model=m. Call `/v1/models`", "model_not_found"),
    (400, "1500 invalid_model", "Invalid model: m", "model_not_found"),
    (400, "400", "m/n is not a valid model ID", "model_not_found"),
    (400, "", "invalid params, unknown model 'm' (2013)", "model_not_found"),
    (400, "5007", "AiError: No such model m or task", "model_not_found"),
    (400, "", "No models loaded. Please load a model in the developer page.", "model_not_found"),
    (404, "", "Not Found", "model_not_found"),
    (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens.", "too_long"),
    (400, "InternalError.Algo.InvalidParameter", "Range of input length should be [1, 30720]", "too_long"),
    (413, "", "Request Entity Too Large", "too_long"),
    # https://github.com/ggml-org/llama.cpp/issues/19774, https://docs.bigmodel.cn/cn/faq/api-code
    (400, "exceed_context_size_error", "request (4390 tokens) exceeds the limit", "too_long"),
    (500, "server_error", "Context size has been exceeded.", "too_long"),
    (400, "1261", "Prompt 超长", "too_long"),
    # https://github.com/google-gemini/gemini-cli/issues/6678
    (400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum number of tokens", "too_long"),
    # https://github.com/chatboxai/chatbox/issues/2060, https://github.com/vllm-project/vllm/issues/4667
    (400, "20015", "length of prompt_tokens (9) must be less than max_seq_len (8).", "too_long"),
    (400, "400", "max_tokens must be at least 1, got -186.", "too_long"),
    # https://github.com/QwenLM/Qwen3/issues/1321, https://github.com/meta-llama/llama/issues/1103,
    # https://github.com/huggingface/chat-ui/issues/1149
    (400, "400", "The input (9 tokens) is longer than the model's context length (8 tokens).", "too_long"),
    (422, "validation", "`inputs` must have less than 1024 tokens. Given: 2000", "too_long"),
    (422, "", "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 10000", "too_long"),
    (400, "invalid_request_error", "Your request exceeded model token limit: 8192", "too_long"),
    (400, "InvalidParameter", "Total tokens of image and text exceed max message tokens.", "too_long"),
    # https://github.com/vanderschaarlab/climb/issues/1
    (429, "rate_limit_exceeded tokens", "Request too large for m on tokens per min (TPM)", "too_long"),
    # https://console.groq.com/docs/errors
    (413, "rate_limit_exceeded tokens", "on tokens per minute (TPM): Limit 6000, Requested 6500", "too_long"),
    # https://github.com/skapadia3214/groq-moa/issues/8, https://github.com/OpenBMB/ChatDev/issues/492,
    # https://github.com/nextlevelbuilder/goclaw/pull/660, https://github.com/open-webui/pipelines/pull/546
    (400, "", "`max_tokens` must be less than or equal to `8`, … the `context_window`", "bad_parameter"),
    (400, "invalid_value", "max_tokens is too large: 9. This model supports at most 8.", "bad_parameter"),
    (400, "", "max_tokens: 9 > 8, which is the maximum allowed number", "bad_parameter"),
    (400, "", "Requests with max_tokens > 4096 must have stream=true", "bad_parameter"),
    (400, "", "`temperature` and `top_p` cannot both be specified for this model.", "bad_parameter"),
    # https://github.com/vllm-project/vllm/pull/2964, https://github.com/vllm-project/vllm/issues/2080,
    # https://github.com/BerriAI/litellm/pull/16767
    (400, "400", "System role not supported", "bad_parameter"),
    (400, "", "Conversation roles must alternate user/assistant/user/assistant/...", "bad_parameter"),
    (400, "400", "Developer instruction is not enabled for models/gemma", "bad_parameter"),
    (400, "InvalidParameter", "Range of max_tokens should be [1, 8192]", "bad_parameter"),
    (400, "InvalidParameter", "parameter.enable_thinking must be set to false", "bad_parameter"),
    (400, "unsupported_value", "Unsupported value: 'temperature' does not support 0.", "bad_parameter"),
    (422, "", "Extra inputs are not permitted: seed", "bad_parameter"),
    (400, "invalid_parameter_error", "This model only support stream mode", "bad_parameter"),
    (400, "content_filter ResponsibleAIPolicyViolation", "The response was filtered.", "content_filter"),
    (400, "InternalError.Algo.DataInspectionFailed", "Output data may be bad.", "content_filter"),
    # https://github.com/666ghj/BettaFish/issues/108, https://github.com/deepseek-ai/DeepSeek-V2/issues/30
    (400, "invalid_request_error", "Content Exists Risk", "content_filter"),
    # https://github.com/songquanpeng/one-api/issues/737, https://volcengine.com/docs/82379/1299023
    (400, "content_policy_violation", "Your request was rejected by our safety system.", "content_filter"),
    # https://github.com/UKGovernmentBEIS/inspect_ai/pull/2267,
    # https://github.com/anthropics/claude-code/issues/58367
    (403, "permission", "Content violates usage guidelines. Failed check: BIO", "content_filter"),
    (400, "invalid_request_error", "Output blocked by content filtering policy", "content_filter"),
    # https://help.aliyun.com/zh/model-studio/error-code
    (400, "FaqRuleBlocked", "Input or output data is blocked by faq rule.", "content_filter"),
    (403, "system_unsafe", "the content of system field is invalid", "content_filter"),  # Baidu
    (400, "SensitiveContentDetected", "The request failed.", "content_filter"),
    (400, "BadRequest", "The input text may contain sensitive information.", "content_filter"),
    # https://github.com/esengine/DeepSeek-Reasonix/issues/6818
    (422, "", "input new_sensitive (1026)", "content_filter"),
    (400, "invalid_request_error", "messages[1] is empty", "bad_request"),
    (422, "", "could not be understood", "bad_request"),
    # https://openrouter.ai/docs/api-reference/errors
    (403, "", "Your chosen model requires moderation and your input was flagged", "content_filter"),
    (500, "InternalError.Timeout", "An internal timeout occured.", "server_error"),
    (503, "", "no healthy upstream", "server_error"),
    (529, "overloaded_error", "Overloaded", "server_error"),
    # https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1347, https://console.groq.com/docs/errors
    (400, "", "The model has crashed without additional information.", "server_error"),
    (400, "", "Model unloaded.", "server_error"),
    (424, "generation", "Request failed during generation: Server error", "server_error"),
    (498, "capacity_exceeded", "Flex tier capacity exceeded", "server_error"),
    (408, "RequestTimeOut", "Request timed out.", "server_error"),
    (200, "", "upstream timeout", "server_error"),
]
CLASSES: dict[str, type[CallError]] = {
    **dict.fromkeys(("rate_limit", "server_error"), RetryableError),
    **dict.fromkeys(("content_filter", "too_long", "bad_request"), RequestRejected),
    **dict.fromkeys(("auth", "quota", "model_not_found", "bad_parameter"), AccountError),
}


@check_each(("status", "code", "message", "kind"), ERRORS)
def test_a_fault_is_what_the_server_says(status: int, code: str, message: str, kind: str) -> None:
    error = classify(ErrorResponse(status, code, message))
    by_status = {503: Overloaded, 529: Overloaded, 408: GatewayTimedOut, 504: GatewayTimedOut}
    expected = by_status.get(status, RetryableError) if kind == "server_error" else CLASSES[kind]
    assert (error.kind, type(error)) == (kind, expected)
    assert f"HTTP {status}" in str(error)


@check_each(
    ("context", "reply", "kind"), [(9, 8, "too_long"), (9, 9, "bad_parameter"), (9, 10, "bad_parameter")]
)
@check_each(
    "message",
    [
        # https://github.com/vllm-project/vllm/issues/20409, https://github.com/vllm-project/vllm/issues/33418
        "context length is {} tokens. However, you requested 13 (4 in the messages, {} in the completion)",
        "context length is {} tokens. However, you requested {} output tokens and your prompt contains",
        # https://github.com/anomalyco/opencode/pull/25292
        "context length of {} tokens. You requested 4 from the input and {} tokens for the completion.",
    ],
)
def test_a_reply_that_fills_the_context_is_no_error_of_one_pair(
    message: str, context: int, reply: int, kind: str
) -> None:
    error = classify(ErrorResponse(400, "400", f"This model's maximum {message.format(context, reply)}"))
    assert (error.kind, "lower --max-tokens" in str(error)) == (kind, kind == "bad_parameter")


# https://help.aliyun.com/zh/model-studio/error-code
@check_each(
    "message",
    [
        "The value of the enable_thinking parameter is restricted to True.",
        "The value of the enable_thinking parameter is restricted to False.",
        # https://github.com/ollama/ollama/blob/main/server/routes.go
        '"gemma3:4b" does not support thinking',
    ],
)
def test_the_error_of_a_model_with_one_kind_of_thinking_names_the_option(message: str) -> None:
    error = classify(ErrorResponse(400, "InternalError.Algo.InvalidParameter", message))
    assert isinstance(error, AccountError)
    assert "add --thinking if the model always thinks, else omit it" in str(error)


@pytest.mark.parametrize(
    ("endpoint", "kind"),
    [
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", "rate_limit"),
        ("https://api.openai.com/v1", "quota"),
    ],
)
def test_a_word_for_an_empty_account_means_what_its_server_means_by_it(endpoint: str, kind: str) -> None:
    fault = ErrorResponse(
        429, "insufficient_quota", "You exceeded your current quota.", headers={"retry-after": "3"}
    )
    error = classify(fault, endpoint=endpoint)
    assert error.kind == kind
    assert error.retry_after == (3.0 if kind == "rate_limit" else None)


@check_each("body", [None, "", "gone", b"\xff", [], {"error": None}, {"error": "gone"}, {"detail": ["x"]}])
def test_any_body_is_some_fault(body: object) -> None:
    assert classify(ErrorResponse.from_response(500, body, {})).kind == "server_error"


def test_a_success_takes_the_status_that_its_body_names() -> None:
    assert (
        ErrorResponse.from_response(200, {"error": {"code": 429, "message": "slow down"}}, {}).status == 429
    )
    assert (
        ErrorResponse.from_response(200, {"status_code": 400, "code": "DataInspectionFailed"}, {}).status
        == 400
    )
    assert ErrorResponse.from_response(500, {"error": {"code": 404}}, {}).status == 500


def make_gemini_error(*quotas: str) -> list[object]:
    """How Gemini's compatible mode words any limit; which one it was only `quotas` say."""
    text = "You exceeded your current quota, please check your plan and billing details."
    failure = {"violations": [{"quotaId": quota, "quotaValue": "15"} for quota in quotas]}
    return [{"error": {"code": 429, "message": text, "status": "RESOURCE_EXHAUSTED", "details": [failure]}}]


@pytest.mark.parametrize(
    ("quotas", "kind"),
    [
        (["GenerateRequestsPerMinutePerProjectPerModel-FreeTier"], "rate_limit"),
        (["GenerateRequestsPerDayPerProjectPerModel-FreeTier"], "quota"),
        (["GenerateContentInputTokensPerModelPerMinute-FreeTier", "GenerateRequestsPerDayPerModel"], "quota"),
        ([], "quota"),
    ],
)
def test_which_limit_it_was_is_read_where_a_server_hides_it(quotas: list[str], kind: str) -> None:
    assert classify(ErrorResponse.from_response(429, make_gemini_error(*quotas), {})).kind == kind


@check_each(
    ("status", "body", "code", "message"),
    [
        (200, {"error_code": 110, "error_msg": "Access token expired"}, "110", "Access token expired"),
        # https://github.com/UKGovernmentBEIS/inspect_ai/pull/2267
        (403, {"code": "no permission", "error": "Content violates"}, "no permission", "Content violates"),
        # https://github.com/huggingface/text-generation-inference/issues/2749
        (422, {"error": "`inputs` too long", "error_type": "validation"}, "validation", "`inputs` too long"),
        # https://platform.minimax.io/docs/api-reference/errorcode.md
        (200, {"choices": None, "base_resp": {"status_code": 1004, "status_msg": "no"}}, "1004", "no"),
        # https://github.com/genkit-ai/genkit/pull/6259, https://openrouter.ai/docs/api-reference/overview
        (200, {"choices": [{"message": {}, "error": {"code": 502, "message": "no"}}]}, "502", "no"),
        (400, {"success": False, "errors": [{"code": 5007, "message": "no"}], "result": {}}, "5007", "no"),
        (429, {"errors": {"message": "no"}, "request_id": "x"}, "", "no"),
    ],
)
def test_an_error_is_found_where_its_server_puts_it(
    status: int, body: dict[str, object], code: str, message: str
) -> None:
    response = parse_response(status, json.dumps(body).encode(), {})
    assert isinstance(response, ErrorResponse)
    assert (response.code, response.message) == (code, message)


@check_each(
    "body",
    [
        {"choices": [{"message": {"content": "2"}}], "base_resp": {"status_code": 0, "status_msg": ""}},
        {"choices": [{"message": {"content": "2"}, "error": None}], "error": None, "code": "ok"},
        {"choices": [{"message": {"content": "2"}}], "base_resp": {"status_code": 1}, "errors": ["x"]},
    ],
)
def test_an_answer_is_no_error(body: dict[str, object]) -> None:
    response = parse_response(200, json.dumps(body).encode(), {})
    assert not isinstance(response, ErrorResponse)
    assert read_chat_completion(response, {}).text == "2"


def test_the_errors_of_a_batch_are_no_error_of_its_response() -> None:
    batch = {"object": "batch", "errors": {"object": "list", "data": [{"message": "no"}]}}
    assert parse_response(200, json.dumps(batch).encode(), {}) == batch


def test_only_what_may_pass_asks_to_wait() -> None:
    assert classify(ErrorResponse(429, headers={"Retry-After": "3"})).retry_after == 3.0
    assert classify(ErrorResponse(503, headers={"retry-after": "3"})).retry_after == 3.0
    assert classify(ErrorResponse(401, headers={"retry-after": "3"})).retry_after is None


@check_each(
    ("message", "seconds"),
    [
        # https://github.com/BerriAI/litellm/issues/5177, https://github.com/alex-wolf-ps/dbchatprov2/issues/2
        ("No deployments available for selected model, Try again in 60 seconds. Passed model=m", 60.0),
        ("exceeded token rate limit of your pricing tier. Please retry after 86400 seconds.", 86400.0),
        # https://github.com/continuedev/continue/issues/10920
        ("on tokens per minute (TPM): Limit 6000. Please try again in 7m12s.", 432.0),
        ("Limit 30000, Used 29000, Requested 1200. Please try again in 400ms.", 0.4),
        ("Please try again in 1h5m30.5s.", 3930.5),
        ("limit: 10\nPlease retry in 34.074824224s.", 34.074824224),
        ("Rate limit of 150 per 86400s exceeded. Please wait 3000 seconds before retrying.", 3000.0),
        ("Please wait 5 minutes", 300.0),
        ("Too many requests, please try again later. Limit 20 requests", None),
        ("Retry 3 times", None),
        ("Requests rate limit exceeded", None),
        ("", None),
    ],
)
def test_a_wait_is_read_in_the_message_of_a_rate_limit(message: str, seconds: float | None) -> None:
    assert classify(ErrorResponse(429, message=message)).retry_after == seconds
    assert classify(ErrorResponse(429, message=message, headers={"retry-after": "3"})).retry_after == 3.0
    assert classify(ErrorResponse(503, message=message)).retry_after is None


@given(st.text(max_size=80))
def test_no_message_breaks_the_reading(text: str) -> None:
    seconds = read_wait(f"try again in {text}")
    assert seconds is None or seconds >= 0


def test_a_date_is_read_by_the_servers_clock() -> None:
    headers = {"Date": "Wed, 21 Oct 2015 07:28:00 GMT", "Retry-After": "Wed, 21 Oct 2015 07:28:20 GMT"}
    assert read_retry_after(headers) == 20.0
    assert read_retry_after({**headers, "Retry-After": "Wed, 21 Oct 2015 07:00:00 GMT"}) == 0.0


@check_each("offset", ["+9999", "+99999999", "-99999999999999999999", "-2359"])
@check_each("year", ["0001", "2015", "9999", "99999999999999999999"])
def test_a_date_from_nowhere_breaks_nothing(year: str, offset: str) -> None:
    seconds = read_retry_after({"retry-after": f"Fri, 31 Dec {year} 23:59:59 {offset}"})
    assert seconds is None or seconds >= 0


@given(st.text(max_size=40))
def test_no_header_breaks_the_reading(value: str) -> None:
    seconds = read_retry_after({"retry-after": value, "retry-after-ms": value})
    assert seconds is None or seconds >= 0


@check_each(
    "text",
    [
        "bad key sk-proj-abcdef123456",
        "Authorization: Bearer abc.def-123",
        "api_key=abcdef123456",
        "OPENAI_API_KEY: abcdef123456",
        "key sk-abc***xyz.",
        "known-only-to-us-abcdef",
    ],
)
def test_keys_are_masked(text: str) -> None:
    masked = mask(text, "known-only-to-us-abcdef", "")
    assert "***" in masked
    assert "abc" not in masked


def test_ordinary_words_are_not_masked() -> None:
    text = "The task-oriented model sk is a risk-averse bearer of news."
    assert mask(text) == "The task-oriented model sk is a risk-averse bearer of news."


@given(st.text(max_size=600))
def test_details_are_one_short_line(text: str) -> None:
    line = shorten(text)
    assert len(line) <= DETAIL_LENGTH
    assert len(line.splitlines()) <= 1
