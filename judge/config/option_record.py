"""How an option, a field of a model, appears in help, on the command line and in judge.toml."""

from dataclasses import dataclass
from typing import Any, Literal

from judge.messages import Message

#: The groups of options, in the order of help.
ASSESSOR = "Assessor"
INPUT = "Input"
MEASURING = "Measuring"
LIMITS = "Calls and cost"
OTHER_DIMENSIONS = "Other dimensions"
ENGINES = "Engines"
CALLS = "Calls"
FILES = "Files"
#: Options of the nightly job are in TOML files only.
NIGHTS = Message("For judge nightly")
GROUPS = (ASSESSOR, INPUT, MEASURING, OTHER_DIMENSIONS, LIMITS, ENGINES, CALLS, FILES)
#: Folder of the nights unless [nightly] names another one.
NIGHTS_FOLDER = "runs/nights"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option: its text in help, which is a message of the catalogue, and its group there.

    `on_command_line` follows the text in the help of a command, where the value has another form than in a
    judge.toml, or can be repeated. `example` is a value in TOML, for an option without a default. `flags`
    replace `--NAME`. `type` is what the command line reads, if it is not the type of the field; `place`
    "file" leaves the option to TOML files. A run that resumes may have another value where `is_changeable`.
    `judge selftest` takes no option that is `for_datasets`, and none of the input; `judge score` takes those
    that are `for_scores`.
    """

    help: str
    group: str
    on_command_line: str = ""
    example: str = ""
    flags: tuple[str, ...] = ()
    type: Any = None
    place: Literal["option", "argument", "file"] = "option"
    is_changeable: bool = False
    for_datasets: bool = False
    for_scores: bool = False

    def list_flags(self, name: str) -> tuple[str, ...]:
        """Return the flags of the option, which is the field `name` of its model."""
        return self.flags or (f"--{name.replace('_', '-')}",)
