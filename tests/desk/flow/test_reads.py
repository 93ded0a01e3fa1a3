"""Reads and commands, one step after the other."""

import random
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from schedules import Course, Erase, Exclude, Question, Schedule


@pytest.fixture
def held(qapp):
    """Two screens without any step done; closed at the end."""
    schedule = Schedule(0)
    yield schedule
    schedule.close()
    schedule.end()


def run(held):
    while held.tasks.step():
        pass


def test_pages_that_watch_one_read_share_it(held):
    first, second = held.screens
    first.show(Course("A"))
    second.show(Course("A"))
    run(held)
    assert first.of(Course).value is second.of(Course).value
    assert first.of(Course).value.takes == ("A-0",)


def test_an_answer_that_looks_the_same_changes_nothing(held):
    [screen, _] = held.screens
    screen.show(Course("A"))
    run(held)
    before = screen.of(Course)
    held.reads.refresh({"library"})
    run(held)
    assert screen.of(Course).value is before.value
    assert screen.of(Course) == before


def test_loading_ends_together_with_the_value_that_the_answer_brings(held):
    [screen, _] = held.screens
    seen = []
    screen.changed.connect(lambda: seen.append(screen.of(Course)))
    screen.show(Course("A"))
    run(held)
    assert not [snapshot for snapshot in seen if not snapshot.asking and snapshot.answered and snapshot.value is None]
    assert screen.of(Course).answered


def test_a_failure_stays_until_an_answer_or_a_person_asks_again(held):
    [screen, _] = held.screens
    held.world.reachable = False
    screen.show(Course("A"))
    run(held)
    assert screen.of(Course).failure is not None
    held.reads.announce({"arrived"})
    assert screen.of(Course).failure is not None
    run(held)
    screen.ask(Course)
    assert screen.of(Course).failure is None
    held.world.reachable = True
    run(held)
    assert screen.of(Course).value.takes == ("A-0",)


def test_what_cannot_be_read_here_is_said_and_read_again(held):
    [screen, _] = held.screens
    held.world.readable = False
    screen.show(Course("A"))
    run(held)
    assert screen.of(Course).unreadable is not None
    held.world.readable = True
    held.reads.refresh({"library"})
    run(held)
    assert screen.of(Course).unreadable is None
    assert screen.of(Course).value.takes == ("A-0",)


def test_a_read_that_is_not_kept_begins_again_and_its_work_stops(held):
    [screen, _] = held.screens
    screen.show(Question("A"))
    run(held)
    screen.show(Course("B"))
    screen.add(Question("A"))
    assert screen.of(Question).value is None
    screen.drop(Question)
    run(held)
    assert screen.read(Question) is None


def test_what_is_shown_grows_under_constant_changes(held):
    """A read that is under way when the library changes is shown: else a long upload would hide everything."""
    held._chance = random.Random(1)
    [screen, _] = held.screens
    screen.show(Course("A"))
    for _round in range(20):
        held.reads.refresh({"library"})
        held.tasks.step()
    assert screen.of(Course).value is not None


def test_commands_wait_for_each_other_and_one_that_was_stopped_is_not_begun(held):
    [screen, _] = held.screens
    screen.show(Course("A"))
    run(held)
    first = Exclude("A-0", 1)
    held.give(screen, first)
    held.give(screen, Erase("A", 2))
    held.runs[-1].stop()
    run(held)
    assert held.heard == [first]
    assert screen.of(Course).value.takes == ()


def test_a_failed_command_carries_itself_and_the_next_one_is_done(held):
    [screen, _] = held.screens
    ended = []
    screen.ended.connect(ended.append)
    screen.show(Course("A"))
    run(held)
    wrong, right = Exclude("A-9", 1), Exclude("A-0", 2)
    held.give(screen, wrong)
    held.give(screen, right)
    run(held)
    assert [(outcome.command, outcome.failure is None) for outcome in ended] == [(wrong, False), (right, True)]
    assert ended[0].sentence
