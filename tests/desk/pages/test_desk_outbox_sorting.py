"""The order of the Outbox list: updating by changes equals sorting everything again."""

import random
import time
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from known_recordings import NOON, recording

from vbdesk.desk.outbox.sorting import SortedOutbox
from vbdesk.outbox.library.items import Changes
from vbdesk.outbox.library.states import OutboxState


def made(number, state=OutboxState.WAITING, *, updated=NOON):
    """A higher number means an earlier recording."""
    return recording(f"take-{number:03d}", state, recorded_at=NOON - timedelta(minutes=number), updated_at=updated)


@pytest.mark.parametrize("seed", range(5))
def test_changes_one_by_one_end_where_all_at_once_end(seed):
    dice = random.Random(seed)
    arranged, items = SortedOutbox(), {}
    for version in range(1, 60):
        changed = [
            made(dice.randrange(30), dice.choice(list(OutboxState)), updated=NOON + timedelta(seconds=version))
            for _ in range(dice.choice((1, 1, 1, 4)))
        ]
        changed = list({item.take_id: item for item in changed}.values())
        removed = [take_id for take_id in items if dice.random() < 0.03]
        changed = [item for item in changed if item.take_id not in removed]
        items |= {item.take_id: item for item in changed}
        for take_id in removed:
            del items[take_id]
        arranged = arranged.after(Changes(version, changed, removed))
        anew = SortedOutbox().after(Changes(version, list(items.values()), []))
        assert arranged.order == anew.order
        assert arranged.items == anew.items
        assert arranged.figures(NOON) == anew.figures(NOON)


def test_the_line_stands_in_the_order_in_which_it_is_sent():
    late, early = made(1), made(9)
    arranged = SortedOutbox().after(Changes(1, [late, early, made(5, OutboxState.UPLOADING)], []))
    assert arranged.of_states({OutboxState.WAITING}) == ["take-009", "take-001"]
    assert [arranged.place_in_line(item) for item in (early, late)] == [1, 2]


def test_progress_moves_nothing():
    before = SortedOutbox().after(Changes(1, [made(1, OutboxState.UPLOADING), made(2)], []))
    moving = replace(before.items["take-001"], bytes_sent=5, bytes_total=9)
    after = before.after(Changes(1, [moving], []))
    assert after.order is before.order
    assert after.items["take-001"].bytes_sent == 5


def test_what_was_done_yesterday_is_not_done_today():
    yesterday = made(1, OutboxState.DONE, updated=NOON - timedelta(days=1))
    arranged = SortedOutbox().after(Changes(1, [yesterday, made(2, OutboxState.DONE)], []))
    assert arranged.figures(NOON).done_today == 1


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="this platform's zone cannot be set within a process")
@pytest.mark.parametrize("day", [datetime(2026, 9, 27), datetime(2026, 4, 5)], ids=["begins", "ends"])
def test_today_begins_at_midnight_also_where_summer_time_begins_or_ends_later_that_day(day, monkeypatch):
    monkeypatch.setenv("TZ", "Pacific/Chatham")
    time.tzset()
    midnight = day.replace(tzinfo=ZoneInfo("Pacific/Chatham"))
    moments = [datetime.fromtimestamp(midnight.timestamp() + seconds, midnight.tzinfo) for seconds in (-1, 1)]
    items = [made(number, OutboxState.DONE, updated=moment) for number, moment in enumerate(moments)]
    arranged = SortedOutbox().after(Changes(1, items, []))
    assert arranged.figures(midnight.replace(hour=12)).done_today == 1
    monkeypatch.undo()
    time.tzset()
