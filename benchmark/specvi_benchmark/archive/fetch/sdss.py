"""SDSS: lite spectra of DR17 by plate, MJD and fibre, and of DR19 by field, MJD and catalogue id.

DR17 addresses: "Bulk Data Downloads", https://www.sdss4.org/dr17/data_access/bulk/. DR19: the abstract path `specLite` of
https://github.com/sdss/tree (data/dr19.cfg) with the padding of sdss_access. Read there, not tried on the live service.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from specvi_benchmark.archive.fetch.item import Item, Lookup
from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from specvi_benchmark.archive.catalogue import Catalogue
    from specvi_benchmark.archive.fetch.asked import Cone

DEFAULT_RELEASE = "dr17"
LEGACY_RUNS = ("26", "103", "104")
"""Pipeline runs of SDSS-I/II, of its star clusters, of SEGUE-2."""
BOSS_RUN = "v5_13_2"
FIELD_RUN = "v6_1_3"
FIRST_BOSS_PLATE = 3510
"""BOSS and eBOSS plates begin here. Only chooses what is tried first where a run is not given."""

_PLATE_ID = re.compile(r"(?:(?P<run>\w+):)?(?P<plate>\d{1,5})-(?P<mjd>\d{5})-(?P<fibre>\d{1,4})")
_FIELD_ID = re.compile(r"(?P<field>\d{1,6})-(?P<mjd>\d{5})-(?P<catalogid>\w{1,20})")
_SKY_SERVER = "https://skyserver.sdss.org"
_MINUTES = 60.0  # of arc in a degree


class _Sdss:
    """What both layouts share."""

    typical_bytes = 200_000  # lite files at hand: 173 to 219 kB
    per_second = 8.0
    parallel = 4
    token_variable: str | None = None
    token_hosts: tuple[str, ...] = ()
    thanks = "https://www.sdss.org/collaboration/citing-sdss/"

    def __init__(self, release: str, server: str | None) -> None:
        self.server = (server or "https://data.sdss.org").rstrip("/")
        self.sas = f"{self.server}/sas/{release}"
        self.folder = f"sdss/{release}"

    def resolve(self, ids: Iterable[str]) -> Iterator[str | Lookup]:
        """Yield the ids: each is fetched as it is."""
        return iter(ids)

    def _file(self, name: str, known: dict[str, str]) -> Item:
        if name not in known:
            raise UserError(
                "no such SDSS catalogue", where="--catalogue", expected=", ".join(known), got=name
            )
        return Item(name, f"catalogues/{name}", (f"{self.sas}/{known[name]}",), kind="table")


class SdssPlates(_Sdss):
    """DR17: SDSS, SEGUE, BOSS and eBOSS."""

    def __init__(self, server: str | None = None) -> None:
        super().__init__("dr17", server)
        self.sky_server = (server or _SKY_SERVER).rstrip("/")

    def items(self, ids: Iterable[str]) -> Iterator[Item]:
        """Yield the file of each ``plate-mjd-fibre``, before which the run may stand: ``26:266-51602-13``.

        Without a run the likely one is tried first and the others where it has no such file.
        """
        for text in ids:
            found = _PLATE_ID.fullmatch(text)
            if found is None or found["run"] not in {None, BOSS_RUN, *LEGACY_RUNS}:
                raise UserError(
                    "not an id of an SDSS spectrum",
                    expected=f"plate-mjd-fibre, or run:plate-mjd-fibre with run {', '.join(LEGACY_RUNS)} or {BOSS_RUN}",
                    got=text,
                )
            plate, mjd, fibre = int(found["plate"]), int(found["mjd"]), int(found["fibre"])
            name = f"spec-{plate:04d}-{mjd}-{fibre:04d}.fits"
            yield Item(
                key=f"{plate}-{mjd}-{fibre}",
                path=f"spectra/{plate:04d}/{name}",
                addresses=tuple(self._address(run, plate, name) for run in _runs(found["run"], plate)),
                identity={"PLATEID": plate, "MJD": mjd, "FIBERID": fibre},
            )

    def rows(self, table: "Catalogue") -> Iterator[str | None]:
        """Yield the plate, MJD and fibre of each row, by columns or file name, with its run where it has that."""
        names = table.spectrum_names()
        if not any(names):
            raise table.lacks("plate, mjd and fiberid, or file names spec-PPPP-MMMMM-FFFF.fits")
        runs = table.texts("run2d") if table.has("run2d") else [None] * len(names)
        for name, run in zip(names, runs, strict=True):
            known = run if run in {BOSS_RUN, *LEGACY_RUNS} else None
            prefix = f"{known}:" if known else ""
            yield f"{prefix}{name}" if name and _PLATE_ID.fullmatch(name) else None

    def cone(self, cone: "Cone") -> Iterator[str | Lookup]:
        """Yield the question to SkyServer's SQL search, in the function for spectra near a position."""
        # The values are numbers (see Cone), so that nothing else can stand in the question.
        sql = (
            "SELECT s.run2d, s.plate, s.mjd, s.fiberID FROM dbo.fGetNearbySpecObjAllEq"  # noqa: S608
            f"({cone.ra_deg!r},{cone.dec_deg!r},{cone.radius_deg * _MINUTES!r}) n "
            "JOIN SpecObjAll s ON s.specObjID = n.specObjID"
        )
        query = urlencode({"cmd": sql, "format": "csv"})
        address = f"{self.sky_server}/dr17/SkyServerWS/SearchTools/SqlSearch?{query}"
        yield Lookup("SQL search", address, _plate_ids)

    def catalogue(self, name: str) -> Item:
        """Return the table of all optical spectra."""
        return self._file("specObj-dr17.fits" if name == "specObj" else name, _PLATE_TABLES)

    def _address(self, run: str, plate: int, name: str) -> str:
        survey = "eboss" if run == BOSS_RUN else "sdss"
        return f"{self.sas}/{survey}/spectro/redux/{run}/spectra/lite/{plate:04d}/{name}"


