"""The one exception for a user's mistake: what, where, expected, got, how to fix."""

from collections.abc import Iterable


class UserError(Exception):
    """A mistake in a file, an option or a name, told in one message.

    The command line prints it and exits with 2; a library user catches it. Everything else that is
    raised is a fault of the suite.

    Parameters
    ----------
    what
        What went wrong, a short sentence without a full stop.
    where
        File, line, column or option.
    expected, got
        What should have been there, and what was.
    fix
        What to do now.
    """

    def __init__(
        self,
        what: str,
        *,
        where: object = None,
        expected: object = None,
        got: object = None,
        fix: str | None = None,
    ) -> None:
        self.what = what
        self.where = None if where is None else str(where)
        self.expected = None if expected is None else str(expected)
        self.got = None if got is None else str(got)
        self.fix = fix
        super().__init__(str(self))

    def __str__(self) -> str:
        """Return the message, a line for each part that is known."""
        parts = [
            ("where", self.where),
            ("expected", self.expected),
            ("got", self.got),
            ("fix", self.fix),
        ]
        return "\n".join([self.what, *(f"  {name}: {text}" for name, text in parts if text is not None)])

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with every part, so that a worker process can hand it on."""
        return (_rebuild, (self.what, self.where, self.expected, self.got, self.fix))


def _rebuild(
    what: str, where: str | None, expected: str | None, got: str | None, fix: str | None
) -> UserError:
    return UserError(what, where=where, expected=expected, got=got, fix=fix)


def examples(items: Iterable[object], limit: int = 3) -> str:
    """Return the first few items and how many more there are: ``a, b, c and 7 more``."""
    listed = [str(item) for item in items]
    shown = ", ".join(listed[:limit])
    return shown if len(listed) <= limit else f"{shown} and {len(listed) - limit} more"
