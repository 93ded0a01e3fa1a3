"""Connectivity and everything else that holds the queue: each has its sentence and resolves automatically."""

import errno
import re
import socket
import ssl
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from vbdesk.boot_clock import BootTime
from vbdesk.outbox.library.library import NotAllowed
from vbdesk.outbox.library.settings import SendRule
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.profiles.vault import VaultLocked
from vbdesk.outbox.sync.connectivity import ConnectivityState
from vbdesk.outbox.sync.network import ManualNetwork, NetworkState

MOMENT = datetime(2026, 3, 1, 8, 0, 12, 345678, tzinfo=UTC)
ONLINE = NetworkState(reachable=True, metered=False)


@pytest.fixture
def network():
    return ManualNetwork(ONLINE)


@pytest.fixture
def sync_worker(new_sync_worker, network):
    return new_sync_worker(network=network)


def failing_with(below):
    def fail(_):
        try:
            raise below
        except OSError as error:
            raise httpx.ConnectError("no") from error

    return fail


def expired():
    error = ssl.SSLCertVerificationError("certificate has expired")
    error.verify_code = 10
    return error


PAGE = "<!doctype html><title>Welcome to our Wi-Fi</title>"


@pytest.mark.parametrize(
    ("fault", "reach", "words"),
    [
        (failing_with(OSError(errno.ENETUNREACH, "no")), ConnectivityState.OFFLINE, "Wi-Fi"),
        (failing_with(socket.gaierror(-2, "no")), ConnectivityState.NAME, "name"),
        (failing_with(ConnectionRefusedError()), ConnectivityState.SERVICE_DOWN, "nothing is running"),
        (failing_with(ssl.SSLError("no")), ConnectivityState.TLS, "secure"),
        (failing_with(expired()), ConnectivityState.CLOCK, "date"),
        ("lost", ConnectivityState.SILENT, "in time"),
        (503, ConnectivityState.SERVICE_DOWN, "problem of its own"),
        (lambda _: httpx.Response(200, text=PAGE), ConnectivityState.PORTAL, "log in"),
        (lambda _: httpx.Response(302, headers={"Location": "http://portal.test"}), ConnectivityState.PORTAL, "log in"),
        (lambda _: httpx.Response(200, json={"hello": 1}), ConnectivityState.FOREIGN, "not like the service"),
    ],
)
def test_what_is_in_the_way_is_told_apart(sync_worker, service, drive, fault, reach, words):
    service.faults["credits"].append(fault)
    drive(sync_worker, lambda: sync_worker.status.connected is False)
    assert sync_worker.status.connectivity is reach
    assert words in sync_worker.status.sentence
    assert "continue automatically" in sync_worker.status.sentence
    assert not re.search("[Tt]ry again", sync_worker.status.sentence), "nobody has to"
    drive(sync_worker, lambda: sync_worker.status.connected is True)
    assert (sync_worker.status.connectivity, sync_worker.status.sentence) == (ConnectivityState.CONNECTED, "Connected.")


def test_without_a_network_nothing_is_tried_and_its_return_is_noticed_at_once(
    library, all_done, waiting, sync_worker, network, service, drive, clock
):
    network.now = NetworkState(reachable=False)
    waiting()
    drive(sync_worker, seconds=3600)
    assert service.requests == []
    assert sync_worker.status.connectivity is ConnectivityState.OFFLINE
    assert "no network" in sync_worker.status.sentence
    network.now = ONLINE
    back = clock.monotonic()
    drive(sync_worker, all_done)
    assert service.requests[0][0] - back < 1


def test_a_network_that_comes_back_ends_the_pause_after_failures(
    library, waiting, sync_worker, network, service, drive
):
    service.online = False
    waiting()
    drive(sync_worker, seconds=100)
    network.now = NetworkState(reachable=False)
    sync_worker.step()
    service.online, network.now = True, ONLINE
    drive(sync_worker, lambda: sync_worker.status.connected is True, seconds=1)
    assert sync_worker.status.connected is True


def test_behind_a_login_page_that_the_system_knows_of_the_login_is_what_is_said(sync_worker, network, service, drive):
    network.now = NetworkState(reachable=True, behind_portal=True)
    service.faults["credits"].append("unreachable")
    drive(sync_worker, lambda: sync_worker.status.connected is False)
    assert sync_worker.status.connectivity is ConnectivityState.PORTAL
    service.faults["credits"].extend(["unreachable"] * 4)
    drive(sync_worker, lambda: service.count("credits") == 5)
    network.now = ONLINE  # logged in
    drive(sync_worker, lambda: sync_worker.status.connected is True, seconds=1)
    assert sync_worker.status.connected is True


