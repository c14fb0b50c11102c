"""Models of sentence-transformers in this process, loaded from files alone."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any, Literal

from judge.errors import SetupError
from judge.models.error_mapping import shorten

_LIBRARY = "sentence_transformers"


def check_sentence_transformers(form: str, library: str = _LIBRARY) -> None:
    """Raise SetupError when the library of local models, which are written as `form`, is not installed."""
    if find_spec(library) is None:
        raise SetupError(
            "{form}: models need an extra: pip install 'search-judge[rerank]' (in a checkout: uv pip install"
            " sentence-transformers)",
            form=form,
        )


def load_sentence_transformer(kind: Literal["CrossEncoder", "SentenceTransformer"], name: str) -> Any:  # noqa: ANN401 - a class of the library
    """Return the model called `name`: a folder, or a model in the cache of Hugging Face.

    Nothing is downloaded, and weights in Python's pickle format are refused. Raises SetupError when the model
    cannot be loaded.
    """
    model_class = getattr(importlib.import_module(_LIBRARY), kind)
    try:
        return model_class(name, local_files_only=True, model_kwargs={"use_safetensors": True})
    except (OSError, ValueError) as error:
        raise SetupError(
            "{model}: cannot be loaded ({error}); download it first: hf download {model}",
            model=name,
            error=shorten(str(error)),
        ) from error
