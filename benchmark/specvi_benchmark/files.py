"""Files as every part writes and reads them: atomic, durable, and told plainly when they are wrong."""

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import platformdirs
import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from specvi_benchmark.errors import UserError, examples

_TAIL_BYTES = 1 << 16


class StrictModel(BaseModel):
    """Base of every record that is read from a file: unknown keys are refused, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Model = TypeVar("Model", bound=BaseModel)


def home() -> Path:
    """Return the folder of caches and builds: ``$SPECVI_HOME``, else the platform's cache folder."""
    chosen = os.environ.get("SPECVI_HOME")
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("specvi")


@contextmanager
def atomic_path(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """Yield a temporary path in the same folder; on success it replaces ``path``, durably.

    A reader sees the old file or the whole new one, never a part; an exception leaves the old one. ``mode``: who may
    read and write it, less what the user's umask takes away.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(mode & ~_umask())
        durable_replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def locked(folder: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock of a folder, which need not exist yet; it ends with the block, or with the process.

    The lock is a file beside the folder, so the folder can be removed and made anew under it. ``waiting`` is
    called once where another process holds it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{folder.name}.lock").open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def durable_replace(temporary: Path, path: Path) -> None:
    """Move a finished file to its place in the same folder: on disk before it has the name, and the name too."""
    with temporary.open("rb+") as stream:
        os.fsync(stream.fileno())
    temporary.replace(path)
    _fsync_folder(path.parent)


def write_bytes(path: Path, content: bytes) -> None:
    """Write ``content`` atomically."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def write_once(path: Path, content: bytes) -> None:
    """Write a file whose name says what is in it, unless it is there; a kill leaves all of it or none.

    Not durable: after a power failure a file may be there with another size, and is then written again.
    """
    try:
        if path.stat().st_size == len(content):
            return
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, atomically."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: object) -> None:
    """Write ``value`` as indented JSON, atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def canonical_json(value: object) -> bytes:
    """Return the one JSON encoding used for fingerprints: sorted keys, no spaces, no NaN, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def sha256_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes as 64 hex digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def path_text(path: str | Path) -> str:
    r"""Return a path as text that can be written: bytes of a name that are no UTF-8 stand as ``\xff``."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def read_bytes(path: Path) -> bytes:
    """Read a file, or say in one message why it can't be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UserError("no such file", where=path, fix="check the path") from None
    except IsADirectoryError:
        raise UserError("a file was expected, this is a folder", where=path) from None
    except OSError as error:
        raise UserError("the file can't be read", where=path, got=error.strerror) from None


def read_text(path: Path) -> str:
    """Read a UTF-8 file, or say in one message why it can't be read."""
    return _decoded(read_bytes(path), path)


def parse_json(text: str, where: object, *, each_key_once: bool = False) -> Any:
    """Parse JSON text; ``where`` names it in the message when it is broken.

    ``each_key_once`` refuses an object that gives one key two values, of which Python would take the last.
    """
    try:
        return json.loads(text, object_pairs_hook=_once if each_key_once else None)
    except json.JSONDecodeError as error:
        raise UserError(
            "not valid JSON", where=where, got=f"{error.msg} at column {error.colno}", fix="mend or remove it"
        ) from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets without end
        raise UserError("not usable JSON", where=where, got=error, fix="mend or remove it") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {doubled!r} stands there twice")
    return found


def parse_yaml(text: str, where: object) -> Any:
    """Parse YAML text with the safe loader; ``where`` names it in the message when it is broken.

    A key that stands twice in a mapping is refused: PyYAML alone would drop the first one in silence.
    """
    try:
        return yaml.load(text, _Loader)  # noqa: S506  # a SafeLoader
    except yaml.YAMLError as error:
        raise UserError("not valid YAML", where=where, got=" ".join(str(error).split())) from None


class _Loader(yaml.SafeLoader):
    """The safe loader; a key that stands twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if twice := sorted({name for name in seen if seen.count(name) > 1}):
            raise yaml.constructor.ConstructorError(
                None, None, f"{', '.join(twice)} stands twice", node.start_mark
            )
        return super().construct_mapping(node, deep)


def validate(model: type[Model], value: object, where: object) -> Model:
    """Check a parsed value against a model; all faults go into one message."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        faults = [_fault(details) for details in error.errors()]
        raise UserError(
            f"{len(faults)} fault{'s' if len(faults) > 1 else ''} in {model.__name__}",
            where=where,
            got=examples(faults, limit=5),
            fix="correct the named keys; unknown keys are refused so that a typing error can't pass",
        ) from None


def refuse_newer(value: object, known: int, where: object) -> None:
    """Raise if a parsed file has a ``schema_version`` above the one this version knows."""
    written = value.get("schema_version") if isinstance(value, dict) else None
    if isinstance(written, int) and written > known:
        raise UserError(
            "written by a newer version of the suite",
            where=where,
            expected=f"schema_version up to {known}",
            got=written,
            fix="pip install --upgrade specvi-bench",
        )


def read_json_model(path: Path, model: type[Model]) -> Model:
    """Read a JSON file into a model."""
    return validate(model, parse_json(read_text(path), path), path)


def json_line(record: object) -> bytes:
    """Return a record as one line of a log: UTF-8 JSON without NaN, and a line break."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def append_line(path: Path, record: object) -> None:
    """Append one JSON line to a log.

    A kill leaves at most one unfinished line at the end, which `read_lines` and `mend_log` drop.
    """
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        write_all(handle, json_line(record))
    finally:
        os.close(handle)


def write_all(handle: int, content: bytes) -> None:
    """Write all of ``content``: a system call may write less than it was given."""
    written = os.write(handle, content)
    while written < len(content):
        written += os.write(handle, content[written:])


def mend_log(path: Path) -> int:
    """Cut an unfinished last line, as a kill can leave it; return how many bytes were cut.

    Only the end is read, whatever the length of the log.
    """
    if not path.exists():
        return 0
    with path.open("rb+") as stream:
        size = end = stream.seek(0, os.SEEK_END)
        whole = 0
        while end and not whole:
            start = max(0, end - _TAIL_BYTES)
            stream.seek(start)
            whole = start + found + 1 if (found := stream.read(end - start).rfind(b"\n")) >= 0 else 0
            end = start
        stream.truncate(whole)
    return size - whole


def read_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield ``(line number, parsed value)`` of a JSON-lines log; an unfinished last line is left out."""
    content = read_bytes(path)
    finished = content[: content.rfind(b"\n") + 1]  # what follows the last line break was being written
    for number, line in enumerate(_decoded(finished, path).split("\n"), start=1):
        if line.strip():
            yield number, parse_json(line, f"{path}, line {number}")


def _decoded(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            "not a text file", where=path, expected="UTF-8 text", got=f"byte {error.start} is not UTF-8"
        ) from None


def _fault(details: Any) -> str:
    place = ".".join(str(part) for part in details["loc"]) or "value"
    got = details.get("input")
    shown = "" if isinstance(got, dict | list) else f" (got {got!r})"
    return f"{place}: {details['msg']}{shown}"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _fsync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
