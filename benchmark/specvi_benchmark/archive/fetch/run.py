"""A whole fetch: asks what is wanted, skips what is here, and fetches the rest side by side."""

import asyncio
import fcntl
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from specvi_benchmark.archive.fetch.asked import Asked
from specvi_benchmark.archive.fetch.client import TRANSIENT, Client, Politeness, asked_to_wait_s
from specvi_benchmark.archive.fetch.download import Downloader, Outcome
from specvi_benchmark.archive.fetch.item import Item, Lookup, Scheme
from specvi_benchmark.archive.fetch.log import FetchLog
from specvi_benchmark.errors import UserError

BLOCK = 1000
"""Ids that are turned into addresses at once: whole answers of a service that gives many spectra in one."""
MOST_FAILURES_IN_A_ROW = 10
"""Then the server is left alone: it is down, or does not want this."""
_KEPT_REASONS = 20
_LOCK = ".fetch.lock"


@dataclass(slots=True)
class Summary:
    """What a fetch did.

    Attributes
    ----------
    done, already, absent, failed
        Files that came now, were here before, that the server does not have, that could not be had.
    size
        Bytes of the files that came now.
    seconds
        How long it took.
    reasons
        The first failures, by key; ``notes`` the first remarks on files that came, ``not_there`` the first absent keys.
    stopped
        Why it ended early, None if it did not.
    """

    done: int = 0
    already: int = 0
    absent: int = 0
    failed: int = 0
    size: int = 0
    seconds: float = 0.0
    reasons: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    not_there: list[str] = field(default_factory=list)
    stopped: str | None = None
    in_a_row: int = 0

    @property
    def seen(self) -> int:
        """Return how many files were dealt with."""
        return self.done + self.already + self.absent + self.failed

    def add(self, outcome: Outcome) -> None:
        """Count one file."""
        key = outcome.item.key
        self.in_a_row = self.in_a_row + 1 if outcome.state == "failed" else 0
        if outcome.state == "done":
            self.done += 1
            self.size += outcome.size
            if outcome.note and len(self.notes) < _KEPT_REASONS:
                self.notes[key] = outcome.note
        elif outcome.state == "absent":
            self.count_absent(key)
        else:
            self.failed += 1
            if len(self.reasons) < _KEPT_REASONS:
                self.reasons[key] = outcome.reason or "unknown"
        if self.in_a_row >= MOST_FAILURES_IN_A_ROW:
            self.stopped = f"{self.in_a_row} files in a row could not be had; the server is left alone"

    def count_absent(self, key: str) -> None:
        """Count a file that the server does not have."""
        self.absent += 1
        if len(self.not_there) < _KEPT_REASONS:
            self.not_there.append(key)


def fetch(
    scheme: Scheme,
    asked: Asked,
    archive: Path,
    politeness: Politeness,
    *,
    catalogues: Sequence[Item] = (),
    sums: Mapping[str, str] | None = None,
    retry_absent: bool = False,
    limit: int | None = None,
    progress: Callable[[Summary], None] = lambda _: None,
) -> Summary:
    """Fetch what is asked for into ``archive/<scheme.folder>``.

    May be killed at any moment and called again: files that are here are not fetched again, one that was being received
    goes on where it stopped if the server allows. Memory does not grow with the number of files.

    Parameters
    ----------
    scheme, asked, archive, politeness
        Of which survey, what, to where, and how fast.
    catalogues
        Files of the survey's catalogues to fetch first.
    sums
        Published checksums by file name, in addition to those that the survey keeps beside its files.
    retry_absent
        Ask again for files that the server did not have.
    limit
        Stop after so many files that are not here yet.
    progress
        Called after each file.

    Raises
    ------
    UserError
        Another fetch is at work in the folder; an id is not of the survey's form; a search is not answered.
    """
    folder = archive / scheme.folder
    started = time.monotonic()
    with _only_one(folder):
        log = FetchLog(folder)
        job = _Job(scheme, asked, catalogues, set() if retry_absent else log.absent(), limit, progress)
        try:
            asyncio.run(job.run(folder, log, politeness, sums))
        except BaseExceptionGroup as group:
            raise _first(group) from None
    job.summary.seconds = time.monotonic() - started
    return job.summary


