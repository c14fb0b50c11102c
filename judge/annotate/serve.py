"""`judge annotate`: the server of the labelling page and the messages on the terminal."""

from __future__ import annotations

import secrets
import shlex
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from html import escape
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from judge.annotate.guard import make_policy
from judge.annotate.label_log import open_labels
from judge.annotate.session import AnnotationSession, draw_pairs_to_label, order_pairs, read_plan
from judge.client.cancel import call_on_signals
from judge.errors import InputError, SetupError, advise_install, explain_error
from judge.files.filesystem import write_file
from judge.messages import ENGLISH, NameList, Translator
from judge.report.display_text import format_query_count
from judge.runs import load
from judge.runs.folder import RunFolder
from judge.runs.labelling_plan import make_design_path

if TYPE_CHECKING:
    import uvicorn

#: Prints a text on the terminal.
Say = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address of the page: `port` 0 takes a free port; every request for data needs the `token`."""

    host: str
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)


def annotate(
    run: Path,
    plan: Path | None,
    who: str,
    address: ServerAddress,
    say: Say,
    t: Translator = ENGLISH,
    *,
    opens: bool,
) -> None:
    """Serve the page on which `who` labels the run in folder `run`, until Ctrl-C or another signal.

    Without a `plan`, 50 queries are drawn. `opens` opens a browser; `say` prints messages in the
    language of `t`. Raises SetupError without the web extra, InputError for an invalid option.
    """
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise SetupError(
            "judge annotate needs {packages}: {command}",
            packages=NameList(missing),
            command=advise_install("web"),
        )
    make_policy(address.host, address.port, address.token)
    loaded = load.load_run_without_labels(RunFolder(run))
    keys = read_plan(plan, loaded.pool) if plan else draw_pairs_to_label(loaded.pool)
    today = load.read_options(RunFolder(run)).as_of
    with open_labels(run, who) as labels, _open_socket(address) as listener:
        ordered = order_pairs(loaded.pool, keys, labels.who)
        of_pairs = plan if plan and make_design_path(plan).exists() else None
        session = AnnotationSession(run, loaded, ordered, labels, today, of_pairs)
        bound = replace(address, port=listener.getsockname()[1])
        host = f"[{bound.host}]" if ":" in bound.host else bound.host
        # A fragment stays in the browser: no log and no other site gets to see it.
        url = f"http://{host}:{bound.port}/#{bound.token}"
        server = make_server(session, bound)

        def stop() -> None:
            server.should_exit = True

        # A flag, because an exception that a signal raises in an answer, or where Python runs a finalizer, is
        # lost. When uvicorn is done, it sends itself the signal again, which sets the flag once more.
        with call_on_signals(stop):
            say(_describe_session(session, url, t))
            try:
                with _open_browser(url) if opens else nullcontext():
                    server.run(sockets=[listener])
            finally:
                say(_describe_labels(session, plan, t))


@contextmanager
def _open_browser(url: str) -> Iterator[None]:
    """Open `url` in a browser.

    The browser gets a file that leads to it, because all users of a machine can read the arguments of a
    command. A thread starts it, because some browsers return only when they are closed.
    """
    with TemporaryDirectory(prefix="judge-") as folder:
        page = Path(folder) / "open.html"
        write_file(
            page, [f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(url)}">\n'], 0o600
        )
        threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
        yield


def _open_socket(address: ServerAddress) -> socket.socket:
    try:
        family = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((address.host, address.port), family=family)
    except (OSError, OverflowError) as error:
        raise InputError(
            "cannot listen on {address.host} port {address.port}: {error}; name another --host, or use"
            " --port 0 for a free port",
            # `create_server` adds the address to the reason of the system, which is the context of its error.
            error=explain_error(error.__context__ or error),
            address=address,
        ) from error


def make_server(session: AnnotationSession, address: ServerAddress) -> uvicorn.Server:
    """Return a server of the page that has not begun to serve."""
    import uvicorn

    from judge.annotate.app import TimedConnection, make_app

    guarded = make_app(session, make_policy(address.host, address.port, address.token))
    config = uvicorn.Config(
        guarded,
        http=TimedConnection,
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
    )
    return uvicorn.Server(config)


def _describe_session(session: AnnotationSession, url: str, t: Translator) -> str:
    first = t(
        "{who} labels {pairs} of {queries} of {run}",
        who=session.labels.who,
        pairs=t.translate_plural("{count:,} pair", "{count:,} pairs", len(session.pairs)),
        queries=format_query_count(t, len({pair.query.id for pair in session.pairs})),
        run=session.run,
    )
    if session.labelled:
        first += t.translate_plural(
            ", {count:,} of them is labelled", ", {count:,} of them are labelled", session.labelled
        )
    last = t("Press Ctrl-C to stop. Each label is saved at once; run the same command again to continue.")
    return f"{first}\n{url}\n{last}"


def _describe_labels(session: AnnotationSession, plan: Path | None, t: Translator) -> str:
    if not session.labels.current:
        return t("no label was given")
    table = session.labels.write_table(session.loaded.pool)
    labelled, total = session.labelled, len(session.pairs)
    which = ["--plan", str(plan)] if plan else []
    again = shlex.join(["judge", "annotate", str(session.run), *which, "--who", session.labels.who])
    lines = [
        t(
            "{labelled:,} of {total:,} pairs are labelled, in {log} and, for judge agree, {table}",
            labelled=labelled,
            total=total,
            log=session.labels.path,
            table=table,
        )
    ]
    if labelled < total:
        lines.append(t("to continue: {command}", command=again))
    lines.append(t("to compare them with the grades of the assessor: {command}", command=session.command))
    return "\n".join(lines)
