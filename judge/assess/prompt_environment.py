"""What a prompt's template may contain: texts, blocks, variables, and conditions on variables.

Templates are untrusted. There are no filters, calls, attributes, loops or assignments, so a template reaches
no object of Python, and what it renders is about as long as its source and its variables.
"""

from collections import Counter

import jinja2
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from judge.errors import InputError
from judge.messages import Message

#: What is wrong with a block `user` that has no fence, or more than one.
FENCE_LINES = Message(
    "block 'user' must have one line '<<<{{ mark }}' and one line '{{ mark }}>>>', and no other mark"
)
#: The parts of a template.
_PARTS = (
    *(nodes.Block, nodes.Output, nodes.TemplateData, nodes.Name),
    *(nodes.If, nodes.Not, nodes.And, nodes.Or),
)
#: Prompts are plain text: escaping would show the assessor `&lt;` where the page says `<`.
ENVIRONMENT = ImmutableSandboxedEnvironment(
    undefined=jinja2.StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
)


def check_parts(tree: nodes.Template) -> None:
    """Raise InputError when a template has a part that a prompt cannot have."""
    for part in tree.find_all(nodes.Node):
        if not isinstance(part, _PARTS):
            raise InputError(
                "line {line} has a statement or an expression that a prompt cannot have; a prompt may show"
                " variables as in {{{{ title }}}}, and test whether they are given as in {{% if title %}}",
                line=part.lineno,
            )


def check_fence(block: nodes.Block) -> None:
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
        raise InputError(FENCE_LINES)
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
