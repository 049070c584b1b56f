"""The tables of docs/formats.md, from what each format says of itself.

``python -m specvi_benchmark.surveys.page docs/formats.md`` writes them anew.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import read_text, write_text
from specvi_benchmark.surveys.registry import Format, all_formats

BEGIN = "<!-- formats: written by specvi_benchmark.surveys.page -->"
END = "<!-- end of formats -->"
SURVEYS = ("lamost", "sdss", "desi")


def tables() -> str:
    """Return the formats that are read, and those that are known and refused, as two Markdown tables."""
    read = [known for known in all_formats() if known.reads]
    refused = [known for known in all_formats() if not known.reads]
    head = "| format | recognised by | what is read | what is not | wavelengths |\n| --- | --- | --- | --- | --- |"
    rows = [
        f"| `{known.name}` | {_cell(known.recognised_by)} | {_cell(known.reads)} | {_cell(known.leaves_out)} | {known.medium} |"
        for known in sorted(read, key=_order)
    ]
    refused_head = "| known, and refused | recognised by | why, and what to do |\n| --- | --- | --- |"
    refused_rows = [
        f"| `{known.name}` | {_cell(known.recognised_by)} | {_cell(known.leaves_out)} |" for known in refused
    ]
    return "\n".join([head, *rows, "", refused_head, *refused_rows])


def with_tables(page: str) -> str:
    """Return a page with the tables between its two marks brought up to date.

    Raises
    ------
    UserError
        The page lacks a mark.
    """
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise UserError("the page has no place for the tables", expected=f"{BEGIN} and {END}")
    before, rest = page.split(BEGIN, 1)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{rest.split(END, 1)[1]}"


def main(arguments: Sequence[str]) -> None:
    """Rewrite the tables of the named page."""
    path = Path(arguments[0])
    write_text(path, with_tables(read_text(path)))


def _order(known: Format) -> tuple[bool, int, str]:
    """Return the place of a format in the table: surveys first, general formats last."""
    survey = known.name.split("-", 1)[0]
    return known.general, SURVEYS.index(survey) if survey in SURVEYS else len(SURVEYS), known.name


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


if __name__ == "__main__":
    main(sys.argv[1:])
