"""Caches of derived data beside a verdict store, such as the cleaned texts of an unchanged dataset.

A cache saves time, and calls for embeddings. A file that is missing or damaged is made again, and so is one
that other code computed. Its checksum detects damage, not intent, like that of a verdict.
"""

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import IO

from judge.files.filesystem import make_folder, open_for_read, remove_abandoned, write_file
from judge.files.stored_records import StoredLines

#: Files of a folder that stay; those that were not used for the longest time are removed.
_MAX_FILES = 24
_CHUNK = 1 << 20
_PACKAGE = Path(__file__).parents[1]
#: Hex digits of a hash and a line feed: the last line of a file.
_CHECKSUM_LENGTH = 65
#: Distributions that the lines of a file depend on.
_LIBRARIES = "search-judge selectolax openpyxl pyarrow jinja2 numpy scipy pydantic msgspec".split()


def make_cache_path(store: Path) -> Path:
    """Return the folder of the caches beside the store at the path `store`."""
    return store.with_name(store.name + ".cache")


class FileCache:
    """Files of lines in `folder`, each under the key of what its lines follow from."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, key: str) -> StoredLines | None:
        """Return the lines under `key`; None where there is no file, or one with another checksum."""
        with suppress(OSError):
            file = open_for_read(self._name_path(key))
            size = file.seek(0, 2) - _CHECKSUM_LENGTH
            file.seek(0)
            if f"{_hash_bytes(file, size)}\n".encode() == file.read():
                os.utime(file.fileno())
                return StoredLines(file, size)
            file.close()
        return None

    def make_folder(self) -> Path | None:
        """Return the folder, which is made when absent; None where it cannot be made."""
        with suppress(OSError):
            make_folder(self._folder)
            return self._folder
        return None

    def write(self, key: str, lines: Iterable[str | bytes]) -> None:
        """Write `lines`, which end with line feeds, under `key`, if the folder takes a file."""
        with suppress(OSError):
            make_folder(self._folder)
            remove_abandoned(self._folder)
            write_file(self._name_path(key), _add_checksum(lines))
            files = sorted(
                self._folder.glob("*.jsonl"), key=lambda file: (file.stat().st_mtime_ns, file.name)
            )
            for file in files[:-_MAX_FILES]:
                file.unlink()

    def has_files(self, key: str, folder: Path) -> bool:
        """Return whether the files that were recorded under `key` are in `folder`, unchanged."""
        lines = self.read(key)
        with suppress(OSError, TypeError, ValueError):
            return lines is not None and all(
                Path(name).name == name and hash_file(folder / name) == digest
                for digest, name in map(json.loads, lines)
            )
        return False

    def record_files(self, key: str, paths: Iterable[Path]) -> None:
        """Record what the files at `paths` contain under `key`, for `has_files`."""
        with suppress(OSError):
            self.write(key, [f"{json.dumps([hash_file(path), path.name])}\n" for path in paths])

    def _name_path(self, key: str) -> Path:
        return self._folder / f"{key}.jsonl"


def _hash_bytes(file: IO[bytes], size: int) -> str:
    """Return the hash of the next `size` bytes."""
    digest = hashlib.sha256()
    while chunk := file.read(max(0, min(size, _CHUNK))):
        digest.update(chunk)
        size -= len(chunk)
    return digest.hexdigest()


def _add_checksum(lines: Iterable[str | bytes]) -> Iterator[bytes]:
    digest = hashlib.sha256()
    for line in lines:
        content = line if isinstance(line, bytes) else line.encode()
        digest.update(content)
        yield content
    yield f"{digest.hexdigest()}\n".encode()


def make_key(*parts: object, is_computed: bool = True) -> str:
    """Return the key for JSON values `parts`, and for the running code where the cached value is computed.

    What a server answered stays when the code changes: it can be paid for. For a value that
    contains translations or templates, or follows from data, `hash_data` is one of the `parts`.
    """
    code = [_hash_code()] if is_computed else []
    return hashlib.sha256(json.dumps([*code, *parts]).encode()).hexdigest()[:32]


@cache
def _hash_code() -> str:
    """Return a hash of the modules of judge, and of the metadata of the libraries that it computes with."""
    digest = hashlib.sha256((platform.python_version() + hash_modules(_PACKAGE)).encode())
    for library in _LIBRARIES:
        with suppress(PackageNotFoundError):
            # The version is in the metadata, which take long to parse. Packages of Linux have PKG-INFO.
            files = distribution(library)
            metadata = files.read_text("METADATA") or files.read_text("PKG-INFO")
            digest.update(f"\n{library} {metadata}".encode())
    return digest.hexdigest()


@cache
def hash_data() -> str:
    """Return a hash of the translations, the templates and the other data files of judge."""
    return hash_data_files(_PACKAGE)


def hash_modules(package: Path) -> str:
    """Return a hash of the modules in the folder of a package."""
    return _hash_files(package.rglob("*.py"))


def hash_data_files(package: Path) -> str:
    """Return a hash of the files in the folder of a package that are no modules."""
    return _hash_files(path for path in package.rglob("*") if path.suffix not in (".py", ".pyc"))


def _hash_files(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def hash_file(path: Path, *, follow: bool = False) -> str:
    """Return the SHA-256 hash of the content of a regular file; a link is followed only with `follow`."""
    with open_for_read(path, follow=follow) as file:
        return _hash_bytes(file, os.fstat(file.fileno()).st_size)
