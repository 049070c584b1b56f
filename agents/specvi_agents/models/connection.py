"""The openai library's HTTP client, at its leanest: encoded bodies in, bytes out, no tries of its own.

`AsyncOpenAI` says who we are (headers, key, organisation); requests then go straight through the HTTP client it
offers. Its own request path builds every URL, header and option anew, which costs more than everything else that an
inspection does in the event loop (figures in docs/models.md).
"""

import asyncio
from urllib.parse import urlsplit

import httpx2
import openai

from specvi_agents.models.faults import Passing, fault_of
from specvi_benchmark.errors import UserError

LEAST_SECRET = 8  # shorter keys are placeholders such as EMPTY; blanking those out would spoil texts
CONNECT_S = 20.0


class Connection:
    """Posts chat completions to one server.

    Parameters
    ----------
    base_url
        Up to and with ``/v1``, or whatever comes before ``/chat/completions``.
    key
        Sent as bearer token. Blanked out wherever a server repeats it, so that it reaches no file.
    connections
        Most at a time.
    timeout_s
        For one whole answer, however slowly it comes.
    """

    def __init__(self, base_url: str, key: str, *, connections: int, timeout_s: float) -> None:
        self._key = key.encode()
        self._timeout_s = timeout_s
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._http = openai.DefaultAioHttpClient(limits=limits)
        client = openai.AsyncOpenAI(base_url=base_url, api_key=key, http_client=self._http)
        told = {
            name: value
            for name, value in (client.default_headers | client.auth_headers).items()
            if isinstance(value, str)
        }
        self._headers = httpx2.Headers(told | {"Content-Type": "application/json"})
        self._url = httpx2.URL(f"{base_url}/chat/completions")
        waits = httpx2.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S))
        self._extensions = {"timeout": waits.as_dict()}

    async def post(self, body: bytes) -> bytes:
        """Send one request; return the body of the answer.

        Raises
        ------
        Overloaded, Passing, Declined, VetterUnusable
            As `fault_of` says of the status; a cut connection and a timeout are `Passing`.
        """
        request = httpx2.Request(
            "POST", self._url, headers=self._headers, content=body, extensions=self._extensions
        )
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await self._http.send(request)
        except TimeoutError:
            raise Passing(f"no whole answer within {self._timeout_s:g} s", slow=True) from None
        except httpx2.HTTPError as error:
            slow = isinstance(error, httpx2.ReadTimeout | httpx2.WriteTimeout | httpx2.PoolTimeout)
            reason = f"{type(error).__name__}: {error}"
            unreachable = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
            raise Passing(self._clean(reason.encode()).decode(), slow=slow, unreachable=unreachable) from None
        content = self._clean(response.content)
        if response.is_success:
            return content
        raise fault_of(response.status_code, response.headers, content)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    def _clean(self, content: bytes) -> bytes:
        if len(self._key) >= LEAST_SECRET and self._key in content:
            return content.replace(self._key, b"[key]")
        return content


def checked_url(url: str) -> str:
    """Return a base URL without a slash at its end.

    Raises
    ------
    UserError
        It is no http(s) URL, or holds a password or a query: it is written to run.json.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UserError("not the address of a server", where="option base_url", expected="https://…", got=url)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UserError(
            "the address of a server is recorded, so it can't hold a secret",
            where="option base_url",
            expected="scheme, host, port and path only",
            got=f"{parts.scheme}://{parts.hostname}/… with user, query or fragment",
            fix="put the key into an environment variable and name that with --option key_env=NAME",
        )
    return url.rstrip("/")
