"""What the cache holds about the server of a model."""

from __future__ import annotations

from judge.cache import FileCache, make_key
from judge.client.client import ModelClient
from judge.client.limiter import Circuit


class ServerRecord:
    """What the cache holds about the server of a model: whether an earlier run got verdicts at full rate."""

    _UNLIMITED, _LIMITED = "unlimited\n", "limited\n"

    def __init__(self, cache: FileCache, client: ModelClient) -> None:
        self._cache = cache
        self._client = client
        self._key = make_key("server", client.model.name, client.model.endpoint)
        # A model in this process has no server.
        self._has_server = bool(client.model.endpoint)
        lines = cache.read(self._key) if self._has_server else None
        self.was_unlimited = list(lines or ()) == [self._UNLIMITED.encode()]

    def update(self) -> None:
        """Write what this run has shown, if that is new."""
        limiter = self._client.limiter
        is_known = limiter.circuit is not Circuit.STARTING and self._client.cancel_token.reason is None
        is_unlimited = not limiter.was_slowed_down
        if self._has_server and is_known and is_unlimited != self.was_unlimited:
            self._cache.write(self._key, [self._UNLIMITED if is_unlimited else self._LIMITED])