class SleepyClock:
    """A clock whose monotonic count stops while the computer sleeps."""

    def __init__(self, clock):
        self._clock = clock
        self.slept_s = 0.0

    def now(self):
        return self._clock.now() + timedelta(seconds=self.slept_s)

    def monotonic(self):
        return self._clock.monotonic()

    def boot(self):
        boot = self._clock.boot()
        return BootTime(boot.boot_id, boot.seconds + self.slept_s)


def test_after_sleep_the_connections_are_new_and_the_network_may_settle(
    library, all_done, waiting, service, new_sync_worker, drive, clock
):
    sleepy, made = SleepyClock(clock), []
    sync_worker = new_sync_worker(clock=sleepy, on_connect=made.append)
    drive(sync_worker, lambda: sync_worker.status.connected is True)
    waiting()
    sleepy.slept_s = 8 * 3600
    service.requests.clear()
    woke = clock.monotonic()
    drive(sync_worker, all_done)
    assert 3 <= service.requests[0][0] - woke < 4
    assert len(made) == 2


def test_where_both_clocks_go_on_during_sleep_being_late_tells(sync_worker, service, drive, clock):
    drive(sync_worker, seconds=70)
    clock.advance(8 * 3600)
    service.requests.clear()
    woke = clock.monotonic()
    drive(sync_worker, lambda: bool(service.requests))
    assert 3 <= service.requests[0][0] - woke < 4


@pytest.mark.parametrize("ahead", [timedelta(days=3), -timedelta(hours=5)])
def test_a_wrong_clock_is_measured_by_the_services(
    library, waiting, new_take, sync_worker, service, drive, clock, ahead
):
    service.clock_ahead = ahead
    take_id, resting = waiting(), new_take("b", seconds=15, rate=1000)
    drive(sync_worker, seconds=200)
    assert sync_worker.status.on_hold is Fix.SET_CLOCK
    ours, theirs = (f"{moment.astimezone():%Y-%m-%d %H:}" for moment in (clock.now(), clock.now() + ahead))
    assert f"it says {ours}" in sync_worker.status.sentence
    assert f"the service's {theirs}" in sync_worker.status.sentence
    assert service.count("put") == 0
    service.clock_ahead = timedelta(0)
    drive(sync_worker, all_done_of(library, take_id), seconds=200)
    assert sync_worker.status.on_hold is None
    assert library.get(take_id).recorded_at == MOMENT
    assert library.get(resting).reason is None


def all_done_of(library, take_id):
    return lambda: library.get(take_id).state is OutboxState.DONE


def test_a_clock_that_is_a_few_minutes_off_does_no_harm(library, all_done, waiting, sync_worker, service, drive):
    service.clock_ahead = timedelta(minutes=9)
    take_id = waiting()
    drive(sync_worker, all_done)
    assert sync_worker.status.on_hold is None
    assert library.get(take_id).reason is None


class LaptopClock:
    """A clock that can be set wrong."""

    def __init__(self, clock, wrong):
        self._clock = clock
        self.wrong = wrong

    def now(self):
        return self._clock.now() + self.wrong

    def monotonic(self):
        return self._clock.monotonic()

    def boot(self):
        return self._clock.boot()


def test_a_recording_of_the_future_is_not_sent_before_its_time_is_corrected(
    library, all_done, waiting, new_sync_worker, service, drive, clock
):
    year = timedelta(days=365)
    laptop = LaptopClock(clock, year)
    library.store.clock = laptop
    take_id = waiting(recorded_at=MOMENT + year)
    sync_worker = new_sync_worker(clock=laptop)
    service.clock_ahead = timedelta(0)
    drive(sync_worker, seconds=100)
    assert sync_worker.status.on_hold is Fix.SET_CLOCK
    laptop.wrong = timedelta(0)
    drive(sync_worker, lambda: library.get(take_id).state is OutboxState.NEEDS_ATTENTION, seconds=200)
    held = library.get(take_id)
    assert (held.state, held.fix) == (OutboxState.NEEDS_ATTENTION, Fix.SET_CLOCK)
    assert "2027" in held.reason
    assert service.jobs == {}
    assert held.time_doubt.before < clock.now() + timedelta(minutes=1)
    library.set_recorded_at(take_id, held.recorded_at - year)
    assert library.get(take_id).time_doubt is None
    library.retry(take_id)
    drive(sync_worker, all_done)
    [job] = service.jobs.values()
    assert abs(job["recorded_at"] - MOMENT) < timedelta(seconds=2)
    with pytest.raises(NotAllowed, match="before it is sent"):
        library.set_recorded_at(take_id, MOMENT)


