"""LangChain wrappers that need no server."""

import json
import os
import sys
import time
from typing import Any

from langchain_community.utilities import SearxSearchWrapper
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict


class Retriever(BaseRetriever):
    """Finds two documents for every query."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [Document(page_content=f"{query} {rank}", metadata={"source": "https://a"}) for rank in (1, 2)]


class Tool(BaseTool):
    """Answers as search tools do."""

    name: str = "search"
    description: str = "searches"

    def _run(self, query: str) -> dict[str, Any]:
        return {"query": query, "results": [{"content": f"{query} {rank}", "score": 1.0} for rank in (1, 2)]}


class Texts:
    """Answers with JSON text, as older wrappers do."""

    def run(self, query: str) -> str:
        return f'["{query} 1", "{query} 2"]'


class Slow:
    """Takes longer than anybody waits."""

    def run(self, query: str) -> str:
        time.sleep(1.0)
        return "[]"


class Hung:
    """Never answers."""

    def run(self, query: str) -> str:
        time.sleep(3600.0)
        return "[]"


class Hosted:
    """Returns `k` results that name the host and the keys; quits on demand."""

    def __init__(
        self, host: str = "a", api_key: str = "", k: int = 10, headers: dict[str, str] | None = None
    ) -> None:
        self.host = host
        self.k = k
        keys = (api_key, os.environ.get("HOSTED_API_KEY", ""), *(headers or {}).values())
        self._text = " ".join((host, *keys))

    def run(self, query: str) -> str:
        if query == "quit":
            sys.exit(f"no {self._text}")
        return json.dumps([self._text] * self.k)


class Strict(BaseModel):
    """Takes one number, and says which value it doesn't take."""

    model_config = ConfigDict(extra="forbid")
    k: int = 3


class Inherited(SearxSearchWrapper):
    """Hides errors as its parent does."""


class Closed:
    """Cannot be made: it raises an error that is no error of a value, as packages do without a key."""

    def __init__(self, api_key: str = "") -> None:
        raise RuntimeError(f"no account for {api_key}")
