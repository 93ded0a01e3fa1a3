"""Quarantine of orphans in every kind of store: few at a time, for 14 days, reversible."""

import logging
import uuid
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.kernel.db.session import open_database
from vbdesk.service.kernel.db.tables import erased_objects, quarantined_objects, uploads
from vbdesk.service.kernel.settings import load_settings
from vbdesk.service.maintenance import orphans
from vbdesk.service.maintenance.orphans import (
    OrphanSearch,
    OrphanSweep,
    SweptStore,
    find_mentioned,
    list_quarantine,
    sweep_orphans,
)
from vbdesk.service.maintenance.retention import remove_erased_audio
from vbdesk.service.maintenance.store_identity import require_match
from vbdesk.service.storage.store import StoreUnavailable
from vbdesk.service.uploads import repository

DAY = timedelta(days=1)
START = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


class Clock:
    def __init__(self):
        self.time = START

    def now(self):
        return self.time


class Swept(SweptStore):
    """A store and a database with one account."""

    def __init__(self, database, storage):
        super().__init__(database, storage, Clock())

    def put(self, key, content=b"sound"):
        path = self.storage.incoming / "new"
        path.write_bytes(content)
        self.storage.adopt(key, path)

    def put_orphan(self, content=b"sound"):
        key = f"uploads/{id_of(START - DAY)}"
        self.put(key, content)
        return key

    def know(self, key):
        """Add the object to the database, as an upload."""
        with self.database.writing() as connection:
            account_id = connection.execute(sa.text("SELECT account_id FROM accounts")).scalar_one()
            repository.insert(
                connection,
                upload_ref=key.removeprefix("uploads/"),
                account_id=account_id,
                content_type="audio/wav",
                created_at=START,
                expires_at=START,
                usable_until=START,
            )

    def put_known(self):
        key = self.put_orphan()
        self.know(key)
        return key

    def content(self, key):
        with self.storage.open(key) as file:
            return file.read()

    def places(self, key):
        """Return where the object is: in place, in quarantine, in both or nowhere."""
        return [place for place in (key, f"quarantine/{key}") if self.storage.exists(place)]


def id_of(moment):
    """Return an id of that time, as the service creates it."""
    random = uuid.uuid4().int & ((1 << 62) - 1)
    return str(uuid.UUID(int=int(moment.timestamp() * 1000) << 80 | 0x7 << 76 | 0b10 << 62 | random))


@pytest.fixture
def swept(store, tmp_path, make_database):
    folder = tmp_path / "database"
    folder.mkdir()
    with closing(open_database(load_settings(folder, **make_database(folder)))) as database:
        swept = Swept(database, store)
        with database.writing() as connection:
            AccountService(swept.clock).create(connection, "Test", Plan.STANDARD, 0)
        yield swept


def sweep_daily(swept, days):
    done = []
    for _ in range(days):
        swept.clock.time += DAY
        done.append(sweep_orphans(swept))
    return done


def test_an_orphan_is_quarantined_unchanged_and_removed_after_14_days(swept):
    key, known = swept.put_orphan(b"a voice"), swept.put_known()
    assert sweep_orphans(swept) == OrphanSweep(quarantined=1)
    assert (swept.places(key), swept.places(known)) == ([f"quarantine/{key}"], [known])
    assert swept.content(f"quarantine/{key}") == b"a voice"
    [listed] = list_quarantine(swept)
    assert (listed.key, listed.since, listed.known) == (key, START, False)
    assert {done.removed for done in sweep_daily(swept, 14)} == {0}
    assert swept.places(key) == [f"quarantine/{key}"]
    assert sweep_daily(swept, 1) == [OrphanSweep(removed=1)]
    assert (swept.places(key), swept.places(known)) == ([], [known])
    assert list_quarantine(swept) == []


