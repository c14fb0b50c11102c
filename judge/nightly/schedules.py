"""Schedules that run the nightly job: a cron line, systemd units, a workflow of GitHub Actions.

The workflow names what the job needs on another machine: secrets, packages and folders.
"""

import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath

from jinja2 import Environment, PackageLoader, StrictUndefined

from judge.collect.langchain_engine import KNOWN_CLASSES
from judge.collect.registry import KNOWN, read_custom_engine
from judge.config.collect import CollectConfig
from judge.config.environment import copy_environment
from judge.config.option_types import VARIABLE
from judge.config.run import Config
from judge.config.toml_file import TomlTable, read_section
from judge.errors import InputError
from judge.files.json_text import dump_json
from judge.messages import ENGLISH, SeparatedNames, Translator
from judge.models.providers import PROVIDERS, find_provider, split_address
from judge.nightly.context import load_options, load_run_options

KINDS = ("cron", "systemd", "github")
#: The providers of LangChain that read the variables of a provider.
_SAME_VARIABLES = {"openai": "openai", "tongyi": "dashscope"}
#: The extra of the package that reads a dataset with this suffix.
_EXTRA_OF_SUFFIX = {".parquet": "parquet", ".xlsx": "xlsx"}


def make_schedule(kind: str, toml: Path, t: Translator = ENGLISH) -> str:
    """Return the file that runs `judge nightly` with `toml` every night, ready to install.

    Its comments, and the messages of the nights, are in the language of `t`. It names this Python and this
    folder; the workflow of GitHub names the secrets, the package and the folders that `toml` needs. Raises
    InputError when `kind` is not one of `KINDS`, `toml` is wrong, or a path has a line break.
    """
    if kind not in KINDS:
        kinds = SeparatedNames(KINDS)
        raise InputError("--print-schedule is {kind!r}; it must be one of {kinds}", kind=kind, kinds=kinds)
    here = Path.cwd()
    language = ["--ui-lang", t.language] if t.language != ENGLISH.language else []
    words = (sys.executable, "-m", "judge", "nightly", str(toml), *language)
    # No schedule for a file that every night would refuse.
    needs = _read_needs(toml) if toml.exists() or kind == "github" else None
    names = (needs.nights, needs.store) if kind == "github" and needs else ()
    if any(not word.isprintable() for word in (str(here), *words, *names)):
        raise InputError(
            "{folder}, {file}: a schedule cannot hold a path with a control character; rename it",
            folder=here,
            file=toml,
        )
    # Without a file, these are examples.
    variables = needs.variables if needs else ("OPENAI_API_KEY", "JUDGE_WEBHOOK")
    values = {
        "here": str(here),
        "env": str(here / "judge.env"),
        "toml": str(toml),
        "words": words,
        "language": language,
        "variables": variables,
    }
    return _open_templates().get_template(f"{kind}.jinja").render(values, t=t, needs=needs)


def _open_templates() -> Environment:
    """Return the templates of schedules; values are in `[[ ]]`, since GitHub has its own in `{{ }}`."""
    templates = Environment(  # noqa: S701  # no HTML: each place has the quotes of its own language
        loader=PackageLoader("judge.nightly", "templates/schedules"),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        variable_start_string="[[",
        variable_end_string="]]",
    )
    templates.filters |= {
        # An unescaped % ends the line in cron.
        "for_cron": lambda word: shlex.quote(word).replace("%", "\\%"),
        "for_systemd": _quote_for_systemd,
        # A string of JSON is also one of YAML.
        "as_yaml": dump_json,
    }
    return templates


def _quote_for_systemd(word: str) -> str:
    """Return a word of ExecStart: systemd expands % and $, and has its own quotes."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if any(char in " \"'\\;" for char in word) else escaped


@dataclass(frozen=True, slots=True)
class _JobNeeds:
    """What the job needs: `variables` of the environment, `extras` of the package, the folder `nights`.

    `store` is the file of the verdicts when judge.toml puts it outside of that folder, else "".
    """

    variables: tuple[str, ...]
    extras: tuple[str, ...]
    nights: str
    store: str


def _read_needs(toml: Path) -> _JobNeeds:
    options, config = load_options(toml), load_run_options(toml)
    collect = read_section(toml, "collect")
    webhook = (options.webhook.url_env, options.webhook.secret_env) if options.webhook else ()
    names = chain(_iter_model_variables(config), _iter_engine_variables(toml, collect), webhook)
    variables = dict.fromkeys(filter(None, names))
    for name in variables:
        if not VARIABLE.fullmatch(name):
            raise InputError(
                "{file}: {name!r} is not a name of an environment variable; write one such as MY_KEY",
                file=toml,
                name=name,
            )
    nights = PurePosixPath(options.folder)
    store = config.store or ""
    if store and nights in PurePosixPath(store).parents:
        store = ""
    return _JobNeeds(tuple(variables), tuple(sorted(_list_extras(config, collect))), str(nights), store)


def _iter_model_variables(config: Config) -> Iterator[str]:
    """Yield the variables of the keys of models, and of the addresses that this environment sets."""
    for spec in filter(None, config.models):
        model, address = split_address(spec)
        kind, _, name = model.partition(":")
        inner = name.partition(":")[0]
        same = _SAME_VARIABLES.get(inner, "") if kind == "langchain" else ""
        provider = PROVIDERS[same] if same else find_provider(model)[0]
        if provider and provider.service:
            yield provider.service.key_variable
            if not address and not config.base_url:
                environ = copy_environment()
                yield from (name for name in provider.service.address_variables if environ.get(name))
        elif kind == "langchain":
            yield f"{inner.upper()}_API_KEY"


def _iter_engine_variables(toml: Path, collect: TomlTable) -> Iterator[str]:
    if not collect:
        return
    config = CollectConfig.load(toml, out="data.jsonl")
    for spec in config.engines:
        kind, _, name = spec.partition(":")
        if spec in KNOWN:
            yield KNOWN[spec].key
            if not KNOWN[spec].base_url and spec not in config.base_urls:
                yield KNOWN[spec].base_env
        elif kind == "http":
            yield read_custom_engine(name, config.engine_tables.get(name, {})).key
        elif kind == "langchain" and (known_class := KNOWN_CLASSES.get(name.rpartition(":")[2])):
            yield known_class.key


def _list_extras(config: Config, collect: TomlTable) -> set[str]:
    providers = (find_provider(spec)[0] for spec in config.models)
    extras = {provider.extra for provider in providers if provider} - {""}
    engines = collect.get("engine", ())
    if isinstance(engines, list | tuple) and any(str(engine).startswith("langchain:") for engine in engines):
        extras.add("langchain")
    if config.assessor == "deepeval":
        extras.add("deepeval")
    if config.on == "ray":
        extras.add("ray")
    suffixes = Path(config.data or "").suffixes
    return extras | {extra for suffix, extra in _EXTRA_OF_SUFFIX.items() if suffix in suffixes}
