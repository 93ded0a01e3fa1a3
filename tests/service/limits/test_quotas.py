"""Quota of an account's unused uploads."""

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import sqlalchemy as sa
from sample_audio import noise_wav

from patience import HANGS_S
from vbdesk.contract.limits import MAX_AUDIO_BYTES, Plan
from vbdesk.service.kernel.db.tables import uploads
from vbdesk.service.kernel.errors import QuotaExceeded
from vbdesk.service.kernel.settings import SettingsInvalid, load_settings
from vbdesk.service.limits.bytes_in_flight import BytesInFlight

AUDIO = noise_wav(16)
MIB = 1024**2
FOUR = {"standard": 128, "enterprise": 128}
"""Room for four recordings of the maximum size."""


@pytest.fixture
def quota_service(start_service):
    return start_service(upload_quota_mb=FOUR)


@pytest.fixture
def client(quota_service):
    return quota_service.client(quota_service.add_account())


def mint(client, size: int | None = None) -> httpx.Response:
    return client.post("/v2/audio/uploads", json={"content_type": "audio/wav"} | ({"size_bytes": size} if size else {}))


def put(grant: dict, content: bytes = AUDIO) -> httpx.Response:
    return httpx.put(
        grant["upload_url"], content=content, headers=grant["required_headers"], trust_env=False, timeout=HANGS_S
    )


def analyze(client, grant: dict) -> httpx.Response:
    return client.post("/v2/signs/stress/analyze", data={"audio_upload_ref": grant["upload_ref"]}, files={"x": b""})


def assert_over_quota(answer: httpx.Response) -> int:
    assert answer.status_code == 429, answer.text
    body = answer.json()
    assert (body["code"], body["status"]) == ("RATE_LIMIT_EXCEEDED", 429)
    assert "128 MB" in body["message"]
    return int(answer.headers["Retry-After"])


def test_open_addresses_count_their_maximum(client):
    grants = [mint(client) for _ in range(4)]
    assert {grant.status_code for grant in grants} == {200}
    assert_over_quota(mint(client))
    assert_over_quota(mint(client, 1))


def test_a_declared_size_counts_exactly(client):
    assert [mint(client, 16 * MIB).status_code for _ in range(8)] == [200] * 8
    assert_over_quota(mint(client, 1))


def test_an_unused_address_stops_counting_after_the_reported_time(quota_service, client):
    for _ in range(4):
        mint(client)
        quota_service.clock.advance(60)
    wait_s = assert_over_quota(mint(client))
    assert wait_s == 900 - 4 * 60
    quota_service.clock.advance(wait_s + 1)
    assert mint(client).status_code == 200
    assert_over_quota(mint(client))


def test_an_uploaded_file_counts_its_own_size_for_a_day(quota_service, client):
    grants = [mint(client).json() for _ in range(4)]
    for grant in grants:
        assert put(grant, bytes(30 * MIB)).status_code == 200
    assert_over_quota(mint(client))  # 120 MiB are stored
    assert mint(client, 8 * MIB).status_code == 200
    quota_service.clock.advance(901)  # the addresses have expired, the files still exist
    assert_over_quota(mint(client))
    quota_service.clock.advance(24 * 3600)
    assert mint(client).status_code == 200


def test_small_files_release_their_reservation_when_room_is_needed(client):
    for _ in range(12):  # each reserves a quarter of the quota and uses a quarter of a megabyte
        grant = mint(client)
        assert grant.status_code == 200
        assert put(grant.json()).status_code == 200


def test_a_job_that_uses_the_file_frees_the_quota_and_the_file_stays_usable(client):
    grants = [mint(client).json() for _ in range(4)]
    assert put(grants[0], AUDIO + bytes(30 * MIB)).status_code == 200
    for grant in grants[1:]:
        assert put(grant, bytes(MAX_AUDIO_BYTES)).status_code == 200
    assert_over_quota(mint(client, 8 * MIB))
    assert analyze(client, grants[0]).status_code == 200
    assert mint(client, 8 * MIB).status_code == 200
    assert analyze(client, grants[0]).status_code == 200


def test_a_refused_submit_frees_nothing(quota_service, client):
    grants = [mint(client).json() for _ in range(4)]
    for grant in grants:
        assert put(grant, bytes(MAX_AUDIO_BYTES)).status_code == 200
    assert analyze(client, grants[0]).status_code == 400  # no recording
    assert_over_quota(mint(client, 1))


def test_one_account_does_not_use_the_quota_of_another(quota_service, client):
    for _ in range(4):
        mint(client)
    assert_over_quota(mint(client))
    assert mint(quota_service.client(quota_service.add_account())).status_code == 200


def race(client, count: int, size: int | None = None) -> list[int]:
    start = threading.Barrier(count)

    def one(_number: int) -> int:
        start.wait(HANGS_S)
        return mint(client, size).status_code

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def assert_fifty_stay_within(service, account_client) -> None:
    statuses = race(account_client, 50)
    assert sorted(statuses) == [200] * 4 + [429] * 46
    with service.context.database.reading() as connection:
        held = connection.execute(sa.select(sa.func.sum(uploads.c.held_bytes))).scalar_one()
    assert held == 4 * MAX_AUDIO_BYTES


