"""Imports go one way, and nothing turns text from others into code."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.support.cases import check_each
from tests.support.source_code import MODULES, PACKAGE, parse_module

#: Each package or module of `judge`, from the bottom up, and what it imports besides itself and `messages`.
ALLOWED = {
    "messages": "",
    "records": "",
    "flags": "",
    "errors": "records",
    "characters": "records",
    "files": "records errors",
    "example": "",
    "models": "records errors characters",
    "config": "records errors files models",
    "pricing": "records config",
    "injection": "flags",
    "dataset": "records flags errors characters files injection",
    "measure": "records flags errors characters files",
    "parsing": "records errors files",
    "store": "records errors files",
    "client": "records errors characters models pricing",
    "assess": "records flags errors characters files models pricing parsing store client",
    "analysis": "records flags errors characters files pricing injection dataset measure",
    "dimensions": (
        "records flags errors characters files models pricing dataset measure client assess analysis"
    ),
    "runs": "records errors files dataset measure analysis",
    "report": "records errors flags characters files pricing injection dataset measure analysis runs",
    "collect": "errors characters files models config dataset client runs",
    "annotate": "records errors files dataset measure client analysis runs report",
    "run_identity": "records errors flags models config dataset assess runs",
    "run_input": "records errors files config dataset measure run_identity",
    "factory": (
        "records errors models config pricing dataset measure store client assess dimensions run_input"
    ),
    "completeness": "records flags errors assess analysis",
    "selftest": (
        "records flags errors characters files config pricing dataset measure store client assess analysis "
        "runs run_identity factory completeness"
    ),
    "finished_run": "errors files measure analysis dimensions runs report selftest completeness",
    "pair_selection": "records flags files models config dataset measure assess analysis",
    "list_comparison": (
        "records errors characters models config pricing measure store client assess analysis dimensions "
        "runs factory finished_run completeness"
    ),
    "pipeline": (
        "errors characters files config pricing dataset measure store client assess analysis dimensions "
        "runs run_identity run_input factory selftest finished_run completeness pair_selection"
    ),
    "api": (
        "records errors config dataset measure client analysis dimensions runs run_input factory "
        "finished_run completeness list_comparison pipeline"
    ),
    "integrations": "records errors config dataset measure parsing store client assess run_input factory",
    "nightly": (
        "records flags errors characters files models config pricing dataset measure store client assess "
        "analysis runs report collect run_identity run_input factory finished_run completeness pipeline"
    ),
    "cli": (
        "records flags errors characters files example models config pricing measure client assess "
        "analysis dimensions runs report collect annotate selftest finished_run list_comparison pipeline "
        "api nightly"
    ),
    "__init__": "records errors config runs api",
    "__main__": "config cli",
}


def list_imports(path: Path) -> set[str]:
    """Return the packages of `judge` that a module imports, at its top or inside functions."""
    packages = set()
    for node in ast.walk(parse_module(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "judge":
            parts = node.module.split(".")
            packages |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            packages |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("judge.")}
    return packages


def test_packages_import_what_the_table_says() -> None:
    imported: dict[str, set[str]] = {}
    for path in MODULES:
        package = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        imported.setdefault(package, set()).update(list_imports(path) - {package, "messages"})
    assert imported == {package: set(names.split()) for package, names in ALLOWED.items()}


def test_imports_go_one_way() -> None:
    below: set[str] = set()
    for package, names in ALLOWED.items():
        assert below.issuperset(names.split()), package
        below.add(package)


@check_each(
    "package",
    ["assess", "dataset", "files", "injection", "measure", "models", "nightly", "parsing", "report"],
)
def test_the_docstring_of_a_large_package_lists_its_modules(package: str) -> None:
    listed = set(re.findall(r"\w+", ast.get_docstring(parse_module(PACKAGE / package / "__init__.py")) or ""))
    assert {path.stem for path in (PACKAGE / package).glob("*.py")} - {"__init__"} <= listed


def test_commands_on_finished_runs_import_nothing_that_asks_a_model() -> None:
    modules = "judge.api, judge.finished_run, judge.cli.saved_run_commands"
    code = f"import sys, {modules}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    unwanted = {
        "pydantic",
        "openai",
        "aiohttp",
        "jinja2",
        "scipy",
        "judge.pipeline",
        "judge.parsing",
        "judge.store",
    }
    assert unwanted.isdisjoint(loaded.split())


def test_integrations_are_not_imported_and_only_config_reads_the_environment() -> None:
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        if "integrations" not in path.parts:
            assert "integrations" not in list_imports(path), path
        if path != PACKAGE / "config/environment.py":
            assert "os.environ" not in text, path
            assert "getenv" not in text, path


#: What makes code or objects out of text that others wrote: modules, built-ins, and functions of libraries.
UNSAFE_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
UNSAFE_NAMES = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "read_pickle",
    "to_pickle",
    "create_subprocess_shell",
}
UNSAFE_CALLS = {"yaml.load", "yaml.load_all", "yaml.full_load", "yaml.unsafe_load", "os.system", "os.popen"}
UNSAFE_SWITCHES = {"shell", "allow_pickle"}


def find_unsafe(node: ast.AST) -> Iterator[str]:
    """What is unsafe about one piece of a program."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.split(".")[0] in UNSAFE_MODULES)
    elif isinstance(node, ast.ImportFrom):
        named = {f"{node.module}.{alias.name}" for alias in node.names} & UNSAFE_CALLS
        yield from named | {alias.name for alias in node.names} & UNSAFE_NAMES
        yield from {(node.module or "").split(".")[0]} & UNSAFE_MODULES
    elif isinstance(node, ast.Name):
        yield from {node.id} & (UNSAFE_NAMES | UNSAFE_MODULES)
    elif isinstance(node, ast.Attribute):
        of_builtins = {"builtins.eval", "builtins.exec", "builtins.compile"}
        if node.attr in {name.rpartition(".")[2] for name in UNSAFE_CALLS | of_builtins}:
            yield from {ast.unparse(node)} & (UNSAFE_CALLS | of_builtins)
        yield from {node.attr} & (UNSAFE_NAMES - {"eval", "exec", "compile"})
    elif isinstance(node, ast.keyword) and node.arg in UNSAFE_SWITCHES and ast.unparse(node.value) != "False":
        yield f"{node.arg}="


