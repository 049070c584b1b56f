"""The surveys that can be fetched, by the names of the command line."""

from urllib.parse import urlsplit

from specvi_benchmark.archive.fetch.desi import Desi
from specvi_benchmark.archive.fetch.item import Scheme
from specvi_benchmark.archive.fetch.lamost import Lamost
from specvi_benchmark.archive.fetch.sdss import SdssFields, SdssPlates
from specvi_benchmark.archive.fetch.sparcl import Sparcl
from specvi_benchmark.errors import UserError

SURVEYS = ("lamost", "sdss", "desi", "sparcl")


def get_scheme(survey: str, release: str | None = None, server: str | None = None) -> Scheme:
    """Return how a survey's release names and serves its files.

    Parameters
    ----------
    survey
        One of `SURVEYS`.
    release
        The survey's name of it; by default LAMOST ``dr10/v2.0``, SDSS ``dr17``, DESI ``dr1``, all of SPARCL.
    server
        Start of every address in place of the survey's own server: a mirror that keeps its paths.

    Raises
    ------
    UserError
        There is no such survey or release, or ``server`` is no plain address.
    """
    if server is not None and not _is_server(server):
        raise UserError(
            "not the address of a server",
            where="--server",
            expected="http(s)://HOST, with a path before the survey's own where the mirror has one",
            fix="leave out user, password and query: addresses are written into the log",
        )
    if survey == "lamost":
        return Lamost(release, server)
    if survey == "desi":
        return Desi(release, server)
    if survey == "sparcl":
        return Sparcl(release, server)
    if survey != "sdss":
        raise UserError("no such survey", expected=" or ".join(SURVEYS), got=survey)
    named = (release or "dr17").lower()
    if named == "dr17":
        return SdssPlates(server)
    if named == "dr19":
        return SdssFields(server)
    raise UserError("no such SDSS release", where="--release", expected="dr17 or dr19", got=release)


def _is_server(address: str) -> bool:
    parts = urlsplit(address)
    plain = parts.hostname and parts.username is None and not parts.query and not parts.fragment
    return parts.scheme in {"http", "https"} and bool(plain)
