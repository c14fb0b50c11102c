"""Notifications of a night: files beside its record, GitHub Actions, a webhook.

All of it is made from night.json. It changes neither the decision of the night nor the exit code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from judge.characters import escape_controls
from judge.errors import InputError
from judge.filesystem import read_text
from judge.messages import ENGLISH, Translator
from judge.nightly.notify import ci
from judge.nightly.notify.message import (
    NightMessage,
    format_markdown,
    format_plain,
    format_terminal,
    make_message,
    truncate_lines,
)
from judge.nightly.notify.webhook import Webhook, post_message
from judge.nightly.record import NightRecord
from judge.runs.folder import RunFolder

__all__ = ["escape_commands", "publish"]

#: The last message sent to the webhook; the same message is not sent twice.
_SENT_FILE = "webhook.txt"
#: The most characters of a message; Feishu and DingTalk take 20 kB.
_MESSAGE_LENGTH = 4_000


def publish(
    folder: Path,
    record: NightRecord,
    environ: Mapping[str, str],
    *,
    webhook: Mapping[str, object] | None = None,
    t: Translator = ENGLISH,
) -> list[str]:
    """Notify of the night in `folder` in the language of `t`, and return the lines to print.

    Writes junit.xml and summary.md, both in English; in GitHub Actions also the step's summary, and
    annotations among the lines. A webhook that fails gives a line and no error. Raises StoreError when the
    disk does not take the files.
    """
    message = make_message(record, t)
    files = RunFolder(folder)
    files.write("junit.xml", [ci.format_junit(record)])
    # A night that was never judged has no report.
    report = "" if record.coverage is None else "report.html"
    link = ci.job_url(environ) or (report and str(folder / report))
    lines, commands = format_terminal(message, link, t), []
    if ci.is_github_actions(environ):
        commands = ci.format_annotations(record, t)
        lines += filter(None, [ci.append_step_summary(format_markdown(message, link, t), environ)])
    if webhook is not None:
        lines.append(_send(files, webhook, environ, record, message, t))
    files.write("summary.md", [format_markdown(make_message(record), report)])
    return [*escape_commands(lines, environ), *commands]


def escape_commands(lines: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    """Return the lines; in a job of GitHub Actions none of them is a command."""
    return [ci.escape_command(line) if ci.is_github_actions(environ) else line for line in lines]


def _was_sent(path: Path, message: str) -> bool:
    """Return whether `message` is what the file at `path` says was sent last."""
    try:
        return read_text(path) == message
    except (OSError, UnicodeDecodeError):
        return False


def _send(
    files: RunFolder,
    table: Mapping[str, object],
    environ: Mapping[str, str],
    record: NightRecord,
    message: NightMessage,
    t: Translator,
) -> str:
    """Send the message to the webhook, unless it was sent before; return a line about that."""
    try:
        webhook = Webhook.from_table(table, environ)
    except InputError as error:
        return t("webhook: not sent: {error}", error=escape_controls(t(error.message)))
    link = webhook.link.replace("{date}", record.date.isoformat()) or ci.job_url(environ)
    lines = truncate_lines(map(format_plain, (message.title, *message.lines)), _MESSAGE_LENGTH)
    text = "\n".join((*lines, *filter(None, [link])))
    sent = f"{webhook.kind}\n{text}\n"
    path = files.path / _SENT_FILE
    if _was_sent(path, sent):
        return t("webhook: {kind} message was sent before", kind=webhook.kind)
    error_text = post_message(webhook, text, record)
    if error_text:
        return t("webhook: {kind} message was not sent: {error}", kind=webhook.kind, error=error_text)
    files.write(_SENT_FILE, [sent])
    return t("webhook: {kind} message was sent", kind=webhook.kind)
