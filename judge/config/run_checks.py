"""Options of a run that exclude or need each other."""

from __future__ import annotations

from collections.abc import Container, Iterable, Set
from pathlib import Path
from typing import TYPE_CHECKING

from judge.config.option_checks import list_keys
from judge.config.option_types import is_day
from judge.errors import InputError
from judge.messages import Message, NameList, OptionName
from judge.models.providers import LOCAL_MODELS, find_provider, split_address
from judge.records import DECISION_MODEL, EXPECTED, LEXICAL, RERANKER, WEIGHTED_DIMENSIONS

if TYPE_CHECKING:
    from judge.config.run import Config

#: Options that only change what another one does, which they need.
_NEEDED_OPTIONS = {
    "explain_queries": "explain",
    "control_pairs": "controls",
    "max_false_positives": "controls",
}


def check_together(config: Config) -> None:
    """Raise InputError for options that contradict each other, or lack one that they need."""
    models = config.models
    if len(set(models)) < len(models):
        raise InputError(
            "a model is named twice in {names!r}; name each member of a panel once",
            names=[*config.mask_models()],
        )
    if config.as_of is not None and not is_day(config.as_of):
        raise InputError("--as-of is {value!r}; it must be a day such as 2026-05-01", value=config.as_of)
    if config.out is not None and Path(config.out).name in ("", ".."):
        raise InputError(
            "--out is {value!r}; it must be a run's own folder, such as runs/one", value=config.out
        )
    if not 1 <= config.grading.relevant_from <= config.grading.top:
        raise InputError(
            "--relevant-from is {value!r}; it must be 1 or more, and {scale} ends at {top}",
            value=config.relevant_from,
            scale=OptionName(f"--scale {config.scale}"),
            top=config.grading.top,
        )
    if config.check is not None and config.qrels is None:
        raise InputError(
            "--check takes a sample of labelled pairs; name their file with --qrels, or omit --check"
        )
    _check_place(config)
    _check_prompts(config)
    _check_expected(config)
    if config.assessor == "deepeval":
        _check_deepeval(config)
    _check_thresholds(config)
    _check_weights(config)
    for name in ("site_grades", "points", "answers", "failures", "explain"):
        if getattr(config, name):
            check_text_model(config, _name_option(name))


def _check_place(config: Config) -> None:
    """Raise InputError for options about a Ray cluster without one, or with one that is not used."""
    if config.ray_address is not None and config.on != "ray":
        raise InputError("--ray-address is that of a Ray cluster; add --on ray, or omit --ray-address")
    if config.batch and config.on == "ray":
        raise InputError("a batch runs at the provider, not on Ray; omit --batch or --on ray")


def find_unfit_options(models: Iterable[str], options: Container[str], ignored: Container[str]) -> set[str]:
    """Return the options that none of the models takes; raise InputError for one that is not `ignored`."""
    names = [*filter(None, models)]
    needed = {}
    if names and all(name.startswith(LOCAL_MODELS) for name in names):
        needed["base_url"] = Message("a model at a server")
    if names and not any(name.startswith(RERANKER) for name in names):
        needed["rerank_thresholds"] = Message("a reranker")
    unfit = [option for option in needed if option in options]
    for option in unfit:
        if option not in ignored:
            raise InputError(
                "{option} is for {needed}, not for {models}; omit {option}",
                option=_name_option(option),
                needed=needed[option],
                models=NameList(names),
            )
    return set(unfit)


def check_needed_options(options: Container[str]) -> None:
    """Raise InputError for an option whose needed option is not given, with any value."""
    for option, needed in _NEEDED_OPTIONS.items():
        # A file may have `controls = false` beside the number of pairs.
        if option in options and needed not in options:
            raise InputError(
                "{option} is for {needed}; add {needed}, or omit {option}",
                option=_name_option(option),
                needed=_name_option(needed),
            )


def _name_option(name: str) -> OptionName:
    return OptionName(f"--{name.replace('_', '-')}")


def check_one_model(config: Config, command: str) -> None:
    """Raise InputError for a panel, of which `command` would ask the first model only."""
    with config.source.add_error_context("panel"):
        if config.panel:
            raise InputError(
                "{name} asks one model, and {names} are a panel; choose one: {command}",
                name=command,
                names=NameList(config.mask_models()),
                command=f"{command} -m {config.mask_models()[0]}",
            )


