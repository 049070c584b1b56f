"""Arguments and options of vetters that take none."""

from collections.abc import Mapping

from specvi_benchmark.errors import UserError, examples


def refuse_arguments(name: str, argument: str | None, options: Mapping[str, str]) -> None:
    """Raise a UserError if the vetter ``name`` was given an argument or an option."""
    given = ([] if argument is None else [f"argument {argument!r}"]) + [f"option {key!r}" for key in options]
    if given:
        raise UserError(
            f"vetter {name} takes no arguments and no options",
            where=f"vetter {name!r}",
            expected=name,
            got=examples(given),
            fix="leave them out",
        )
