"""What a prompt's template may do: a sandbox in which the time and the result have a limited size.

Templates are untrusted. There is no `range`, and only filters and methods of strings whose result has a
limited size. All results of products, joins and replacements of a block have at most 100,000 bits or
characters. Loops, assignments and blocks in expressions are refused.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jinja2
from jinja2 import nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from judge.errors import InputError
from judge.messages import Message, SeparatedNames

#: What is wrong with a block `user` that has no fence, or more than one.
FENCE_LINES = Message(
    "block 'user' must have one line '<<<{{ mark }}' and one line '{{ mark }}>>>', and no other mark"
)
#: The maximum size of all results of products, joins and replacements in a block.
_MAX_SIZE = 100_000


class PromptContext(Context):
    """The variables of a block that is rendered, and the size of the results of its expressions so far."""

    _size: float = 0

    def add_size(self, size: float, problem: Message) -> None:
        """Add the size of a result; raise SecurityError with `problem` when all results are too large."""
        self._size += size
        if self._size > _MAX_SIZE:
            raise SecurityError(problem)


@pass_context
def _replace(context: PromptContext, text: object, old: str, new: str, count: int | None = None) -> str:
    """Return `text` with `new` for the first `count` of `old`; raise SecurityError if that adds too much."""
    source, old, new = str(text), str(old), str(new)
    times = source.count(old) if count is None or count < 0 else min(count, source.count(old))
    added = max(0, times * (len(new) - len(old)))
    context.add_size(added, Message("replace adds more than {most:,} characters", most=_MAX_SIZE))
    return source.replace(old, new, times)


@pass_context
def _join(context: PromptContext, values: Iterable[object], separator: str = "") -> str:
    """Return `values` joined; raise SecurityError when the result has too many characters."""
    texts, between = [], str(separator)
    problem = Message("join makes more than {most:,} characters", most=_MAX_SIZE)
    for value in values:
        texts.append(str(value))
        context.add_size(len(texts[-1]) + len(between), problem)
    return between.join(texts)


#: The statements of a prompt: texts and expressions, `block`, `filter` and `if`.
_STATEMENTS = (nodes.Output, nodes.Block, nodes.FilterBlock, nodes.If)
#: The filters of a prompt: those with a result of limited size.
_FILTERS: Mapping[str, Callable[..., Any]] = {
    **{
        name: FILTERS[name]
        for name in (
            "capitalize count d default e escape first last length lower string title trim upper".split()
        )
    },
    "join": _join,
    "replace": _replace,
}
#: The methods of strings, by the same rule.
_METHODS = frozenset(
    "capitalize casefold count endswith find index isalnum isalpha isascii isdecimal isdigit islower"
    " isnumeric isspace istitle isupper lower lstrip partition removeprefix removesuffix rfind rindex"
    " rpartition rsplit rstrip split splitlines startswith strip swapcase title upper".split()
)


class PromptEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox of Jinja with further limits, because templates are untrusted."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def __init__(self) -> None:
        # Prompts are plain text: escaping would show the assessor `&lt;` where the page says `<`.
        super().__init__(
            undefined=jinja2.StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,  # no expression is evaluated at compile time
        )
        self.filters = dict(_FILTERS)
        self.globals.clear()  # range, lipsum and the like are not variables of a prompt

    def call_binop(self, context: PromptContext, operator: str, left: Any, right: Any) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Return the product, power or remainder; raise SecurityError for one that is too large to be meant.

        `%` on a string formats it, to any width, and is refused.
        """
        if operator == "%":
            if isinstance(left, str):
                raise SecurityError(Message("% does not format strings in a prompt; join them with ~"))
            return super().call_binop(context, operator, left, right)
        if isinstance(left, list | tuple) or isinstance(right, list | tuple):
            # A list may hold texts of any size.
            raise SecurityError(Message("{operator} takes numbers and strings, no lists", operator=operator))
        times = max(
            (abs(operand) for operand in (left, right) if isinstance(operand, int | float)), default=1
        )
        bits = left.bit_length() if isinstance(left, int) else 64
        length = max(len(operand) if isinstance(operand, str) else 0 for operand in (left, right))
        problem = Message(
            "{operator} makes more than {most:,} characters or bits", operator=operator, most=_MAX_SIZE
        )
        context.add_size((bits if operator == "**" else length) * times, problem)
        return super().call_binop(context, operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:  # noqa: ANN401
        """Return whether a template may use the attribute; of a string it is one of the listed methods."""
        if isinstance(obj, str) and attr not in _METHODS:
            return False
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> None:  # noqa: ANN401
        """Return None: `format` and `format_map` are not methods of a prompt, so nothing wraps them."""


def check_statements(tree: nodes.Template) -> None:
    """Raise InputError when a template has a statement or a filter that a prompt cannot have."""
    for statement in tree.find_all(nodes.Stmt):
        if not isinstance(statement, _STATEMENTS):
            raise InputError(
                "line {line} has a statement that a prompt cannot have; it may have block, filter and if",
                line=statement.lineno,
            )
    for used in tree.find_all(nodes.Filter):
        if used.name not in _FILTERS:
            raise InputError(
                "line {line} uses the filter {name!r}; it may use {allowed}",
                line=used.lineno,
                name=used.name,
                allowed=SeparatedNames(sorted(_FILTERS)),
            )


def check_fence(block: nodes.Block) -> None:
    """Raise InputError unless the block `user` fences the snippet for every pair.

    Mark, query and snippet are shown as they are and whatever is given; title and date are shown inside the
    fence alone. So no pair can differ in this from the pairs that are rendered when a folder is loaded.
    """
    for statement in block.find_all(nodes.If):
        _check_condition(statement.test)
    parts: list[nodes.Node] = []
    for node in block.body:
        parts += node.nodes if isinstance(node, nodes.Output) else (node,)
    names = [part.name if isinstance(part, nodes.Name) else "" for part in parts]
    _check_expressions(part for part in parts if not isinstance(part, nodes.Name))
    if names.count("mark") != 2:
        raise InputError(FENCE_LINES)
    opening = names.index("mark")
    closing = names.index("mark", opening + 1)
    _check_outside(parts[:opening] + parts[closing:])
    is_snippet_inside = "snippet" in names[opening:closing] and names.count("snippet") == 1
    if "query" not in names[:opening] or not is_snippet_inside:
        raise InputError(
            "block 'user' must show {{ query }} before the fence and {{ snippet }} once, inside it,"
            " both without a condition"
        )


def _check_expressions(parts: Iterable[nodes.Node]) -> None:
    """Raise InputError when an expression or a statement uses the mark or the snippet."""
    for name in (name for part in parts for name in _find_names(part)):
        if name.name in ("mark", "snippet"):
            raise InputError(
                "line {line} uses {name} in an expression, a condition or a filter; show it alone, as {text}",
                line=name.lineno,
                name=name.name,
                text=f"{{{{ {name.name} }}}}",
            )


def _check_outside(parts: Iterable[nodes.Node]) -> None:
    """Raise InputError when a part outside the fence shows title or date; a condition may test them."""
    outside = nodes.Output(list(parts))
    tested = {id(name) for statement in outside.find_all(nodes.If) for name in _find_names(statement.test)}
    for name in outside.find_all(nodes.Name):
        if name.name in ("title", "date") and id(name) not in tested:
            raise InputError(
                "line {line} shows {name} outside the fence; show it inside: it comes from the web, too",
                line=name.lineno,
                name=name.name,
            )


def _check_condition(test: nodes.Node) -> None:
    """Raise InputError when `test` depends on more of title and date than whether they are given."""
    parts = list(nodes.Output([test]).find_all(nodes.Node))
    is_plain = all(isinstance(part, nodes.Name | nodes.Not | nodes.And | nodes.Or) for part in parts)
    if not is_plain and any(name.name in ("title", "date") for name in _find_names(test)):
        raise InputError(
            "line {line} has a condition on the text of title or date; test only whether it is given, as in"
            " {{% if title %}}",
            line=test.lineno,
        )


def _find_names(node: nodes.Node) -> Iterable[nodes.Name]:
    """Return the variables in `node`, which may itself be one."""
    return nodes.Output([node]).find_all(nodes.Name)
