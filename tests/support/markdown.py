"""The README and the pages of docs/, and the parts of them that tests check."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("en", "zh")
READMES = {"en": ROOT / "README.md", "zh": ROOT / "README.zh-CN.md"}

_FENCE = re.compile(
    r"^(?:<!-- (?P<marker>[a-z]+)(?:: (?P<name>\S+))? -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_COMMENT = re.compile(r"\s+# .*|^# .*", re.MULTILINE)
#: Marks that GitHub and the site leave out of the anchor of a heading.
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of `language`; `<!-- marker: name -->` may stand on the line before it."""

    language: str
    text: str
    marker: str
    name: str

    @property
    def code(self) -> str:
        """The text without comments."""
        return "\n".join(line.rstrip() for line in _COMMENT.sub("", self.text).splitlines())

    @property
    def commands(self) -> list[Sequence[str]]:
        """The words of each `judge` command of a shell block, less `judge` itself."""
        lines = self.text.splitlines() if self.language == "sh" else []
        words = [shlex.split(line, comments=True) for line in lines]
        return [each[1:] for each in words if each[:1] == ["judge"]]


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown file."""

    path: Path

    @property
    def text(self) -> str:
        """The whole file."""
        return self.path.read_text(encoding="utf-8")

    @property
    def prose(self) -> str:
        """The text without fenced blocks."""
        return _FENCE.sub("", self.text)

    @property
    def blocks(self) -> list[Block]:
        """The fenced blocks in their order."""
        return [
            Block(match["language"], match["text"], match["marker"] or "", match["name"] or "")
            for match in _FENCE.finditer(self.text)
        ]

    def list_code(self, language: str) -> list[str]:
        """Return the texts of the blocks of `language`."""
        return [block.text for block in self.blocks if block.language == language]

    @property
    def commands(self) -> list[Sequence[str]]:
        """The words of each `judge` command, less `judge` itself."""
        return [words for block in self.blocks for words in block.commands]

    @property
    def headings(self) -> list[tuple[int, str]]:
        """The level and the text of each heading."""
        result = re.findall(r"^(#+) (.*)$", self.prose, re.MULTILINE)
        return [(len(marks), text) for marks, text in result]

    @property
    def anchors(self) -> set[str]:
        """The anchors that a link can name after `#`."""
        return {_NOT_IN_ANCHORS.sub("", text.lower()).replace(" ", "-") for _, text in self.headings}

    @property
    def links(self) -> list[str]:
        """The targets of links and pictures."""
        return re.findall(r"\]\(([^)\s]+)\)", self.prose)

    @property
    def rows(self) -> list[Sequence[str]]:
        """The cells of each row of a table, headers included."""
        lines = re.findall(r"^\|(.*)\|$", self.prose, re.MULTILINE)
        cells = ([cell.strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines)
        return [row for row in cells if set("".join(row)) != {"-"}]


def find_page(language: str, name: str) -> Document:
    """Return a page of docs/ by its name, e.g. `quickstart`."""
    return Document(ROOT / "docs" / language / f"{name}.md")


def list_pages(language: str) -> list[Document]:
    """Return all pages of a language, sorted by name."""
    return [Document(path) for path in sorted((ROOT / "docs" / language).glob("*.md"))]


def list_documents() -> list[Document]:
    """Return the READMEs and the pages of both languages."""
    return [each for lang in LANGUAGES for each in (Document(READMES[lang]), *list_pages(lang))]
