"""What a column of a catalogue holds, by the names that surveys, VizieR and papers give it."""

import re
from collections.abc import Iterable, Mapping

ROLES: Mapping[str, tuple[str, ...]] = {
    "obsid": ("obsid", "obs_id", "obs-id", "catalogue_obsid", "lamost_obsid", "lamostobsid"),
    "gaia": (
        *("gaia_source_id", "catalogue_gaia_source_id", "gaia_dr3_source_id", "gaia_edr3_source_id"),
        *("gaia_dr2_source_id", "gaia_id", "gaiaid", "gaia", "gaiadr3", "gaia_dr3", "gaiaedr3", "gaia_edr3"),
        *("gaiadr2", "gaia_dr2", "dr3name", "edr3name", "dr2name", "source_id", "source", "sourceid"),
    ),
    "ra": (
        *("ra", "radeg", "ra_deg", "raj2000", "ra_j2000", "ra2000", "_raj2000", "ra_icrs", "_ra_icrs"),
        *("catalogue_ra", "target_ra", "racat", "inputra", "plug_ra", "fiber_ra", "ra_obs", "raobs", "_ra"),
        *("alpha", "alpha_j2000", "right_ascension"),
    ),
    "dec": (
        *("dec", "decl", "decdeg", "dec_deg", "dej2000", "dec_j2000", "dec2000", "decj2000", "_dej2000"),
        *("de_icrs", "_de_icrs", "catalogue_dec", "target_dec", "deccat", "inputdec", "plug_dec"),
        *("fiber_dec", "dec_obs", "decobs", "_de", "dedeg", "delta", "delta_j2000", "declination"),
    ),
    "rah": ("rah",),
    "ram": ("ram",),
    "ras": ("ras",),
    "de-": ("de-",),
    "ded": ("ded",),
    "dem": ("dem",),
    "des": ("des",),
    "designation": (
        *("designation", "lamost", "lamo", "lamostname", "lamost_name", "iau_name", "iauname", "jname"),
        *("sdss", "sdss_name", "sdssname", "wdjname"),
    ),
    "file": ("filename", "file_name", "file", "spec_name", "specname", "spectrum", "spectra", "fits", "name"),
    "lmjd": ("lmjd",),
    "planid": ("planid", "plan", "plan_id"),
    "spid": ("spid", "sp_id"),
    "fiberid": ("fiberid", "fiber", "fibre", "fiber_id", "fibreid"),
    "plate": ("plate", "plateid", "plate_id"),
    "mjd": ("mjd",),
    "run2d": ("run2d",),
    "field": ("field", "fieldid", "field_id"),
    "catalogid": ("catalogid", "catalog_id"),
    "survey": ("survey",),
    "program": ("program", "faprgrm"),
    "healpix": ("healpix", "hpxpixel"),
    "targetid": ("targetid", "target_id", "desi_targetid"),
    "specid": ("specid", "specobjid", "spec_id"),
    "sparcl_id": ("sparcl_id",),
    "id": ("id",),  # of an archive of ours
}
"""Names of columns by what they hold, the better ones first; without case, units and blanks."""

POSITIONAL = ("ra", "dec", "rah", "ram", "ras", "de-", "ded", "dem", "des", "designation")
"""Roles that give a position."""
MATCHED = (
    *("obsid", "gaia", *POSITIONAL, "file", "lmjd", "planid", "spid", "fiberid", "plate", "mjd"),
    *("field", "catalogid"),
)
"""Roles that matching looks at: of a large catalogue nothing else need be read."""

NAMED = (
    "run2d",
    "survey",
    "program",
    "healpix",
    "targetid",
    "specid",
    "sparcl_id",
    "id",
)
"""Roles that, with some of `MATCHED`, name a spectrum to its survey."""

_HOURS_DEG, _RADIANS_DEG = 15.0, 57.29577951308232
_DEGREES_IN: Mapping[str, float] = {
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "hourangle", "15deg", "15 deg"), _HOURS_DEG),
    **dict.fromkeys(("rad", "radian", "radians"), _RADIANS_DEG),
}
_OLD_EQUINOX = re.compile(r"(?<![\d.])(?:B\d{4}|1855|1875|1900|1950)(?!\d)")
_UNIT = re.compile(r"\s*[\[(](.*)[\])]\s*$")


def plain(name: str) -> str:
    """Return a column's name without case, unit, leading ``#`` and blanks."""
    return _UNIT.sub("", name.strip().lstrip("#").strip()).casefold().replace(" ", "_")


def degrees_in(name: str, unit: str | None) -> float:
    """Return how many degrees one is in a column of angles, by its unit or what stands in brackets in its name.

    1 where neither says hours or radians: positions are published in degrees, and brackets hold equinoxes too.
    """
    bracket = _UNIT.search(name)
    known = [unit or "", bracket[1] if bracket else ""]
    return next((_DEGREES_IN[one] for text in known if (one := text.strip().casefold()) in _DEGREES_IN), 1.0)


def of_old_equinox(text: str) -> bool:
    """Tell whether a column's name or description says that its positions are of an equinox before 2000.

    The poles move by 20″ a year: read as of 2000, a position of 1900 or 1950 is off by up to a degree.
    """
    return bool(_OLD_EQUINOX.search(text)) and not re.search("2000|ICRS", text)


def roles_of(names: Iterable[str]) -> dict[str, str]:
    """Return for each role the column that plays it: the first of its names that a table has.

    A column whose name says an equinox before 2000 in brackets plays none.
    """
    columns: dict[str, str] = {}
    for name in names:
        if not of_old_equinox(name):
            columns.setdefault(plain(name), name)
    found = (
        (role, next((columns[one] for one in known if one in columns), None)) for role, known in ROLES.items()
    )
    return {role: name for role, name in found if name is not None}