def test_an_object_is_restored_when_the_database_knows_it_even_on_the_last_day(swept):
    key = swept.put_orphan(b"a voice")
    sweep_orphans(swept)
    sweep_daily(swept, 14)
    swept.know(key)
    assert sweep_daily(swept, 1) == [OrphanSweep(put_back=1)]
    assert swept.places(key) == [key]
    assert swept.content(key) == b"a voice"
    with swept.database.writing() as connection:
        connection.execute(sa.delete(uploads))
    assert sweep_daily(swept, 1) == [OrphanSweep(quarantined=1)]
    assert {done.removed for done in sweep_daily(swept, 14)} == {0}, "its time begins again"


@pytest.mark.parametrize("jump", [timedelta(days=365), timedelta(days=-365)])
def test_a_jump_of_the_clock_by_a_year_removes_nothing(swept, jump):
    key = swept.put_orphan()
    sweep_orphans(swept)
    sweep_daily(swept, 3)
    swept.clock.time += jump
    for _ in range(6):  # a process that restarts repeatedly
        assert sweep_orphans(swept).removed == 0
    swept.clock.time -= jump
    assert sweep_orphans(swept).removed == 0
    assert swept.places(key) == [f"quarantine/{key}"]
    assert sum(done.removed for done in sweep_daily(swept, 16)) == 1, "it does not stay for ever either"


@pytest.mark.parametrize("pause", [timedelta(minutes=1), timedelta(hours=20)])
def test_frequent_sweeps_do_not_increase_the_age(swept, pause):
    key = swept.put_orphan()
    for _ in range(16):
        assert sweep_orphans(swept).removed == 0
        swept.clock.time += pause
    if pause < DAY / 2:
        swept.clock.time += timedelta(days=365)
    else:
        swept.clock.time -= pause
    assert sweep_orphans(swept).removed == 0
    assert swept.places(key) == [f"quarantine/{key}"]


def test_after_a_kill_between_copy_and_removal_the_move_is_completed(swept, monkeypatch):
    key = swept.put_orphan(b"a voice")
    with monkeypatch.context() as patch:
        patch.setattr(orphans, "_note", killed)
        with pytest.raises(KeyboardInterrupt):
            sweep_orphans(swept)
    assert swept.places(key) == [key, f"quarantine/{key}"]
    assert sweep_orphans(swept).quarantined == 1
    assert swept.places(key) == [f"quarantine/{key}"]
    swept.know(key)
    with monkeypatch.context() as patch:
        patch.setattr(type(swept.storage), "delete", killed)
        with pytest.raises(KeyboardInterrupt):
            sweep_orphans(swept)
    assert swept.places(key) == [key, f"quarantine/{key}"]
    sweep_orphans(swept)
    assert swept.places(key) == [key]
    assert swept.content(key) == b"a voice"


def killed(*_arguments, **_named):
    raise KeyboardInterrupt


def test_an_object_without_a_note_has_age_zero(swept):
    """A restored database, or one that adopted the store, has no note of it."""
    key = swept.put_orphan()
    sweep_orphans(swept)
    sweep_daily(swept, 14)
    with swept.database.writing() as connection:
        connection.execute(sa.delete(quarantined_objects))
    assert {done.removed for done in sweep_daily(swept, 14)} == {0}
    assert swept.places(key) == [f"quarantine/{key}"]


def test_another_object_of_the_same_name_is_neither_overwritten_nor_lost(swept):
    key = swept.put_orphan(b"first")
    sweep_orphans(swept)
    swept.put(key, b"another")
    assert sweep_orphans(swept).quarantined == 0
    assert (swept.content(key), swept.content(f"quarantine/{key}")) == (b"another", b"first")


def test_an_upload_committed_during_the_move_stays_in_place(swept, monkeypatch):
    key = swept.put_orphan()
    link = type(swept.storage).link

    def slow_link(store, source_key, target_key):
        link(store, source_key, target_key)
        swept.know(key)

    monkeypatch.setattr(type(swept.storage), "link", slow_link)
    assert sweep_orphans(swept).quarantined == 0
    assert swept.places(key) == [key]


