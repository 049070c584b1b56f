"""The `specvi` program: finds commands, and turns a user's mistake into one message and exit code 2."""

import sys
from collections.abc import Sequence

from specvi_benchmark.cli.lazy import root_group
from specvi_benchmark.errors import UserError

EXIT_USER_ERROR = 2
EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command line and exit with its code."""
    try:
        root_group().main(list(sys.argv[1:] if arguments is None else arguments), prog_name="specvi")
    except UserError as error:
        print(f"Error: {error}", file=sys.stderr)  # noqa: T201  # the program's voice
        sys.exit(EXIT_USER_ERROR)
    except KeyboardInterrupt:
        print("Interrupted. The same command goes on where it stopped.", file=sys.stderr)  # noqa: T201
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
