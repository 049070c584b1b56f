"""The HTTP client: aiohttp, with manners. A rate and a number of connections a host, and pauses as the server asks.

It fetches named files and follows no links, so it reads no robots.txt; it says who it is, and stops where it is refused.
"""

import asyncio
import email.utils
import os
import random
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC
from importlib.metadata import version
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp

from specvi_benchmark.archive.fetch.item import Scheme

USER_AGENT = f"specvi-bench/{version('specvi-bench')} (archive fetch)"
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which the same request may succeed."""
_TOKEN_IN_ADDRESS = re.compile(r"(\btoken=)[^&#\s'\")>]+", re.IGNORECASE)
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class Politeness:
    """How much is asked of a server, and how patiently.

    Attributes
    ----------
    per_second
        Requests a second to one host, at most.
    parallel
        Connections at one time.
    attempts
        Tries of one file.
    first_pause_s
        Before the second try, doubled for each further one, and stretched by chance up to half as much again.
    longest_pause_s
        No pause is longer. A server that asks for more is left alone: the file counts as failed.
    stall_s
        Seconds without a byte after which a connection is given up.
    """

    per_second: float
    parallel: int
    attempts: int = 5
    first_pause_s: float = 1.0
    longest_pause_s: float = 600.0
    stall_s: float = 60.0

    @classmethod
    def of(cls, scheme: Scheme, per_second: float | None = None, parallel: int | None = None) -> "Politeness":
        """Return what a survey's server is asked for by default, or what the user chose."""
        return cls(per_second or scheme.per_second, parallel or scheme.parallel)

    def pause_s(self, attempt: int) -> float:
        """Return the pause after a failed try, counted from 1."""
        pause_s: float = self.first_pause_s * 2.0 ** (attempt - 1) * random.uniform(1.0, 1.5)  # noqa: S311  # no secret
        return min(pause_s, self.longest_pause_s)


class Gate:
    """Lets one request to a host through at a time, as fast as the rate allows, and none while it is shut."""

    def __init__(self, per_second: float) -> None:
        self._interval_s = 1 / per_second
        self._next = 0.0

    async def enter(self) -> None:
        """Wait for the turn."""
        while (wait_s := self._next - time.monotonic()) > 0:  # noqa: ASYNC110  # a date moves it, no event
            await asyncio.sleep(wait_s)
        self._next = time.monotonic() + self._interval_s

    def shut(self, seconds: float) -> None:
        """Let nothing through for some seconds: the server has asked everyone to wait."""
        self._next = max(self._next, time.monotonic() + seconds)


class Client:
    """A session for one survey. Use it as an asynchronous context manager."""

    def __init__(self, scheme: Scheme, politeness: Politeness) -> None:
        self.politeness = politeness
        self._gates: dict[str, Gate] = {}
        self._token = os.environ.get(scheme.token_variable or "") or None
        self._token_hosts = frozenset(scheme.token_hosts) | _LOOPBACK

    async def __aenter__(self) -> Self:
        """Open the session."""
        self._session = aiohttp.ClientSession(
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
            auto_decompress=False,  # files are kept as the survey made them
            trust_env=True,  # proxies
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=self.politeness.stall_s),
            connector=aiohttp.TCPConnector(limit=self.politeness.parallel),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the session."""
        await self._session.close()

    @asynccontextmanager
    async def ask(
        self, address: str, *, post: Any = None, headers: Mapping[str, str] | None = None, head: bool = False
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send one request when its turn has come, and yield the response."""
        await self.gate(address).enter()
        method = "HEAD" if head else "GET" if post is None else "POST"
        async with self._session.request(
            method, address, json=post, headers=headers, params=self._secret(address), allow_redirects=True
        ) as response:
            yield response

    def gate(self, address: str) -> Gate:
        """Return the gate of an address's host."""
        host = urlsplit(address).netloc
        return self._gates.setdefault(host, Gate(self.politeness.per_second))

    def has_token_for(self, address: str) -> bool:
        """Return whether requests to this address carry the user's token."""
        return self._token is not None and urlsplit(address).hostname in self._token_hosts

    def told(self, error: BaseException) -> str:
        """Return what went wrong in words, without the token that an address may hold."""
        text = " ".join(str(error).split()) or type(error).__name__
        text = _TOKEN_IN_ADDRESS.sub(r"\1***", text)  # however the library writes its letters
        return text.replace(self._token, "***") if self._token else text

    def _secret(self, address: str) -> dict[str, str] | None:
        """Return the query that carries the token; it goes into no address that is written down."""
        return {"token": self._token} if self._token and self.has_token_for(address) else None


def asked_to_wait_s(response: aiohttp.ClientResponse) -> float | None:
    """Return the seconds of a Retry-After header, which gives them or a date; None without one."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    date = date.replace(tzinfo=date.tzinfo or UTC)  # a date without a zone is one of GMT
    return max(0.0, date.timestamp() - time.time())
