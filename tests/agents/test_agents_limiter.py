"""The limiter: grows while the server is glad, shrinks when it is not, waits as it is told, and loses no request."""

import asyncio
import time
from collections import Counter

import pytest

from specvi_agents.messages import ModelError
from specvi_agents.models.faults import Declined, Overloaded, Passing
from specvi_agents.models.limiter import GIVEN_UP_IN_A_ROW, START, Limiter
from specvi_benchmark.vetting import VetterUnusable


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 30))


async def everything(limiter, send, count):
    return await asyncio.gather(*(limiter.run(send) for _ in range(count)), return_exceptions=True)


def test_it_starts_small_and_doubles_each_round_until_the_first_trouble():
    limiter, most = Limiter(64), []

    async def send():
        most.append(limiter.in_flight)
        await asyncio.sleep(0.01)

    run(everything(limiter, send, START + 2 * START))
    assert most[:START] == list(range(1, START + 1))
    assert max(most) == 2 * START
    assert limiter.in_flight == 0


def test_it_never_has_more_in_flight_than_allowed():
    limiter, seen = Limiter(5), []

    async def send():
        seen.append(limiter.in_flight)
        await asyncio.sleep(0.001)

    run(everything(limiter, send, 100))
    assert max(seen) == 5


def test_a_busy_server_halves_it_once_for_all_that_were_under_way():
    limiter = Limiter(64, backoff_s=0.001)
    limiter.limit, turned_away = 32.0, 0

    async def send():
        nonlocal turned_away
        await asyncio.sleep(0.01)
        if turned_away < 32:
            turned_away += 1
            raise Overloaded("slow down")

    async def first_wave():
        waves = asyncio.ensure_future(everything(limiter, send, 32))
        await asyncio.sleep(0.02)
        after = limiter.limit
        await waves
        return after

    assert run(first_wave()) == pytest.approx(16.0, abs=0.1)  # 32 refusals, one decrease
    assert limiter.limit == pytest.approx(16 + 32 / 17, abs=0.5)  # then one more per round, not doubling


def test_no_rate_limit_is_ever_an_answer_however_often_it_comes():
    limiter, calls = Limiter(8, tries=2, backoff_s=0.0005), Counter()

    async def asked(number):
        async def send():
            calls[number] += 1
            if calls[number] <= 12:  # far more often than there are tries
                raise Overloaded("slow down", 0.0)
            return number

        return await limiter.run(send)

    async def main():
        return await asyncio.gather(*(asked(number) for number in range(20)))

    assert run(main()) == list(range(20))
    assert set(calls.values()) == {13}


def test_nothing_is_sent_before_the_time_the_server_named():
    limiter, sent = Limiter(4, backoff_s=0.01), []

    async def send():
        sent.append(time.monotonic())
        if len(sent) == 1:
            raise Overloaded("later", 0.3)

    async def main():
        first = asyncio.ensure_future(limiter.run(send))
        await asyncio.sleep(0.05)
        await everything(limiter, send, 5)  # newcomers wait too
        await first

    run(main())
    assert min(sent[1:]) - sent[0] >= 0.3
    assert len(sent) == 7


def test_a_server_that_turns_everything_away_for_too_long_stops_the_run():
    limiter = Limiter(4, backoff_s=0.001, patience_s=0.1)

    async def send():
        raise Overloaded("quota", 0.02)

    with pytest.raises(VetterUnusable, match="turned everything away") as caught:
        run(limiter.run(send))
    assert "quota" in str(caught.value)


def test_passing_faults_are_tried_again_as_often_as_allowed():
    limiter, calls = Limiter(4, tries=4, backoff_s=0.001), 0

    async def glad():
        return "ok"

    async def send():
        nonlocal calls
        calls += 1
        raise Passing("cut")

    async def main():
        await limiter.run(glad)
        with pytest.raises(ModelError, match="cut"):
            await limiter.run(send)

    run(main())
    assert calls == 4


@pytest.mark.parametrize(("unreachable", "tries"), [(True, 3), (False, 6)])
def test_a_server_that_never_answered_is_given_up_for_all_and_soon_if_it_is_not_there(unreachable, tries):
    limiter, calls = Limiter(4, tries=6, backoff_s=0.001), 0

    async def send():
        nonlocal calls
        calls += 1
        raise Passing("no answer", unreachable=unreachable)

    with pytest.raises(VetterUnusable, match="does not answer"):
        run(limiter.run(send))
    assert calls == tries


def test_a_server_that_dies_on_the_way_stops_the_run_and_not_every_question():
    limiter = Limiter(4, tries=2, backoff_s=0.0005)
    dead = False

    async def send():
        if dead:
            raise Passing("connection refused")

    async def main():
        nonlocal dead
        await limiter.run(send)
        dead = True
        return await everything(limiter, send, GIVEN_UP_IN_A_ROW + 5)

    kinds = Counter(type(result) for result in run(main()))
    assert kinds[ModelError] == GIVEN_UP_IN_A_ROW - 1
    assert kinds[VetterUnusable] == 6


@pytest.mark.parametrize(("slow", "expected"), [(True, 4.0), (False, 8.0)])
def test_a_slow_server_gets_fewer_requests_and_a_broken_one_does_not(slow, expected):
    limiter, calls = Limiter(8, backoff_s=0.001), 0

    async def send():
        nonlocal calls
        calls += 1
        if calls == 1:
            raise Passing("too slow", slow=slow)

    limiter.ever_glad = True
    run(limiter.run(send))
    assert limiter.limit == pytest.approx(expected, abs=0.3)


def test_what_the_server_declines_is_not_tried_again():
    limiter, calls = Limiter(4), 0

    async def send():
        nonlocal calls
        calls += 1
        raise Declined("no such field")

    with pytest.raises(Declined):
        run(limiter.run(send))
    assert (calls, limiter.in_flight) == (1, 0)


def test_cancelled_requests_leave_their_places_to_others():
    limiter = Limiter(2)

    async def forever():
        await asyncio.sleep(60)

    async def quick():
        return "ok"

    async def main():
        stuck = [asyncio.ensure_future(limiter.run(forever)) for _ in range(6)]
        await asyncio.sleep(0.02)
        waiting = asyncio.ensure_future(limiter.run(quick))
        for task in stuck:
            task.cancel()
        await asyncio.gather(*stuck, return_exceptions=True)
        return await waiting

    assert run(main()) == "ok"
    assert limiter.in_flight == 0


def test_patience_is_counted_from_the_first_refusal_after_a_success():
    limiter, calls = Limiter(4, backoff_s=0.001, patience_s=0.15), 0

    async def send():
        nonlocal calls
        calls += 1
        if calls in (2, 4):
            raise Overloaded("later", 0.1)

    async def main():
        for _ in range(3):
            await limiter.run(send)
            await asyncio.sleep(0.2)  # a run that finds its replies kept asks nothing for a while

    run(main())
    assert calls == 5
