"""What is fetched: one file of a survey, where it lies, and by what it is known to be the right one."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from specvi_benchmark.archive.catalogue import Catalogue
    from specvi_benchmark.archive.fetch.asked import Cone

Kind = Literal["fits", "table", "records"]
"""A FITS file of spectra, a catalogue in any form, or a JSON answer with spectra."""


@dataclass(frozen=True, slots=True)
class Item:
    """One file to fetch.

    Attributes
    ----------
    key
        What was asked for, in the survey's own words; unique within a survey's release.
    path
        Where it is kept, relative to the archive. Fixed by the key, so that a file that lies there is known to be done.
    addresses
        Where it may lie on the server, tried in this order: the next where one answers "no such file".
    kind
        What the content has to be.
    identity
        Keywords of the primary FITS header and the values that they have in the right file.
    checksums
        Address of the list of SHA-256 sums that the survey keeps beside the file, None where it keeps none.
    post
        JSON to send, for a service that is asked by POST.
    record_ids
        Ids of the spectra that a JSON answer has to hold.
    """

    key: str
    path: str
    addresses: tuple[str, ...]
    kind: Kind = "fits"
    identity: Mapping[str, int | str] = field(default_factory=dict)
    checksums: str | None = None
    post: object = None
    record_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lookup:
    """A question to a survey's search service, and how its answer is read as ids."""

    what: str
    address: str
    read: Callable[[bytes], list[str]]
    post: object = None


class Scheme(Protocol):
    """How one release of a survey names and serves its files.

    Attributes
    ----------
    folder
        Where its files are kept in an archive: ``lamost/dr10_v2.0``.
    typical_bytes
        Size of a file, for estimates where the server tells none.
    per_second, parallel
        Requests a second, and at one time, that are polite to this server.
    token_variable
        Environment variable that may hold a token for releases that are not public; None where there are none.
    token_hosts
        Hosts that the token may be sent to.
    thanks
        Where the survey says how to acknowledge it.
    """

    folder: str
    typical_bytes: int
    per_second: float
    parallel: int
    token_variable: str | None
    token_hosts: tuple[str, ...]
    thanks: str

    def resolve(self, ids: Iterable[str]) -> Iterator[str | Lookup]:
        """Yield ids that can be fetched as they are, and questions to ask about those that cannot."""

    def items(self, ids: Iterable[str]) -> Iterator[Item]:
        """Yield the files of some ids, without reading ahead of what is asked for.

        Raises
        ------
        UserError
            An id is not of this survey's form.
        """

    def rows(self, table: "Catalogue") -> Iterator[str | None]:
        """Yield the id of each row of a catalogue, None where the row does not tell it.

        Raises
        ------
        UserError
            The catalogue has none of the columns that name this survey's spectra.
        """

    def cone(self, cone: "Cone") -> Iterator[str | Lookup]:
        """Yield what lies within a circle on the sky: ids, or questions that give them.

        Raises
        ------
        UserError
            This release has no search by position.
        """

    def catalogue(self, name: str) -> Item:
        """Return the file of one of the survey's catalogues.

        Raises
        ------
        UserError
            There is none of that name.
        """
