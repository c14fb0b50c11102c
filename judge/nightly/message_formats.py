"""The formats of the message about a night: lines to print, and Markdown without tables."""

from __future__ import annotations

import re
from dataclasses import dataclass

from judge.messages import ENGLISH, Translator
from judge.report.display_text import END, ISOLATE

_NAME = re.compile(f"{ISOLATE}(.*?){END}")
# Characters that could begin markup within a line, and HTML; names are in code spans instead.
_MARKUP = re.compile(r"[\\`*_\[\]<>&~#|]")


@dataclass(frozen=True, slots=True)
class NightMessage:
    """The message: the title says what happened, `lines` how much and how certain, `remarks` the rest."""

    title: str
    lines: tuple[str, ...]
    remarks: tuple[str, ...]


def format_terminal(message: NightMessage, link: str, t: Translator = ENGLISH) -> list[str]:
    """Return the message as lines to print; `link` leads to the report, empty without one."""
    lines = [message.title, *(f"- {line}" for line in message.lines)]
    lines += [f"- {t('report: {link}', link=link)}"] if link else []
    if message.remarks:
        lines += [t("Remarks:"), *(f"- {remark}" for remark in message.remarks)]
    return list(map(format_plain, lines))


def format_markdown(message: NightMessage, link: str, t: Translator = ENGLISH) -> str:
    """Return the message as Markdown without tables; `link` leads to the report, empty without one."""
    lines = [f"# {_escape(message.title)}", "", *(f"- {_escape(line)}" for line in message.lines)]
    if link:
        target = re.sub(r"[\\<>]", r"\\\g<0>", link.replace("\n", " "))
        lines.append(f"- [{t('report')}](<{target}>)")
    if message.remarks:
        lines += ["", t("Remarks:"), "", *(f"- {_escape(remark)}" for remark in message.remarks)]
    return "\n".join((*lines, ""))


def format_plain(text: str) -> str:
    """Return the text without the marks around names."""
    return _NAME.sub(r"\1", text)


def _escape(text: str) -> str:
    """Return the text as Markdown that shows it as it is: names in code spans, the rest escaped."""
    # The odd pieces are the names.
    pieces = enumerate(_NAME.split(text))
    return "".join(
        _format_code_span(piece) if at % 2 else _MARKUP.sub(r"\\\g<0>", piece) for at, piece in pieces
    )


def _format_code_span(name: str) -> str:
    """Return a code span: its fence is longer than any run of backticks in the name."""
    longest = max((len(run) for run in re.findall("`+", name)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if not name.strip() or name[0] in "` " or name[-1] in "` " else ""
    return f"{fence}{pad}{name}{pad}{fence}"
