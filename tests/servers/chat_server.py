"""Local chat-completions servers for tests: an inspector that answers by the picture, and ways to misbehave.

``python chat_server.py SEED`` serves the misbehaving one as a process and prints its base URL.
"""

import asyncio
import base64
import hashlib
import random
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from specvi_agents.local_server import Handler, Request, Response, completion, json_response, start

LOOKS = 2
TOOL = "spectral_visualization_tool"
DATA_URI = re.compile(rb"data:image/png;base64,([A-Za-z0-9+/=]+)")

ANSWERED_YES, ANSWERED_NO = ("answered", "YES"), ("answered", "NO")
BY_DIGIT = {
    **dict.fromkeys("01234", ANSWERED_YES),
    **dict.fromkeys("56789", ANSWERED_NO),
    "a": ANSWERED_NO,
    "b": ("abstained", None),
    "c": ("refused", None),
    "d": ("truncated", None),
    "e": ("unparsed", None),
    "f": ("refused", None),
}
"""What an inspection comes to, by the first digit of the SHA-256 of its first picture."""


def final(digit: str) -> dict:
    """Return the last completion of an inspection whose first picture's hash begins with this digit."""
    outcome, answer = BY_DIGIT[digit]
    if digit == "c":
        return completion("", refusal="I can't help with that.")
    if digit == "f":
        return completion("", finish="content_filter")
    if outcome == "truncated":
        return completion("<think>on and on", finish="length")
    if outcome == "unparsed":
        return completion("<think>hm</think>It may be one.")
    word = answer or "UNCERTAIN"
    return completion(f"<think>seen</think>\n<answer>\\boxed{{{word}}}</answer>")


def inspector(request: Request) -> Response:
    """Look twice, then answer by the first picture. Prompt tokens grow with what was sent."""
    pictures = DATA_URI.findall(request.body)
    looks = request.body.count(b'"tool_call_id"')
    tokens = (len(request.body) // 10, 20)
    if looks < LOOKS and b'"tools"' in request.body:
        low = 4000 + 100 * looks
        said = completion(
            "<think>look</think>",
            calls=[(f"call_{looks}", TOOL, f'{{"wavelength_range": [{low}, {low + 300}]}}')],
        )
    elif not pictures:
        said = completion("OK")
    else:
        said = final(hashlib.sha256(base64.b64decode(pictures[0])).hexdigest()[0])
    said["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return json_response(said)


@dataclass
class Recorder:
    """A handler that keeps the requests and hands them on."""

    handler: Handler
    requests: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Response:
        self.requests.append(request)
        return self.handler(request)


@dataclass
class Misbehaving:
    """An inspector that fails in every way at random, and turns everything away in storms.

    ``seed`` decides about the faults, ``share`` how many requests meet one. Pictures in tool messages are refused
    always, thoughts come in a field of their own, ids of calls repeat.
    """

    seed: int = 0
    share: float = 0.25
    storm_every_s: float = 1.5
    storm_s: float = 0.2
    counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._began = time.monotonic()

    def __call__(self, request: Request) -> Response:
        kind, response = self._answer(request)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return response

    def _answer(self, request: Request) -> tuple[str, Response]:
        since = (time.monotonic() - self._began) % self.storm_every_s
        if since > self.storm_every_s - self.storm_s:
            return "storm", too_many(self._random.choice(("0.05", "0", None)))
        if any(has_picture_in_tool(message) for message in request.json()["messages"]):
            return "refused picture", error(400, "Image URLs are only allowed for messages with role 'user'")
        good = with_own_reasoning(inspector(request))
        if self._random.random() >= self.share:
            return "good", good
        kind = self._random.choice(sorted(FAULTS))
        return kind, FAULTS[kind](good, self._random)


def error(status: int, message: str, **headers: str) -> Response:
    return json_response({"error": {"message": message, "type": "test"}}, status, headers=headers)


def too_many(retry_after: str | None = None) -> Response:
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return json_response({"error": {"message": "slow down", "code": "rate_limit"}}, 429, headers=headers)


def has_picture_in_tool(message: dict) -> bool:
    content = message.get("content")
    return (
        message["role"] == "tool"
        and isinstance(content, list)
        and any(part["type"] == "image_url" for part in content)
    )


def with_own_reasoning(response: Response) -> Response:
    """Move thoughts into a field of their own, and give every call of a server's life the same id."""
    body = re.sub(
        rb'"content": "<think>(.*?)</think>', rb'"reasoning_content": "\1", "content": "', response.body
    )
    return replace(response, body=re.sub(rb'"id": "call_\d"', b'"id": "call_0"', body))


FAULTS: dict[str, Callable[[Response, random.Random], Response]] = {
    "500": lambda *_: error(500, "inner fault"),
    "502 in words": lambda *_: Response(502, b"<html>bad gateway</html>"),
    "503 with patience": lambda *_: error(503, "loading", **{"retry-after": "0.02"}),
    "429": lambda *_: too_many("0.02"),
    "cut": lambda good, rng: replace(good, cut_at=rng.randrange(len(good.body))),
    "cut at once": lambda good, _: replace(good, cut_at=0),
    "slow bytes": lambda good, _: replace(good, pieces=5, delay_s=0.01),
    "no JSON": lambda good, rng: replace(good, body=good.body[: rng.randrange(1, len(good.body))]),
    "no choices": lambda *_: json_response({"choices": []}),
    "null message": lambda *_: json_response({"choices": [{"message": None}]}),
    "fault inside": lambda *_: json_response({"error": {"message": "upstream fell over", "code": 502}}),
    "broken off": lambda *_: json_response(completion("ha", finish="error")),
}


@contextmanager
def serving(handler: Handler) -> Iterator[str]:
    """Serve in a thread of this process; yield the base URL."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server, url = asyncio.run_coroutine_threadsafe(start(handler), loop).result()
    try:
        yield url
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def _serve(seed: int) -> None:
    server, url = await start(Misbehaving(seed))
    print(url, flush=True)  # noqa: T201
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