def test_fifty_concurrent_mints_stay_within_the_quota(quota_service, client):
    assert_fifty_stay_within(quota_service, client)


def test_fifty_concurrent_mints_stay_within_the_quota_on_postgresql(start_service, postgresql):
    service = start_service(**postgresql.make(None), upload_quota_mb=FOUR)
    assert_fifty_stay_within(service, service.client(service.add_account()))


def test_two_processes_together_stay_within_the_quota_on_postgresql(start_service, postgresql):
    settings = {**postgresql.make(None), "upload_quota_mb": FOUR}
    one, other = start_service(**settings), start_service(**settings)
    account = one.add_account()
    clients = [one.client(account), other.client(account)]
    start = threading.Barrier(40)

    def mint_at(number: int) -> int:
        start.wait(HANGS_S)
        return mint(clients[number % 2]).status_code

    with ThreadPoolExecutor(40) as pool:
        statuses = list(pool.map(mint_at, range(40)))
    assert sorted(statuses) == [200] * 4 + [429] * 36


def test_a_put_that_ends_after_its_reservation_counts_again(quota_service, client):
    grant = mint(client, 30 * MIB).json()
    for _ in range(3):
        mint(client)
    begun, go_on = threading.Event(), threading.Event()

    def slowly():
        yield bytes(15 * MIB)
        begun.set()
        assert go_on.wait(HANGS_S)
        yield bytes(15 * MIB)

    with ThreadPoolExecutor(1) as pool:
        headers = grant["required_headers"] | {"Content-Length": str(30 * MIB)}
        sending = pool.submit(
            httpx.put, grant["upload_url"], content=slowly(), headers=headers, trust_env=False, timeout=HANGS_S
        )
        assert begun.wait(HANGS_S)
        quota_service.clock.advance(901)  # its address expired during the upload
        assert [mint(client).status_code for _ in range(4)] == [200] * 4
        go_on.set()
        assert sending.result(HANGS_S).status_code == 200
    quota_service.clock.advance(901)
    assert [mint(client).status_code for _ in range(4)] == [200, 200, 200, 429]


def test_the_number_of_concurrent_files_to_one_address_is_limited(quota_service, client):
    grant = mint(client).json()
    under_way, go_on = threading.Semaphore(0), threading.Event()

    def slowly():
        yield bytes(MIB)
        under_way.release()
        go_on.wait(HANGS_S)

    with ThreadPoolExecutor(16) as pool:
        sent = [
            pool.submit(
                httpx.put,
                grant["upload_url"],
                content=slowly(),
                headers=grant["required_headers"],
                trust_env=False,
                timeout=HANGS_S,
            )
            for _ in range(16)
        ]
        for _ in sent:
            assert under_way.acquire(timeout=HANGS_S)
        incoming = quota_service.context.storage.incoming
        while len(list(incoming.iterdir())) < 16:
            pass
        refused = put(grant)
        assert (refused.status_code, "<Code>SlowDown</Code>" in refused.text) == (503, True)
        go_on.set()
        assert sorted(answer.result(HANGS_S).status_code for answer in sent) == [200] + [412] * 15


def test_forms_in_transit_count_per_account(quota_service):
    counter = BytesInFlight()
    with counter.counting("a", 10) as take, counter.counting("a", 10) as also, counter.counting("b", 10) as other:
        take(6)
        other(10)
        with pytest.raises(QuotaExceeded):
            also(5)
        also(4)
    with counter.counting("a", 10) as take:
        take(10)
    assert not counter._bytes


def test_half_sent_forms_beyond_the_quota_are_refused_and_leave_nothing(start_service):
    service = start_service(upload_quota_mb={"enterprise": 32})
    account = service.add_account()
    head = b'--b\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n'
    sent, go_on = threading.Semaphore(0), threading.Event()

    def slowly():
        yield head
        for _ in range(20):
            yield bytes(MIB)
        sent.release()
        go_on.wait(HANGS_S)
        yield b"\r\n--b--\r\n"

    def post() -> httpx.Response:
        headers = account.headers | {"Content-Type": "multipart/form-data; boundary=b"}
        url = f"{service.base_url}/v2/signs/stress/analyze"
        return httpx.post(url, content=slowly(), headers=headers, trust_env=False, timeout=HANGS_S)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(post)
        assert sent.acquire(timeout=HANGS_S)
        while service.context.in_flight._bytes[account.account_id] < 19 * MIB:
            pass
        second = pool.submit(post)
        assert sent.acquire(timeout=HANGS_S)
        go_on.set()
        statuses = sorted(answer.result(HANGS_S).status_code for answer in (first, second))
    assert statuses == [400, 429]  # the first is no recording
    assert list(service.context.storage.incoming.iterdir()) == []
    assert not service.context.in_flight._bytes


def test_a_quota_below_one_recording_is_refused_and_missing_plans_keep_theirs(tmp_path):
    with pytest.raises(SettingsInvalid, match="upload_quota_mb must be at least 32"):
        load_settings(tmp_path, upload_quota_mb={"standard": 31})
    settings = load_settings(tmp_path, upload_quota_mb={"standard": 64})
    assert settings.quota_bytes(Plan.STANDARD) == 64 * MIB
    assert settings.quota_bytes(Plan.ENTERPRISE) == 16_384 * MIB
