"""The Batch API of OpenAI and compatible servers, and the connections that it shares with LangChain's models.

Requests have the headers, the proxy and the address of the options, and no others. The API is that of
https://platform.openai.com/docs/guides/batch and, for Alibaba Cloud,
https://help.aliyun.com/zh/model-studio/batch-interfaces-compatible-with-openai
"""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import IO, Any, Final, Literal, cast
from urllib.parse import quote

import aiohttp
import httpx2
import openai

from judge.errors import AccountError, iterate_causes
from judge.messages import Message
from judge.models import error_mapping
from judge.models.batch_api import MAX_REQUESTS, BatchLine, BatchStatus, BatchTerms
from judge.models.chat_messages import as_mapping, build_messages, parse_response, read_chat_completion
from judge.models.error_mapping import JsonBody
from judge.models.http_responses import ACCEPTED, MAX_BYTES, BodyRefused, read_limited
from judge.models.negotiation import Negotiation, RequestParams
from judge.models.redaction import mask, redact
from judge.models.server import NO_KEY, Server, find_proxy, is_dashscope
from judge.records import Completion, Prompt


class _LimitedStream(httpx2.AsyncByteStream):
    """The body of a response that is not read yet, unpacked within a limit.

    The header of its encoding is removed, so that it is not unpacked twice.
    """

    def __init__(self, response: httpx2.Response, max_bytes: int) -> None:
        self._stream = cast(httpx2.AsyncByteStream, response.stream)
        self._max_bytes = max_bytes
        self._encoding = response.headers.pop("content-encoding", None)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return read_limited(self._stream, self._encoding, self._max_bytes)

    async def aclose(self) -> None:
        await self._stream.aclose()


def open_connections(server: Server, max_bytes: int = MAX_BYTES) -> httpx2.AsyncClient:
    """Return a pool of connections to a server; raise SetupError for a proxy that cannot be used."""

    async def limit_body(response: httpx2.Response) -> None:
        response.stream = _LimitedStream(response, max_bytes)

    concurrency = server.access.concurrency
    limits = httpx2.Limits(
        max_connections=concurrency, max_keepalive_connections=concurrency, keepalive_expiry=30
    )
    proxy = find_proxy(server.url)
    return openai.DefaultAioHttpClient(
        limits=limits,
        timeout=server.access.timeout,
        headers={"Accept-Encoding": ACCEPTED},
        event_hooks={"response": [limit_body]},
        # A redirect would send the prompt to an address that is not configured.
        follow_redirects=False,
        proxy=proxy,
        # Without it, the client would choose a proxy itself.
        mounts=None if proxy else {"http://": None, "https://": None},
    )


#: The path of the requests in a batch, on every server.
_PATH: Final = "/v1/chat/completions"
#: Seconds for the upload of a file, and for the pauses of a download.
_FILE_TIMEOUT = 600.0
_MAX_REPLY_FILE_BYTES = 2**31
#: Codes of requests that the server did not process before the batch ended.
_UNPROCESSED = frozenset({"batch_expired", "batch_cancelled"})
#: How much the clock of a server may differ from ours.
_CLOCK_ERROR = timedelta(days=1)
#: OpenAI's limits, which other servers have taken over.
_OPENAI_TERMS = BatchTerms(requests=MAX_REQUESTS, file_bytes=200_000_000, line_bytes=200_000_000)
_DASHSCOPE_TERMS = BatchTerms(
    requests=MAX_REQUESTS, file_bytes=100_000_000, line_bytes=1_000_000, name_key="ds_name"
)