def test_an_object_that_is_being_erased_is_left_to_the_erasure(swept):
    key = swept.put_orphan()
    with swept.database.writing() as connection:
        connection.execute(sa.insert(erased_objects).values(object_key=key, erased_at=START + timedelta(days=1)))
    assert sweep_orphans(swept).quarantined == 0
    swept.put(f"quarantine/{key}")
    assert remove_erased_audio(swept) == 1
    assert remains(swept, key)
    assert remove_erased_audio(swept) == 0
    assert sweep_orphans(swept) == OrphanSweep()
    assert remains(swept, key)
    swept.clock.time += timedelta(days=2)
    assert remove_erased_audio(swept) == 1
    assert (swept.places(key), remove_erased_audio(swept)) == ([], 0)


def remains(swept, key):
    """Return whether only the empty object remains with which a bucket refuses an upload."""
    if not swept.storage.checks_addresses_itself:
        return swept.places(key) == []
    return (swept.places(key), swept.content(key)) == ([key], b"")


def test_a_file_that_arrives_while_its_address_is_withdrawn_is_removed(swept, monkeypatch):
    key = swept.put_orphan()
    delete, late = type(swept.storage).delete, iter([b"late", b"later"])

    def delete_slowly(storage, deleted):
        delete(storage, deleted)
        content = next(late, None) if deleted == key else None
        if content is not None:
            swept.put(key, content)

    with swept.database.writing() as connection:
        connection.execute(sa.insert(erased_objects).values(object_key=key, erased_at=START + timedelta(days=1)))
    monkeypatch.setattr(type(swept.storage), "delete", delete_slowly)
    while remove_erased_audio(swept):
        pass
    assert remains(swept, key)


def test_an_erased_upload_counts_as_known_to_the_database(swept):
    key = swept.put_orphan()
    with swept.database.writing() as connection:
        assert find_mentioned(connection, [key]) == set()
        connection.execute(sa.insert(erased_objects).values(object_key=key, erased_at=START))
        assert find_mentioned(connection, [key]) == {key}


def test_too_many_orphans_are_left_in_place_and_reported(swept, caplog):
    keys = [swept.put_orphan() for _ in range(21)]
    assert sweep_orphans(swept) == OrphanSweep(left=21)
    assert all(swept.places(key) == [key] for key in keys)
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "21 of 21 objects in the store belong to no job or upload" in record.getMessage()


@pytest.mark.parametrize(
    ("orphan_count", "objects", "too_many"),
    [
        (20, 20, False),
        (21, 420, False),
        (21, 419, True),
        (1000, 1_000_000, False),
        (1001, 1_000_000, True),
        (0, 0, False),
    ],
)
def test_how_many_are_too_many(orphan_count, objects, too_many):
    assert OrphanSearch(objects, ["x"] * orphan_count).too_many is too_many


def test_a_store_that_fails_during_a_sweep_loses_nothing(cloud, cloud_store, tmp_path, make_database):
    with closing(open_database(load_settings(tmp_path, **make_database(tmp_path)))) as database:
        swept = Swept(database, cloud_store)
        keys = [swept.put_orphan(b"a voice") for _ in range(12)]
        for share in (0.5, 0.7, 0.6):
            cloud.feel(refuse=share)
            with suppress(StoreUnavailable):
                sweep_orphans(swept)
            cloud.feel()
            assert all(swept.places(key) for key in keys)
        sweep_orphans(swept)
        assert all(swept.places(key) == [f"quarantine/{key}"] for key in keys)
        assert {swept.content(f"quarantine/{key}") for key in keys} == {b"a voice"}


def test_a_process_starts_without_its_store_and_removes_nothing_before_the_check(cloud, start_service, caplog):
    cloud.feel(refuse=1)
    context = start_service(**cloud.settings).context
    assert "checked before anything is removed" in caplog.text
    cloud.feel()
    assert not context.storage.exists("store-id")
    require_match(context.database, context.storage)
    assert context.storage.exists("store-id")