class _Job:
    """The state of one fetch."""

    def __init__(
        self,
        scheme: Scheme,
        asked: Asked,
        catalogues: Sequence[Item],
        known_absent: set[str],
        limit: int | None,
        progress: Callable[[Summary], None],
    ) -> None:
        self.summary = Summary()
        self._scheme, self._asked, self._catalogues = scheme, asked, catalogues
        self._known_absent, self._limit, self._progress = known_absent, limit, progress
        self._taken: set[str] = set()
        """Files that are under way, or could not be had: a list that names one twice asks for it once."""

    async def run(
        self, folder: Path, log: FetchLog, politeness: Politeness, sums: Mapping[str, str] | None
    ) -> None:
        """Feed the workers until everything is dealt with."""
        queue: asyncio.Queue[Item | None] = asyncio.Queue(maxsize=2 * politeness.parallel)
        async with Client(self._scheme, politeness) as client, asyncio.TaskGroup() as tasks:
            downloader = Downloader(client, folder, log, sums)
            for _ in range(politeness.parallel):
                tasks.create_task(self._work(queue, downloader))
            async for item in self._wanted(client, downloader):
                await queue.put(item)
            for _ in range(politeness.parallel):
                await queue.put(None)

    async def _work(self, queue: asyncio.Queue[Item | None], downloader: Downloader) -> None:
        while (item := await queue.get()) is not None:
            if self.summary.stopped is None:
                outcome = await downloader.fetch(item)
                self.summary.add(outcome)
                self._progress(self.summary)
                if outcome.state == "done":
                    self._taken.discard(item.path)

    async def _wanted(self, client: Client, downloader: Downloader) -> AsyncIterator[Item]:
        """Yield the files to fetch, each once."""
        left = self._limit
        async for item in all_items(self._scheme, self._asked, self._catalogues, client):
            if self.summary.stopped is not None or left == 0:
                return
            if item.path in self._taken:
                continue
            if downloader.is_here(item):
                self.summary.already += 1
            elif self._known_absent.issuperset(item.addresses):
                self.summary.count_absent(item.key)
            else:
                left = None if left is None else left - 1
                self._taken.add(item.path)
                yield item
                continue
            self._progress(self.summary)


async def all_items(
    scheme: Scheme, asked: Asked, catalogues: Sequence[Item], client: Client
) -> AsyncIterator[Item]:
    """Yield the file of everything that is asked for; questions to the survey are asked on the way."""
    for item in catalogues:
        yield item
    block: list[str] = []
    for entry in asked.entries:
        found = [entry] if isinstance(entry, str) else await _answer(entry, client)
        block += found
        while len(block) >= BLOCK:
            for item in scheme.items(block[:BLOCK]):
                yield item
            block = block[BLOCK:]
    for item in scheme.items(block):
        yield item


async def _answer(lookup: Lookup, client: Client) -> list[str]:
    """Ask a survey's search service, patiently, and read the ids of its answer."""
    reason = ""
    for attempt in range(1, client.politeness.attempts + 1):
        try:
            async with client.ask(lookup.address, post=lookup.post) as response:
                content = await response.read()
                if response.status == 200:  # OK
                    return lookup.read(content)
                reason = f"{response.status} {response.reason}"
                wait_s = asked_to_wait_s(response) or 0.0
                if response.status not in TRANSIENT or wait_s > client.politeness.longest_pause_s:
                    break
                client.gate(lookup.address).shut(wait_s)
        except (aiohttp.ClientError, TimeoutError) as error:
            reason = client.told(error)
        except Exception as error:  # noqa: BLE001  # parsers of other people's answers raise anything
            reason = f"the answer can't be read: {client.told(error)[:200]}"
            break
        if attempt < client.politeness.attempts:
            await asyncio.sleep(client.politeness.pause_s(attempt))
    raise UserError(f"the {lookup.what} is not answered", where=lookup.address, got=reason)


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, which the system takes back from a killed process."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                "another fetch is at work in this folder", where=folder, fix="wait for it, or stop it"
            ) from None
        yield


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error of workers that fell together."""
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