class SdssFields(_Sdss):
    """DR19: SDSS-V spectra of the BOSS spectrographs."""

    def __init__(self, server: str | None = None) -> None:
        super().__init__("dr19", server)

    def items(self, ids: Iterable[str]) -> Iterator[Item]:
        """Yield the file of each ``field-mjd-catalogid``; the field is written with six digits."""
        for text in ids:
            found = _FIELD_ID.fullmatch(text)
            if found is None:
                raise UserError("not an id of an SDSS-V spectrum", expected="field-mjd-catalogid", got=text)
            field, mjd = f"{int(found['field']):06d}", found["mjd"]
            name = f"spec-{field}-{mjd}-{found['catalogid']}.fits"
            yield Item(
                key=f"{int(field)}-{mjd}-{found['catalogid']}",
                path=f"spectra/{field}/{mjd}/{name}",
                addresses=(f"{self.sas}/spectro/boss/redux/{FIELD_RUN}/spectra/lite/{field}/{mjd}/{name}",),
            )

    def rows(self, table: "Catalogue") -> Iterator[str | None]:
        """Yield field, MJD and catalogue id of each row."""
        columns = (table.ids(role).tolist() for role in ("field", "mjd", "catalogid"))
        for field, mjd, catalogid in zip(*columns, strict=True):
            yield f"{field}-{mjd}-{catalogid}" if field and mjd and catalogid else None

    def cone(self, cone: "Cone") -> Iterator[str | Lookup]:
        """Refuse: take the rows of spAll-lite inside the circle instead."""
        raise UserError(
            "SDSS DR19 is not searched by position",
            where="--cone",
            got=cone,
            fix="fetch the table with --catalogue spAll-lite, then give it with --table beside --cone",
        )

    def catalogue(self, name: str) -> Item:
        """Return the table of all spectra, with Gaia ids."""
        file = f"spAll-lite-{FIELD_RUN}.fits.gz"
        known = {file: f"spectro/boss/redux/{FIELD_RUN}/{file}"}
        return self._file(file if name == "spAll-lite" else name, known)


_PLATE_TABLES = {"specObj-dr17.fits": "sdss/spectro/redux/specObj-dr17.fits"}


def _runs(given: str | None, plate: int) -> tuple[str, ...]:
    if given is not None:
        return (given,)
    return (BOSS_RUN, *LEGACY_RUNS) if plate >= FIRST_BOSS_PLATE else (*LEGACY_RUNS, BOSS_RUN)


def _plate_ids(answer: bytes) -> list[str]:
    """Read the answer of SkyServer: a line ``#Table1``, then comma-separated columns with names."""
    lines = [line for line in answer.decode("utf-8-sig").splitlines() if line and not line.startswith("#")]
    table = csv.DictReader(StringIO("\n".join(lines)))
    names = {name.lower(): name for name in table.fieldnames or ()}
    if not {"run2d", "plate", "mjd", "fiberid"} <= set(names):
        raise ValueError(f"the answer is no table of spectra: {' '.join(lines)[:80]!r}")
    found = []
    for row in table:
        run, plate, mjd, fibre = (row[names[name]] for name in ("run2d", "plate", "mjd", "fiberid"))
        found.append(
            f"{run}:{plate}-{mjd}-{fibre}" if run in {BOSS_RUN, *LEGACY_RUNS} else f"{plate}-{mjd}-{fibre}"
        )
    return found