class OpenAIBatchApi:
    """The Batch API of a server for `model`, with the parameters of `negotiation`."""

    def __init__(self, model: str, server: Server, negotiation: Negotiation) -> None:
        self.terms = _DASHSCOPE_TERMS if is_dashscope(server.url) else _OPENAI_TERMS
        self._model = model
        self._server = server
        self._negotiation = negotiation
        self._http = open_connections(server, _MAX_REPLY_FILE_BYTES)
        key = {"Authorization": f"Bearer {server.key or NO_KEY}"}
        self._http.headers.update({"User-Agent": "judge", **key, **server.account_headers})

    @property
    def params(self) -> RequestParams:
        """The parameters that a request has now."""
        return self._negotiation.current

    def make_line(self, custom_id: str, prompt: Prompt, params: RequestParams) -> bytes:
        """Return the line of a request; raise RequestRejected when it cannot be sent as UTF-8."""
        messages = build_messages(prompt, has_system=params.has_system)
        body = {"model": self._model, "messages": messages, **params.add_format(prompt.schema)}
        line = {"custom_id": custom_id, "method": "POST", "url": _PATH, "body": body}
        try:
            return json.dumps(line, ensure_ascii=False).encode() + b"\n"
        except UnicodeEncodeError as error:
            raise error_mapping.make_encoding_error(error) from None

    def read_reply(self, line: BatchLine, prompt: Prompt, params: RequestParams) -> Completion:
        """Return the completion in `line`; raise CallError as `Model.complete` does."""
        secrets, endpoint = self._server.secrets, self._server.endpoint
        if line.fault:
            raise error_mapping.make_transport_error(line.fault, *secrets)
        json_body = parse_response(line.status or 0, json.dumps(line.body).encode(), {}, *secrets)
        if isinstance(json_body, error_mapping.ErrorResponse):
            raise self._negotiation.make_error(params, json_body, *secrets, endpoint=endpoint)
        return read_chat_completion(json_body, params.add_format(prompt.schema), secrets)

    async def upload(self, name: str, lines: IO[bytes]) -> str:
        """Upload a file of requests and return its id."""
        file = (f"{name}.jsonl", lines, "application/jsonl")
        json_body = await self._send(
            "POST", "/files", data={"purpose": "batch"}, files={"file": file}, timeout=_FILE_TIMEOUT
        )
        return self._read_id(json_body, "file")

    async def create(self, name: str, file_id: str) -> BatchStatus:
        """Create a batch of the requests in the file, for which the provider charges."""
        request = {
            "input_file_id": file_id,
            "endpoint": _PATH,
            "completion_window": "24h",
            "metadata": {self.terms.name_key: f"judge {name}"},
        }
        return self._read_status(await self._send("POST", "/batches", json=request))

    async def find(self, file_id: str, since: datetime) -> BatchStatus | None:
        """Return the batch that was created of the file, not before `since`; None when there is none."""
        last: dict[str, str] = {}
        earliest = (since - _CLOCK_ERROR).timestamp()
        while True:
            json_body = await self._send("GET", "/batches", params={"limit": "100", **last})
            data = json_body.get("data")
            batches = (
                [batch for batch in data if isinstance(batch, Mapping)] if isinstance(data, list) else []
            )
            for batch in batches:
                if batch.get("input_file_id") == file_id:
                    return self._read_status(batch)
            if not batches or not json_body.get("has_more"):
                return None
            if all(0 < _count(batch, "created_at") < earliest for batch in batches):
                return None
            before, last = last, {"after": self._read_id(batches[-1], "batch")}
            if last == before:  # the server ignores `after`
                return None

    async def retrieve(self, batch_id: str) -> BatchStatus:
        """Return the present state of a batch."""
        return self._read_status(await self._send("GET", f"/batches/{quote(batch_id, safe='')}"))

    async def read_lines(self, status: BatchStatus) -> AsyncIterator[BatchLine]:
        """Yield the lines of the files of replies and errors, in any order.

        Raises CallError for a file that arrived cut.
        """
        for file_id in status.files:
            line = b""
            url = f"{self._server.url}/files/{quote(file_id, safe='')}/content"
            with self._map_errors():
                async with self._http.stream("GET", url, timeout=_FILE_TIMEOUT) as response:
                    if not response.is_success:
                        await response.aread()
                        self._parse(response)
                    async for line in yield_file_lines(response.aiter_bytes()):
                        if (batch_line := self._read_line(line)) is not None:
                            yield batch_line
            if not _ends_whole(line):
                raise error_mapping.make_transport_error(
                    f"{self._server.endpoint}: a file of replies ends within a line", *self._server.secrets
                )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _send(self, method: str, path: str, **content: Any) -> JsonBody:  # noqa: ANN401 - as httpx has it
        """Return the JSON of the response to a request with `content`; raise CallError."""
        with self._map_errors():
            response = await self._http.request(method, self._server.url + path, **content)
        return self._parse(response)

    def _parse(self, response: httpx2.Response) -> JsonBody:
        """Return the JSON of a response; raise the error in it."""
        secrets = self._server.secrets
        json_body = parse_response(response.status_code, response.content, response.headers, *secrets)
        if not isinstance(json_body, error_mapping.ErrorResponse):
            return json_body
        error = error_mapping.classify(json_body, *secrets, endpoint=self._server.endpoint)
        # Whatever is not there: the API, the batch or the file.
        raise AccountError("not_found", error.detail) if json_body.status in (404, 405, 501) else error

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        server = self._server
        try:
            yield
        except BodyRefused as error:
            raise error_mapping.make_transport_error(f"{server.endpoint}: {error}") from None
        except (TimeoutError, httpx2.RequestError, aiohttp.ClientError) as error:
            # The transport wraps the error of aiohttp, and takes any broken connection for a timeout.
            causes = iterate_causes(error)
            cause = next((cause for cause in causes if isinstance(cause, aiohttp.ClientError)), error)
            if isinstance(cause, TimeoutError | httpx2.TimeoutException):
                raise error_mapping.make_timeout_error(server.access.timeout) from None
            never_sent = isinstance(cause, aiohttp.ClientConnectorError | aiohttp.ClientHttpProxyError)
            raise error_mapping.make_connection_error(
                cause, server.endpoint, server.key, never_sent=never_sent
            ) from None

    def _read_id(self, json_body: JsonBody, kind: Literal["file", "batch"]) -> str:
        """Return the id of an object; raise AccountError for one of another kind."""
        name, other = json_body.get("id"), json_body.get("object")
        if isinstance(other, str) and other != kind:  # a server that answers every path alike
            detail = Message("it returned {object!r} instead of {kind!r}", object=mask(other)[:40], kind=kind)
            raise AccountError("not_found", detail)
        if not (isinstance(name, str) and name):
            raise error_mapping.make_transport_error(
                f"{self._server.endpoint}: a file or a batch without an id", *self._server.secrets
            )
        return name

    def _read_status(self, json_body: JsonBody) -> BatchStatus:
        counts = as_mapping(json_body.get("request_counts"))
        files = (json_body.get("output_file_id"), json_body.get("error_file_id"))
        errors = as_mapping(json_body.get("errors")).get("data")
        first = as_mapping(errors[0]) if isinstance(errors, list) and errors else {}
        error = f"{first.get('code') or ''} {first.get('message') or ''}".strip()
        completed = _count(counts, "completed")
        return BatchStatus(
            id=self._read_id(json_body, "batch"),
            status=str(json_body.get("status")),
            done=completed + _count(counts, "failed"),
            completed=completed,
            total=_count(counts, "total"),
            files=tuple(file for file in files if isinstance(file, str) and file),
            error=error_mapping.shorten(mask(error, *self._server.secrets)),
        )

    def _read_line(self, raw: bytes) -> BatchLine | None:
        """Return the line, None for one that is empty or names no request."""
        try:
            line = json.loads(redact(raw.decode(), *self._server.secrets))
        except (ValueError, RecursionError):
            return None
        if not isinstance(line, Mapping) or not isinstance(line.get("custom_id"), str):
            return None
        response, error = as_mapping(line.get("response")), as_mapping(line.get("error"))
        if error.get("code") in _UNPROCESSED:
            return BatchLine(line["custom_id"], None, {})
        status, body = response.get("status_code"), as_mapping(response.get("body"))
        is_status, fault = type(status) is int and 100 <= status < 600, ""
        if not (is_status or error):
            fault = Message(
                "the line of the request in the files of the batch has no error and the status_code"
                " {status!r:.40}",
                status=status,
            )
        return BatchLine(
            line["custom_id"], status if is_status else 500, body or {"error": dict(error)}, fault
        )


async def yield_file_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of a file without those that are longer than `MAX_BYTES`, and what follows the last."""
    parts: list[bytes] = []  # of the line that has not ended
    length = 0
    async for chunk in chunks:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            if length + len(end) <= MAX_BYTES:
                yield b"".join([*parts, end])
            parts, length = [], 0
        parts.append(rest)
        length += len(rest)
        if length > MAX_BYTES:
            parts.clear()
    yield b"".join(parts)


def _ends_whole(rest: bytes) -> bool:
    """Return whether what follows the last line feed of a file is nothing, or a whole line."""
    try:
        json.loads(rest.strip() or b"{}")
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def _count(counts: JsonBody, name: str) -> int:
    value = counts.get(name)
    return value if type(value) is int and value >= 0 else 0