def test_a_time_that_is_minutes_ahead_is_waited_for(library, all_done, waiting, sync_worker, service, drive, clock):
    service.clock_ahead = timedelta(0)
    take_id = waiting(recorded_at=clock.now() + timedelta(minutes=9))
    drive(sync_worker, seconds=200)
    assert library.get(take_id).state is OutboxState.WAITING
    assert service.jobs == {}
    drive(sync_worker, all_done, seconds=300)
    assert all_done()


def test_a_time_that_the_service_may_know_is_not_corrected(library, waiting, sync_worker, service, drive):
    service.faults["analyze"].append("lost")
    take_id = waiting()
    drive(sync_worker, lambda: library.get(take_id).asked)
    with pytest.raises(NotAllowed):
        library.set_recorded_at(take_id, MOMENT - timedelta(days=1))
    assert library.get(take_id).recorded_at == MOMENT


def test_paused_nothing_is_sent_and_results_still_come(library, all_done, waiting, sync_worker, service, drive):
    sent = waiting()
    drive(sync_worker, lambda: library.get(sent).state is OutboxState.SUBMITTED)
    library.change_settings(paused=True)
    later = waiting("b")
    drive(sync_worker, seconds=100)
    assert library.get(sent).state is OutboxState.DONE
    assert library.get(later).state is OutboxState.WAITING
    assert sync_worker.status.sentence == "Connected. Sending is paused; results still come."
    library.change_settings(paused=False)
    drive(sync_worker, all_done)
    assert sync_worker.status.sentence == "Connected."


def test_on_a_metered_network_recordings_wait_for_another(
    library, all_done, waiting, sync_worker, network, service, drive
):
    library.change_settings(send_rule=SendRule.UNMETERED)
    network.now = NetworkState(reachable=True, metered=True)
    urgent = waiting("urgent")
    waiting()
    drive(sync_worker, seconds=100)
    assert service.count("mint") == 0
    library.send_now([urgent])  # a person may still send one
    drive(sync_worker, lambda: library.get(urgent).state is OutboxState.DONE)
    drive(sync_worker, seconds=100)
    assert service.count("mint") == 1
    assert "does not cost by volume" in sync_worker.status.sentence
    network.now = NetworkState(reachable=True, metered=None)  # unknown counts as unmetered
    drive(sync_worker, all_done)


def test_by_hand_only_what_a_person_lets_go_is_sent(library, all_done, waiting, sync_worker, service, drive):
    library.change_settings(send_rule=SendRule.BY_HAND)
    first, second = waiting("a"), waiting("b")
    drive(sync_worker, seconds=60)
    assert service.count("mint") == 0
    library.send_now([second])
    drive(sync_worker, lambda: library.get(second).state is OutboxState.DONE)
    assert library.get(first).state is OutboxState.WAITING
    library.send_now()
    drive(sync_worker, all_done)


def test_a_key_that_works_again_is_noticed_without_hammering(library, all_done, waiting, sync_worker, service, drive):
    service.key = "new-key"
    waiting()
    drive(sync_worker, seconds=3600)
    assert 3 <= len(service.requests) <= 6
    service.key = "right-key"
    drive(sync_worker, all_done, seconds=1000)
    assert sync_worker.status.on_hold is None


def test_offline_on_hold_the_network_is_what_is_said_and_the_hold_comes_back_with_it(
    library, waiting, sync_worker, service, drive
):
    service.credits = 0
    waiting()
    drive(sync_worker, lambda: sync_worker.status.on_hold is Fix.ADD_CREDITS)
    service.online = False
    drive(sync_worker, lambda: sync_worker.status.connected is False, seconds=100)
    assert sync_worker.status.on_hold is None
    assert "cannot be reached" in sync_worker.status.sentence
    service.online = True
    drive(sync_worker, lambda: sync_worker.status.connected is True, seconds=100)
    assert sync_worker.status.on_hold is Fix.ADD_CREDITS
    assert "no credits" in sync_worker.status.sentence


