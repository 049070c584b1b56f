"""The openai client, as lean as it documents: bodies that are already encoded in, bytes out, no tries of its own."""

import asyncio
from urllib.parse import urlsplit

import httpx2
import openai

from specvi_agents.models.faults import Passing, fault_of
from specvi_benchmark.errors import UserError

LEAST_SECRET = 8  # shorter keys are placeholders such as EMPTY; blanking those out would spoil texts


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
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=key,
            max_retries=0,
            timeout=openai.Timeout(timeout_s, connect=min(timeout_s, 20.0)),
            http_client=openai.DefaultAioHttpClient(limits=limits),
        )

    async def post(self, body: bytes) -> bytes:
        """Send one request; return the body of the answer.

        Raises
        ------
        Overloaded, Passing, Declined, VetterUnusable
            As `fault_of` says of the status; a cut connection and a timeout are `Passing`.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._client.post(
                    "/chat/completions",
                    cast_to=bytes,
                    content=body,
                    options={"headers": {"Content-Type": "application/json"}},
                )
        except TimeoutError:
            raise Passing(f"no whole answer within {self._timeout_s:g} s", slow=True) from None
        except openai.APIStatusError as error:
            response = error.response
            raise fault_of(response.status_code, response.headers, self._clean(response.content)) from None
        except openai.APIConnectionError as error:  # timeouts are among these
            cause = error.__cause__
            reason = f"{type(cause).__name__}: {cause}" if cause else str(error)
            slow = isinstance(cause, httpx2.ReadTimeout | httpx2.WriteTimeout | httpx2.PoolTimeout)
            raise Passing(self._clean(reason.encode()).decode(), slow=slow) from None
        return self._clean(answer)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

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
