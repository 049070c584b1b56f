"""A file as formats see it: bytes unpacked, and its kind told from them, never from the name."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from isal import igzip, isal_zlib

from specvi_benchmark.errors import UserError
from specvi_benchmark.surveys.fits import MAGIC, FitsFile

GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True)
class Source:
    """One file's content. ``content`` is unpacked where the bytes are gzip, whatever the name says."""

    path: Path
    content: bytes = field(repr=False)

    @property
    def name(self) -> str:
        """Return the file name, used in messages and as a spectrum's name."""
        return self.path.name

    @cached_property
    def fits(self) -> FitsFile | None:
        """Return the file as FITS, None where it does not start like one."""
        return FitsFile(self.content, str(self.path)) if self.content.startswith(MAGIC) else None

    def fault(
        self, what: str, *, expected: object = None, got: object = None, fix: str | None = None
    ) -> UserError:
        """Return an error that names this file."""
        return UserError(what, where=self.path, expected=expected, got=got, fix=fix)


def open_source(path: Path) -> Source:
    """Read a file and unpack gzip bytes.

    Raises
    ------
    UserError
        The file is missing, a folder, unreadable, empty, or its gzip stream is cut.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UserError("no such file", where=path, fix="check the path") from None
    except IsADirectoryError:
        raise UserError("a file was expected, this is a folder", where=path) from None
    except OSError as error:
        raise UserError("the file can't be read", where=path, got=error.strerror) from None
    if not content:
        raise UserError(
            "the file is empty", where=path, expected="a spectrum", got="0 bytes", fix="fetch it again"
        )
    if content.startswith(GZIP_MAGIC):
        try:
            content = igzip.decompress(content)
        except (EOFError, OSError, isal_zlib.error) as error:
            raise UserError(
                "the gzip stream is cut or damaged", where=path, got=error, fix="fetch the file again"
            ) from None
    return Source(path, content)
