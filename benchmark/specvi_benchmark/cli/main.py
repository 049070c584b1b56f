"""The `specvi` program: finds commands, and turns a user's mistake into one message and exit code 2."""

import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from io import TextIOWrapper
from typing import NoReturn

from specvi_benchmark.cli.lazy import PACKAGE, root_group
from specvi_benchmark.errors import UserError

EXIT_USER_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Å shows ? in its place
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["--version"]:
        print(f"specvi {version(PACKAGE)}")  # noqa: T201  # the program's voice
        sys.exit(0)
    try:
        root_group().main(given, prog_name="specvi")
    except UserError as error:
        _stop(str(error))
    except BrokenPipeError as error:
        if not _reader_left():
            _stop(str(UserError("what this program was writing to has gone away", where=error.filename)))
        sys.exit(0)  # `specvi tasks | head`: the reader has seen enough
    except OSError as error:  # a full disk, a read-only folder, a file where a folder should be
        _stop(str(UserError(error.strerror or str(error), where=error.filename)))


def _reader_left() -> bool:
    """Tell whether it is the program's own output that nobody reads any more, and keep the end from saying so again."""
    left = False
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            left = True
    return left


def _stop(message: str) -> NoReturn:
    print(f"Error: {message}", file=sys.stderr)  # noqa: T201  # the program's voice
    sys.exit(EXIT_USER_ERROR)


if __name__ == "__main__":
    main()
