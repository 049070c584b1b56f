"""Encoded bodies in, bytes out, no tries of its own: aiohttp, which the openai library brings, at its leanest.

`AsyncOpenAI` says who we are (headers, key, organisation); requests then go straight to aiohttp. The library's request
path and the httpx client around aiohttp build every URL, header and option anew, which costs more than everything else
that an inspection does in the event loop (figures in docs/models.md).
"""

import json
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
import openai

from specvi_agents.models.faults import Passing, fault_of
from specvi_benchmark.errors import UserError

LEAST_SECRET = 8  # shorter keys are placeholders such as EMPTY; blanking those out would spoil texts
CONNECT_S = 20.0


class Connection:
    """Posts chat completions to one server. Made within the event loop that uses it.

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
        self._secrets = spellings(key)
        self._timeout_s = timeout_s
        self._url = f"{base_url}/chat/completions"
        self._proxy = proxy_of(base_url)
        client = openai.AsyncOpenAI(base_url=base_url, api_key=key)
        told = {
            name: value
            for name, value in (client.default_headers | client.auth_headers).items()
            if isinstance(value, str)
        }
        # Certificates as httpx, and with it the library, trusts them.
        trusted = httpx2.create_ssl_context() if base_url.startswith("https:") else True
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, ssl=trusted),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={**told, "Content-Type": "application/json"},
            timeout=aiohttp.ClientTimeout(total=timeout_s, sock_connect=min(timeout_s, CONNECT_S)),
        )

    async def post(self, body: bytes) -> bytes:
        """Send one request; return the body of the answer.

        Raises
        ------
        Overloaded, Passing, Declined, VetterUnusable
            As `fault_of` says of the status; a cut connection and a timeout are `Passing`.
        """
        try:
            async with self._session.post(self._url, data=body, proxy=self._proxy) as response:
                content = self._clean(await response.read())
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise Passing(self._told(error), unreachable=True) from None
        except TimeoutError:
            raise Passing(f"no whole answer within {self._timeout_s:g} s", slow=True) from None
        except aiohttp.ClientError as error:
            raise Passing(self._told(error)) from None
        if 200 <= response.status < 300:
            return content
        raise fault_of(response.status, response.headers, content)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    def _told(self, error: Exception) -> str:
        return self._clean(f"{type(error).__name__}: {error}".encode()).decode()

    def _clean(self, content: bytes) -> bytes:
        for secret in self._secrets:
            if secret in content:
                content = content.replace(secret, b"[key]")
        return content


def spellings(key: str) -> tuple[bytes, ...]:
    """Return a key as it may stand in an answer: bare, and as JSON and URLs write it; none of a placeholder."""
    if len(key) < LEAST_SECRET:
        return ()
    in_json = json.dumps(key)[1:-1]
    return tuple({text.encode() for text in (key, in_json, in_json.replace("/", "\\/"), quote(key, safe=""))})


def proxy_of(url: str) -> str | None:
    """Return the proxy that the system's settings (``HTTPS_PROXY`` and so on) name for a URL, None for none.

    A server on this machine is never asked through one: no proxy could reach it.
    """
    parts, proxies = urlsplit(url), getproxies()
    if parts.hostname in {"localhost", "127.0.0.1", "::1"}:
        return None
    found = proxies.get(parts.scheme) or proxies.get("all")
    if found is None or proxy_bypass(parts.netloc):
        return None
    return found if "://" in found else f"http://{found}"


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
