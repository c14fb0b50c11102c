"""A fake provider with a Batch API: files and batches beside the chat completions of `fake_server`.

    with BatchServer(reply_with_grade) as server:
        ...  # judge run --batch --base-url server.openai_url

The same `make_reply` serves the requests of a batch and those in realtime.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from aiohttp import web

from tests.support.fake_server import ChatRequest, LoopbackServer, Reply, render


@dataclass
class BatchRules:
    """The behaviour of the Batch API: its limits, and the end of each batch.

    `end_status` returns the final status of the batch with a number; the batch has it after `polls` requests
    for its status. An expired or a cancelled batch has replies to the first `processed` requests. `is_failed`
    returns whether a request has an error instead of a response. `edit_line` returns the lines that a file
    has instead of a line. `refusal` is the status and the error with which the API refuses to create a batch.
    An upload returns an object of the kind `uploaded`. With `is_cut`, a file arrives without its second half.
    The list of batches begins with `others` of another program.
    """

    polls: int = 0
    processed: int = 0
    requests: int = 50_000
    end_status: Callable[[int], str] = lambda number: "completed"
    is_failed: Callable[[str], bool] = lambda custom_id: False
    edit_line: Callable[[dict[str, Any]], list[dict[str, Any]]] = lambda line: [line]
    errors: dict[str, str] = field(default_factory=lambda: {"code": "server_error", "message": "try again"})
    refusal: tuple[int, dict[str, Any]] | None = None
    is_absent: bool = False
    uploaded: str = "file"
    is_cut: bool = False
    others: int = 0


@dataclass
class _Batch:
    number: int
    input_file_id: str
    metadata: dict[str, str]
    polls: int = 0
    files: tuple[str | None, str | None] = (None, None)


class BatchServer(LoopbackServer):
    """A provider with a Batch API; `batches` has the custom ids of the requests of each batch.

    `on_step` runs before and after each step of the API: "upload", "create", "list", "retrieve" or "content".
    A reply that it returns replaces that of the step.
    """

    def __init__(
        self,
        make_reply: Callable[[ChatRequest], Reply],
        rules: BatchRules | None = None,
        on_step: Callable[[str], Reply | None] = lambda step: None,
    ) -> None:
        super().__init__(make_reply)
        self.rules = rules or BatchRules()
        self.batches: list[list[str]] = []
        self.steps: list[str] = []
        self._on_step = on_step
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, _Batch] = {}
        self._numbers = count(1)

    @property
    def compatible_url(self) -> str:
        return f"{self.url}/compatible-mode/v1"

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        base, _, path = request.path.partition("/v1/")
        if base not in ("", "/compatible-mode") or path.split("/")[0] not in ("files", "batches"):
            return await super()._serve(request)
        step = {"POST files": "upload", "POST batches": "create", "GET batches": "list"}.get(
            f"{request.method} {path}", "content" if path.startswith("files/") else "retrieve"
        )
        self.steps.append(step)
        if self.rules.is_absent:
            return _make_error(404, {"message": "Not Found"})
        body = await request.content.read()  # files are larger than aiohttp's limit of 1 MB
        instead = self._on_step(f"before {step}")
        if instead is None:
            response = self._respond(step, path, request, body)
            instead = self._on_step(step)
        if instead is not None:
            code = "server_error" if instead.status >= 500 else "invalid_request_error"
            return _make_error(instead.status, {"message": instead.text, "code": code})
        return response

    def _respond(self, step: str, path: str, request: web.BaseRequest, body: bytes) -> web.Response:
        match step:
            case "upload":
                return self._upload(request.headers["content-type"], body)
            case "create":
                return self._create(json.loads(body))
            case "list":
                return self._list(int(request.query["limit"]), request.query.get("after"))
            case "content":
                content = self._files[path.split("/")[1]]
                return web.Response(body=content[: len(content) // 2] if self.rules.is_cut else content)
        name = path.split("/")[1]
        if name not in self._batches:
            return _make_error(404, {"message": f"No batch found with id '{name}'."})
        self._batches[name].polls += 1
        return web.json_response(self._show(name))

    def _upload(self, content_type: str, body: bytes) -> web.Response:
        boundary = content_type.partition("boundary=")[2].encode()
        parts = [part.partition(b"\r\n\r\n") for part in body.split(b"--" + boundary)[1:-1]]
        fields = {header.partition(b'name="')[2].partition(b'"')[0]: value for header, _, value in parts}
        assert fields[b"purpose"].strip() == b"batch"
        name = f"file-batch-{next(self._numbers)}"
        self._files[name] = fields[b"file"].removesuffix(b"\r\n")
        return web.json_response({"id": name, "object": self.rules.uploaded, "purpose": "batch"})

    def _create(self, body: dict[str, Any]) -> web.Response:
        assert (body["endpoint"], body["completion_window"]) == ("/v1/chat/completions", "24h")
        if self.rules.refusal is not None:
            return _make_error(*self.rules.refusal)
        lines = list(map(json.loads, self._files[body["input_file_id"]].splitlines()))
        ids = [line["custom_id"] for line in lines]
        assert len(set(ids)) == len(ids) <= self.rules.requests
        assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/chat/completions")}
        name = f"batch_{next(self._numbers)}"
        self.batches.append(ids)
        self._batches[name] = _Batch(len(self.batches), body["input_file_id"], body["metadata"])
        return web.json_response(self._show(name))

    def _list(self, limit: int, after: str | None) -> web.Response:
        """Return the batches, the newest first, after those that others have created since."""
        others = [
            {"id": f"other_{number}", "object": "batch", "status": "completed", "input_file_id": "other"}
            for number in range(self.rules.others)
        ]
        batches = [*others, *map(self._show, reversed(self._batches))]
        first = next((at for at, batch in enumerate(batches, start=1) if batch["id"] == after), 0)
        page, has_more = batches[first : first + limit], len(batches) > first + limit
        return web.json_response({"object": "list", "data": page, "has_more": has_more})

    def _show(self, name: str) -> dict[str, Any]:
        batch = self._batches[name]
        lines = self._files[batch.input_file_id].splitlines()
        status = self.rules.end_status(batch.number) if batch.polls > self.rules.polls else "in_progress"
        if status not in ("in_progress", "failed") and batch.files == (None, None):
            batch.files = self._run_batch(list(map(json.loads, lines)), status)
        done = len(lines) if status == "completed" else min(len(lines), self.rules.processed)
        failed = len(lines) - done if status == "expired" else 0  # the file of errors has a line for each
        errors = {"object": "list", "data": [self.rules.errors]} if status == "failed" else None
        return {
            "id": name,
            "object": "batch",
            "status": status,
            "endpoint": "/v1/chat/completions",
            "input_file_id": batch.input_file_id,
            "output_file_id": batch.files[0],
            "error_file_id": batch.files[1],
            "created_at": 1_800_000_000,
            "errors": errors,
            "metadata": batch.metadata,
            "request_counts": {"total": len(lines), "completed": done, "failed": failed},
        }

    def _run_batch(self, lines: list[dict[str, Any]], status: str) -> tuple[str | None, str | None]:
        """Answer the requests of a batch, and write the files of replies and errors, in another order."""
        replies: list[Any] = []
        errors: list[Any] = []
        for number, line in enumerate(lines):
            name = line["custom_id"]
            if status != "completed" and number >= self.rules.processed:
                error = {"code": f"batch_{status}", "message": "not processed"}
                errors.append({"custom_id": name, "response": None, "error": error})
            elif self.rules.is_failed(name):
                errors.append({"custom_id": name, "response": None, "error": self.rules.errors})
            else:
                chat_request = self.record_request(
                    "/v1/chat/completions", {}, json.dumps(line["body"]).encode()
                )
                reply = self.make_reply(chat_request)
                body = json.loads(render(reply, chat_request) if reply.body is None else reply.body)
                response = {"status_code": reply.status, "request_id": f"r{number}", "body": body}
                target = replies if reply.status == 200 else errors
                target.append({"id": f"l{number}", "custom_id": name, "response": response, "error": None})
        return self._write(replies), self._write(errors)

    def _write(self, lines: list[Any]) -> str | None:
        if not lines:
            return None
        name = f"file-{next(self._numbers)}"
        edited = [each for line in reversed(lines) for each in self.rules.edit_line(line)]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in edited)
        self._files[name] = text.encode()
        return name


def _make_error(status: int, error: dict[str, Any]) -> web.Response:
    return web.json_response({"error": error}, status=status)
