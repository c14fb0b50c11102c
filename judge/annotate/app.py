"""The application of the labelling page: its HTML, its addresses, and connections that time out.

Imported with the web extra only.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as ServerEvent
from uvicorn.protocols.http.h11_impl import H11Protocol

from judge.annotate.guard import Policy, choose_translator, find_refusal
from judge.annotate.label_log import LabelDecision
from judge.annotate.session import AnnotationSession, LabelConflict, PageAnswer, PageState
from judge.errors import InputError, StoreError
from judge.files.json_text import dump_json, make_object
from judge.messages import Message
from judge.report.pages import hash_for_policy, open_templates, read_own_files
from judge.runs.record_json import to_json

_HERE = "judge.annotate"
_STYLE = (("judge.report", "look.css"), ("judge.report", "charts.css"), (_HERE, "annotate.css"))
#: Package and name of each script, in the order of the page; `.ci/javascript/annotate.json` lists them too.
LABELLING_SCRIPTS = (
    ("judge.report", "dom.js"),
    *((_HERE, f"{name}.js") for name in ("annotate_messages", "annotate_view", "annotate")),
)
#: Seconds in which a request must arrive, from the connection or the answer before it to its last byte.
_REQUEST_TIMEOUT = 10.0
#: Bytes of a body, at most, and bytes that are read of one that says that it is larger.
_MAX_BODY, _MAX_READ = 64 * 1024, 1024 * 1024
_Id = Annotated[str, Field(pattern=r"^[0-9a-f]{16,64}$")]


class _NoFields(BaseModel):
    """The body of a write without fields."""

    model_config = ConfigDict(strict=True, extra="forbid")


class _Undo(_NoFields):
    """The body of a write that takes a decision back."""

    id: _Id


class _Label(_Undo):
    """The body of a write with a decision of `who`, and the id of the decision that it `replaces`."""

    who: str
    query_id: str
    snippet_id: str
    grade: int | None
    comment: Annotated[str, Field(max_length=4000)]
    replaces: _Id | None


_Body = TypeVar("_Body", bound=BaseModel)


def make_page() -> tuple[str, str]:
    """Return the HTML of the page and its Content-Security-Policy.

    It is the same for every run and person; its script requests the data.
    """
    style, script = read_own_files(*_STYLE), read_own_files(*LABELLING_SCRIPTS)
    html = open_templates(_HERE).get_template("annotate.html.jinja").render(style=style, script=script)
    return html, (
        f"default-src 'none'; style-src {hash_for_policy(style)}; script-src {hash_for_policy(script)};"
        " connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
        " require-trusted-types-for 'script'"
    )


def make_app(session: AnnotationSession, policy: Policy) -> Guarded:
    """Return the page of `session` as an ASGI application, behind `policy`."""
    html, content_policy = make_page()

    async def show(_: Request) -> Response:
        return HTMLResponse(html)

    async def show_state(request: Request) -> Response:
        return _answer(request, lambda: session.describe_state(_parse_place(request.query_params.get("at"))))

    def label(body: _Label) -> PageState:
        # A page that was left open may meet another person's server at its address.
        if body.who != session.labels.who:
            raise InputError(
                "the labels stored here are {who}'s; open the page again", who=session.labels.who
            )
        comment = body.comment.strip()
        decision = LabelDecision(body.id, body.query_id, body.snippet_id, body.grade, comment)
        return session.label(decision, body.replaces)

    routes = [
        Route("/", show),
        Route("/state", show_state),
        _write_route("/label", _Label, label),
        _write_route("/undo", _Undo, lambda body: session.undo(body.id)),
        _write_route("/export", _NoFields, lambda _: session.export()),
        _write_route("/finish", _NoFields, lambda _: session.finish()),
    ]
    application = Starlette(routes=routes)
    application.router.redirect_slashes = False
    return Guarded(application, policy, content_policy)


def _write_route(path: str, model: type[_Body], write: Callable[[_Body], PageAnswer]) -> Route:
    async def respond(request: Request) -> Response:
        body, declared = b"", int(request.headers.get("content-length", 0))
        # A connection that is closed before its body was read is reset, and the client loses the response.
        async for part in request.stream():
            body += part
            if len(body) > max(_MAX_BODY, min(declared, _MAX_READ)):
                break
        if len(body) > _MAX_BODY:
            return _refuse(request, 413, Message("the request has more than {most:,} bytes", most=_MAX_BODY))
        return _answer(request, lambda: write(_read_body(model, body)))

    return Route(path, respond, methods=["POST"])


def _answer(request: Request, ask: Callable[[], PageAnswer]) -> Response:
    """Return the result of `ask` as JSON, or the reason why there is none."""
    try:
        return _respond(200, to_json(ask()))
    except (InputError, StoreError) as error:
        status = 409 if isinstance(error, LabelConflict) else 400 if isinstance(error, InputError) else 507
        return _refuse(request, status, error.message)


def _refuse(request: Request, status: int, why: Message) -> Response:
    """Return why there is no answer, in the language of the page."""
    t = choose_translator(request.headers.get("accept-language", ""))
    return _respond(status, {"error": t(why)})


def _respond(status: int, content: Mapping[str, object]) -> Response:
    return Response(dump_json(content), status, media_type="application/json")


def _parse_place(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InputError("'at' is the place of a pair, from 0")
    return int(text)


def _read_body(model: type[_Body], body: bytes) -> _Body:
    """Return the JSON object in `body`; raise InputError when it has other fields than `model`."""
    try:
        return model.model_validate(json.loads(body, object_pairs_hook=make_object))
    except ValidationError as error:
        field = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))
        raise InputError(
            "the body: field {field!r} is missing, unknown or has a wrong value", field=field
        ) from None
    except (ValueError, RecursionError):
        raise InputError("the body is not JSON") from None


class Guarded:
    """`app` behind `policy`; `content_policy` is the Content-Security-Policy of every response."""

    def __init__(self, app: ASGIApp, policy: Policy, content_policy: str) -> None:
        self._app = app
        self._policy = policy
        self._headers = [
            (b"content-security-policy", content_policy.encode()),
            (b"cache-control", b"no-store"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"referrer-policy", b"no-referrer"),
            (b"x-content-type-options", b"nosniff"),
            (b"x-frame-options", b"DENY"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it before the application gets it."""
        if scope["type"] != "http":
            return

        async def send_safely(message: ServerEvent) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self._headers]
            await send(message)

        app = self._app
        refused = find_refusal(self._policy, scope["method"], scope["path"], scope["headers"])
        if refused is None and scope.get("raw_path", b"").decode("latin-1") != scope["path"]:
            refused = 404, Message("this server has no page at this address")
        if refused is not None:
            app = _refuse(Request(scope), *refused)
        await app(scope, receive, send_safely)


class TimedConnection(H11Protocol):
    """A connection that is closed when a request does not arrive whole in `request_timeout` seconds.

    uvicorn waits for the rest of a request without a limit. A client that sends a byte now and then, or
    nothing, would keep its connections until no other client gets one.
    """

    request_timeout = _REQUEST_TIMEOUT
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read on, and stop the clock once a request is there."""
        super().data_received(data)
        cycle: Any = self.cycle  # None before the first request, which uvicorn's types don't say
        if cycle is not None and not cycle.more_body:
            self._stop()

    def on_response_complete(self) -> None:
        """Start to wait for the next request."""
        self._wait()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop()
        transport: Any = self.transport
        self._timer = self.loop.call_later(self.request_timeout, transport.abort)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
