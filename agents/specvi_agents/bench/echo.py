"""An echo server as a process of its own: looks twice at windows that differ each time, then answers.

``python -m specvi_agents.bench.echo`` prints its base URL and serves until it is killed or its input ends.
"""

import asyncio
import itertools
import json
import sys

from specvi_agents.bench.questions import LOOKS
from specvi_agents.local_server import Request, Response, completion, json_response, start

CALLS = LOOKS + 1
TOKENS_PER_BYTE = 0.1  # so that a picture shows in the count of prompt tokens
TOOL = "spectral_visualization_tool"
THOUGHT = "<think>The continuum rises to the blue; I look closer.</think>"
ANSWER = "<think>No line stands out of the noise.</think>\n<answer>\\boxed{NO}</answer>"


def echo() -> "Echo":
    """Return a fresh handler."""
    return Echo()


class Echo:
    """Answers at once, as far into a conversation as there are tool messages in it."""

    def __init__(self) -> None:
        self._number = itertools.count()

    def __call__(self, request: Request) -> Response:
        """Return a call, or after `LOOKS` of them the answer."""
        looks = request.body.count(b'"tool_call_id"')
        number = next(self._number)
        tokens = (int(len(request.body) * TOKENS_PER_BYTE), 20)
        if looks >= LOOKS:
            return json_response(completion(ANSWER, tokens=tokens))
        low = 3950 + number * 0.37 % 4500
        arguments = json.dumps({"wavelength_range": [round(low, 2), round(low + 300, 2)]})
        return json_response(completion(THOUGHT, calls=[(f"call_{number}", TOOL, arguments)], tokens=tokens))


async def _serve() -> None:
    server, url = await start(echo())
    print(url, flush=True)  # noqa: T201  # whoever started this process reads it
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve())
