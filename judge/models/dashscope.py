"""Owns DashScope's native wire, through the 2.x client of its SDK."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from judge.errors import Declined, SetupError
from judge.models.access import Access, public_part
from judge.models.faults import Fault, classify, transport
from judge.models.replies import complete, parse
from judge.models.terms import Negotiation, Terms, sampling_params
from judge.records import Completion, Prompt, Sampling

try:
    import dashscope
    from dashscope.v2.errors import DashScopeError
except ImportError as error:
    raise SetupError(
        "dashscope: models need an extra: pip install 'judge[dashscope]' (in a checkout: uv sync --extra dashscope)"
    ) from error

DEFAULT_URL = "https://dashscope.aliyuncs.com/api/v1"


class DashScope:
    """A model on DashScope's native wire, e.g. `DashScope("qwen-plus", …)`.

    Thinking is off unless asked for, and answers are asked for as JSON objects as long as the model
    supports that. `Completion.params` says what was sent. Raises `SetupError` without a key, unless
    the server is on a private network.
    """

    def __init__(self, model: str, access: Access, sampling: Sampling) -> None:
        url = access.url("DASHSCOPE_BASE_URL", "DASHSCOPE_HTTP_BASE_URL", default=DEFAULT_URL)
        params = {**sampling_params(sampling), "enable_thinking": sampling.thinking}
        self.name = f"dashscope:{model}"
        self.endpoint = public_part(url)
        self.params: Mapping[str, Any] = MappingProxyType(params)
        self._model = model
        self._timeout = access.timeout
        self._key = access.key("DASHSCOPE_API_KEY", url)
        self._negotiation = Negotiation(params, ("json_object", "text"))
        self._client = dashscope.AsyncClient(
            api_key=self._key,
            base_url=url,
            protocol="native",
            timeout=access.timeout,
            max_retries=0,
            # Whatever a file in the home directory says would not be in the run's config.
            config_path=os.devnull,
        )

    async def complete(self, prompt: Prompt) -> Completion:
        """The model's final answer; raises `Transient`, `Declined` or `AccountRefused`."""
        while True:
            terms = self._negotiation.terms
            sent = terms.with_format(prompt.schema)
            answer = await self._post(prompt, sent)
            if not isinstance(answer, Fault):
                return self._read(answer, sent)
            if not self._negotiation.step_down(terms, answer):
                raise classify(answer, self._key)
