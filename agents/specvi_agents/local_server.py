"""A small server of the chat-completions protocol on this machine, for benchmarks and tests. No model is behind it.

It is made to be fast and to misbehave exactly: what goes over the wire is what the handler says, byte for byte.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


@dataclass(frozen=True, slots=True)
class Request:
    """One request, its body as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body, parsed."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Response:
    """What to send.

    Attributes
    ----------
    cut_at
        Close the connection after so many bytes of the body; None sends all of it.
    delay_s
        Wait before the first byte.
    pieces
        Send the body in so many pieces, ``delay_s`` apart.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_at: int | None = None
    delay_s: float = 0.0
    pieces: int = 1


Handler = Callable[[Request], Response | Awaitable[Response]]


def json_response(value: object, status: int = 200, **more: Any) -> Response:
    """Return a response that carries JSON."""
    return Response(status, json.dumps(value).encode(), **more)


def completion(
    text: str | None,
    *,
    calls: Sequence[tuple[str, str, str]] = (),
    finish: str | None = None,
    tokens: tuple[int, int] = (100, 20),
    **message: Any,
) -> dict[str, Any]:
    """Return the body of a chat completion; ``calls`` are (id, name, arguments), ``message`` adds fields."""
    said: dict[str, Any] = {"role": "assistant", "content": text, **message}
    if calls:
        said["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call_id, name, arguments in calls
        ]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "local",
        "choices": [
            {"index": 0, "message": said, "finish_reason": finish or ("tool_calls" if calls else "stop")}
        ],
        "usage": {
            "prompt_tokens": tokens[0],
            "completion_tokens": tokens[1],
            "total_tokens": sum(tokens),
        },
    }


class _Connection(asyncio.Protocol):
    """One keep-alive connection: requests come one after the other, each is answered before the next is read."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._received = bytearray()
        self._needed: int | None = None
        self._request: tuple[str, dict[str, str], int] | None = None
        self._busy: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if self._busy is not None:
            self._busy.cancel()

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._answer_next()

    def _answer_next(self) -> None:
        if self._busy is not None:
            return
        if self._request is None:
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                return
            first, *lines = self._received[:end].decode("latin-1").split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
            }
            del self._received[: end + 4]
            self._request = first.split(" ")[1], headers, int(headers.get("content-length", 0))
        path, headers, length = self._request
        if len(self._received) < length:
            return
        request = Request(path, headers, bytes(self._received[:length]))
        del self._received[:length]
        self._request = None
        found = self._handler(request)
        if isinstance(found, Response) and not found.delay_s and found.cut_at is None:
            self._transport.write(_head(found) + found.body)
            self._answer_next()
        else:
            self._busy = asyncio.get_running_loop().create_task(self._send(found))

    async def _send(self, found: Response | Awaitable[Response]) -> None:
        response = found if isinstance(found, Response) else await found
        await asyncio.sleep(response.delay_s)
        whole = response.body if response.cut_at is None else response.body[: response.cut_at]
        self._transport.write(_head(response))
        size = max(1, -(-len(whole) // response.pieces))
        for start in range(0, len(whole), size):
            if start:
                await asyncio.sleep(response.delay_s)
            self._transport.write(whole[start : start + size])
        self._busy = None
        if response.cut_at is not None:
            self._transport.close()
            return
        self._answer_next()


def _head(response: Response) -> bytes:
    lines = {
        "content-type": "application/json",
        "content-length": str(len(response.body)),
        **response.headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {response.status} {REASONS.get(response.status, 'Status')}\r\n{head}\r\n".encode()


async def start(handler: Handler, port: int = 0) -> tuple[asyncio.Server, str]:
    """Start serving on 127.0.0.1; return the server and its base URL. Port 0 takes a free one."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(handler), "127.0.0.1", port, backlog=1024)
    return server, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
