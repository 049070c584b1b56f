"""LAMOST, low resolution: spectra by obsid, catalogues by name, cone search.

Addresses as in the OpenAPI of https://www.lamost.org and the clients that use it (pylamost, astroquery's `nadc.lamost`,
the MultimodalUniverse); read in their documentation and code, not tried on the live service.
"""

import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from specvi_benchmark.archive.fetch.item import Item, Lookup
from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from specvi_benchmark.archive.catalogue import Catalogue
    from specvi_benchmark.archive.fetch.asked import Cone

DEFAULT_RELEASE = "dr10/v2.0"
CATALOGUES = (
    *("LRS_catalogue", "LRS_stellar", "LRS_astellar", "LRS_mstellar", "LRS_mec", "LRS_plan"),
    *("LRS_inputcatalog", "LRS_cv", "LRS_wd", "LRS_galaxy", "LRS_qso"),
)
"""Names of the low-resolution tables of DR10 v2.0."""

_RELEASE = re.compile(r"(dr\d+)[/_ ](v\d+(?:\.\d+)?)", re.IGNORECASE)
_OBSID = re.compile(r"[1-9]\d{4,11}")
_PLATE = 100_000  # an obsid ends in two digits for the spectrograph and three for the fibre


class Lamost:
    """One release of the low-resolution survey, as ``dr10/v2.0``."""

    typical_bytes = 50_000  # gzipped, by the files of DR8 to DR13 at hand (42 to 59 kB)
    per_second = 4.0
    parallel = 4
    token_variable: str | None = "SPECVI_LAMOST_TOKEN"  # noqa: S105  # a name, not a token
    token_hosts: tuple[str, ...] = ("www.lamost.org", "lamost.org")
    thanks = "https://www.lamost.org/policies/data_policy.html"

    def __init__(self, release: str | None = None, server: str | None = None) -> None:
        parts = _RELEASE.fullmatch(release or DEFAULT_RELEASE)
        if parts is None:
            raise UserError(
                "no such LAMOST release", where="--release", expected="like dr10/v2.0", got=release
            )
        self.release, self.version = parts[1].lower(), parts[2].lower()
        self.server = (server or "https://www.lamost.org").rstrip("/")
        self.folder = f"lamost/{self.release}_{self.version}"

    def resolve(self, ids: Iterable[str]) -> Iterator[str | Lookup]:
        """Yield the ids: each is fetched as it is."""
        return iter(ids)

    def items(self, ids: Iterable[str]) -> Iterator[Item]:
        """Yield the file of each obsid; in a folder for each plate, which holds at most 4000."""
        for obsid in ids:
            if not _OBSID.fullmatch(obsid):
                raise UserError("not a LAMOST obsid", expected="a number such as 353301001", got=obsid)
            yield Item(
                key=obsid,
                path=f"spectra/{int(obsid) // _PLATE}/{obsid}.fits.gz",
                addresses=(
                    f"{self._api}/lrs/spectrum/fits?obsid={obsid}",
                    f"{self._pages}/spectrum/fits/{obsid}",
                ),
                identity={"OBSID": int(obsid)},
            )

    def rows(self, table: "Catalogue") -> Iterator[str | None]:
        """Yield the obsid of each row."""
        if not table.has("obsid"):
            raise table.lacks(
                "obsid", "match it with the survey's own table: --against dr10_v2.0_LRS_catalogue.csv.gz"
            )
        return (str(obsid) if obsid else None for obsid in table.ids("obsid").tolist())

    def cone(self, cone: "Cone") -> Iterator[str | Lookup]:
        """Yield the question to the cone search (IVOA Simple Cone Search 1.03, answered by a VOTable)."""
        query = urlencode({"ra": cone.ra_deg, "dec": cone.dec_deg, "sr": cone.radius_deg})
        yield Lookup("cone search", f"{self._api}/lrs/voservice/conesearch?{query}", _obsids)

    def catalogue(self, name: str) -> Item:
        """Return the comma-separated form of a catalogue, which can be read in parts."""
        if name not in CATALOGUES:
            raise UserError(
                "no such LAMOST catalogue", where="--catalogue", expected=", ".join(CATALOGUES), got=name
            )
        file = f"{self.release}_{self.version}_{name}.csv.gz"
        return Item(name, f"catalogues/{file}", (f"{self._pages}/catdl?name={file}",), kind="table")

    @property
    def _api(self) -> str:
        return f"{self.server}/openapi/{self.release}/{self.version}"

    @property
    def _pages(self) -> str:
        return f"{self.server}/{self.release}/{self.version}"


def _obsids(answer: bytes) -> list[str]:
    """Read the obsids of a cone search's VOTable."""
    from astropy.io.votable import parse_single_table  # noqa: PLC0415  # slow, and few ask by position

    table = parse_single_table(BytesIO(answer), verify="ignore").to_table()
    names = {name.lower(): name for name in table.colnames}
    column = names.get("obsid") or names.get("catalogue_obsid")
    if column is None:
        raise ValueError(f"the answer has no column obsid, but {', '.join(table.colnames[:8])}")
    return [str(int(value)) for value in table[column]]
