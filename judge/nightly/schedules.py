"""Schedules that run the nightly job: a cron line, systemd units, a workflow of GitHub Actions.

The workflow names what the job needs on another machine: secrets, packages and folders.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath

from judge.config.environment import environment
from judge.config.loader import read_section
from judge.config.nightly import NightlyConfig
from judge.config.run import Config
from judge.errors import InputError
from judge.messages import ENGLISH, Translator
from judge.models import PROVIDERS, find_provider
from judge.runs.folder import dump_json

KINDS = ("cron", "systemd", "github")
#: The files of a night that the workflow uploads.
_ARTIFACTS = ("report.html", "night.json", "summary.md", "junit.xml")
#: The names that a shell takes for a variable and GitHub for a secret.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: The providers of LangChain that read the variables of a provider.
_SAME_VARIABLES = {"openai": "openai", "tongyi": "dashscope"}
#: The extra of the package that reads a dataset with this suffix.
_EXTRA_OF_SUFFIX = {".parquet": "parquet", ".xlsx": "xlsx"}


def make_schedule(kind: str, toml: Path, t: Translator = ENGLISH) -> str:
    """Return the file that runs `judge nightly` with `toml` every night, ready to install.

    Its comments are in the language of `t`. It names this Python and this folder; the workflow of GitHub
    names the secrets, the package and the folders that `toml` needs. Raises InputError when `kind` is not one
    of `KINDS`, `toml` is wrong, or a path has a line break.
    """
    if kind not in KINDS:
        raise InputError("--print-schedule is {kind!r}; it is {kinds}", kind=kind, kinds=", ".join(KINDS))
    here = Path.cwd()
    words = (sys.executable, "-m", "judge", "nightly", str(toml))
    if any(not word.isprintable() for word in (str(here), *words)):
        raise InputError(
            "{folder}, {file}: a schedule cannot hold a path with a control character", folder=here, file=toml
        )
    if toml.exists():
        read_needs(toml)  # no schedule for a file that every night would refuse
    env = str(here / "judge.env")
    text = (files("judge.nightly") / "templates" / "schedules" / f"{kind}.txt").read_text(encoding="utf-8")
    values = {
        "cron_here": _quote_for_cron(str(here)),
        "cron_env": _quote_for_cron(env),
        "cron_log": _quote_for_cron(str(here / "nightly.log")),
        "cron_command": " ".join(map(_quote_for_cron, words)),
        "unit_here": str(here).replace("%", "%%"),
        "unit_env": env.replace("%", "%%"),
        "unit_command": " ".join(map(_quote_for_systemd, words)),
        # A string of JSON is also one of YAML.
        "yaml_toml": dump_json(str(toml)),
        **(_workflow_values(toml) if kind == "github" else {}),
    }
    values |= _comments(t, env, toml, values.get("secrets", ""))
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _comments(t: Translator, env: str, toml: Path, secrets: str) -> dict[str, str]:
    """Return the comments of all kinds of schedules, each on one line."""
    return {
        "cron_heading": t("judge, every night at 02:30 of this machine's clock. Add it with: crontab -e"),
        "keys": t(
            "Put keys and addresses (OPENAI_API_KEY=…, JUDGE_WEBHOOK=…) into {env}, one per line; chmod 600"
            " the file.",
            env=env,
        ),
        "resumed": t(
            "A night that is still running blocks the next one; one that was killed continues where it"
            " stopped."
        ),
        "systemd_heading": t(
            "judge, every night at 02:30 of this machine's clock, and twice more for what is missing: two"
            " files for ~/.config/systemd/user, then"
        ),
        "linger": t("it also runs without a login"),
        "restart": t(
            "A night that was killed continues. An incomplete night (exit code 3) continues when the timer"
            " starts again, and a finished night then costs nothing."
        ),
        "github_heading": t(
            "judge, every night: a file for .github/workflows/judge-nightly.yml of the repository that holds"
            " {toml}.",
            toml=toml,
        ),
        "github_secrets": t(
            "Set these secrets in that repository, and nothing else: {secrets}. The baseline and all verdicts"
            " are in its cache,",
            secrets=secrets or t("none"),
        ),
        "github_cache": t(
            "which GitHub deletes after a week without a run: download the artifacts of the night that is the"
            " baseline."
        ),
    }


def _workflow_values(toml: Path) -> dict[str, str]:
    """Return the values of the workflow that depend on judge.toml."""
    needs = read_needs(toml)
    nights = needs.nights
    if not nights.isprintable() or not needs.store.isprintable():
        raise InputError("{file}: a schedule cannot hold a path with a control character", file=toml)
    extras = f"[{','.join(needs.extras)}]" if needs.extras else ""
    artifacts = ("trend.html", *(f"*/{name}" for name in _ARTIFACTS))
    secrets = "".join(f"          {name}: ${{{{ secrets.{name} }}}}\n" for name in needs.variables)
    return {
        "secrets": ", ".join(needs.variables),
        "secret_env": secrets,
        "package": f'"search-judge{extras}"',
        "cached": _yaml_block((nights, *filter(None, [needs.store]))),
        "artifacts": _yaml_block(f"{nights}/{name}" for name in artifacts),
    }


def _yaml_block(lines: Iterable[str]) -> str:
    """Return the lines as a block of YAML under a key of a step's `with`."""
    return "\n".join(f"            {line}" for line in lines)


