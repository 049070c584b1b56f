"""A file as formats see it: bytes unpacked, and its kind told from them, never from the name."""

import mmap
import stat
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import path_text
from specvi_benchmark.surveys.fits import MAGIC, FitsFile
from specvi_benchmark.surveys.packed import GZIP_MAGIC, unpack
from specvi_benchmark.surveys.records import RecordFile, record_file
from specvi_benchmark.surveys.text import decoded

Medium = Literal["air", "vacuum"]
"""What wavelengths are measured in."""

MAPPED_FROM = 16 * 2**20  # bytes; of a larger FITS file only the parts that are asked for are read
MOST_LAYERS = 3  # of gzip around gzip: a .gz that was packed again when it was moved


@dataclass(frozen=True)
class Source:
    """One file's content. ``stored`` is unpacked where the bytes are gzip, whatever the name says.

    ``medium`` is what the caller says of the wavelengths, for files that don't say it themselves.
    """

    path: Path
    stored: bytes | mmap.mmap = field(repr=False)
    medium: Medium | None = None

    @property
    def name(self) -> str:
        """Return the file name, used in messages and as a spectrum's name."""
        return path_text(self.path.name)

    @cached_property
    def content(self) -> bytes:
        """Return all bytes of the file."""
        return self.stored[0 : len(self.stored)]

    @cached_property
    def fits(self) -> FitsFile | None:
        """Return the file as FITS, None where it does not start like one."""
        starts_so = self.stored[0 : len(MAGIC)] == MAGIC
        return FitsFile(self.stored, str(self.path)) if starts_so else None

    @cached_property
    def text(self) -> str | None:
        """Return the file as text, None where it is FITS or another binary file."""
        return None if self.fits is not None else decoded(self.content)

    @cached_property
    def records(self) -> RecordFile | None:
        """Return the file as records (parquet, Arrow, JSON), None where it is none of these."""
        return None if self.fits is not None else record_file(self)

    def fault(
        self, what: str, *, expected: object = None, got: object = None, fix: str | None = None
    ) -> UserError:
        """Return an error that names this file."""
        return UserError(what, where=self.path, expected=expected, got=got, fix=fix)


def open_source(path: Path, medium: Medium | None = None) -> Source:
    """Read a file and unpack gzip bytes. Large FITS files are mapped: most of DESI's are arrays nobody reads.

    Raises
    ------
    UserError
        The file is missing, a folder, unreadable, empty, or its gzip stream is cut.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a device, pipe or socket"
            raise UserError(f"a file was expected, this is {kind}", where=path)
        with path.open("rb", buffering=0) as stream:
            if status.st_size > MAPPED_FROM:
                if stream.read(len(MAGIC)) == MAGIC:
                    return Source(path, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), medium)
                stream.seek(0)
            content = stream.readall()
    except FileNotFoundError:
        raise UserError("no such file", where=path, fix="check the path") from None
    except OSError as error:
        raise UserError("the file can't be read", where=path, got=error.strerror) from None
    except ValueError as error:  # a NUL in the name
        raise UserError("no such file", where=repr(str(path)), got=error, fix="check the path") from None
    if not content:
        raise UserError(
            "the file is empty", where=path, expected="a spectrum", got="0 bytes", fix="fetch it again"
        )
    return Source(path, _unpacked(path, content), medium)


def _unpacked(path: Path, content: bytes) -> bytes:
    """Return the bytes under gzip, which a file may have been through more than once."""
    for _ in range(MOST_LAYERS):
        if not content.startswith(GZIP_MAGIC):
            break
        try:
            content = unpack(content)
        except ValueError as error:
            raise UserError(
                "the gzip stream is cut or damaged", where=path, got=error, fix="fetch the file again"
            ) from None
    return content
