"""Owns telling people about a night: files beside its record, GitHub Actions, a webhook.

Everything is made from night.json alone; nothing here changes what the night came to, or its exit code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from judge.dataset.clean import escape_controls
from judge.errors import InputError
from judge.filesystem import read_text
from judge.nightly.notices import github
from judge.nightly.notices.junit import junit
from judge.nightly.notices.markdown import markdown
from judge.nightly.notices.said import Notice, cut, notice, plain, terminal
from judge.nightly.notices.webhook import Webhook, post
from judge.runs.folder import RunFolder

__all__ = ["quiet", "write"]

#: What a webhook was told last; the same is not told twice.
_TOLD = "webhook.txt"
#: How much a message holds; Feishu and DingTalk take 20 kB.
_MESSAGE = 4_000

Row = Mapping[str, Any]


def write(folder: Path, night: Row, environ: Mapping[str, str], *, webhook: Row | None = None) -> list[str]:
    """Tells of the night in `folder` wherever it is asked for, and gives the lines to print.

    Writes junit.xml and, when everybody was told, summary.md; in GitHub Actions also annotations (among
    the lines) and the step's summary. A webhook that fails is a line, no error. Raises StoreError when the
    folder takes no files.
    """
    told = notice(night)
    files = RunFolder(folder)
    files.write("junit.xml", [junit(night)])
    # A night that was never judged has no report.
    report = "" if night["coverage"] is None else "report.html"
    link = github.job(environ) or (report and str(folder / report))
    lines, commands = terminal(told, link), []
    if github.present(environ):
        commands = github.annotate(night)
        lines += filter(None, [github.summarise(markdown(told, link), environ)])
    if webhook is not None:
        lines.append(_call(files, webhook, environ, night, told))
    files.write("summary.md", [markdown(told, report)])
    return [*quiet(lines, environ), *commands]


def quiet(lines: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    """The lines so that GitHub Actions, where this is a job of it, takes none for a command."""
    return [github.quiet(line) if github.present(environ) else line for line in lines]


def _is_told(path: Path, message: str) -> bool:
    """Return whether `message` is what the file at `path` says was sent last."""
    try:
        return read_text(path) == message
    except (OSError, UnicodeDecodeError):
        return False


def _call(files: RunFolder, table: Row, environ: Mapping[str, str], night: Row, told: Notice) -> str:
    """Tells the webhook, unless it was told the same before, and says how that went."""
    try:
        webhook = Webhook.of(table, environ)
    except InputError as error:
        return f"webhook: not told: {escape_controls(str(error))}"
    link = webhook.link.replace("{date}", night["date"]) or github.job(environ)
    text = "\n".join((*cut(map(plain, (told.title, *told.lines)), _MESSAGE), *filter(None, [link])))
    message = f"{webhook.kind}\n{text}\n"
    path = files.path / _TOLD
    if _is_told(path, message):
        return f"webhook: {webhook.kind} was told before"
    wrong = post(webhook, text, night)
    if wrong:
        return f"webhook: {webhook.kind} was not told: {wrong}"
    files.write(_TOLD, [message])
    return f"webhook: {webhook.kind} was told"
