"""Building the objects of a run from its options: models, assessors, and clients."""

import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from judge.assess.assessor import Assessor
from judge.assess.estimate import QuestionEstimator
from judge.assess.judging import PanelMember
from judge.assess.prompt_examples import add_examples
from judge.assess.prompts import find_default_directory, load_prompts, load_question_prompts
from judge.assess.question_assessor import QuestionAsker, QuestionAssessor, QuestionKind
from judge.client.budget import SpendLimit
from judge.client.cancel import CancelToken
from judge.client.client import ModelClient
from judge.client.progress import ProgressListener
from judge.client.retry import RequestLimits
from judge.config.environment import copy_environment, quiet_deepeval, set_up_ray_in_environment
from judge.config.run import Config
from judge.config.toml_file import read_table_rows
from judge.dataset.label_files import read_examples
from judge.errors import InputError, JudgeError, SetupError, advise_install
from judge.measure.numeric import Floats
from judge.messages import Message, OptionName, SeparatedNames, join_messages
from judge.models.batch_api import BatchModel
from judge.models.providers import FORMS, PROVIDERS, Model, open_model, split_address
from judge.models.server import ServerAccess
from judge.pricing.prices import FREE_PRICE, SHIPPED_PRICES, Price, find_price, read_prices
from judge.records import DECISION_MODEL, RERANKER
from judge.run_input import list_existing_files, make_text_options
from judge.store.store import VerdictStore

#: Tokens that a reply to another question than a grade may take, at least.
_TEXT_TOKENS = 2_048


def build_model(config: Config, name: str | None = None, *, needs_key: bool = True) -> Model:
    """Return the model called `name`, else the first one of `config`.

    Without `needs_key` it opens without a key, and no request can be sent.
    `NAME@https://…` names the server, too. Raises SetupError when a key, an extra or the name is missing.
    """
    with config.source.add_error_context("model", "base_url"):
        name = name or config.model
        if not name:
            raise InputError("no model was named; name one with -m MODEL; models are {forms}", forms=FORMS)
        spec, address = split_address(name)
        environ = copy_environment() if needs_key else _add_missing_keys(copy_environment())
        access = ServerAccess(address or config.base_url, environ, config.timeout, config.concurrency)
        if needs_key and config.on == "ray":
            return _build_ray_model(config, spec, access)
        return open_model(spec, access, config.sampling)


def _build_ray_model(config: Config, spec: str, access: ServerAccess) -> Model:
    """Return the model that the actors of a Ray cluster call; they get its provider's variables alone."""
    provider = PROVIDERS.get(spec.partition(":")[0])
    if provider is None or provider.service is None:
        forms = SeparatedNames(
            remote.spelling for name, remote in PROVIDERS.items() if remote.service and ":" not in name
        )
        raise SetupError("--on ray works with {forms}; omit --on ray for {model}", forms=forms, model=spec)
    set_up_ray_in_environment(is_local=config.ray_address is None)
    from judge.models.ray_cluster import RayCluster
    from judge.models.worker_model import WorkerModel

    prefix = provider.service.key_variable.partition("_")[0] + "_"
    environ = {name: value for name, value in access.environ.items() if name.startswith(prefix)}
    open_there = partial(open_model, spec, replace(access, environ=environ), config.sampling)
    cluster = RayCluster(open_there, config.concurrency, config.ray_address)
    return WorkerModel(open_model(spec, access, config.sampling), cluster)


