"""Prompts: templates, and the requests that they render.

A template file is one prompt in one language, in three blocks. `system` holds the instructions, the
same bytes for every pair, so that a provider's prefix cache hits. `user` states the rules that only
this query needs and shows the pair. `again` is added to `user` when a reply could not be read.

Templates are untrusted. They have texts, blocks, variables and conditions on variables, and no filters,
calls, attributes, loops or assignments. So a template reaches no object of Python, and what it renders is
about as long as its source and its variables.

Query, reference and snippet are untrusted, as `system` states. Query and reference are on one line each. The
snippet is between the lines `<<<MARK` and `MARK>>>`. The mark is derived from what is shown and occurs
nowhere in it, so no text can close its own fence. One pair always gives the same bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import get_args

import jinja2
from jinja2 import nodes
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from judge.errors import InputError, explain_error
from judge.files.filesystem import open_text
from judge.messages import Message, SeparatedNames, join_messages
from judge.records import GRADED, Example, JsonSchema, Lang, Pair, Prompt, Query, Scale, ScaleName, Snippet

#: Variables of the `user` block; `reference`, `as_of`, `title` and `date` are empty when not given.
_VARIABLES = ("query", "reference", "as_of", "mark", "title", "date", "snippet")
_ALLOWED_VARIABLES: Mapping[str, tuple[str, ...]] = {"system": (), "user": _VARIABLES, "again": ()}
#: Characters of a template, at most.
_MAX_SOURCE = 100_000
#: What is wrong with a block `user` that has no fence, or more than one.
_FENCE_LINES = Message(
    "block 'user' must have one line '<<<{{ mark }}' and one line '{{ mark }}>>>', and no other mark"
)
#: The parts of a template.
_PARTS = (
    *(nodes.Block, nodes.Output, nodes.TemplateData, nodes.Name),
    *(nodes.If, nodes.Not, nodes.And, nodes.Or),
)
#: Prompts are plain text: escaping would show the assessor `&lt;` where the page says `<`.
_ENVIRONMENT = ImmutableSandboxedEnvironment(
    undefined=jinja2.StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
)
#: The last paragraph of a prompt for decision models.
_GRADE_ALONE: Mapping[Lang, Mapping[str, str]] = {
    "en": {"graded": "Reply with the grade alone: 0, 1, 2 or 3.", "binary": "Reply with yes or no alone."},
    "zh": {"graded": "只回复等级：0、1、2 或 3。", "binary": "只回复 yes 或 no。"},
}
_PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Template:
    """One template file: its fixed texts, and `render_user`, which renders the `user` block.

    `digest` is the SHA-256 of the file's text in hex. `as_of` is the date of today in the prompt; without it
    the prompt has no date of today, so that verdicts can be reused on other days.
    """

    lang: Lang
    version: str
    digest: str
    system: str
    reask_text: str
    render_user: Callable[[dict[str, str]], str]
    as_of: str = ""

    def replace_system(self, system: str, kind: str) -> Template:
        """Return the template with other instructions, and a version that names their `kind`."""
        digest = hashlib.sha256(f"{self.digest}\n{system}".encode()).hexdigest()
        version = f"{self.version.rpartition('-')[0]}-{kind}-{digest[:10]}"
        return replace(self, system=system, digest=digest, version=version)

    def make_values(self, pair: Pair) -> dict[str, str]:
        """Return the variables of the `user` block for `pair`."""
        values = {
            "query": _join_lines(pair.query.text),
            "reference": _join_lines(pair.query.reference or ""),
            "title": _join_lines(pair.snippet.title),
            "date": _join_lines(pair.snippet.date),
            "snippet": pair.snippet.text,
        }
        # Cleaned texts have no NUL, so two different pairs never give the same joined text.
        values["mark"] = make_fence_mark(self.digest, "\0".join(values.values()))
        values["as_of"] = self.as_of
        return values

    def render_pair(self, pair: Pair) -> str:
        """Return the `user` block for `pair`."""
        return self.render_user(self.make_values(pair))


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of one scale: a template for each language, and the JSON `schema` of a reply.

    The instructions of each language end with those of `examples` that are in it.
    """

    scale: Scale
    schema: JsonSchema
    templates: Mapping[Lang, Template]
    examples: tuple[Example, ...] = ()

    def render(self, pair: Pair) -> Prompt:
        """Return the prompt for a verdict on `pair`, in the language of its query.

        The same pair gives the same bytes every time.
        """
        template = self.templates[pair.query.lang]
        values = template.make_values(pair)
        title, snippet = values["title"], values["snippet"]
        return Prompt(
            system=template.system,
            user=template.render_user(values),
            schema=self.schema,
            version=template.version,
            query=values["query"],
            snippet=f"{title}\n{snippet}" if title else snippet,
            lang=template.lang,
            scale=self.scale,
        )

    def render_reask(self, pair: Pair) -> Prompt:
        """Return the prompt of the re-ask: it repeats the pair and asks for the verdict alone."""
        prompt = self.render(pair)
        return replace(prompt, user=f"{prompt.user}\n\n{self.templates[prompt.lang].reask_text}")

    def set_today(self, as_of: str | None) -> Prompts:
        """Return the prompts with `as_of` as the date of today, None without one."""
        templates = {lang: replace(template, as_of=as_of or "") for lang, template in self.templates.items()}
        return replace(self, templates=templates)

    def ask_for_grade_alone(self) -> Prompts:
        """Return the prompts with a last paragraph that asks for the token of a grade instead of JSON."""

        def shorten(template: Template) -> Template:
            instruction = _GRADE_ALONE[template.lang][self.scale.name]
            head, separator, _ = template.system.rpartition("\n\n")
            return replace(
                template.replace_system(head + separator + instruction, "decision"), reask_text=instruction
            )

        templates = {lang: shorten(template) for lang, template in self.templates.items()}
        return replace(self, schema={}, templates=templates)

    @property
    def versions(self) -> dict[str, str]:
        """The version of each template: its name and 10 digits of its SHA-256."""
        return {lang: template.version for lang, template in sorted(self.templates.items())}


