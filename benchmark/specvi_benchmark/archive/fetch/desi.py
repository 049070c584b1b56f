"""DESI: public coadds, one file for each survey, programme and HEALPix pixel.

Layout: https://desidatamodel.readthedocs.io (SPECPROD/healpix); releases: https://data.desi.lbl.gov/doc/releases/. Lists
of SHA-256 sums beside the files: named as DESI's archiving scripts do (desihub/desida). Read there, not tried on the
live service.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from specvi_benchmark.archive.fetch.item import Item, Lookup
from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from specvi_benchmark.archive.catalogue import Catalogue
    from specvi_benchmark.archive.fetch.asked import Cone

DEFAULT_RELEASE = "dr1"
PRODUCTIONS = {"edr": "fuji", "dr1": "iron"}
ZCATALOGUES = {"edr": "zcatalog/zall-pix-fuji.fits", "dr1": "zcatalog/v1/zall-pix-iron.fits"}
SURVEYS = ("main", "sv1", "sv2", "sv3", "special", "cmx")
PROGRAMMES = ("dark", "bright", "backup", "other")
PAIRS = (
    *(("main", programme) for programme in ("dark", "bright", "backup")),
    *((survey, programme) for survey in ("sv1", "special") for programme in PROGRAMMES),
    *((survey, programme) for survey in ("sv2", "sv3") for programme in ("dark", "bright", "backup")),
    ("cmx", "other"),
)
"""Surveys and programmes that DR1 has (as its value-added catalogues list them); EDR has those without ``main``."""
N_SIDE = 64
"""DESI files are cut by HEALPix pixels of this resolution, in nested order (0.84 square degrees each)."""

_ID = re.compile(rf"({'|'.join(SURVEYS)})-({'|'.join(PROGRAMMES)})-(\d{{1,5}})")


class Desi:
    """One public release: ``edr`` or ``dr1``."""

    typical_bytes = 150_000_000  # some hundred targets of 0.3 MB, by the layout; files vary widely
    per_second = 2.0
    parallel = 2
    token_variable: str | None = None
    token_hosts: tuple[str, ...] = ()
    thanks = "https://data.desi.lbl.gov/doc/acknowledgments/"

    def __init__(self, release: str | None = None, server: str | None = None) -> None:
        self.release = (release or DEFAULT_RELEASE).lower()
        if self.release not in PRODUCTIONS:
            raise UserError(
                "no such DESI release", where="--release", expected=" or ".join(PRODUCTIONS), got=release
            )
        self.production = PRODUCTIONS[self.release]
        self.server = (server or "https://data.desi.lbl.gov").rstrip("/")
        self.folder = f"desi/{self.release}"

    def resolve(self, ids: Iterable[str]) -> Iterator[str | Lookup]:
        """Yield the ids, each once: many targets of a table lie in one file."""
        return iter(dict.fromkeys(ids))

    def items(self, ids: Iterable[str]) -> Iterator[Item]:
        """Yield the coadd file of each ``survey-programme-pixel``."""
        for text in ids:
            found = _ID.fullmatch(text)
            if found is None:
                raise UserError(
                    "not an id of a DESI file",
                    expected="survey-programme-pixel, such as main-dark-27247",
                    got=text,
                    fix="a TARGETID alone does not tell its file: give a zcatalog with --table, or fetch from sparcl",
                )
            survey, programme, pixel = found[1], found[2], int(found[3])
            place = f"{survey}/{programme}/{pixel // 100}/{pixel}"
            name = f"coadd-{survey}-{programme}-{pixel}.fits"
            sums = f"redux_{self.production}_healpix_{place.replace('/', '_')}.sha256sum"
            yield Item(
                key=f"{survey}-{programme}-{pixel}",
                path=f"spectra/{place}/{name}",
                addresses=(f"{self._redux}/healpix/{place}/{name}",),
                identity={"SURVEY": survey, "PROGRAM": programme, "HPXPIXEL": pixel},
                checksums=f"{self._redux}/healpix/{place}/{sums}",
            )

    def rows(self, table: "Catalogue") -> Iterator[str | None]:
        """Yield survey, programme and pixel of each row of a zcatalog."""
        columns = (table.texts("survey"), table.texts("program"), table.id_texts("healpix"))
        for survey, programme, pixel in zip(*columns, strict=True):
            yield f"{survey}-{programme}-{pixel}".lower() if survey and programme and pixel else None

    def cone(self, cone: "Cone") -> Iterator[str | Lookup]:
        """Yield the files that may hold targets inside: not every survey and programme has every pixel."""
        import astropy.units as u  # noqa: PLC0415  # slow, and few ask by position
        from astropy_healpix import HEALPix  # noqa: PLC0415

        grid = HEALPix(nside=N_SIDE, order="nested")
        # The library returns pixels that overlap the circle, and may return a neighbour more.
        pixels = np.sort(
            grid.cone_search_lonlat(cone.ra_deg * u.deg, cone.dec_deg * u.deg, cone.radius_deg * u.deg)
        )
        for pixel in pixels.tolist():
            for survey, programme in PAIRS:
                if survey != "main" or self.release != "edr":
                    yield f"{survey}-{programme}-{pixel}"

    def catalogue(self, name: str) -> Item:
        """Return the table of all spectra (``zall-pix``), tens of gigabytes."""
        place = ZCATALOGUES[self.release]
        if name != "zall-pix":
            raise UserError("no such DESI catalogue", where="--catalogue", expected="zall-pix", got=name)
        folder, file = place.rsplit("/", 1)
        sums = f"redux_{self.production}_{folder.replace('/', '_')}.sha256sum"
        return Item(
            name,
            f"catalogues/{file}",
            (f"{self._redux}/{place}",),
            kind="table",
            checksums=f"{self._redux}/{folder}/{sums}",
        )

    @property
    def _redux(self) -> str:
        return f"{self.server}/public/{self.release}/spectro/redux/{self.production}"
