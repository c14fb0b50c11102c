"""Functions that write and read files in folders that another person may have prepared.

A run folder, a store or a folder of nights can come from another person. It can have symbolic links where
judge is about to write, or a FIFO or a device in the place of a file. No function here follows a link in the
last part of a path, except where its caller asks for it. Errors are OSError, except those of `hold_lock`.
"""

import errno
import io
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import IO, TextIO

from judge.errors import DISK_ERRORS, FileInUse, InputError, StoreError, explain_error
from judge.messages import Message

# Windows has neither flag: symbolic links need a privilege there, and bytes have a mode of their own.
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NON_BLOCK = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)
#: Seconds after which a temporary file belongs to a process that was killed.
_ABANDONED = 3600.0
#: Characters that Windows does not allow in file names.
_NOT_IN_NAMES = str.maketrans(dict.fromkeys('<>:"/\\|?*', "_"))


def make_file_name(text: str) -> str:
    """Return `text` with `_` for each character that Windows does not allow in a file name."""
    return text.translate(_NOT_IN_NAMES)


def write_file(path: Path, chunks: Iterable[str | bytes], mode: int = 0o666) -> None:
    """Write `chunks`, texts as UTF-8, to `path`, all of them or none.

    They go to a new file with a random name in the same folder, which is synced to the disk and renamed. A
    link at `path` is replaced, not followed. `mode` is limited by the umask. Raises OSError for a device, a
    FIFO or a folder at `path`: a rename would put a file in the place of /dev/null.
    """
    with suppress(FileNotFoundError):
        if not stat.S_ISLNK(kind := os.lstat(path).st_mode):
            _check_kind(path, kind)
    part = path.with_name(f".{os.urandom(8).hex()}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _BINARY, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(chunk if isinstance(chunk, bytes) else chunk.encode() for chunk in chunks)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)  # half a file must not keep a full disk full


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files in `folder` that killed processes left there."""
    for part in folder.glob(f".{'[0-9a-f]' * 16}.part"):
        with suppress(OSError):
            if time.time() - part.lstat().st_mtime > _ABANDONED:
                part.unlink()


def open_for_append(path: Path, mode: int = 0o666) -> int:
    """Return a descriptor that reads `path` and appends to it.

    Raises OSError for a link, for anything but a regular file, and for a file of another user in a folder
    that is not that user's.
    """
    # Opening a FIFO would wait for a reader.
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | _NO_FOLLOW | _NON_BLOCK | _BINARY
    check_regular(path)  # for a message that says what is there
    descriptor = os.open(path, flags, mode)
    try:
        _check_owned(path, os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


class LineLog:
    """A file of lines that this process alone appends to, from any thread.

    A line is whole and on the disk, or not in the file: one that a kill cut off is removed. `size` is in
    bytes, `mode` that of a new file.
    """

    def __init__(self, path: Path, mode: int = 0o666) -> None:
        self._path = path
        self._mode = mode
        self._lock = Lock()
        check_regular(path)
        self.size = 0
        if path.exists():
            with open_for_read(path) as file:
                end = file.seek(0, os.SEEK_END)
                self.size = _find_end_of_lines(file, end)
            if self.size < end:
                with os.fdopen(open_for_append(path), "ab") as file:
                    file.truncate(self.size)

    def append(self, line: bytes) -> None:
        """Append `line`, which ends with a line break; after an OSError the file is as it was."""
        with self._lock, os.fdopen(open_for_append(self._path, self._mode), "ab", buffering=0) as file:
            if file.seek(0, os.SEEK_END) != self.size:
                raise OSError("another program changed the file; start again")
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
                if not self.size and os.name == "posix":
                    _sync_folders(self._path)
            except OSError:
                file.truncate(self.size)
                raise
            self.size += len(line)


def _find_end_of_lines(file: IO[bytes], end: int) -> int:
    """Return where the last whole line before `end` ends."""
    while end:
        start = max(0, end - 65536)
        file.seek(start)
        newline = file.read(end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _sync_folders(path: Path) -> None:
    """Sync the name of a new file to the disk, as far as the folders can be read."""
    for folder in (path.parent, path.parent.parent):
        try:
            descriptor = os.open(folder, os.O_RDONLY)
        except PermissionError:  # such as the homes of all users
            continue
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def open_for_read(path: Path, *, follow: bool = False) -> IO[bytes]:
    """Return the regular file at `path`, open for reading.

    Raises OSError for anything else, such as a FIFO or a device, without waiting for it. Raises it for a
    link, too, unless `follow` is True, which is for files that the user names.
    """
    _check_kind(path, path.stat(follow_symlinks=follow).st_mode)  # for a message that says what is there
    # Opening a FIFO would wait for a writer.
    flags = os.O_RDONLY | _NON_BLOCK | _BINARY | (0 if follow else _NO_FOLLOW)
    descriptor = os.open(path, flags)
    try:
        _check_kind(path, os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "rb")
    except OSError:
        os.close(descriptor)
        raise


def read_bytes(path: Path, *, follow: bool = False) -> bytes:
    """Return what the regular file at `path` holds; see `open_for_read`."""
    with open_for_read(path, follow=follow) as file:
        return file.read()


def open_text(path: Path, *, follow: bool = False, newline: str | None = None) -> TextIO:
    """Return the regular file at `path` as UTF-8 text, open for reading; see `open_for_read`."""
    return io.TextIOWrapper(open_for_read(path, follow=follow), encoding="utf-8", newline=newline)


def read_text(path: Path) -> str:
    """Return the UTF-8 text of the regular file at `path`; see `open_for_read`."""
    with open_text(path) as file:
        return file.read()


def check_regular(*paths: Path) -> None:
    """Raise OSError when there is a link, hard or symbolic, or no regular file at one of `paths`.

    For libraries that open files themselves, and for files that are written in place.
    """
    for path in paths:
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue
        _check_kind(path, status.st_mode)
        if status.st_nlink > 1:
            raise OSError(errno.EINVAL, "has a second name (hard link); replace it by a copy", str(path))


def make_folder(path: Path) -> None:
    """Make the folder `path` and its parents when absent; raise OSError when `path` is a link."""
    path.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        raise OSError(errno.ELOOP, "is a symbolic link; remove it", str(path))


def _check_kind(path: Path, mode: int) -> None:
    if stat.S_ISLNK(mode):
        raise OSError(
            errno.ELOOP, "is a symbolic link; remove it, or name the file that it leads to", str(path)
        )
    if stat.S_ISDIR(mode):  # which a user may have named; it must not be removed
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "is no regular file; remove it, or name a regular file", str(path))


def _check_owned(path: Path, status: os.stat_result) -> None:
    _check_kind(path, status.st_mode)
    if os.name != "posix" or os.geteuid() == 0 or status.st_uid == os.geteuid():
        return
    # Who owns the folder can replace the file at any time, so that file is not a trap.
    if status.st_uid != path.parent.stat().st_uid:
        raise OSError(errno.EPERM, "belongs to another user; remove it, or name another file", str(path))


def explain_unusable(path: Path, problem: Message, error: OSError) -> InputError | StoreError:
    """Return the error of a path that cannot be used; for a read-only folder it says what to do."""
    is_read_only = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
    message = Message(
        "{file}: {problem}: {error}; make the folder writable, or use another one, such as a copy of it"
        if is_read_only
        else "{file}: {problem}: {error}",
        file=path,
        problem=problem,
        error=explain_error(error),
    )
    return (StoreError if error.errno in DISK_ERRORS else InputError)(message)


@contextmanager
def hold_lock(lock: Path, path: Path, busy: Message, unusable: Message, wait: float = 0) -> Iterator[None]:
    """Hold the lock file `lock` for this process; its folder is made when absent.

    Raises FileInUse with `busy` about `path` when another process holds it after `wait` seconds. Raises
    InputError with `unusable` and the system's reason when the file cannot be made, and StoreError when the
    disk is full or fails.
    """
    from filelock import FileLock, Timeout  # slow to import, and `judge --help` needs no lock

    lock_file = FileLock(lock, thread_local=False)
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        check_regular(lock)
        if not lock.exists():  # the library waits where it cannot be made
            os.close(open_for_append(lock))
        lock_file.acquire(timeout=wait)
    except Timeout:
        raise FileInUse("{file}: {problem}", file=path, problem=busy) from None
    except OSError as error:
        raise explain_unusable(path, unusable, error) from error
    try:
        yield
    finally:
        lock_file.release()
