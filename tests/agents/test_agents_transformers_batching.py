"""Batches: full when they can be, never mixed up, never lost."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from specvi_agents.models.batching import Batcher


def doubler(sizes: list[int]):
    def work(numbers: Sequence[int]) -> list[int]:
        sizes.append(len(numbers))
        return [2 * number for number in numbers]

    return work


def test_each_asker_gets_its_own_result_and_batches_are_full() -> None:
    sizes: list[int] = []

    async def ask() -> list[int]:
        batcher = Batcher(doubler(sizes), 4)
        results = await asyncio.gather(*(batcher.submit(number) for number in range(10)))
        await batcher.close()
        return results

    assert asyncio.run(ask()) == [2 * number for number in range(10)]
    assert sizes == [4, 4, 2]


def test_conversations_keep_together_over_their_turns() -> None:
    """Eight conversations of three turns make six full batches of four, not a trickle of small ones."""
    sizes: list[int] = []

    async def converse(batcher: Batcher[int, int], number: int) -> None:
        for _ in range(3):
            await batcher.submit(number)
            await asyncio.sleep(0.005)  # the tool draws

    async def ask() -> None:
        batcher = Batcher(doubler(sizes), 4, linger_s=1.0)
        await asyncio.gather(*(converse(batcher, number) for number in range(8)))
        await batcher.close()

    asyncio.run(ask())
    assert sizes == [4] * 6


def test_the_event_loop_is_free_while_a_batch_is_at_work() -> None:
    started, go = threading.Event(), threading.Event()

    def work(requests: Sequence[int]) -> Sequence[int]:
        started.set()
        assert go.wait(10)
        return requests

    async def ask() -> int:
        batcher = Batcher(work, 1)
        task = asyncio.create_task(batcher.submit(7))
        while not started.is_set():  # noqa: ASYNC110  # the event is of a thread
            await asyncio.sleep(0.001)
        go.set()  # reached only if the loop runs while `work` waits
        result = await task
        await batcher.close()
        return result

    assert asyncio.run(ask()) == 7


def test_a_failure_is_told_to_every_asker_of_its_batch_only() -> None:
    def work(requests: Sequence[int]) -> Sequence[int]:
        if 1 in requests:
            raise ValueError("one is bad")
        return requests

    async def ask() -> list[object]:
        batcher = Batcher(work, 2)
        results = await asyncio.gather(
            *(batcher.submit(number) for number in range(4)), return_exceptions=True
        )
        await batcher.close()
        return results

    first, second, third, fourth = asyncio.run(ask())
    assert isinstance(first, ValueError)
    assert isinstance(second, ValueError)
    assert (third, fourth) == (2, 3)


def test_who_gives_up_is_left_out_and_the_others_are_served() -> None:
    seen: list[int] = []
    go = threading.Event()

    def work(requests: Sequence[int]) -> Sequence[int]:
        assert go.wait(10)
        seen.extend(requests)
        return requests

    async def ask() -> int:
        batcher = Batcher(work, 1, linger_s=0.001)
        first = asyncio.create_task(batcher.submit(0))
        await asyncio.sleep(0.05)
        gives_up = asyncio.create_task(batcher.submit(1))
        patient = asyncio.create_task(batcher.submit(2))
        await asyncio.sleep(0.05)
        gives_up.cancel()
        first.cancel()  # its batch is at work: the result comes too late and harms nobody
        go.set()
        result = await patient
        await batcher.close()
        with pytest.raises(asyncio.CancelledError):
            await gives_up
        return result

    assert asyncio.run(ask()) == 2
    assert seen == [0, 2]


def test_closing_leaves_nobody_waiting() -> None:
    go = threading.Event()

    def work(requests: Sequence[int]) -> Sequence[int]:
        go.wait(10)
        return requests

    async def ask() -> list[object]:
        batcher = Batcher(work, 1)
        tasks = [asyncio.create_task(batcher.submit(number)) for number in range(3)]
        await asyncio.sleep(0.05)
        threading.Timer(0.1, go.set).start()
        await batcher.close()
        return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)

    outcomes = asyncio.run(ask())
    assert len(outcomes) == 3
    assert all(isinstance(outcome, RuntimeError) and "stopped" in str(outcome) for outcome in outcomes)


def test_work_that_loses_a_result_fails_its_batch_and_the_next_is_served() -> None:
    async def ask() -> list[object]:
        batcher = Batcher[int, int](lambda numbers: [number for number in numbers if number], 2)
        lost = await asyncio.gather(batcher.submit(0), batcher.submit(1), return_exceptions=True)
        kept = await asyncio.wait_for(batcher.submit(5), 20)
        await batcher.close()
        return [*map(str, lost), kept]

    assert asyncio.run(ask()) == ["1 results for 2 requests"] * 2 + [5]
