"""SPARCL, the spectra service of NOIRLab's Astro Data Lab: SDSS, BOSS and DESI spectra as JSON over plain HTTP.

Requests as its own client makes them (astro-datalab/sparclclient, `find` and `retrieve`), with ``format=json`` in place
of a pickle, which nobody should load from a network. Read there, not tried on the live service.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import numpy as np

from specvi_benchmark.archive.fetch.item import Item, Lookup
from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from specvi_benchmark.archive.catalogue import Catalogue
    from specvi_benchmark.archive.fetch.asked import Cone

AT_ONCE = 100
"""Spectra of one answer: some 10 MB of JSON."""
MOST_FOUND = 24_000
"""Records of one answer to a search; the client's own limit."""
FIELDS = (
    *("sparcl_id", "specid", "data_release", "targetid", "ra", "dec", "dateobs_center"),
    *("redshift", "redshift_warning", "spectype", "wavelength", "flux", "ivar", "mask"),
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SPECID = re.compile(r"-?\d{1,20}")
_RELEASE = re.compile(r"[A-Z]+-[A-Z]*DR\d*", re.IGNORECASE)


class Sparcl:
    """The service, of all data releases or one: ``DESI-DR1``, ``SDSS-DR16``, ``BOSS-DR16``."""

    typical_bytes = 12_000_000  # an answer of AT_ONCE spectra, 4000 to 7800 pixels of four arrays as text
    per_second = 1.0
    parallel = 1
    token_variable: str | None = None
    token_hosts: tuple[str, ...] = ()
    thanks = "https://datalab.noirlab.edu/acknowledgments.php"

    def __init__(self, release: str | None = None, server: str | None = None) -> None:
        if release is not None and not _RELEASE.fullmatch(release):
            raise UserError(
                "no SPARCL data release", where="--release", expected="like DESI-DR1", got=release
            )
        self.release = release and release.upper()
        self.server = (server or "https://astrosparcl.datalab.noirlab.edu").rstrip("/")
        self.folder = f"sparcl/{(self.release or 'all').lower()}"

    def resolve(self, ids: Iterable[str]) -> Iterator[str | Lookup]:
        """Yield SPARCL's own ids as they are, and questions for the surveys' ids (specid), many in each."""
        for is_uuid, group in groupby(map(str.lower, ids), key=lambda text: bool(_UUID.fullmatch(text))):
            if is_uuid:
                yield from group
                continue
            while chunk := list(islice(group, AT_ONCE)):
                yield self._of_specids(chunk)

    def items(self, ids: Iterable[str]) -> Iterator[Item]:
        """Yield one answer for each hundred ids; the same list in the same order gives the same files."""
        query = {"include": ",".join(FIELDS), "format": "json"}
        if self.release:
            query["dataset_list"] = self.release
        rest = iter(ids)
        while chunk := tuple(islice(rest, AT_ONCE)):
            key = hashlib.sha256("\n".join(chunk).encode()).hexdigest()[:16]
            yield Item(
                key=key,
                path=f"spectra/{key[:2]}/{key}.json",
                addresses=(f"{self.server}/sparc/spectras/?{urlencode(query)}",),
                kind="records",
                post=list(chunk),
                record_ids=chunk,
            )

    def rows(self, table: "Catalogue") -> Iterator[str | None]:
        """Yield the SPARCL id of each row, else its DESI target or SDSS spectrum id."""
        for role in ("sparcl_id", "targetid", "specid"):
            if table.has(role):
                return iter(table.id_texts(role))
        raise table.lacks("sparcl_id, targetid or specobjid")

    def cone(self, cone: "Cone") -> Iterator[str | Lookup]:
        """Yield the question for a box in right ascension and declination; the answer is cut to the circle."""
        low, high = cone.dec_deg - cone.radius_deg, cone.dec_deg + cone.radius_deg
        half_deg = 180.0
        if abs(cone.dec_deg) + cone.radius_deg < 90:  # no pole inside
            sine = np.sin(np.radians(cone.radius_deg)) / np.cos(np.radians(cone.dec_deg))
            half_deg = float(np.degrees(np.arcsin(min(1.0, sine))))
        west, east = cone.ra_deg - half_deg, cone.ra_deg + half_deg
        spans = [(west, east)] if west >= 0 and east <= 360 else [(west % 360, 360.0), (0.0, east % 360)]
        spans = spans if half_deg < 180 else [(0.0, 360.0)]
        for span in spans:
            search = [["ra", *span], ["dec", max(low, -90.0), min(high, 90.0)]]
            yield self._find("search by position", search, cone)

    def catalogue(self, name: str) -> Item:
        """Refuse: the service has no catalogue files."""
        raise UserError(
            "SPARCL has no catalogue files", where="--catalogue", got=name, fix="take those of sdss or desi"
        )

    def _of_specids(self, chunk: list[str]) -> Lookup:
        for text in chunk:
            if not _SPECID.fullmatch(text):
                raise UserError(
                    "not an id that SPARCL knows",
                    expected="a sparcl_id (UUID), a DESI TARGETID or an SDSS specObjID",
                    got=text,
                    fix="a number with a point or an exponent has lost its last digits: write the table anew",
                )
        return self._find("search by specid", [["specid", *map(int, chunk)]])

    def _find(self, what: str, search: list[list[Any]], cone: "Cone | None" = None) -> Lookup:
        if self.release:
            search.append(["data_release", self.release])
        fields = ["sparcl_id", "ra", "dec"]
        return Lookup(
            what,
            f"{self.server}/sparc/find/?{urlencode({'limit': MOST_FOUND})}",
            lambda answer: _found(answer, cone),
            post={"outfields": fields, "search": search},
        )


def _found(answer: bytes, cone: "Cone | None") -> list[str]:
    """Read the ids of a search: a list of which the first entry is a header with the status."""
    records = [record for record in json.loads(answer)[1:] if "sparcl_id" in record]
    if len(records) >= MOST_FOUND:
        raise ValueError(f"{MOST_FOUND} spectra or more: ask for a smaller circle")
    if cone is not None and records:
        inside = cone.holds(*np.array([(record["ra"], record["dec"]) for record in records], float).T)
        records = [record for record, good in zip(records, inside, strict=True) if good]
    return [str(record["sparcl_id"]) for record in records]