def make_fence_mark(template: str, content: str, length: int = 16) -> str:
    """Return the mark of the fence around `content`: `length` hex digits that do not occur in it.

    `template` is the digest of the template. A text that contains its own mark would be a fixed point of
    SHA-256; for such a text the next hash is taken.
    """
    attempt = 0
    while True:
        text = f"{template}\0{content}\0{attempt}"
        mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]
        if mark not in content:
            return mark
        attempt += 1


def make_answer_schema(scale: Scale) -> JsonSchema:
    """Return the JSON schema of a reply: the reason first, then `verdict` (binary) or `grade` (graded)."""
    schemas: Mapping[ScaleName, Mapping[str, JsonSchema]] = {
        "binary": {"verdict": {"type": "string", "enum": ["yes", "no"]}},
        "graded": {"grade": {"type": "integer", "enum": list(range(scale.top + 1))}},
    }
    return make_object_schema({"reason": {"type": "string"}, **schemas[scale.name]})


def make_object_schema(properties: Mapping[str, JsonSchema]) -> JsonSchema:
    """Return the JSON schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def find_default_directory(package: Path = _PACKAGE) -> Path:
    """Return the folder of the shipped prompts: in the installed `package`, or beside it in a checkout.

    Raise `InputError` when neither exists.
    """
    candidates = (package / "prompts", package.parent / "prompts")
    for directory in candidates:
        if (directory / "zh").is_dir() and (directory / "en").is_dir():
            return directory
    places = join_messages(map(str, candidates), "{left} nor {right}")
    raise InputError(
        "no prompts found: neither {folders} has folders zh and en; reinstall judge, or give --prompts DIR",
        folders=places,
    )


def load_question_prompts(directory: Path, name: str, properties: Mapping[str, JsonSchema]) -> Prompts:
    """Return the prompts NAME.jinja of another question than a grade, with the properties of its reply.

    A folder of the user without them takes the shipped ones.
    """
    if not all((directory / lang / f"{name}.jinja").exists() for lang in get_args(Lang)):
        directory = find_default_directory()
    return load_prompts(directory, GRADED, name, make_object_schema(properties))


def load_prompts(directory: Path, scale: Scale, name: str = "", schema: JsonSchema | None = None) -> Prompts:
    """Return the prompts of `scale` in `directory`, after a check of each that holds for every pair.

    With a `name`, they are the files of that name, whose replies follow `schema`. Raise `InputError` with the
    file when one is missing, lacks a block, uses an unknown variable, or does not show the snippet inside the
    fence.
    """
    name = name or scale.name
    schema = make_answer_schema(scale) if schema is None else schema
    templates: dict[Lang, Template] = {}
    for lang in get_args(Lang):
        path = directory / lang / f"{name}.jinja"
        try:
            templates[lang] = _compile_template(_read_source(path), lang, name)
        except jinja2.TemplateSyntaxError as error:
            raise InputError(
                '{file}:{line}: not a valid template: "{error}"',
                file=path,
                line=error.lineno,
                error=error.message,
            ) from error
        except InputError as error:
            raise InputError("{file}: {error}", file=path, error=error) from error
    return Prompts(scale, schema, templates)


def _read_source(path: Path) -> str:
    try:
        with open_text(path, follow=True) as file:  # installers may link the files of a package
            source = file.read(_MAX_SOURCE + 1)
    except FileNotFoundError:
        raise InputError(
            "no such prompt; a prompts folder has zh and en, each with binary.jinja and graded.jinja"
        ) from None
    except OSError as error:
        raise InputError("can't be read: {error}", error=explain_error(error)) from error
    except UnicodeDecodeError as error:
        raise InputError("can't be read as UTF-8 text: {error}", error=explain_error(error)) from error
    if len(source) > _MAX_SOURCE:
        raise InputError("has more than {count:,} characters; shorten the prompt", count=_MAX_SOURCE)
    return source


@lru_cache(maxsize=16)  # a night loads the same prompts six times
def _compile_template(source: str, lang: Lang, name: str) -> Template:
    try:
        tree = _ENVIRONMENT.parse(source)
        _check_blocks(tree)
        blocks = _ENVIRONMENT.from_string(tree).blocks
    except (RecursionError, SyntaxError, ValueError) as error:  # it nests too deep, or has a number too long
        raise InputError('not a valid template: "{error}"', error=explain_error(error)) from error
    digest = hashlib.sha256(source.encode()).hexdigest()

    def render_block(block: str, values: dict[str, str]) -> str:
        return "".join(blocks[block](Context(_ENVIRONMENT, values, None, blocks))).strip()

    template = Template(
        lang=lang,
        version=f"{lang}-{name}-{digest[:10]}",
        digest=digest,
        system=render_block("system", {}),
        reask_text=render_block("again", {}),
        render_user=partial(render_block, "user"),
    )
    _check_rendering(template)
    return template


def _check_blocks(tree: nodes.Template) -> None:
    """Raise InputError unless a template has exactly the blocks of a prompt, with their variables.

    The names that Jinja has itself are no variables of a prompt: with `self`, a block shows another one.
    """
    _check_parts(tree)
    blocks = {block.name: block for block in tree.find_all(nodes.Block)}
    if blocks.keys() != _ALLOWED_VARIABLES.keys():
        raise InputError(
            "the blocks are {blocks}; a prompt has exactly the blocks {allowed}",
            blocks=_list_names(blocks),
            allowed=_list_names(_ALLOWED_VARIABLES),
        )
    for name, allowed in _ALLOWED_VARIABLES.items():
        unknown = {used.name for used in blocks[name].find_all(nodes.Name)} - set(allowed)
        if unknown:
            raise InputError(
                "block {name!r} uses {names}; it may use {allowed}",
                name=name,
                names=_list_names(unknown),
                allowed=_list_names(allowed),
            )
    _check_fence(blocks["user"])


def _check_parts(tree: nodes.Template) -> None:
    """Raise InputError when a template has a part that a prompt cannot have."""
    for part in tree.find_all(nodes.Node):
        if not isinstance(part, _PARTS):
            raise InputError(
                "line {line} has {part!r}, which a prompt cannot have; a prompt may show variables as in"
                " {{{{ title }}}}, and test whether they are given as in {{% if title %}}",
                line=part.lineno,
                part=f"{type(part).__name__.lower()} {getattr(part, 'name', '')}".rstrip(),
            )


def _check_fence(block: nodes.Block) -> None:
    """Raise InputError unless the block `user` fences the snippet for every pair.

    Mark, query and snippet are shown whatever is given, and title and date occur inside the fence alone. So
    no pair can differ in this from the pairs that are rendered when a folder is loaded.
    """
    parts: list[nodes.Node] = []
    for node in block.body:
        parts += node.nodes if isinstance(node, nodes.Output) else (node,)
    names = [part.name if isinstance(part, nodes.Name) else "" for part in parts]
    counts = Counter(name.name for name in block.find_all(nodes.Name))
    if names.count("mark") != 2 or counts["mark"] != 2:
        raise InputError(_FENCE_LINES)
    opening = names.index("mark")
    closing = names.index("mark", opening + 1)
    if "query" not in names[:opening] or "snippet" not in names[opening:closing] or counts["snippet"] != 1:
        raise InputError(
            "block 'user' must show {{ query }} before the fence and {{ snippet }} once, inside it,"
            " both without a condition"
        )
    for name in nodes.Output([*parts[:opening], *parts[closing:]]).find_all(nodes.Name):
        if name.name in ("title", "date"):
            raise InputError(
                "line {line} has {name} outside the fence; use it inside: it comes from the web, too",
                line=name.lineno,
                name=name.name,
            )


def _check_rendering(template: Template) -> None:
    """Render a pair with and without each option; raise `InputError` for one without the lines of a fence."""
    for reference, title, date, as_of in product(
        ("", "a reference"), ("", "a title"), ("", "2000-01-01"), ("", "2000-01-02")
    ):
        query = Query(id="", text="a query", raw_text="", lang=template.lang, reference=reference)
        pair = Pair(query, Snippet(id="", text="a snippet", title=title, date=date))
        user = replace(template, as_of=as_of).render_pair(pair)
        opening = re.findall(r"^<<<([0-9a-f]{16})$", user, re.MULTILINE)
        closing = re.findall(r"^([0-9a-f]{16})>>>$", user, re.MULTILINE)
        if len(opening) != 1 or opening != closing:
            raise InputError(_FENCE_LINES)


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def _list_names(names: Iterable[str]) -> str:
    return SeparatedNames(sorted(names)) or Message("nothing")
