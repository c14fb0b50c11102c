"""Notifications of a night: files beside its record, GitHub Actions, and one POST to a webhook.

All of it is made from night.json, and changes neither the decision of the night nor the exit code. Elements
and attributes of the JUnit XML are those of Jenkins' junit-10.xsd. Annotations follow GitHub's "Workflow
commands for GitHub Actions", which shows at most ten of a kind per step. The address of a webhook is secret.
Feishu (Lark), DingTalk and WeCom answer 200 to a message that they reject; the body has the error.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import re
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import quote_plus
from xml.etree import ElementTree as ET

from tenacity import Retrying, retry_if_result, stop_after_attempt, wait_exponential
from yarl import URL

from judge.characters import escape_controls
from judge.config.nightly import WebhookKind, WebhookOptions
from judge.errors import InputError, JudgeError, explain_error
from judge.files.filesystem import read_text
from judge.files.json_text import dump_json
from judge.messages import ENGLISH, Message, Translator
from judge.models.error_mapping import shorten
from judge.models.redaction import find_secrets, mask
from judge.models.server import is_address
from judge.nightly import night_texts
from judge.nightly.night_texts import NightMessage
from judge.nightly.record import EXIT_CODES, NightRecord, OutcomeName
from judge.records import JsonDict
from judge.report.display_text import fit_on_line
from judge.runs.folder import RunFolder
from judge.runs.record_json import to_json

if TYPE_CHECKING:
    import aiohttp

#: The last message sent to the webhook, in English and without its link; the same one is not sent twice.
_SENT_FILE = "webhook.txt"
#: The errors of the night that were sent to the webhook, in English, one in a line.
_SENT_ERRORS_FILE = "webhook-errors.txt"
#: The most bytes of a message in UTF-8; Feishu and DingTalk take 20 kB, WeCom less.
_MESSAGE_BYTES = 12_000
_WECOM_BYTES = 4_096
#: The most annotations of a kind.
_ANNOTATIONS = 10
#: A step's summary may hold a mebibyte, and a Chinese character takes three bytes.
_SUMMARY_LENGTH = 300_000
#: The child element of the test case of an outcome.
_JUNIT_RESULTS: Mapping[OutcomeName, str] = {"regression": "failure", "incomplete": "error"}
#: The time-out of one attempt in seconds, and the number of attempts.
_TIMEOUT = 10.0
_ATTEMPTS = 3
#: The most bytes of a response that are read.
_RESPONSE_BYTES = 10_000
_RETRYABLE = frozenset({408, 425, 429, *range(500, 600)})


def publish(
    folder: Path,
    record: NightRecord,
    environ: Mapping[str, str],
    webhook: Webhook | None = None,
    t: Translator = ENGLISH,
) -> tuple[list[str], list[str]]:
    """Notify of the night in `folder` in the language of `t`.

    Returns the lines to print, and the commands for GitHub Actions: its annotations. Writes junit.xml and
    summary.md, both in English, and in GitHub Actions the step's summary. A webhook that fails gives a line
    and no error. Raises StoreError when the disk does not take the files.
    """
    message = night_texts.make_message(record, t)
    files = RunFolder(folder)
    files.write("junit.xml", [format_junit(record)])
    # A night that was never judged has no report.
    report = "" if record.coverage is None else "report.html"
    link = _make_job_url(environ) or (report and str(folder / report))
    lines, commands = night_texts.format_terminal(message, link, t), []
    if environ.get("GITHUB_ACTIONS") == "true":
        commands = format_annotations(record, t)
        lines += _append_step_summary(night_texts.format_markdown(message, link, t), environ, t)
    if webhook is not None:
        lines.append(_send(files, webhook, environ, record, message, t))
    files.write("summary.md", [night_texts.format_markdown(night_texts.make_message(record), report)])
    return lines, commands


def _send(
    files: RunFolder,
    webhook: Webhook,
    environ: Mapping[str, str],
    record: NightRecord,
    message: NightMessage,
    t: Translator,
) -> str:
    """Send the message to the webhook, unless it was sent before; return a line about that.

    A message that differs in its link or language alone is the same. The page of a job has another address on
    each start, and a person who starts the night again can have another language than its schedule.
    """
    text = _make_text(webhook, environ, record.date.isoformat(), _list_lines(message))
    # In another language it is the same message.
    sent = "\n".join((webhook.kind, *_list_lines(night_texts.make_message(record)), ""))
    with suppress(OSError, UnicodeDecodeError):
        if read_text(files.path / _SENT_FILE) == sent:
            return t("webhook: {kind} message was sent before", kind=webhook.kind)
    if problem := post_message(webhook, text, record):
        return t(_describe_failure(webhook, problem, record.date.isoformat()))
    files.write(_SENT_FILE, [sent])
    return t("webhook: {kind} message was sent", kind=webhook.kind)


def _make_text(webhook: Webhook, environ: Mapping[str, str], day: str, lines: Iterable[str]) -> str:
    """Return the message with the first lines, as far as there is room, and its link."""
    link = webhook.link.replace("{date}", day) or _make_job_url(environ)
    max_bytes = (_WECOM_BYTES if webhook.kind == "wecom" else _MESSAGE_BYTES) - len(f"\n{link}".encode())
    return "\n".join((*_truncate_lines(lines, max_bytes), *filter(None, [link])))


def _describe_failure(webhook: Webhook, problem: str, day: str) -> Message:
    return Message(
        "webhook: {kind} message was not sent: {error}; to send it again, run judge nightly with --date"
        " {day}",
        kind=webhook.kind,
        error=Message(problem),
        day=day,
    )


def send_error(
    files: RunFolder,
    webhook: Webhook,
    environ: Mapping[str, str],
    day: str,
    error: JudgeError,
    t: Translator = ENGLISH,
) -> Message | None:
    """Send to the webhook that the night of `day` ended with an error, unless it was sent before.

    Return why it was not sent. `files` is the folder of the night. Where the disk takes no file, each start
    sends the error.
    """
    secrets = (*find_secrets(environ), webhook.secret, webhook.url)
    english, text = (
        escape_controls(mask(" ".join(translator(error.message).split()), *secrets))
        for translator in (ENGLISH, t)
    )
    sent: list[str] = []
    with suppress(OSError, UnicodeDecodeError):
        sent = read_text(files.path / _SENT_ERRORS_FILE).splitlines()
    if english in sent:
        return None
    title = t("judge {date}: the night ended with an error", date=day)
    lines = (title, text, t("exit code {code}", code=error.exit_code))
    if problem := post_message(webhook, _make_text(webhook, environ, day, lines)):
        return _describe_failure(webhook, problem, day)
    with suppress(OSError, JudgeError):
        files.check_no_link()
        files.path.mkdir(parents=True, exist_ok=True)
        files.write(_SENT_ERRORS_FILE, [f"{line}\n" for line in (*sent, english)])
    return None


def _list_lines(message: NightMessage) -> list[str]:
    return [night_texts.format_plain(line) for line in (message.title, *message.lines)]


def _truncate_lines(lines: Iterable[str], max_bytes: int) -> Iterator[str]:
    """Yield the first lines, up to `max_bytes` bytes with an ellipsis for the rest."""
    left = max_bytes - len("…".encode())
    for line in lines:
        left -= len(f"{line}\n".encode())
        if left < 0:
            yield "…"
            return
        yield line


def format_junit(record: NightRecord) -> str:
    """Return the night as JUnit XML: a test case for the night, and one for each engine and measure."""
    suite = ET.Element("testsuite", name=f"judge nightly {record.date}")
    suite.set("timestamp", f"{record.date}T00:00:00")
    status = record.status
    why = "; ".join(map(night_texts.format_plain, night_texts.iter_other_reasons(record, ENGLISH))) or status
    result = "error" if EXIT_CODES[status] == 3 else "skipped" if status == "no baseline" else None
    _add_case(suite, ("judge.nightly", "night"), result, status, why)
    for outcome in record.outcomes:
        title = f"judge.nightly.{fit_on_line(outcome.engine)}", fit_on_line(outcome.measure)
        text = night_texts.format_plain(night_texts.describe_regression_outcome(outcome, ENGLISH))
        _add_case(suite, title, _JUNIT_RESULTS.get(outcome.outcome), outcome.outcome, text)
    suites = ET.Element("testsuites", name="judge nightly")
    suites.append(suite)
    for element in (suites, suite):
        element.set("tests", str(len(suite)))
        for attribute, tag in (("failures", "failure"), ("errors", "error")):
            element.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _add_case(suite: ET.Element, title: tuple[str, str], result: str | None, kind: str, why: str) -> None:
    case = ET.SubElement(suite, "testcase", classname=title[0], name=title[1], time="0")
    if result == "skipped":
        ET.SubElement(case, "skipped", message=why)
    elif result:
        ET.SubElement(case, result, type=kind, message=why).text = why


def format_annotations(record: NightRecord, t: Translator) -> list[str]:
    """Return the workflow commands that show what is wrong with the night."""
    drops = [
        (t("regression"), t("; ").join(night_texts.describe_regression_outcome(row, t) for row in rows))
        for rows in night_texts.group_regressions(record)
    ]
    others = [(t(record.status), reason) for reason in night_texts.iter_other_reasons(record, t)]
    level = "error" if record.exit == 3 else "warning"
    return [*_format_commands("error", drops), *_format_commands(level, others)]


def _format_commands(level: str, sentences: Sequence[tuple[str, str]]) -> Iterator[str]:
    for kind, text in sentences[:_ANNOTATIONS]:
        title = _escape_data(f"judge: {kind}").replace(":", "%3A").replace(",", "%2C")
        yield f"::{level} title={title}::{_escape_data(night_texts.format_plain(text))}"


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _append_step_summary(markdown: str, environ: Mapping[str, str], t: Translator) -> list[str]:
    """Append the Markdown to the step's summary; return a line with the error, if there is one."""
    path = environ.get("GITHUB_STEP_SUMMARY")
    try:
        if path:
            with Path(path).open("a", encoding="utf-8", newline="\n") as file:
                file.write(markdown[:_SUMMARY_LENGTH] + "\n")
    except OSError as error:
        return [t("the step's summary cannot be written: {error}", error=explain_error(error))]
    return []


