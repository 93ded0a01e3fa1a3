"""Contract of every object store; remote ones distinguish failures from missing objects."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from emulator import make_emulator

from vbdesk.service.storage.opening import open_store
from vbdesk.service.storage.store import ObjectExists, ObjectMissing, StoreUnavailable

BIG = bytes(range(256)) * 40_000  # more than Google's client sends in one request


def keep(store, key, content=b"sound"):
    path = store.incoming / "new"
    path.write_bytes(content)
    store.adopt(key, path)
    return path


def content_of(store, key):
    with store.local_copy(key) as copy, copy.open("rb") as file:
        return file.read()


def test_an_adopted_file_is_complete_and_removed_from_incoming(store):
    path = keep(store, "audio/one", BIG)
    assert not path.exists()
    assert (store.exists("audio/one"), store.size("audio/one")) == (True, len(BIG))
    assert content_of(store, "audio/one") == BIG
    with store.open("audio/one") as file:
        assert file.read() == BIG
    assert list(store.incoming.iterdir()) == []


def test_no_object_is_written_twice(store):
    keep(store, "audio/one", b"first")
    keep(store, "audio/two", b"second")
    with pytest.raises(ObjectExists):
        keep(store, "audio/one", b"another")
    with pytest.raises(ObjectExists):
        store.link("audio/two", "audio/one")
    assert content_of(store, "audio/one") == b"first"


def test_a_link_outlives_its_source(store):
    keep(store, "uploads/one")
    store.link("uploads/one", "audio/one")
    store.delete("uploads/one")
    assert not store.exists("uploads/one")
    assert content_of(store, "audio/one") == b"sound"


def test_a_missing_object_is_reported(store):
    store.delete("audio/none")
    assert not store.exists("audio/none")
    for ask in (store.size, store.open, lambda key: content_of(store, key), lambda key: store.link(key, "audio/one")):
        with pytest.raises(ObjectMissing):
            ask("audio/none")
    assert list(store.incoming.iterdir()) == []


def test_keys_lists_one_folder(store):
    for key in ("audio/b", "audio/a", "audio/deep/c", "audios/d", "uploads/e"):
        keep(store, key)
    assert sorted(store.keys("audio")) == ["audio/a", "audio/b", "audio/deep/c"]
    assert list(store.keys("nothing")) == []


@pytest.mark.parametrize("key", ["", "/etc/passwd", "../x", "a/../b"])
def test_no_key_leaves_the_prefix(store, key):
    for ask in (store.exists, store.delete, store.open):
        with pytest.raises(ValueError, match="object key"):
            ask(key)


def test_of_many_racing_writers_one_wins(store):
    def write(number):
        path = store.incoming / f"new-{number}"
        path.write_bytes(bytes([number]) * 5000)
        try:
            store.adopt("audio/one", path)
        except ObjectExists:
            return None
        return number

    with ThreadPoolExecutor(6) as pool:
        winners = [number for number in pool.map(write, range(6)) if number is not None]
    assert len(winners) == 1
    assert content_of(store, "audio/one") == bytes(winners) * 5000


def test_a_working_store_passes_its_check_and_keeps_no_probe(store):
    store.check()
    assert list(store.keys("probes")) == []
    assert list(store.incoming.iterdir()) == []


def test_all_objects_are_below_the_prefix_and_others_are_not_listed(cloud, cloud_store):
    keep(cloud_store, "audio/one")
    assert [found.name for found in cloud.emulator.objects.below("")] == ["recordings/desk/one/audio/one"]
    cloud.emulator.objects.put("recordings/audio/two", b"another's", "audio/wav")
    assert list(cloud_store.keys("audio")) == ["audio/one"]
    assert not cloud_store.exists("audio/two")


def test_keys_are_listed_in_pages(cloud, cloud_store):
    for number in range(101):
        cloud.emulator.objects.put(f"recordings/desk/one/audio/{number:03}", b"", "audio/wav")
    assert len(set(cloud_store.keys("audio"))) == 101
    assert cloud.emulator.moods.counts["own-get"] == 2


@pytest.mark.parametrize("mood", [{"plain_copies": True}, {"ignore_conditions": True}])
def test_a_store_without_conditional_copies_overwrites_nothing(place_of, open_stores, mood):
    place = place_of("s3")
    store = open_stores(place)
    keep(store, "uploads/one")
    place.feel(**mood)
    store.link("uploads/one", "audio/one")
    with pytest.raises(ObjectExists):
        store.link("uploads/one", "audio/one")
    assert content_of(store, "audio/one") == b"sound"


def test_a_failed_request_is_retried(cloud, cloud_store):
    cloud.feel(refuse=0.25)
    for number in range(5):
        keep(cloud_store, f"audio/{number}", BIG[:1000])
        assert content_of(cloud_store, f"audio/{number}") == BIG[:1000]
    assert cloud.emulator.moods.counts["refused"]


def test_a_write_with_a_lost_response_is_recognized_as_our_own(cloud, cloud_store):
    cloud.feel(lose=0.3)
    for number in range(4):
        keep(cloud_store, f"audio/{number}", b"ours")
        cloud_store.link(f"audio/{number}", f"audio/{number}-again")
    cloud.feel()
    assert len(list(cloud_store.keys("audio"))) == 8
    assert cloud.emulator.moods.counts["lost"]


def test_a_store_that_refuses_is_unavailable_and_its_objects_are_not_missing(cloud, cloud_store, monkeypatch):
    monkeypatch.setattr("random.uniform", lambda _least, most: most)  # pauses are random otherwise
    cloud.feel(refuse=1)
    refused = cloud.emulator.moods.counts
    with pytest.raises(StoreUnavailable):
        cloud_store.exists("audio/one")
    refused["refused"] = 0
    with pytest.raises(StoreUnavailable):
        keep(cloud_store, "audio/one")
    patient, refused["refused"] = refused["refused"], 0
    with pytest.raises(StoreUnavailable):
        cloud_store.check()
    assert refused["refused"] < patient, "a check is for those who wait for it, so it gives up earlier"


def test_a_missing_bucket_is_an_unavailable_store_not_a_missing_object(cloud, tmp_path):
    cloud.settings["storage_url"] = cloud.settings["storage_url"].replace("recordings", "elsewhere")
    with closing(open_store(cloud.load(tmp_path / "other"))) as store:
        for ask in (store.exists, store.size, store.open, lambda key: list(store.keys(key))):
            with pytest.raises(StoreUnavailable):
                ask("audio")


def test_an_unusable_local_folder_is_an_unavailable_store(cloud_store):
    keep(cloud_store, "audio/one")
    cloud_store.incoming.rmdir()
    for ask in (lambda: content_of(cloud_store, "audio/one"), lambda: cloud_store.open("audio/one"), cloud_store.check):
        with pytest.raises(StoreUnavailable):
            ask()
    cloud_store.incoming.mkdir()
    assert content_of(cloud_store, "audio/one") == b"sound"


def test_wrong_credentials_are_an_unavailable_store_and_are_not_shown(cloud, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    if cloud.kind == "gcs":
        (tmp_path / "stranger").mkdir()
        stranger = make_emulator("gcs", cloud.settings["storage_endpoint"], tmp_path / "stranger")
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", stranger.environment["GOOGLE_APPLICATION_CREDENTIALS"])
    with closing(open_store(cloud.load(tmp_path / "other"))) as store, pytest.raises(StoreUnavailable) as refused:
        store.check()
    assert "hunter2" not in str(refused.value)


def test_a_store_that_overwrites_objects_fails_the_check(cloud, cloud_store):
    cloud.feel(ignore_conditions=True)
    with pytest.raises(StoreUnavailable, match="overwrites existing files"):
        cloud_store.check()