def test_nothing_unpickles_or_evaluates() -> None:
    for path in MODULES:
        assert [each for node in ast.walk(parse_module(path)) for each in find_unsafe(node)] == [], path


@check_each(
    "line",
    [
        *(
            "eval(x)",
            "exec(x)",
            "__import__(x)",
            "compile(x, '', 'exec')",
            "builtins.eval(x)",
            "os.system(x)",
        ),
        *("import pickle", "import pickle as p", "from pickle import loads", "import dill.source"),
        *("pickle.loads(x)", "pd.read_pickle(x)", "np.load(x, allow_pickle=True)"),
        *("yaml.load(x)", "yaml.unsafe_load(x)", "from yaml import load"),
        *("run(x, shell=True)", "Popen(x, shell=flag)", "asyncio.create_subprocess_shell(x)"),
    ],
)
def test_what_is_unsafe_would_be_seen(line: str) -> None:
    assert [each for node in ast.walk(ast.parse(line)) for each in find_unsafe(node)]


def test_what_only_looks_unsafe_is_let_be() -> None:
    safe = "re.compile(x); json.loads(x); yaml.safe_load(x); frame.eval; run(x, shell=False)"
    assert [each for node in ast.walk(ast.parse(safe)) for each in find_unsafe(node)] == []


def test_only_the_store_has_sql() -> None:
    for path in MODULES:
        if path.parent.name != "store":
            assert "sqlite3" not in path.read_text(encoding="utf-8"), path


#: A command of judge, and the function of the API that does the same.
COMMANDS = {
    "agree",
    "align",
    "annotate",
    "collect",
    "compare",
    "estimate",
    "run",
    "score",
    "show",
}


def iter_public_names(path: Path) -> Iterator[str]:
    """Yield the public names that a module defines, without its type variables."""
    for node in parse_module(path).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and "TypeVar" not in ast.dump(node):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def test_no_two_modules_define_the_same_public_name() -> None:
    counts = Counter(name for path in MODULES for name in iter_public_names(path) if not name.startswith("_"))
    assert [name for name, count in counts.items() if count > 1 and name not in COMMANDS] == []


def test_what_yields_is_called_iter_and_what_lists_is_not_an_iterator() -> None:
    for path in MODULES:
        for node in ast.walk(parse_module(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
                verb = node.name.lstrip("_").partition("_")[0]
                is_iterator = ast.unparse(node.returns).startswith(
                    ("Iterator[", "AsyncIterator[", "Generator[")
                )
                assert verb != ("list" if is_iterator else "iter"), f"{path}:{node.lineno}"
