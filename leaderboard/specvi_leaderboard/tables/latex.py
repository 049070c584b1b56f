r"""LaTeX with booktabs: a ``table*`` that a paper takes with ``\input``; or its rows only."""

import unicodedata
from collections.abc import Iterator

from specvi_leaderboard.tables.grid import Cell, Grid, Number

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "[": "{[}",  # at the start of a row it would be an argument of the line break before it, as would a star
    "*": "{*}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "–": "--",
    "−": "$-$",
    "×": r"$\times$",
    "†": r"\textsuperscript{\dag}",
    "‡": r"\textsuperscript{\ddag}",
    "\N{NO-BREAK SPACE}": "~",
    "’": "'",
    "…": r"\ldots{}",
}
PREAMBLE = r"\usepackage[T1]{fontenc}\usepackage{booktabs}\usepackage{textcomp}"
"""What the document needs before its body."""


def latex(grid: Grid, *, rows_only: bool = False) -> str:
    """Return the table, or its rows only, to be put into a table of the same layout."""
    rows = list(_rows(grid))
    if rows_only:
        return "\n".join(rows) + "\n"
    columns = "".join("l" if k in grid.text_columns else "r" for k in range(len(grid.head)))
    lines = [
        f"% Needs: {PREAMBLE}",
        r"\begin{table*}",
        r"\centering\small\setlength{\tabcolsep}{3.5pt}",
        rf"\caption{{{escaped(grid.caption)}{_legend(grid)}}}",
        rf"\label{{tab:{grid.label}}}",
        rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        r"\toprule",
        *_groups(grid),
        " & ".join(escaped(text) for text in grid.head) + r" \\",
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Return text that LaTeX prints as it is and never obeys; letters it has no glyph for become ``?``."""
    return "".join(_SPECIAL.get(c) or (c if c.isascii() and c.isprintable() else _letter(c)) for c in text)


def _letter(c: str) -> str:
    if c in "\n\t":
        return " "
    if "\N{LATIN CAPITAL LETTER A WITH GRAVE}" <= c <= "\N{LATIN SMALL LETTER Z WITH CARON}":
        return c  # T1 has these, and LaTeX reads UTF-8
    plain = unicodedata.normalize("NFKD", c).encode("ascii", "ignore").decode()
    return "".join(_SPECIAL.get(p, p) for p in plain if p.isprintable()) or "?"


def _legend(grid: Grid) -> str:
    return "".join(f" {escaped(mark)}\\,{escaped(meaning)}." for mark, meaning in grid.marks.items())


def _groups(grid: Grid) -> list[str]:
    if not grid.groups:
        return []
    cells, rules, column = [], [], 1
    for text, width in grid.groups:
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{escaped(text)}}}" if text else "")
        if text:
            rules.append(rf"\cmidrule(lr){{{column}-{column + width - 1}}}")
        column += width
    return [" & ".join(cells) + r" \\", " ".join(rules)]


def _rows(grid: Grid) -> list[str]:
    lines = []
    for number, section in enumerate(grid.sections):
        if section.heading:
            if number:
                lines.append(r"\addlinespace")
            lines.append(
                rf"\multicolumn{{{len(grid.head)}}}{{@{{}}l}}{{\textit{{{escaped(section.heading)}}}}} \\"
            )
        lines += [line for row in section.rows for line in _lines(row)]
    return lines


def _lines(row: tuple[Cell, ...]) -> Iterator[str]:
    r"""Yield a row, and below it its intervals, small, where it has any."""
    yield " & ".join(_cell(cell) for cell in row) + r" \\"
    intervals = [cell.interval if isinstance(cell, Number) else None for cell in row]
    if any(intervals):
        small = (rf"{{\scriptsize {escaped(text)}}}" if text else "" for text in intervals)
        yield " & ".join(small) + r" \\[2pt]"


def _cell(cell: Cell) -> str:
    if not isinstance(cell, Number):
        return escaped(cell)
    text = escaped(cell.text) + escaped(cell.mark)
    return rf"\textbf{{{text}}}" if cell.strong else text
