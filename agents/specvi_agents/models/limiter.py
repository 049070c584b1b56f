"""How many requests a server gets at a time, and how often each is tried: patient, and never greedy.

Additive increase, multiplicative decrease (Chiu and Jain 1989, Computer Networks and ISDN Systems 17, 1), after a
slow start as in TCP (RFC 5681): until the first sign of trouble every success admits one more request.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

from specvi_agents.messages import ModelError
from specvi_agents.models.faults import Overloaded, Passing, unusable

T = TypeVar("T")

START = 8
MOST_BACKOFF_S = 60.0
GIVEN_UP_IN_A_ROW = 20  # requests without one success between them: the server is gone
_FIRST_TRIES = 3  # of a server that was never reached: a wrong address should not take minutes to show


class Limiter:
    """Runs requests to one server.

    Parameters
    ----------
    most
        Most requests at a time.
    tries
        How often a request is sent that fails for passing reasons. Overload does not count: a rate limit is
        waited out.
    patience_s
        How long the server may turn everything away before the run is stopped.
    backoff_s
        First wait after a fault, doubled each time and drawn evenly between half and all of it.
    """

    def __init__(
        self, most: int, *, tries: int = 6, patience_s: float = 900.0, backoff_s: float = 1.0
    ) -> None:
        self.most, self.tries, self.patience_s, self.backoff_s = most, tries, patience_s, backoff_s
        self.limit = float(min(START, most))
        self.in_flight = 0
        self.ever_glad = False
        self._careful = False  # past the slow start
        self._refused_since: float | None = None
        self._decreased_at = -1.0
        self._open_at = 0.0
        self._given_up = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._random = random.Random()  # noqa: S311  # spreads retries, decides nothing

    async def run(self, send: Callable[[], Awaitable[T]]) -> T:
        """Send a request when there is room, again where that may help; return its answer.

        Raises
        ------
        ModelError
            It failed for passing reasons as often as may be.
        VetterUnusable
            The server is gone, or has turned everything away for too long.
        """
        failed = turned_away = 0
        while True:
            await self._enter()
            started = time.monotonic()
            try:
                answer = await send()
            except Overloaded as fault:
                turned_away += 1
                self._shrink(started)
                self._pause(fault.retry_after_s, turned_away)
                self._check_patience(str(fault))
            except Passing as fault:
                failed += 1
                if fault.slow:
                    self._shrink(started)
                hopeless = fault.unreachable and not self.ever_glad
                if failed >= (min(self.tries, _FIRST_TRIES) if hopeless else self.tries):
                    raise self._give_up(str(fault)) from None
            else:
                self._grow()
                return answer
            finally:
                self._leave()
            if failed:
                await asyncio.sleep(self._backoff(failed))

    def _grow(self) -> None:
        self.ever_glad, self._given_up, self._refused_since = True, 0, None
        self.limit = min(self.most, self.limit + (1 / self.limit if self._careful else 1))

    def _shrink(self, started: float) -> None:
        """Halve the limit, once for all requests that were under way together."""
        self._careful = True
        if started > self._decreased_at:
            self.limit = max(1.0, self.limit / 2)
            self._decreased_at = time.monotonic()

    def _pause(self, retry_after_s: float | None, times: int) -> None:
        """Send nothing for as long as the server said, and a little more, so that not all come at once."""
        wait = self._backoff(times) if retry_after_s is None else retry_after_s + self._spread(self.backoff_s)
        self._open_at = max(self._open_at, time.monotonic() + wait)

    def _backoff(self, times: int) -> float:
        longest = min(self.backoff_s * 2.0 ** min(times - 1, 16), MOST_BACKOFF_S)
        return longest / 2 + self._spread(longest / 2)

    def _spread(self, longest: float) -> float:
        return self._random.uniform(0, longest)

    def _check_patience(self, reason: str) -> None:
        now = time.monotonic()
        if self._refused_since is None:
            self._refused_since = now
        if now - self._refused_since > self.patience_s:
            raise unusable(
                f"the model's server has turned everything away for {self.patience_s / 60:.3g} minutes",
                reason,
                "the same command goes on later; nothing was counted as an answer",
            )

    def _give_up(self, reason: str) -> Exception:
        self._given_up += 1
        if not self.ever_glad or self._given_up >= GIVEN_UP_IN_A_ROW:
            return unusable(
                "the model's server does not answer",
                reason,
                "check base_url and the server; the same command goes on",
            )
        return ModelError(reason)

    async def _enter(self) -> None:
        if not self._waiting and self._has_room():
            self.in_flight += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()  # it was let in, and does not want to any more
            raise

    def _leave(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _has_room(self) -> bool:
        return self.in_flight < int(self.limit) and time.monotonic() >= self._open_at

    def _admit(self) -> None:
        while self._waiting and self._has_room():
            turn = self._waiting.popleft()
            if not turn.cancelled():
                self.in_flight += 1
                turn.set_result(None)
        wait = self._open_at - time.monotonic()
        if self._waiting and wait > 0:
            asyncio.get_running_loop().call_later(wait, self._admit)
