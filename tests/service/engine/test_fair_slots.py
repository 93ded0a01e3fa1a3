"""Who looks at recordings next, and for how long anybody may have recordings looked at that nobody pays for."""

import asyncio

import pytest

from vbdesk.service.engine.fair_slots import REFUSED_S, WINDOW_S, FairSlots
from vbdesk.service.kernel.errors import TooMuchRefused


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Queue:
    """Senders who ask for places, and the order in which they get them."""

    def __init__(self, places: FairSlots) -> None:
        self.places = places
        self.served: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    def ask(self, *senders: str) -> None:
        self.tasks += [asyncio.ensure_future(self._take(sender)) for sender in senders]

    async def _take(self, sender: str) -> None:
        await self.places.take(sender)
        self.served.append(sender)

    async def settle(self) -> list[str]:
        """Who was served since, once nobody else can be."""
        for _ in range(50):
            await asyncio.sleep(0)
        served, self.served = self.served, []
        return served

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def run(scenario, places: FairSlots) -> None:
    async def begin() -> None:
        queue = Queue(places)
        try:
            await scenario(queue)
        finally:
            await queue.end()

    asyncio.run(begin())


def test_a_crowd_of_one_sender_has_half_of_the_places_and_the_next_one_goes_before_it(clock):
    async def scenario(queue):
        queue.ask(*["crowd"] * 50)
        assert await queue.settle() == ["crowd"] * 2
        queue.ask("other", "third")
        assert await queue.settle() == ["other", "third"]
        queue.ask("other", "fourth")
        assert await queue.settle() == []
        queue.places.give_back("third", 1.0, refused=False)
        assert await queue.settle() == ["fourth"], "who has no place comes before who has one"
        queue.places.give_back("fourth", 1.0, refused=False)
        assert await queue.settle() == ["other"]

    run(scenario, FairSlots(4, 2, clock))


def test_of_those_who_wait_the_one_goes_on_that_used_the_least_time(clock):
    """Also when several senders fill all places with files that are small and take long."""

    async def scenario(queue):
        queue.ask("a", "b", "c", "d")
        assert await queue.settle() == ["a", "b", "c", "d"]
        for sender, seconds in (("a", 3.0), ("b", 2.0), ("c", 1.0)):
            queue.places.give_back(sender, seconds, refused=False)
        queue.ask("x", "x", "y")
        assert await queue.settle() == ["x", "x", "y"]
        queue.ask("a", "b", "c", "newcomer")
        await queue.settle()
        for sender in ("x", "x", "y"):
            queue.places.give_back(sender, 0.0, refused=False)
        assert await queue.settle() == ["newcomer", "c", "b"], "by 0, 1 and 2 s; a used 3"

    run(scenario, FairSlots(4, 2, clock))


def test_a_newcomer_waits_for_one_place_and_for_no_turn_of_the_others(clock):
    async def scenario(queue):
        queue.ask("a", "a", "b", "b")
        await queue.settle()
        queue.ask(*["a", "b"] * 100, "newcomer")
        assert await queue.settle() == []
        queue.places.give_back("b", 0.1, refused=False)
        assert await queue.settle() == ["newcomer"]

    run(scenario, FairSlots(4, 2, clock))


def test_time_for_refused_recordings_is_bounded_and_comes_back(clock):
    places = FairSlots(4, 2, clock)

    async def scenario(queue):
        for _ in range(3):
            await queue.places.take("hostile")
            clock.now += 1
            queue.places.give_back("hostile", REFUSED_S / 3, refused=True)
        with pytest.raises(TooMuchRefused) as refused:
            await queue.places.take("hostile")
        assert refused.value.retry_after_s == WINDOW_S - 2, "until the first of the three leaves the window"
        await queue.places.take("honest")
        clock.now += refused.value.retry_after_s - 0.5
        with pytest.raises(TooMuchRefused):
            await queue.places.take("hostile")
        clock.now += 0.5
        await queue.places.take("hostile")

    run(scenario, places)


def test_recordings_that_are_accepted_are_not_bounded(clock):
    async def scenario(queue):
        for _ in range(20):
            await queue.places.take("busy")
            queue.places.give_back("busy", REFUSED_S, refused=False)

    run(scenario, FairSlots(4, 2, clock))


def test_those_who_wait_when_the_time_is_used_up_are_refused_and_keep_no_place(clock):
    async def scenario(queue):
        queue.ask(*["hostile"] * 10)
        assert await queue.settle() == ["hostile"] * 2
        queue.places.give_back("hostile", REFUSED_S, refused=True)
        assert await queue.settle() == []
        failed = [task for task in queue.tasks if task.done() and task.exception()]
        assert len(failed) == 8
        queue.ask("a", "b", "c", "d")
        assert await queue.settle() == ["a", "b", "c"]

    run(scenario, FairSlots(4, 2, clock))


@pytest.mark.parametrize("granted", [True, False])
def test_who_leaves_keeps_no_place(clock, granted):
    async def scenario(queue):
        queue.ask("a", "b")
        assert await queue.settle() == ["a"]
        leaving = queue.tasks[1]
        if granted:
            queue.places.give_back("a", 1.0, refused=False)  # granted, and cancelled before it goes on
        leaving.cancel()
        assert await queue.settle() == []
        if not granted:
            queue.places.give_back("a", 1.0, refused=False)
        queue.ask("c")
        assert await queue.settle() == ["c"]

    run(scenario, FairSlots(1, 1, clock))


def test_senders_who_are_gone_are_forgotten(clock):
    places = FairSlots(4, 2, clock)

    async def scenario(queue):
        for number in range(50):
            await queue.places.take(f"sender {number}")
            queue.places.give_back(f"sender {number}", 1.0, refused=True)
            clock.now += WINDOW_S
        await queue.places.take("last")
        assert len(places._uses) <= 2
        assert list(places._held) == ["last"]

    run(scenario, places)
