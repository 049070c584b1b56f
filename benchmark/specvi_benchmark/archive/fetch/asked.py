"""What a user asks for: ids, a list of them in a file, rows of a table, a circle on the sky."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from specvi_benchmark.archive.fetch.item import Lookup, Scheme
from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from specvi_benchmark.archive.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Cone:
    """A circle on the sky: ICRS centre and radius, in degrees."""

    ra_deg: float
    dec_deg: float
    radius_deg: float

    @classmethod
    def parse(cls, text: str) -> "Cone":
        """Read ``RA,DEC,RADIUS`` in degrees.

        Raises
        ------
        UserError
            It is something else, or lies outside the sky.
        """
        try:
            ra, dec, radius = (float(word) for word in text.split(","))
        except ValueError:
            ra = dec = radius = np.nan
        if not (0 <= ra <= 360 and -90 <= dec <= 90 and 0 < radius <= 180):
            raise UserError(
                "not a circle on the sky",
                where="--cone",
                expected="RA,DEC,RADIUS in degrees: RA from 0 to 360, DEC from -90 to 90, RADIUS above 0",
                got=text,
            )
        return cls(ra, dec, radius)

    def holds(self, ra_deg: np.ndarray, dec_deg: np.ndarray) -> np.ndarray:
        """Return where positions lie inside, ``(n,)`` bool; False where they are NaN."""
        ra, dec = np.radians(ra_deg), np.radians(dec_deg)
        ra0, dec0 = np.radians(self.ra_deg), np.radians(self.dec_deg)
        # The haversine keeps its digits at small separations, where the cosine loses them.
        half = np.sin((dec - dec0) / 2) ** 2 + np.cos(dec) * np.cos(dec0) * np.sin((ra - ra0) / 2) ** 2
        inside: np.ndarray = half <= np.sin(np.radians(self.radius_deg) / 2) ** 2
        return inside


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted of one survey.

    Attributes
    ----------
    entries
        Ids, and questions that the survey's search service answers with ids; read once.
    rows_without_id
        Rows of the user's table that name no spectrum of this survey, counted from 0.
    """

    entries: Iterable[str | Lookup]
    rows_without_id: tuple[int, ...] = ()


def ask(
    scheme: Scheme,
    ids: Sequence[str] = (),
    *,
    id_file: Path | None = None,
    table: "Catalogue | None" = None,
    cone: Cone | None = None,
) -> Asked:
    """Put together what is wanted.

    Parameters
    ----------
    scheme
        Names and addresses of the survey's release.
    ids
        Ids as the survey writes them.
    id_file
        A text file: the first word of each line is an id; lines from ``#`` are left out. It may be of any length.
    table
        A catalogue whose rows name the survey's spectra. With ``cone``, only its rows inside.
    cone
        A circle on the sky. Without a table, the survey is asked what lies there.

    Raises
    ------
    UserError
        Nothing is asked for; the table does not name spectra of this survey; the survey can't be searched by position.
    """
    if not (ids or id_file or table or cone):
        raise UserError(
            "nothing to fetch is named",
            expected="ids, --ids FILE, --table FILE, --cone RA,DEC,RADIUS or --catalogue NAME",
        )
    named = [] if table is None else _of_rows(scheme, table, cone)
    rows = [name for _, name in named if name is not None]
    given = chain(ids, read_ids(id_file) if id_file is not None else (), rows)
    search = scheme.cone(cone) if cone is not None and table is None else ()
    return Asked(
        chain(scheme.resolve(given), search), tuple(number for number, name in named if name is None)
    )


def read_ids(path: Path) -> Iterator[str]:
    """Yield the first word of each line of a text file, whatever its length.

    Raises
    ------
    UserError
        The file can't be read, or is no text.
    """
    try:
        with path.open(encoding="utf-8-sig") as stream:
            for line in stream:
                words = line.split("#", 1)[0].replace(",", " ").split()
                if words:
                    yield words[0]
    except OSError as error:
        raise UserError("the list of ids can't be read", where=path, got=error.strerror) from None
    except UnicodeDecodeError:
        raise UserError(
            "not a text file", where=path, expected="ids, one a line", fix="give tables with --table"
        ) from None


def _of_rows(scheme: Scheme, table: "Catalogue", cone: Cone | None) -> list[tuple[int, str | None]]:
    named = list(enumerate(scheme.rows(table)))
    if cone is None:
        return named
    inside = cone.holds(*table.positions())
    return [entry for entry in named if inside[entry[0]]]
