"""Messages for callers of the Python functions, which have parameters where the command line has options."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from judge.errors import JudgeError

_P = ParamSpec("_P")
_T = TypeVar("_T")
#: Parameters that are no options of a run, by the option of the command line.
_OTHERS: Mapping[str, str] = {
    "--against": "against",
    "--engines": "engines",
    "--labels-scale": "labels_scale",
    "--plan": "plans",
}
#: The same for one function, where its parameter has another name, and a command that has another name.
_OF_FUNCTION: Mapping[str, Mapping[str, str]] = {
    "score": {"--diversity-embeddings": "embeddings"},
    "compare_lists": {"sidebyside": "compare_lists"},
}
#: What templates have as a TOML file has it.
_VALUES: Mapping[str, str] = {"true": "True", "false": "False"}


def name_parameters(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a function of `judge.api` as `judge` has it: its errors name parameters."""

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        with name_parameters_in_errors(function.__name__):
            result = function(*args, **kwargs)
        incomplete = getattr(result, "incomplete", None)
        if isinstance(incomplete, JudgeError):
            _rename_options(incomplete, function.__name__)
        return result

    call.__module__ = "judge"  # for pickle, which imports functions by name
    return call


@contextmanager
def name_parameters_in_errors(function: str = "") -> Iterator[None]:
    """Name parameters in the message of an error, those of `function` where they have other names."""
    try:
        yield
    except JudgeError as error:
        _rename_options(error, function)
        raise


def _rename_options(error: JudgeError, function: str) -> None:
    from judge.config.toml_file import SpelledMessage

    parameters = {**_list_parameters(), **_OF_FUNCTION.get(function, {})}
    error.message = SpelledMessage(error.message, parameters)


@cache
def _list_parameters() -> Mapping[str, str]:
    """Return the parameter for each option: `points=True` for `--points`, `on='ray'` for `--on ray`."""
    from judge.config.option_checks import list_options, list_spellings
    from judge.config.run import Config

    spellings = list_spellings(Config, list_options(Config))
    return {**{option: _spell(text) for option, text in spellings.items()}, **_OTHERS, **_VALUES}


def _spell(text: str) -> str:
    """Return a line of a TOML file as an argument; a key alone stays."""
    if " = " not in text:
        return text
    ((name, value),) = tomllib.loads(text).items()
    return f"{name}={value!r}"