def _add_missing_keys(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return `environ` with a placeholder for each key that is missing, for models that are not called."""
    keys = (provider.service.key_variable for provider in PROVIDERS.values() if provider.service)
    missing = (key for key in keys if not environ.get(key, "").strip())
    return {**environ, **dict.fromkeys(missing, "placeholder-of-a-missing-key")}


def build_assessor(config: Config, model: Model) -> Assessor:
    """Return `model` with the prompts of the scale, or with those of DeepEval."""
    if config.assessor == "deepeval":
        return _build_deepeval_assessor(config, model)
    if model.name.startswith(RERANKER):
        from judge.assess.rerank_assessor import RerankAssessor

        return RerankAssessor(model, config.grading, config.rerank_thresholds)
    directory = Path(config.prompts) if config.prompts else find_default_directory()
    with config.source.add_error_context("prompts"):
        prompts = load_prompts(directory, config.grading).set_today(config.as_of)
    if model.name.startswith(DECISION_MODEL):
        prompts = prompts.ask_for_grade_alone()
    warnings: list[str] = []
    if config.examples:
        (path,) = list_existing_files(config, "examples")
        with config.source.add_error_context("examples"):
            options = make_text_options(config)
            examples = read_examples(path, config.grading, options, warnings.append)
            prompts = add_examples(prompts, examples)
    return Assessor(model, prompts, config.grading, warnings=warnings)


def build_question_assessor(config: Config, kind: QuestionKind[Any], *, needs_key: bool) -> QuestionAssessor:
    """Return the first model with the prompts of a kind of question; a reply may take 2,048 tokens."""
    model = build_model(
        replace(config, max_tokens=max(config.sampling.max_tokens, _TEXT_TOKENS)), needs_key=needs_key
    )
    directory = Path(config.prompts) if config.prompts else find_default_directory()
    with config.source.add_error_context("prompts"):
        prompts = load_question_prompts(directory, kind.name, kind.properties)
    return QuestionAssessor(model, prompts, kind)


def build_question_asker(
    config: Config,
    store: VerdictStore,
    progress: ProgressListener,
    cancel_token: CancelToken,
    spend_limit: SpendLimit,
    stopped: JudgeError | None = None,
) -> QuestionAsker:
    """Return the asker of the questions of dimensions; it asks none if the run was `stopped`."""

    def open_client(kind: QuestionKind[Any]) -> tuple[QuestionAssessor, ModelClient]:
        assessor = build_question_assessor(config, kind, needs_key=True)
        return assessor, build_client(config, assessor.model, cancel_token, spend_limit)

    return QuestionAsker(open_client, store, progress, stopped=stopped)


def build_question_estimator(config: Config, store: VerdictStore | None) -> QuestionEstimator:
    """Return what estimates the cost of questions besides grades; its models need no key."""

    def open_assessor(kind: QuestionKind[Any]) -> tuple[QuestionAssessor, Price | None]:
        assessor = build_question_assessor(config, kind, needs_key=False)
        return assessor, choose_price(config, assessor.model)

    return QuestionEstimator(open_assessor, store, thinking=config.thinking)


def build_embedder(spec: str, store: Path, base_url: str | None) -> Callable[[Sequence[str]], Floats]:
    """Return what embeds texts by the embeddings called `spec`, cached beside `store`.

    Raises InputError for the address of a server where the embeddings are those of this process.
    """
    from judge.dimensions.embeddings import CONCURRENCY, TIMEOUT, open_embedder

    if base_url is not None and (spec == "lsa" or spec.startswith("local:")):
        raise InputError(
            "{option} is for {needed}, not for {models}; omit {option}",
            option=OptionName("--base-url"),
            needed=Message("a model at a server"),
            models=spec,
        )
    access = ServerAccess(base_url, copy_environment(), timeout=TIMEOUT, concurrency=CONCURRENCY)
    return open_embedder(spec, access, store)


def _build_deepeval_assessor(config: Config, model: Model) -> Assessor:
    quiet_deepeval()
    try:
        with redirect_stdout(io.StringIO()):  # DeepEval prints a greeting on import
            from judge.assess.deepeval_assessor import DeepEvalAssessor
    except ImportError as error:
        raise SetupError(
            "--assessor deepeval needs an extra: {command} ({error})",
            command=advise_install("deepeval"),
            error=error,
        ) from error
    return DeepEvalAssessor(model, config.as_of)


def build_assessors(config: Config, *, needs_key: bool = True) -> list[Assessor]:
    """Return the assessor, or the members of the panel, each under its own name.

    Without `needs_key` their models open without a key. Raises SetupError when a key, an extra or a name is
    missing, or when two members are the same model at the same server.
    """
    assessors = [
        build_assessor(config, build_model(config, name, needs_key=needs_key)) for name in config.models
    ]
    counts = Counter(assessor.name for assessor in assessors)
    for assessor in assessors:
        if counts[assessor.name] > 1:
            assessor.name = f"{assessor.name} at {assessor.model.endpoint}"
    name, count = Counter(assessor.name for assessor in assessors).most_common(1)[0]
    if count > 1:
        raise SetupError(
            "the panel holds {assessor!r} twice; its members must differ in model or server", assessor=name
        )
    return assessors


def require_batch_model(model: Model) -> BatchModel:
    """Return `model`; raise SetupError when it has no Batch API."""
    if isinstance(model, BatchModel):
        return model
    forms = (provider.spelling for provider in PROVIDERS.values() if provider.has_batches)
    raise SetupError(
        "{model} has no Batch API; omit --batch, or use {forms}",
        model=model.name,
        forms=join_messages(forms, "{left} or {right}"),
    )


def look_up_price(config: Config, model: Model) -> Price | None:
    """Return the price of `model`: that of the options, else that of the tables, None if they have none.

    A model in this process costs nothing. Cached input costs like fresh input unless it has a price. Raises
    InputError for a bad row of --prices.
    """
    if model.is_local:
        return FREE_PRICE
    if config.price is not None:
        fresh, output, *cached = config.price
        return Price(fresh, output, cached[0] if cached else fresh)
    files = (*([Path(config.prices)] if config.prices else []), SHIPPED_PRICES)
    with config.source.add_error_context("prices"):
        tables = [read_prices(read_table_rows(file, "prices"), file.name) for file in files]
    return find_price((row for rows in tables for row in rows), model.name, model.endpoint)


def choose_price(config: Config, model: Model) -> Price | None:
    """Return what `look_up_price` does; raise InputError for a budget without a known price."""
    price = look_up_price(config, model)
    with config.source.add_error_context("budget"):
        if config.budget is not None and price is None:
            raise InputError(
                "--budget needs a price, and none is known for {model} at {server}: add it with --price"
                " INPUT,OUTPUT (USD per million tokens) or in a file with --prices FILE",
                model=model.name,
                server=repr(model.endpoint) if model.endpoint else Message("its server"),
            )
    return price


def build_client(
    config: Config, model: Model, cancel_token: CancelToken, spend_limit: SpendLimit
) -> ModelClient:
    """Return the client of `model`."""
    limits = RequestLimits(config.concurrency, config.attempts, config.max_wait, config.shutdown_timeout)
    return ModelClient(model, limits, cancel_token, spend_limit, choose_price(config, model))


def build_panel(
    config: Config, assessors: Sequence[Assessor], cancel_token: CancelToken, spend_limit: SpendLimit
) -> list[PanelMember]:
    """Return each assessor with its client, its Batch API with `batch`, and its number in the title.

    Raises SetupError for a model without a Batch API.
    """
    total = len(assessors)
    return [
        PanelMember(
            assessor,
            build_client(config, assessor.model, cancel_token, spend_limit),
            require_batch_model(assessor.model).open_batch_api() if config.batch else None,
            title=f"{number}/{total} {assessor.name}" if total > 1 else "",
        )
        for number, assessor in enumerate(assessors, start=1)
    ]
