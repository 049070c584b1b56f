"""Gathers single requests into batches for a worker that computes many at once, off the event loop."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

Request = TypeVar("Request")
Result = TypeVar("Result")

LINGER_S = 0.05
"""How long a batch that is not full waits for one more request: the conversations that the last batch answered
come back within that time, each with its next picture."""


class Batcher(Generic[Request, Result]):
    """Hands requests to ``work`` in batches of at most ``size``, one batch at a time, in one worker thread.

    Belongs to the event loop it is first used in. If ``work`` raises, every request of that batch gets the
    exception.
    """

    def __init__(
        self, work: Callable[[Sequence[Request]], Sequence[Result]], size: int, *, linger_s: float = LINGER_S
    ) -> None:
        self._work = work
        self._size = size
        self._linger_s = linger_s
        self._waiting: asyncio.Queue[tuple[Request, asyncio.Future[Result]]] = asyncio.Queue()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="batch")
        self._collector: asyncio.Task[None] | None = None
        self._pending: set[asyncio.Future[Result]] = set()

    async def submit(self, request: Request) -> Result:
        """Return the result of one request, computed together with others."""
        if self._collector is None:
            self._collector = asyncio.create_task(self._run())
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        self._waiting.put_nowait((request, future))
        return await future

    async def close(self) -> None:
        """Tell who still waits that nothing comes; return once the batch at work is done."""
        if self._collector is not None:
            self._collector.cancel()
            await asyncio.gather(self._collector, return_exceptions=True)
        for future in [future for future in self._pending if not future.done()]:
            future.set_exception(RuntimeError("stopped before there was a result"))
        await asyncio.to_thread(self._worker.shutdown)

    async def _run(self) -> None:
        while True:
            batch = [pair for pair in await self._gather() if not pair[1].done()]  # done: its asker gave up
            if batch:
                await self._compute(batch)

    async def _gather(self) -> list[tuple[Request, asyncio.Future[Result]]]:
        batch = [await self._waiting.get()]
        while len(batch) < self._size:
            try:
                batch.append(await asyncio.wait_for(self._waiting.get(), self._linger_s))
            except TimeoutError:
                break
        return batch

    async def _compute(self, batch: Sequence[tuple[Request, asyncio.Future[Result]]]) -> None:
        requests = [request for request, _ in batch]
        try:
            results = await asyncio.get_running_loop().run_in_executor(self._worker, self._work, requests)
            if len(results) != len(batch):  # raised by `zip` below it would end the collector
                raise RuntimeError(f"{len(results)} results for {len(batch)} requests")  # noqa: TRY301
        except Exception as error:  # noqa: BLE001  # told to each asker, who knows what to make of it
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():
                future.set_result(result)
