"""One file: asked for, received, checked, and only then put in its place."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Literal

import aiohttp

from specvi_benchmark.archive.fetch.client import TRANSIENT, Client, asked_to_wait_s
from specvi_benchmark.archive.fetch.item import Item
from specvi_benchmark.archive.fetch.log import FetchLog, LogLine
from specvi_benchmark.archive.fetch.partial import Partial
from specvi_benchmark.archive.fetch.verify import Checked, WrongFileError, read_sums, verify

State = Literal["done", "absent", "failed"]
_CHUNK = 2**18
_NETWORK = (aiohttp.ClientError, ConnectionError, TimeoutError)
_GONE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_REFUSED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file: it is there, the server has none, or it could not be had (and why)."""

    item: Item
    state: State
    size: int = 0
    reason: str | None = None
    note: str | None = None


class AgainError(Exception):
    """One try failed; a later one may not."""


class GiveUpError(Exception):
    """No try will succeed."""


class Downloader:
    """Fetches files into one folder with one client."""

    def __init__(
        self, client: Client, folder: Path, log: FetchLog, sums: Mapping[str, str] | None = None
    ) -> None:
        self._client = client
        self._folder = folder
        self._log = log
        self._sums = sums

    def is_here(self, item: Item) -> bool:
        """Return whether the file has been fetched: what has its name was checked before it got it."""
        target = self._folder / item.path
        if not target.exists():
            return False
        Partial(target).drop()  # a kill may have left the note about it
        return True

    async def fetch(self, item: Item) -> Outcome:
        """Fetch one file, in as many tries as the client's politeness grants."""
        partial = Partial(self._folder / item.path)
        attempts = self._client.politeness.attempts
        reason = ""
        for attempt in range(1, attempts + 1):
            try:
                return await self._attempt(item, partial)
            except GiveUpError as error:
                reason = str(error)
                break
            except (AgainError, WrongFileError, aiohttp.ClientError, TimeoutError, OSError) as error:
                reason = self._client.told(error)
                if isinstance(error, WrongFileError):
                    partial.drop()
                if isinstance(error, OSError) and not isinstance(error, _NETWORK):
                    raise  # the disk
            if attempt < attempts:
                await asyncio.sleep(self._client.politeness.pause_s(attempt))
        self._log.write(LogLine(key=item.key, state="failed", reason=reason))
        return Outcome(item, "failed", reason=reason)

    async def _attempt(self, item: Item, partial: Partial) -> Outcome:
        for address in item.addresses:
            if not await self._receive(item, address, partial):
                continue
            sums = await self._published(item)
            checked = await asyncio.to_thread(verify, partial.path, item, sums)
            self._keep(item, address, partial, checked)
            return Outcome(item, "done", checked.size, note=checked.note)
        for address in item.addresses:
            self._log.write(LogLine(key=item.key, state="absent", address=address))
        return Outcome(item, "absent", reason="the server has no such file")

    def _keep(self, item: Item, address: str, partial: Partial, checked: Checked) -> None:
        """Write down what is about to enter the archive, and let it: a file there is always in the log."""
        self._log.write(
            LogLine(
                key=item.key,
                state="done",
                path=item.path,
                address=address,
                bytes=checked.size,
                sha256=checked.sha256,
                checked=checked.by,
                note=checked.note,
            )
        )
        partial.finish()

    async def _receive(self, item: Item, address: str, partial: Partial) -> bool:
        """Receive the bytes of one address; return False where the server has no such file."""
        if partial.is_whole(address):
            return True
        headers = {} if item.post is not None else partial.range_headers(address)
        async with self._client.ask(address, post=item.post, headers=headers) as response:
            if response.status in _GONE and item.post is None:
                return False
            if response.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                partial.drop()  # the file is shorter than what has come: it is another one
            self._raise_for(response, address)
            try:
                start, total = partial.begin(address, response.status, response.headers)
            except ValueError as error:
                partial.drop()
                raise AgainError(str(error)) from None
            with partial.stream(start) as stream:
                async for chunk in response.content.iter_chunked(_CHUNK):
                    stream.write(chunk)
        if total is not None and partial.size() != total:
            raise AgainError(f"{partial.size()} of {total} bytes came")
        return True

    def _raise_for(self, response: aiohttp.ClientResponse, address: str) -> None:
        """Turn a status that is no success into what to do next."""
        status = response.status
        if status in {HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT}:
            return
        told = f"{status} {response.reason or ''}".strip()
        if status in _REFUSED:
            hint = (
                "the token does not open it" if self._client.has_token_for(address) else "no token was sent"
            )
            raise GiveUpError(f"refused: {told} ({hint})")
        if status not in TRANSIENT and status != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise GiveUpError(told)
        wait_s = asked_to_wait_s(response)
        if wait_s is not None:
            if wait_s > self._client.politeness.longest_pause_s:
                raise GiveUpError(f"{told}; the server asks to wait {wait_s:.0f} s")
            self._client.gate(address).shut(wait_s)
        raise AgainError(told)

    async def _published(self, item: Item) -> Mapping[str, str] | None:
        """Return the known checksums, with those of the list that the survey keeps beside the file; None without any."""
        if item.checksums is None:
            return self._sums
        async with self._client.ask(item.checksums) as response:
            if response.status in _GONE:
                return self._sums or {}
            self._raise_for(response, item.checksums)
            beside = read_sums((await response.read()).decode("utf-8", "replace"))
            return {**beside, **(self._sums or {})}
