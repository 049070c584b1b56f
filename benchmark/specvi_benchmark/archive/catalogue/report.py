"""What matching found and did not find, in numbers and with the rows to look at."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from specvi_benchmark.archive.catalogue.catalogue import Catalogue
from specvi_benchmark.archive.catalogue.match import Matches
from specvi_benchmark.errors import examples

_MANY = 20


@dataclass(frozen=True, slots=True)
class Report:
    """A match in numbers.

    Attributes
    ----------
    rows
        Rows of the wanted catalogue.
    by
        Rows by what they were matched by.
    pairs
        Pairs of rows: an object may have several spectra.
    unmatched, ambiguous, spread, contradictory
        Rows without partner, with more than one object in the radius, with partners that may be of more than one,
        matched by an id although their positions differ.
    remarks
        Sentences about the tables that a reader should know.
    """

    rows: int
    by: dict[str, int]
    pairs: int
    unmatched: int
    ambiguous: int
    spread: int
    contradictory: int
    remarks: tuple[str, ...]

    def sentences(self) -> list[str]:
        """Return the report, a line each."""
        matched = ", ".join(f"{number} by {by}" for by, number in self.by.items()) or "none"
        lines = [f"{sum(self.by.values())} of {self.rows} rows matched ({matched}), {self.pairs} pairs"]
        told = (
            (self.unmatched, "rows did not match"),
            (self.ambiguous, "rows had more than one object in the radius; the nearest was taken"),
            (
                self.spread,
                "rows have partners over 1″ from each other and no Gaia ids to tell them apart; all were kept",
            ),
            (self.contradictory, "rows were matched by an id, but their positions differ: look at them"),
        )
        lines += [f"{number} {what}" for number, what in told if number]
        return [*lines, *self.remarks]


def report(matches: Matches, wanted: Catalogue, known: Catalogue) -> Report:
    """Sum up a match of two catalogues."""
    first = np.unique(matches.rows, return_index=True)[1]
    remarks = [remark for table in (wanted, known) for remark in remarks_on(table)]
    doubled = _rows_that_share_a_spectrum(matches)
    if doubled:
        remarks.append(f"{len(doubled)} spectra are named by more than one row: rows {examples(doubled)}")
    return Report(
        rows=len(wanted),
        by=dict(Counter(matches.by[first].tolist())),
        pairs=int(matches.rows.size),
        unmatched=len(matches.unmatched),
        ambiguous=len(matches.ambiguous),
        spread=len(matches.spread),
        contradictory=int(np.unique(matches.rows[matches.contradictions()]).size),
        remarks=tuple(remarks),
    )


def remarks_on(table: Catalogue) -> list[str]:
    """Return what the reader of a table should know of it: what was left out, lost ids, hours for degrees."""
    return [*(f"{table.where}: {note}" for note in table.notes), *_lost_ids(table), *_hours(table)]


def _lost_ids(table: Catalogue) -> list[str]:
    remarks = []
    for role in ("obsid", "gaia"):
        number = table.unusable_ids(role) if table.has(role) else 0
        # A column of words only is no column of ids, whatever its name.
        if number and (table.ids(role).any() or pa.types.is_floating(table.column(role).type)):
            name = table.roles[role]
            remarks.append(
                f"{table.where}: {number} cells of {name} hold no id (text, or a float that lost its last digits)"
            )
    return remarks


def _hours(table: Catalogue) -> list[str]:
    """Ask whether right ascensions are hours, where they look like it: many, all over the sky, none above 24."""
    ra = table.positions()[0]
    ra = ra[np.isfinite(ra)]
    if ra.size < _MANY or ra.max() > 24 or np.ptp(ra) < 12:  # hours
        return []
    return [
        f"{table.where}: no right ascension is above 24: hours? Then write the unit into its name, as 'ra [h]'"
    ]


def _rows_that_share_a_spectrum(matches: Matches) -> Sequence[str]:
    """Return groups of rows that were matched to one spectrum."""
    order = np.argsort(matches.partners, kind="stable")
    partners, rows = matches.partners[order], matches.rows[order]
    if not partners.size:
        return []
    starts = np.flatnonzero(np.r_[True, partners[1:] != partners[:-1]])
    ends = [*starts[1:], partners.size]
    return [
        " and ".join(map(str, rows[start:end]))
        for start, end in zip(starts, ends, strict=True)
        if end - start > 1
    ]