def check_text_model(config: Config, option: str) -> None:
    """Raise InputError when the first model, which `option` asks, answers with no texts."""
    if config.model.startswith((LEXICAL, EXPECTED, RERANKER, DECISION_MODEL)):
        raise InputError(
            "{option} asks a language model, and {model} gives no texts; name a language model first,"
            " such as openai:NAME",
            option=option,
            model=config.mask_models()[0],
        )


def _check_prompts(config: Config) -> None:
    """Raise InputError for an option about prompts with a model that has none, or has no reasons."""
    for name in config.mask_models():
        if config.examples is not None and name.startswith((LEXICAL, EXPECTED, RERANKER)):
            raise InputError(
                "{model} reads no prompt, so examples have no effect; omit --examples", model=name
            )
        if config.thinking and name.startswith((RERANKER, DECISION_MODEL)):
            raise InputError(
                "{model} gives no reasons, so it cannot reason first; omit --thinking", model=name
            )


def _check_thresholds(config: Config) -> None:
    thresholds, top = config.rerank_thresholds, config.grading.top
    if not config.has_reranker:
        return
    if thresholds is None:
        # An unknown model has a message of its own.
        is_known = all(find_provider(split_address(name)[0])[0] for name in config.models)
        if config.qrels is None and is_known:
            raise InputError(
                "a reranker returns scores, not grades: add --rerank-thresholds with the scores at which"
                " the grades 1 to {top} begin, or --qrels with labels on which they are fitted",
                top=top,
            )
    elif len(thresholds) != top or list(thresholds) != sorted(set(thresholds)):
        raise InputError(
            "--rerank-thresholds is {value}; the {scale} scale needs one score for each grade above 0"
            " ({top}), in ascending order",
            value=",".join(map(str, thresholds)),
            scale=config.scale,
            top=top,
        )


def _check_weights(config: Config) -> None:
    for weight in config.weights:
        name = weight.partition("=")[0]
        option = WEIGHTED_DIMENSIONS[name]
        if option and not getattr(config, option):
            raise InputError(
                "--weights has {name!r}, which needs {option}; add {option}, or omit {name!r}",
                name=name,
                option=_name_option(option),
            )


def _check_expected(config: Config) -> None:
    if EXPECTED not in config.models:
        return
    has_other_grades = config.panel or config.qrels is not None or config.controls
    if has_other_grades or config.assessor != "judge" or config.scale != "binary" or config.repeats > 1:
        raise InputError(
            "the model expected takes every grade, 0 or 1, from the column 'expected'; omit other models,"
            " --qrels, --controls, --repeats, --scale graded and --assessor deepeval"
        )


def _check_deepeval(config: Config) -> None:
    if config.scale != "binary":
        raise InputError("DeepEval's verdicts are yes or no: --assessor deepeval goes with --scale binary")
    if any(name.startswith((LEXICAL, RERANKER, DECISION_MODEL)) for name in config.models):
        raise InputError(
            "DeepEval needs a model that answers in JSON; lexical, rerankers and decision models do not:"
            " omit --assessor deepeval"
        )
    if config.examples is not None or config.prompts is not None or config.batch:
        raise InputError(
            "--assessor deepeval has its own prompts and asks one request at a time; omit --examples,"
            " --prompts and --batch"
        )


def check_no_run_options(unknown: Set[str]) -> None:
    """Raise InputError for an option of a run among the `unknown` keys of a table."""
    if unknown:
        from judge.config.run import Config

        for name in sorted(unknown & list_keys(Config).keys()):
            raise InputError(
                "unknown option {name!r}; it is an option of the run: write it above all tables", name=name
            )


def check_tables(unknown: Set[str]) -> None:
    """Raise InputError for an option of another table among the `unknown` keys outside of tables."""
    if not unknown:
        return
    # Most files have no such key, and these take time to import.
    from judge.config.collect import CollectConfig
    from judge.config.nightly import NightlyConfig

    for table, model in (("nightly", NightlyConfig), ("collect", CollectConfig)):
        for name in sorted(unknown & list_keys(model).keys()):
            raise InputError(
                "unknown option {name!r}; it is one of the table [{table}]: write {table}.{name}",
                name=name,
                table=table,
            )
