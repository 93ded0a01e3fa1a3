"""Data keys of a database: one set for all processes, refusal of a wrong key, change of the key."""

import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from patience import HANGS_S
from vbdesk.service.encryption.data_keys import (
    Damaged,
    DataKeys,
    is_encrypted,
    open_data_keys,
    rewrap,
    wrapped_by,
)
from vbdesk.service.encryption.keys import KeyUnusable, new_key
from vbdesk.service.kernel.db.migrate import upgrade
from vbdesk.service.kernel.db.session import open_database
from vbdesk.service.kernel.db.tables import data_keys
from vbdesk.service.kernel.encrypted_text import PREFIX, EncryptedText, KeyMissing, use_data_keys
from vbdesk.service.kernel.settings import load_settings

NOW = datetime(2026, 3, 2, tzinfo=UTC)
KEY, OTHER = new_key(), new_key()


def now():
    return NOW


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    url = {} if request.param == "sqlite" else request.getfixturevalue("postgresql").make(tmp_path)
    with closing(open_database(load_settings(tmp_path, **url))) as database:
        upgrade(database, tmp_path)
        yield database


def stored(database):
    with database.reading() as connection:
        return connection.execute(sa.select(data_keys).order_by(data_keys.c.created_at)).all()


def test_without_a_key_nothing_is_encrypted(database):
    assert open_data_keys(database, (), now) is None
    assert (is_encrypted(database), stored(database), wrapped_by(database)) == (False, [], set())


def test_the_first_key_starts_encryption_and_later_starts_decrypt(database):
    first = open_data_keys(database, (KEY,), now)
    again = open_data_keys(database, (OTHER, KEY), now)
    assert again.decrypt_text(first.encrypt_text("sentence", "a.b"), "a.b") == "sentence"
    assert again.unwrap(first.wrap(bytes(range(32)))) == bytes(range(32))
    assert (is_encrypted(database), wrapped_by(database), len(stored(database))) == (True, {KEY.name}, 1)
    assert KEY.secret not in stored(database)[0].wrapped


@pytest.mark.parametrize(("keys", "sentence"), [((), "no key was given"), ((OTHER,), "does not fit")])
def test_without_the_right_key_the_start_is_refused_and_nothing_changes(database, keys, sentence):
    open_data_keys(database, (KEY,), now)
    before = stored(database)
    with pytest.raises(KeyUnusable, match=sentence) as refused:
        open_data_keys(database, keys, now)
    assert stored(database) == before
    assert KEY.secret.hex() not in str(refused.value)


def test_an_altered_data_key_is_refused(database):
    open_data_keys(database, (KEY,), now)
    wrapped = bytearray(stored(database)[0].wrapped)
    wrapped[20] ^= 1
    with database.writing() as connection:
        connection.execute(sa.update(data_keys).values(wrapped=bytes(wrapped)))
    with pytest.raises(KeyUnusable, match="does not fit"):
        open_data_keys(database, (KEY,), now)