def _make_job_url(environ: Mapping[str, str]) -> str:
    """Return the address of the job's page, empty outside of GitHub Actions."""
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    server, repository, run = (environ.get(name, "") for name in names)
    return f"{server}/{repository}/actions/runs/{run}" if server and repository and run else ""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where to send the message and in which format; `link` leads to the report and may hold {date}."""

    kind: WebhookKind
    url: str = field(repr=False)
    secret: str = field(default="", repr=False)
    link: str = ""

    @classmethod
    def from_options(cls, options: WebhookOptions, environ: Mapping[str, str]) -> Self:
        """Return the webhook of `options`; raise InputError when a variable of `environ` is not usable."""
        url = _read_secret(environ, options.url_env)
        if not is_address(url):
            raise InputError(
                "[nightly] webhook: ${variable} holds no https:// address; set it to one",
                variable=options.url_env,
            )
        secret = _read_secret(environ, options.secret_env) if options.secret_env else ""
        return cls(options.kind, url, secret, options.link)

    def make_request(self, text: str, record: NightRecord | None = None) -> tuple[str, JsonDict]:
        """Return the address to post to and the JSON body; a signature is of the current time."""
        url, now = self.url, time.time()
        match self.kind:
            case "feishu":
                # <at user_id="all"> notifies all members, and there is no escape for it.
                body: JsonDict = {"msg_type": "text", "content": {"text": text.replace("<", "＜")}}
                if self.secret:
                    sign = _sign(f"{int(now)}\n{self.secret}", "")
                    body |= {"timestamp": str(int(now)), "sign": sign}
                return url, body
            case "dingtalk":
                if self.secret:
                    millis = int(now * 1000)
                    sign = quote_plus(_sign(self.secret, f"{millis}\n{self.secret}"))
                    url += f"{'&' if '?' in url else '?'}timestamp={millis}&sign={sign}"
                return url, {"msgtype": "text", "text": {"content": text}}
            case "wecom":  # <@all> notifies all members
                return url, {"msgtype": "markdown", "markdown": {"content": re.sub("<+@", "@", text)}}
            case "slack":
                return url, {"text": escape(text, quote=False)}
            case "json":
                night = None if record is None else to_json(record, with_defaults=True)
                return url, {"text": text, "night": night}


def _read_secret(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "").strip()
    if not value:
        raise InputError("[nightly] webhook: the environment variable {name!r} is not set; set it", name=name)
    return value


def post_message(
    webhook: Webhook,
    text: str,
    record: NightRecord | None = None,
    *,
    pause: float = 1.0,
    timeout: float = _TIMEOUT,
) -> str:
    """Post the text about a night, with retries; return the error, empty without one.

    A night that ended with an error has no `record`.
    `pause` is the first wait between two attempts in seconds, `timeout` the limit of a whole attempt.
    """
    retrying = Retrying(
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_exponential(multiplier=pause),
        retry=retry_if_result(lambda attempt: attempt[1]),
        retry_error_callback=lambda last: last.outcome and last.outcome.result(),
    )
    # Signatures hold the time, so each attempt has a new request.
    error, _ = retrying(
        lambda: asyncio.run(_post(webhook.kind, *webhook.make_request(text, record), timeout))
    )
    # Each part of the address could be its secret.
    parts = sorted((part for part in re.split(r"[/?&=#@]", webhook.url) if len(part) >= 8), key=len)
    return shorten(escape_controls(mask(error, webhook.secret, webhook.url, *parts[::-1])))


async def _post(kind: str, url: str, body: JsonDict, seconds: float) -> tuple[str, bool]:
    """Return the error of an attempt, empty without one, and whether another one may succeed."""
    import aiohttp  # slow to import, and most nights send nothing

    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "judge"}
    try:
        async with (
            asyncio.timeout(seconds),
            aiohttp.ClientSession(trust_env=True) as session,
            # The message is for this server only, so redirects are not followed.
            session.post(
                URL(url, encoded=True), data=dump_json(body).encode(), headers=headers, allow_redirects=False
            ) as response,
        ):
            if response.status < 300 and kind in ("json", "slack"):
                return "", False
            raw = await _read_start(response)
            if response.status < 300:
                return _find_rejection(raw), False
            reason = "" if raw.lstrip().startswith(b"<") else raw.decode(errors="replace").strip()
            return f"HTTP {response.status}: {reason}".removesuffix(": "), response.status in _RETRYABLE
    except (OSError, aiohttp.ClientError, ValueError) as error:
        return _explain_no_answer(error), not isinstance(error, ValueError)


def _explain_no_answer(error: Exception) -> Message:
    """Return why there is no answer; the message of the error itself may hold the address."""
    import aiohttp

    reason = getattr(error, "os_error", error)
    if isinstance(reason, TimeoutError):
        return Message("the request timed out")
    if isinstance(reason, socket.gaierror):
        return Message(reason.strerror or "Name or service not known")
    if isinstance(reason, aiohttp.ServerDisconnectedError):
        return Message("the server closed the connection")
    number = getattr(reason, "errno", None)
    return Message(os.strerror(number) if number else type(reason).__name__)


async def _read_start(response: aiohttp.ClientResponse) -> bytes:
    try:
        return await response.content.readexactly(_RESPONSE_BYTES)
    except asyncio.IncompleteReadError as error:
        return error.partial


def _find_rejection(raw: bytes) -> str:
    """Return why Feishu (code), DingTalk or WeCom (errcode) rejected the message, empty if it did not."""
    with suppress(ValueError, RecursionError):
        if isinstance(body := json.loads(raw), dict):
            code, reason = body.get("errcode", body.get("code", 0)), body.get("errmsg", body.get("msg", ""))
            if code in (0, "0"):
                return ""
            return Message("rejected with {code!r}: {reason}", code=code, reason=reason)
    return Message("the response is not that of such a webhook; check its address and the network")


def _sign(key: str, text: str) -> str:
    return base64.b64encode(hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()).decode()
