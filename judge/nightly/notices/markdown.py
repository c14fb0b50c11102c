"""Owns a night in Markdown: short lines, no tables, so that it reads well as plain text, too."""

from __future__ import annotations

import re

from judge.nightly.notices.said import Notice, parts

# Everything that could begin markup within a line, and HTML; a name gets a code span instead.
_ACTIVE = re.compile(r"[\\`*_\[\]<>&~#|]")


def markdown(notice: Notice, link: str) -> str:
    """The notice as a Markdown page; `link` leads to the night's report, if there is one."""
    lines = [f"# {escaped(notice.title)}", "", *(f"- {escaped(line)}" for line in notice.lines)]
    lines += [f"- [report](<{_target(link)}>)"] if link else []
    if notice.remarks:
        lines += ["", "Remarks:", "", *(f"- {escaped(remark)}" for remark in notice.remarks)]
    return "\n".join((*lines, ""))


def escaped(text: str) -> str:
    """The text so that it reads as it is: names in code spans, the rest with its marks taken away."""
    return "".join(_code(piece) if name else _ACTIVE.sub(r"\\\g<0>", piece) for piece, name in parts(text))


def _code(name: str) -> str:
    """A code span: a fence longer than any run of backticks inside, blanks where a backtick is at an end."""
    longest = max((len(run) for run in re.findall("`+", name)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if not name.strip() or name[0] in "` " or name[-1] in "` " else ""
    return f"{fence}{pad}{name}{pad}{fence}"


def _target(link: str) -> str:
    return re.sub(r"[\\<>]", r"\\\g<0>", link.replace("\n", " "))