def test_processes_that_start_together_create_one_data_key(database):
    barrier, made = threading.Barrier(6), []

    def start():
        barrier.wait(HANGS_S)
        made.append(open_data_keys(database, (KEY,), now))

    threads = [threading.Thread(target=start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANGS_S)
    assert (len(made), len(stored(database))) == (6, 1)
    assert made[0].decrypt_text(made[5].encrypt_text("x", "p"), "p") == "x"


def test_two_first_starts_with_different_keys_never_both_succeed(database):
    barrier, opened, refused = threading.Barrier(2), [], []

    def start(key):
        barrier.wait(HANGS_S)
        try:
            opened.append(open_data_keys(database, (key,), now))
        except KeyUnusable:
            refused.append(key)

    threads = [threading.Thread(target=start, args=(key,)) for key in (KEY, OTHER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANGS_S)
    assert (len(opened), len(refused)) == (1, 1)


@pytest.mark.parametrize("text", ["", "{}", "ä" * 100_000, '{"a": "\\u0000"}'])
def test_a_text_copied_from_another_column_does_not_decrypt(database, text):
    keys = open_data_keys(database, (KEY,), now)
    encrypted = keys.encrypt_text(text, "jobs.result")
    assert encrypted.startswith(PREFIX)
    assert encrypted != keys.encrypt_text(text, "jobs.result")
    assert keys.decrypt_text(encrypted, "jobs.result") == text
    with pytest.raises(Damaged):
        keys.decrypt_text(encrypted, "jobs.reading")


@pytest.mark.parametrize("bad", [PREFIX, f"{PREFIX}ab", f"{PREFIX}!!!!", f"{PREFIX}{'QUJD' * 30}"])
def test_an_altered_text_is_reported_as_damaged(database, bad):
    keys = open_data_keys(database, (KEY,), now)
    good = keys.encrypt_text("sentence", "p")
    for text in (bad, good[:-5], f"{good[:-3]}{'A' if good[-3] != 'A' else 'B'}{good[-2:]}"):
        with pytest.raises(Damaged):
            keys.decrypt_text(text, "p")
    with pytest.raises(Damaged):
        keys.unwrap(keys.wrap(bytes(32))[:-1])


def test_a_change_of_the_key_does_not_affect_running_processes(database):
    running = open_data_keys(database, (KEY,), now)
    old = running.encrypt_text("old", "p")
    assert rewrap(database, (OTHER, KEY), NOW + timedelta(days=1)) == 1
    assert wrapped_by(database) == {OTHER.name}
    fresh = open_data_keys(database, (OTHER,), now)
    assert fresh.decrypt_text(old, "p") == "old"
    new = fresh.encrypt_text("new", "p")
    assert new[:16] != old[:16], "what comes now has a data key that the old key never protected"
    reads = DataKeys(database, lambda: (OTHER,))
    assert reads.decrypt_text(new, "p") == "new"
    with pytest.raises(KeyUnusable):
        open_data_keys(database, (KEY,), now)


def test_a_process_loads_a_data_key_that_another_added(database):
    running = open_data_keys(database, (KEY,), now)
    rewrap(database, (KEY,), NOW + timedelta(days=1))
    fresh = open_data_keys(database, (KEY,), now)
    assert running.decrypt_text(fresh.encrypt_text("new", "p"), "p") == "new"


def test_a_rewrap_without_the_old_key_changes_nothing(database):
    open_data_keys(database, (KEY,), now)
    before = stored(database)
    with pytest.raises(KeyUnusable):
        rewrap(database, (OTHER,), NOW)
    assert stored(database) == before


def test_a_clock_set_back_does_not_make_an_older_key_the_newest(database):
    open_data_keys(database, (KEY,), now)
    rewrap(database, (OTHER, KEY), NOW - timedelta(days=300))
    assert all(row.created_at >= NOW for row in stored(database))


def test_a_column_is_encrypted_with_keys_and_plain_values_stay_readable(database):
    table = sa.Table(
        "notes",
        sa.MetaData(),
        sa.Column("n", sa.Integer, primary_key=True),
        sa.Column("text", EncryptedText("notes.text")),
    )
    raw = sa.select(sa.type_coerce(table.c.text, sa.Text)).order_by(table.c.n)
    with database.writing() as connection:
        table.create(connection)
        connection.execute(sa.insert(table), [{"n": 1, "text": "plain"}, {"n": 2, "text": None}])
    use_data_keys(database.engine, open_data_keys(database, (KEY,), now))
    with database.writing() as connection:
        connection.execute(sa.insert(table), [{"n": 3, "text": "hidden"}])
        assert connection.execute(sa.select(table.c.text).order_by(table.c.n)).scalars().all() == [
            "plain",
            None,
            "hidden",
        ]
        found = connection.execute(raw).scalars().all()
    assert (found[0], found[1], "hidden" in found[2], found[2].startswith(PREFIX)) == ("plain", None, False, True)
    use_data_keys(database.engine, None)
    with database.reading() as connection, pytest.raises(KeyMissing, match="--key-stdin"):
        connection.execute(sa.select(table.c.text).where(table.c.n == 3)).scalar_one()
