"""The Batch API of a provider: many requests in one file, answered within a day, at a lower price.

A file of requests is uploaded, a batch is created from it, and its replies are in one or two files: replies
and errors.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Protocol, runtime_checkable

from judge.models.error_mapping import JsonBody
from judge.models.negotiation import RequestParams
from judge.models.providers import Model
from judge.records import Completion, Prompt

#: The most requests of a batch, at OpenAI and at Alibaba Cloud.
MAX_REQUESTS = 50_000


@dataclass(frozen=True, slots=True)
class BatchTerms:
    """The limits of a provider: requests in a batch, bytes of its file, bytes of one request.

    `name_key` is the key of a batch's metadata for the name that the provider's pages show.
    """

    requests: int
    file_bytes: int
    line_bytes: int
    name_key: str = "name"


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """What the server says of a batch: `done` of `total` requests ended, `completed` of them with a reply.

    The others have an error; of a batch that expired, many servers count those that were not processed, too.
    `files` are the ids of the files with replies and errors; `error` says why a batch failed as a whole.
    """

    id: str
    status: str
    done: int = 0
    completed: int = 0
    total: int = 0
    files: tuple[str, ...] = ()
    error: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether the server does no more with this batch."""
        return self.status in ("completed", "failed", "expired", "cancelled")


@dataclass(frozen=True, slots=True)
class BatchLine:
    """One line of a file of replies: the response to the request `custom_id`, or an error without one.

    `status` is None when the server did not process the request before the batch ended. `fault` says why the
    line is neither, "" if it is one of them.
    """

    custom_id: str
    status: int | None
    body: JsonBody
    fault: str = ""


class BatchApi(Protocol):
    """The Batch API of one model. Each method sends one request and raises CallError when it fails."""

    @property
    def terms(self) -> BatchTerms:
        """The limits of the provider."""

    @property
    def params(self) -> RequestParams:
        """The parameters that a request has now."""

    def make_line(self, custom_id: str, prompt: Prompt, params: RequestParams) -> bytes:
        """Return the line of a request."""

    def read_reply(self, line: BatchLine, prompt: Prompt, params: RequestParams) -> Completion:
        """Return the completion in `line`; raise CallError as `Model.complete` does."""

    async def upload(self, name: str, lines: IO[bytes]) -> str:
        """Upload a file of requests and return its id."""

    async def create(self, name: str, file_id: str) -> BatchStatus:
        """Create a batch of the requests in the file, for which the provider charges."""

    async def find(self, file_id: str, since: datetime) -> BatchStatus | None:
        """Return the batch that was created of the file, not before `since`; None when there is none."""

    async def retrieve(self, batch_id: str) -> BatchStatus:
        """Return the present state of a batch."""

    def read_lines(self, status: BatchStatus) -> AsyncIterator[BatchLine]:
        """Yield the lines of the files of replies and errors, in any order."""

    async def aclose(self) -> None:
        """Close the connections."""


@runtime_checkable
class BatchModel(Model, Protocol):
    """A model whose server has a Batch API."""

    def open_batch_api(self) -> BatchApi:
        """Return the Batch API for requests as `complete` sends them; raise SetupError without one."""
