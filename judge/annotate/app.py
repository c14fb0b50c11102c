"""The addresses of the annotation server, their input and output. Imported with the web extra only."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from judge.annotate.annotation_page import make_page
from judge.annotate.guard import Guarded, Policy
from judge.annotate.label_log import LabelDecision
from judge.annotate.session import AnnotationSession, LabelConflict
from judge.errors import InputError, StoreError
from judge.messages import Message
from judge.runs.folder import dump_json

_ID = re.compile(r"[0-9a-f]{16,64}")
_LONGEST = 4000


def make_app(session: AnnotationSession, policy: Policy) -> Guarded:
    """Return the page of `session` as an ASGI application, behind `policy`."""
    ours = make_page()

    async def show(request: Request) -> Response:
        return HTMLResponse(ours.html)

    async def state(request: Request) -> Response:
        return _answer(lambda: session.state(_place(request.query_params.get("at"))))

    async def label(request: Request) -> Response:
        body = await request.body()
        return _answer(lambda: session.label(*_decision(body, session.labels.who)))

    async def undo(request: Request) -> Response:
        body = await request.body()
        return _answer(lambda: session.undo(_id(_object(body, "id"))))

    async def export(request: Request) -> Response:
        body = await request.body()
        return _answer(lambda: _without_fields(body, session.export))

    async def finish(request: Request) -> Response:
        body = await request.body()
        return _answer(lambda: _without_fields(body, session.finish))

    routes = [
        Route("/", show),
        Route("/state", state),
        Route("/label", label, methods=["POST"]),
        Route("/undo", undo, methods=["POST"]),
        Route("/export", export, methods=["POST"]),
        Route("/finish", finish, methods=["POST"]),
    ]
    application = Starlette(routes=routes)
    application.router.redirect_slashes = False
    return Guarded(application, policy, ours.content_policy)


def _answer(ask: Callable[[], Mapping[str, Any]]) -> Response:
    """Return the result of `ask` as JSON, or the reason why there is none."""
    try:
        status, content = 200, ask()
    except LabelConflict as error:
        status, content = 409, {"error": str(error)}
    except InputError as error:
        status, content = 400, {"error": str(error)}
    except StoreError as error:
        status, content = 507, {"error": str(error)}
    return Response(dump_json(content), status, media_type="application/json")


def _place(text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise InputError("'at' is the place of a pair, from 0")
    return int(text)


def _without_fields(body: bytes, action: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    _object(body)
    return action()


def _decision(body: bytes, who: str) -> tuple[LabelDecision, str | None]:
    """Return the decision in a write, and the id of the decision that it replaces."""
    fields = _object(body, "who", "id", "query_id", "snippet_id", "grade", "comment", "replaces")
    # A page that was left open may meet another person's server at its address.
    if fields["who"] != who:
        raise InputError("the labels kept here are {who}'s; open the page anew", who=who)
    query_id, snippet_id, comment = (fields[name] for name in ("query_id", "snippet_id", "comment"))
    if not all(isinstance(text, str) for text in (query_id, snippet_id, comment)):
        raise InputError("'query_id', 'snippet_id' and 'comment' are texts")
    if len(comment) > _LONGEST:
        raise InputError(
            "the comment has {length:,} characters; {most:,} fit", length=len(comment), most=_LONGEST
        )
    grade = fields["grade"]
    if grade is not None and type(grade) is not int:
        raise InputError("'grade' is a whole number, or null for not sure")
    replaces = None if fields["replaces"] is None else _id(fields, "replaces")
    return LabelDecision(_id(fields), query_id, snippet_id, grade, comment.strip()), replaces


def _id(fields: Mapping[str, Any], name: str = "id") -> str:
    decision_id = fields[name]
    if not (isinstance(decision_id, str) and _ID.fullmatch(decision_id)):
        raise InputError("{name!r} is 16 to 64 hex digits", name=name)
    return decision_id


def _object(body: bytes, *names: str) -> dict[str, Any]:
    """Return the JSON object in `body`; raise InputError when it has other fields than `names`."""
    try:
        fields = json.loads(body, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise InputError("the body is not JSON") from None
    if not isinstance(fields, dict) or fields.keys() != set(names):
        raise InputError(
            "the body is an object with the fields {names}", names=", ".join(names) or Message("(none)")
        )
    return fields


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field is there twice")
    return fields