def _quote_for_cron(word: str) -> str:
    """Return a word for the shell; an unescaped % ends the line in cron."""
    return shlex.quote(word).replace("%", "\\%")


def _quote_for_systemd(word: str) -> str:
    """Return a word of ExecStart: systemd expands % and $, and has its own quotes."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if any(char in " \"'\\;" for char in word) else escaped


@dataclass(frozen=True, slots=True)
class JobNeeds:
    """What the job needs: `variables` of the environment, `extras` of the package, the folder `nights`.

    `store` is the file of the verdicts when judge.toml puts it outside of that folder, else "".
    """

    variables: tuple[str, ...]
    extras: tuple[str, ...]
    nights: str
    store: str


def read_needs(toml: Path) -> JobNeeds:
    """Return what the nights of `toml` need; raise InputError when it is missing or wrong."""
    if not toml.exists():
        raise InputError("{file}: no such file; the schedule is made from this file", file=toml)
    config = Config.load(toml)
    rules = NightlyConfig.load(read_section(toml, "nightly"), f"{toml}: [nightly]")
    collect = read_section(toml, "collect")
    webhook = (rules.webhook.url_env, rules.webhook.secret_env) if rules.webhook else ()
    variables = dict.fromkeys(
        (*_model_variables(config), *_engine_variables(toml, collect), *filter(None, webhook))
    )
    for name in variables:
        if not _VARIABLE.fullmatch(name):
            raise InputError(
                "{file}: {name!r} is not a name of an environment variable", file=toml, name=name
            )
    nights = PurePosixPath(rules.folder)
    store = config.store or ""
    if store and nights in PurePosixPath(store).parents:
        store = ""
    return JobNeeds(tuple(variables), tuple(sorted(_extras(config, collect))), str(nights), store)


def _model_variables(config: Config) -> Iterator[str]:
    """Yield the keys of the models, and the addresses that this environment sets."""
    for spec in filter(None, (config.model, *config.panel)):
        model, at, _ = spec.partition("@http")
        kind, _, name = model.partition(":")
        inner = name.partition(":")[0]
        same = _SAME_VARIABLES.get(inner, "") if kind == "langchain" else ""
        provider = PROVIDERS[same] if same else find_provider(model)[0]
        if provider and provider.key:
            yield provider.key
            if not at and not config.base_url and environment().get(provider.address):
                yield provider.address
        elif kind == "langchain":
            yield f"{inner.upper()}_API_KEY"


def _engine_variables(toml: Path, collect: Mapping[str, object]) -> Iterator[str]:
    if not collect:
        return
    from judge.collect.langchain_engine import KEYS
    from judge.collect.registry import KNOWN
    from judge.config.collect import CollectConfig

    config = CollectConfig.load(toml, out="data.jsonl")
    for spec in config.engines:
        kind, _, name = spec.partition(":")
        if spec in KNOWN:
            yield from filter(None, (KNOWN[spec].key,))
            if not KNOWN[spec].base_url and spec not in config.base_urls:
                yield KNOWN[spec].base_env
        elif kind == "http":
            yield from filter(None, (str(config.engine_tables.get(name, {}).get("key", "")),))
        elif kind == "langchain":
            yield from filter(None, (KEYS.get(name.rpartition(":")[2], ""),))


def _extras(config: Config, collect: Mapping[str, object]) -> set[str]:
    """Return the extras of the package that the models, the engines and the dataset need."""
    providers = (find_provider(spec)[0] for spec in (config.model, *config.panel))
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