def test_credits_that_came_before_the_balance_was_read_are_found_by_a_try(
    library, all_done, waiting, sync_worker, service, drive
):
    def spent(_):
        service.credits = 500  # added directly after the refusal
        return service._refusal(402)

    service.faults["analyze"].append(spent)
    waiting()
    drive(sync_worker, seconds=300)
    assert sync_worker.status.on_hold is Fix.ADD_CREDITS
    drive(sync_worker, all_done, seconds=700)
    assert sync_worker.status.on_hold is None
    assert service.count("put") == 1


def test_a_keyring_that_is_unlocked_later_is_noticed(library, all_done, waiting, new_sync_worker, service, drive):
    locked = [VaultLocked("The keyring is locked.")] * 3

    def check():
        if locked:
            raise locked.pop()

    service.online = False
    sync_worker = new_sync_worker(on_connect=lambda _: check())
    waiting()
    sync_worker.step()
    assert (sync_worker.status.on_hold, sync_worker.status.sentence) == (Fix.UNLOCK_KEYRING, "The keyring is locked.")
    drive(sync_worker, lambda: sync_worker.status.connected is False, seconds=30)
    assert sync_worker.status.on_hold is None
    service.online = True
    drive(sync_worker, all_done)
    assert sync_worker.status.on_hold is None


def test_a_recording_at_which_the_line_always_breaks_is_not_in_the_way_of_the_others(
    library, all_done, waiting, sync_worker, service, drive
):
    heavy = waiting("a", seconds=60)
    others = [waiting(f"b{number}", recorded_at=MOMENT + timedelta(days=1 + number)) for number in range(3)]
    put, broken = service._put, []

    def break_at_heavy(ref, content):
        if len(content) > 50_000:
            broken.append(ref)
            raise httpx.WriteError("cut")
        return put(ref, content)

    service._put = break_at_heavy
    drive(sync_worker, lambda: service.count("analyze") == 3, seconds=60)
    assert (service.count("analyze"), len(broken)) == (3, 1)
    drive(sync_worker, lambda: all(library.get(each).state is OutboxState.DONE for each in others), seconds=60)
    assert library.counts()[OutboxState.DONE] == 3
    drive(sync_worker, lambda: library.get(heavy).reason is not None)
    assert "broke off" in library.get(heavy).reason
    assert library.get(heavy).state is OutboxState.WAITING
    service._put = put
    drive(sync_worker, all_done, seconds=1000)
    assert library.get(heavy).reason is None


def test_a_job_whose_answer_makes_no_sense_does_not_stop_the_others(
    library, all_done, waiting, sync_worker, service, drive
):
    odd = waiting("a")
    drive(sync_worker, lambda: library.get(odd).state is OutboxState.SUBMITTED)
    job = service._job
    service._job = lambda job_id: (
        httpx.Response(200, json={"status": "?"}) if job_id == library.get(odd).job_id else job(job_id)
    )
    others = [waiting(f"b{number}") for number in range(3)]
    drive(sync_worker, lambda: all(library.get(each).state is OutboxState.DONE for each in others), seconds=60)
    assert library.counts()[OutboxState.DONE] == 3
    service._job = job
    drive(sync_worker, all_done)


def test_what_has_had_its_retries_goes_on_when_the_service_is_back_from_an_outage(
    library, all_done, waiting, sync_worker, service, drive
):
    service.faults["put"].extend([500] * 6)
    take_id = waiting()
    drive(sync_worker, lambda: library.get(take_id).reason is not None)
    service.online = False
    drive(sync_worker, seconds=60)
    assert "tried 6 times" in library.get(take_id).reason
    service.online = True
    drive(sync_worker, all_done, seconds=60)
    assert library.get(take_id).state is OutboxState.DONE


def test_a_pause_that_was_noted_by_a_clock_far_ahead_is_not_waited_for(
    library, all_done, waiting, sync_worker, service, drive
):
    service.faults["mint"].append("lost")
    take_id = waiting()
    drive(sync_worker, lambda: service.count("mint") == 1)
    with library.store.changing():
        library.store.write_event_of(take_id, {"not_before": "2027-01-01T00:00:00.000000+00:00"})
    drive(sync_worker, all_done)
    assert library.get(take_id).state is OutboxState.DONE
