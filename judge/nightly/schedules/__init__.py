"""Owns what runs a night without a person: a cron line, systemd units, a workflow of GitHub Actions."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from judge.errors import InputError
from judge.nightly.schedules.needs import read_needs
from judge.runs.folder import dump_json

#: The files of a night that GitHub keeps.
_ARTIFACTS = ("report.html", "night.json", "summary.md", "junit.xml")
KINDS = ("cron", "systemd", "github")


def schedule(kind: str, toml: Path) -> str:
    """The file that makes a machine run `judge nightly` with `toml` every night, ready to be installed.

    It names this Python and this folder; the workflow of GitHub names the secrets, the package and the
    folders that `toml` asks for. Raises InputError when `kind` is none of `KINDS`, when `toml` is wrong, or
    when a line break in a path would break the file.
    """
    if kind not in KINDS:
        raise InputError(f"--print-schedule is {kind!r}; it is {', '.join(KINDS)}")
    here = Path.cwd()
    words = (sys.executable, "-m", "judge", "nightly", str(toml))
    if any(not each.isprintable() for each in (str(here), *words)):
        raise InputError(f"{here}, {toml}: a path with a control character can't stand in a schedule")
    env = str(here / "judge.env")
    text = (files(__name__) / f"{kind}.txt").read_text(encoding="utf-8")
    values = {
        "env": env,
        "toml": str(toml),
        "cron_here": _cron(str(here)),
        "cron_env": _cron(env),
        "cron_log": _cron(str(here / "nightly.log")),
        "cron_command": " ".join(map(_cron, words)),
        "unit_here": str(here).replace("%", "%%"),
        "unit_env": env.replace("%", "%%"),
        "unit_command": " ".join(map(_unit, words)),
        # A string of JSON is one of YAML, too.
        "yaml_toml": dump_json(str(toml)),
        **(_github(toml) if kind == "github" else {}),
    }
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _github(toml: Path) -> dict[str, str]:
    """What the workflow takes from judge.toml."""
    needs = read_needs(toml)
    nights = needs.nights
    if not nights.isprintable() or not needs.store.isprintable():
        raise InputError(f"{toml}: a path with a control character can't stand in a schedule")
    extras = f"[{','.join(needs.extras)}]" if needs.extras else ""
    artifacts = ("trend.html", *(f"*/{name}" for name in _ARTIFACTS))
    secrets = "".join(f"          {name}: ${{{{ secrets.{name} }}}}\n" for name in needs.variables)
    return {
        "secrets": ", ".join(needs.variables) or "none",
        "secret_env": secrets,
        "package": f'"search-judge{extras}"',
        "cached": _block((nights, *filter(None, [needs.store]))),
        "artifacts": _block(f"{nights}/{name}" for name in artifacts),
    }


def _block(lines: Iterable[str]) -> str:
    """The lines of a block of YAML under a key of a step's `with`."""
    return "\n".join(f"            {line}" for line in lines)


def _cron(word: str) -> str:
    """A word for the shell; cron takes an unescaped % for the end of the line."""
    return shlex.quote(word).replace("%", "\\%")


def _unit(word: str) -> str:
    """A word of ExecStart: systemd expands % and $, and has quotes of its own."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if any(char in " \"'\\;" for char in word) else escaped
