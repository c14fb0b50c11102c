"""The smallest client with the promises of judge: aiohttp, retries, and a journal that is on disk.

It renders a prompt, posts it, reads the grade, and appends it to a file that is synchronised in groups before
the pair counts. A second start sends only what the journal does not hold.
"""

import asyncio
import hashlib
import json
import os
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import aiohttp

_PROMPT = "Judge how well the snippet answers the query. Reply as JSON. " * 20
_ATTEMPTS = 5


class Journal:
    """Lines of a file, written and synchronised by a thread in groups."""

    def __init__(self, path: Path) -> None:
        self.keys = {json.loads(line)["key"] for line in path.open()} if path.exists() else set()
        self._file = path.open("ab", buffering=0)
        self._jobs: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    async def append(self, line: bytes) -> None:
        """Append `line`; return when it is on disk."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._jobs.put((line, done))
        await done

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join()
        self._file.close()

    def _run(self) -> None:
        while True:
            group = [self._jobs.get()]
            while not self._jobs.empty():
                group.append(self._jobs.get())
            jobs = [job for job in group if job is not None]
            self._file.write(b"".join(line for line, _ in jobs))
            os.fdatasync(self._file.fileno())
            self._loop.call_soon_threadsafe(_set_results, [done for _, done in jobs])
            if len(jobs) < len(group):
                return


def _set_results(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        future.set_result(None)


async def judge_rows(url: str, rows: Sequence[dict[str, str]], concurrency: int, path: Path) -> float:
    """Judge `rows` and return the seconds that took."""
    begin = time.perf_counter()
    journal = Journal(path)
    left = iter(rows)
    connector = aiohttp.TCPConnector(limit=concurrency)
    timeout = aiohttp.ClientTimeout(total=60)
    headers = {"Authorization": "Bearer none", "Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, headers=headers) as session:
        await asyncio.gather(*(_send_requests(session, url, left, journal) for _ in range(concurrency)))
    journal.close()
    return time.perf_counter() - begin


async def _send_requests(
    session: aiohttp.ClientSession, url: str, rows: Iterator[dict[str, str]], journal: Journal
) -> None:
    for row in rows:
        user = f"Query: {row['query']}\n<<<\n{row['snippet']}\n>>>\n"
        key = hashlib.sha256((_PROMPT + user).encode()).hexdigest()
        if key in journal.keys:
            continue
        messages = [{"role": "system", "content": _PROMPT}, {"role": "user", "content": user}]
        body = json.dumps({"model": "m", "temperature": 0, "max_tokens": 400, "messages": messages}).encode()
        answer = json.loads(await _post(session, url, body))
        reply = answer["choices"][0]["message"]["content"]
        grade = json.loads(reply)["grade"]
        record = {"key": key, "grade": grade, "reply": reply, "usage": answer["usage"]}
        await journal.append(json.dumps(record).encode() + b"\n")


async def _post(session: aiohttp.ClientSession, url: str, body: bytes) -> bytes:
    for attempt in range(_ATTEMPTS):
        async with session.post(f"{url}/chat/completions", data=body) as response:
            if response.status == 200:
                return await response.read()
        await asyncio.sleep(float(response.headers.get("retry-after", 2**attempt)))
    raise RuntimeError(f"no answer after {_ATTEMPTS} attempts")
