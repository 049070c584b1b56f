"""Text in fixed columns, as Fortran writes it: cells may touch, and blanks stand for missing values."""

from collections.abc import Sequence

import numpy as np

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import FloatArray
from specvi_benchmark.surveys.formats._text import MISSING, number
from specvi_benchmark.surveys.source import Source


def fixed_column(source: Source, lines: Sequence[tuple[int, str]], first: int, last: int) -> FloatArray:
    """Return characters ``first`` to ``last`` (counted from 0, without ``last``) of every line as numbers.

    Raises
    ------
    UserError
        A cell is neither a number nor blank; the message names the line.
    """
    cells = [line[first:last] for _, line in lines]
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        pass  # a blank, a Fortran exponent, or a fault: one by one
    values = np.empty(len(lines))
    for row, ((line_number, _), cell) in enumerate(zip(lines, cells, strict=True)):
        text = cell.strip()
        value = np.nan if text.casefold() in MISSING else number(text)
        if value is None:
            raise UserError(
                "a row of the table can't be read",
                where=f"{source.path}, line {line_number}",
                expected=f"a number in characters {first + 1} to {last}",
                got=repr(text[:40]),
            )
        values[row] = value
    return values
