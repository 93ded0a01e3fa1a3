"""The courier: the one loop that brings recordings to the service and results back.

It never sends twice: before a request that starts an analysis leaves, the database knows of it, and while its answer is
missing nothing is sent for that recording until the group's jobs have been searched for one with its `recorded_at`. It
never drops: an event leaves the database only together with the change of state that it stood for.
"""

import logging
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from vbdesk.capture.clock import Clock, SystemClock
from vbdesk.capture.sealed import SealedError
from vbdesk.client import AudioSource, Client, ClientError
from vbdesk.client.errors import Cancelled, NotFound
from vbdesk.contract.limits import (
    MAX_DURATION_S,
    MIN_DURATION_S,
    POLL_INTERVAL_S,
    REQUESTS_PER_WINDOW,
    Bucket,
    Plan,
)
from vbdesk.contract.timestamps import format_timestamp
from vbdesk.outbox.items import RecordingItem
from vbdesk.outbox.library import Library
from vbdesk.outbox.line import Event, Line
from vbdesk.outbox.pace import Pace
from vbdesk.outbox.states import Fix
from vbdesk.outbox.store import UnknownTake
from vbdesk.outbox.upload import upload_of
from vbdesk.outbox.vault import VaultError
from vbdesk.outbox.verdicts import (
    LONGEST_DELAY_S,
    Attention,
    Closed,
    Hold,
    Later,
    Offline,
    backoff_s,
    judge,
    may_have_been_taken,
)
from vbdesk.voice.errors import AudioError

LOST_ANSWER_GRACE_S = 5.0  # a request on its way when the line broke may still arrive
POLL_GROWTH = 1.25
CREDITS_EVERY_S = 60.0
PROBE_HOLD_S = 60.0
LONGEST_SLEEP_S = 0.5  # how late the loop may notice that it is to stop

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CourierStatus:
    """How the line as a whole is.

    Attributes:
        connected: whether the service answered last; None before the first try.
        sentence: for the status bar.
        on_hold: what a person must do before anything moves; None when nothing.
        credits: the account's balance as last heard; None if never.
    """

    connected: bool | None
    sentence: str
    on_hold: Fix | None
    credits: int | None


class Courier:
    """Runs in one thread of its own: `run` there, everything else may be called from any thread."""

    def __init__(
        self,
        library: Library,
        client_factory: Callable[[], Client],
        clock: Clock | None = None,
        wake: threading.Event | None = None,
        *,
        plan: Plan = Plan.STANDARD,
        on_status: Callable[[CourierStatus], None] | None = None,
    ) -> None:
        """Make a courier.

        Args:
            library: whose recordings.
            client_factory: makes the client, with `retries=RetryRule.NEVER` and no plan: the courier does both itself.
                Called in the courier's thread; it may raise VaultError.
            clock: the system's if None.
            wake: ends the loop's present wait when set; set by every change of the library.
            plan: how many requests a minute the account may make.
            on_status: called with every new status, in the courier's thread.
        """
        self._library = library
        self._line = Line(library.store)
        self._client_factory = client_factory
        self._client: Client | None = None
        self._clock = clock or SystemClock()
        self._wake = wake or threading.Event()
        self._pace = Pace(REQUESTS_PER_WINDOW[plan])
        self._on_status = on_status
        self._stop = threading.Event()
        self._reconnect = threading.Event()
        self._hold: Hold | None = None
        self._hold_probe = 0.0
        self._credits_at_hold: int | None = None
        self._last_bucket = Bucket.GENERAL
        self._failures = 0  # of the connection, in a row
        self._quiet_until = 0.0
        self._polls: dict[str, tuple[float, float]] = {}  # take id: interval, when due
        self._credits: int | None = None
        self._credits_due = 0.0
        self._connected: bool | None = None
        self._status = CourierStatus(None, "Not connected yet.", None, None)

    @property
    def status(self) -> CourierStatus:
        """How the line is."""
        return self._status

    def resume(self) -> None:
        """Try again now: the key was entered, credits were added, the clock was set, or the service has moved."""
        self._reconnect.set()
        self._wake.set()

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set; an upload under way is broken off then, and begun anew at the next start."""
        self._stop = stop
        leave = self._library.subscribe(self._wake.set)
        try:
            self.recover()
            while not stop.is_set():
                self._wake.clear()
                due_s = self.step()
                while due_s > 0 and not stop.is_set() and not self._wake.wait(min(due_s, LONGEST_SLEEP_S)):
                    due_s -= LONGEST_SLEEP_S
        finally:
            leave()
            self._drop_client()

    def recover(self) -> None:
        """Put what an earlier run left half done back into the line; `run` begins with it."""
        self._line.recover()

    def step(self) -> float:
        """Do the most urgent thing, if any is due; returns the seconds until the next is."""
        if self._reconnect.is_set():
            self._reconnect.clear()
            self._drop_client()
            self._hold, self._quiet_until, self._failures = None, 0.0, 0
        try:
            return self._step()
        except VaultError as error:
            self._begin_hold(Hold(str(error), Fix.UNLOCK_KEYRING))
        except (sqlite3.Error, OSError):
            log.exception("The library could not be used")
            self._tell("The disk is full or gone. Nothing is lost; make room and the recordings go on by themselves.")
        return backoff_s(4)

    def _step(self) -> float:
        now = self._clock.monotonic()
        if now < self._quiet_until:
            return self._quiet_until - now
        waits: list[float] = []
        for event in sorted(self._line.events(), key=lambda event: not event.follows):
            wait_s = self._wait_s(event, now)
            if wait_s <= 0:
                self._connect()
                self._handle(event)
                return 0.0
            waits.append(wait_s)
        credits_wait_s = self._credits_wait_s(now)
        if credits_wait_s <= 0:
            self._connect()
            self._read_credits()
            return 0.0
        return min([*waits, credits_wait_s])

    # When

    def _wait_s(self, event: Event, now: float) -> float:
        """Seconds until `event` may be dealt with."""
        if event.follows:
            due = self._polls.get(event.take_id, (0.0, 0.0))[1]
            held_s = self._held_s(now) if self._locked_out() else 0.0
            return max(due - now, self._pace.wait_s(Bucket.POLLING, now), held_s)
        wait_s = max(self._held_s(now), self._until(event.not_before))
        if event.asked_at is not None:
            grace_s = self._until(event.asked_at + timedelta(seconds=LOST_ANSWER_GRACE_S))
            return max(wait_s, grace_s, self._pace.wait_s(Bucket.GENERAL, now))
        requests = 1 if event.upload_ref else 2
        return max(wait_s, self._pace.wait_s(Bucket.ANALYZE, now, requests))

    def _until(self, moment: datetime | None) -> float:
        """Seconds until a time of day; bounded, because that clock may be set back."""
        if moment is None:
            return 0.0
        return min((moment - self._clock.now()).total_seconds(), LONGEST_DELAY_S)

    def _locked_out(self) -> bool:
        return self._hold is not None and self._hold.fix in (Fix.ENTER_KEY, Fix.UNLOCK_KEYRING)

    def _held_s(self, now: float) -> float:
        if self._hold is None:
            return 0.0
        if self._hold.fix is Fix.SET_CLOCK:
            return self._hold_probe - now
        return PROBE_HOLD_S

    def _credits_wait_s(self, now: float) -> float:
        if self._locked_out():
            return PROBE_HOLD_S
        return max(self._credits_due - now, self._pace.wait_s(Bucket.GENERAL, now))

    # What

    def _handle(self, event: Event) -> None:
        try:
            if event.follows:
                self._follow(event)
            elif event.asked_at is not None:
                self._search_lost_answer(event)
            else:
                self._send(event)
        except UnknownTake:
            return
        except Cancelled:
            self._line.wait(event)
        except ClientError as error:
            self._deal_with(error, event)
        except (SealedError, AudioError, ValueError) as error:
            self._line.need_attention(event, str(error), Fix.REVIEW_TAKE)
        except (sqlite3.Error, OSError, VaultError):
            raise
        except Exception:  # a fault of ours in one recording must not stop the others
            log.exception("A recording could not be dealt with")
            reason = "Something unexpected went wrong with this recording. It is kept and can be sent again."
            self._line.need_attention(event, reason, Fix.TRY_AGAIN)

    def _send(self, event: Event) -> None:
        item = self._line.item(event)
        if not MIN_DURATION_S <= item.duration_s <= MAX_DURATION_S:
            self._line.need_attention(event, _length_fault(item), Fix.REVIEW_TAKE)
            return
        if not self._line.begin_upload(event):
            return
        upload_ref = event.upload_ref or self._upload(event, item)
        if upload_ref is None or not self._line.ask(event):
            return
        try:
            job = self._using(Bucket.ANALYZE).analyze(
                item.target,
                upload_ref,
                group_id=item.group_id,
                longitudinal=item.longitudinal,
                recorded_at=item.recorded_at,
                idempotency_key=event.event_id,
            )
        except ClientError as error:
            if not may_have_been_taken(error):
                self._line.not_asked(event)
            raise
        self._heard()
        self._begin_following(event, job.job_id)

    def _upload(self, event: Event, item: RecordingItem) -> str | None:
        """Bring the bytes to the storage; None if the line was put on hold."""
        upload = upload_of(self._library, item)
        cancel = _NotWanted(self._line, event, self._stop)
        client = self._using(Bucket.ANALYZE)
        grant = client.uploads.mint(upload.content_type, None, cancel)
        self._heard()
        if grant.expires_at <= self._clock.now():
            clock_says = format_timestamp(self._clock.now())
            self._begin_hold(Hold(f"The clock of this computer is wrong: it says {clock_says}. Set it.", Fix.SET_CLOCK))
            self._line.wait(event)
            return None
        source = AudioSource.from_bytes(upload.read(), upload.content_type)
        client.uploads.put(
            grant, source, progress=lambda sent, total: self._line.progress(event, sent, total), cancel=cancel
        )
        self._line.keep_upload(event, grant.upload_ref)
        return grant.upload_ref

    def _search_lost_answer(self, event: Event) -> None:
        """Look for the job of a submit whose answer was lost; without one, the recording may be sent again."""
        item = self._line.item(event)
        job_id = self._job_at_service(item)
        self._heard()
        if job_id is None:
            self._line.not_asked(event)
        else:
            self._begin_following(event, job_id)

    def _job_at_service(self, item: RecordingItem) -> str | None:
        end = item.recorded_at + timedelta(seconds=1)  # for services that round
        page, pages = 0, 1
        while page < pages:
            groups = self._using(Bucket.GENERAL).groups
            try:
                found = groups.jobs(item.group_id, page=page, from_=item.recorded_at, to=end)
            except NotFound:
                return None
            for job in found.jobs:
                names = {"model": job.model_name, "sign": job.sign_name}
                of_target = names[item.target.kind] in (item.target.name, None)
                of_moment = job.recorded_at is not None and job.recorded_at.replace(microsecond=0) == item.recorded_at
                if of_target and of_moment and not self._line.is_known_job(job.job_id):
                    return job.job_id
            page, pages = page + 1, found.total_pages
        return None

    def _begin_following(self, event: Event, job_id: str) -> None:
        self._line.taken(event, job_id)
        shortest = POLL_INTERVAL_S[0]
        self._polls[event.take_id] = (shortest, self._clock.monotonic() + shortest)

    def _follow(self, event: Event) -> None:
        job_id = self._line.item(event).job_id or ""
        interval = self._polls.get(event.take_id, POLL_INTERVAL_S)[0]
        next_interval = min(interval * POLL_GROWTH, POLL_INTERVAL_S[1])
        self._polls[event.take_id] = (next_interval, self._clock.monotonic() + interval)
        try:
            job = self._using(Bucket.POLLING).jobs.get(job_id)
        except NotFound:
            reason = "The service does not know this analysis any more. The recording is kept and can be sent again."
            self._line.need_attention(event, reason, Fix.TRY_AGAIN)
            return
        self._heard()
        if self._line.report(event, job):
            self._polls.pop(event.take_id, None)
            self._credits_due = min(self._credits_due, self._clock.monotonic() + POLL_INTERVAL_S[1])

    def _read_credits(self) -> None:
        self._credits_due = self._clock.monotonic() + CREDITS_EVERY_S
        try:
            self._credits = self._using(Bucket.GENERAL).account.credits()
        except ClientError as error:
            self._deal_with(error, None)
            return
        if self._hold is not None and self._hold.fix is Fix.ADD_CREDITS:
            if self._credits_at_hold is None:
                self._credits_at_hold = self._credits
            elif self._credits > self._credits_at_hold:
                self._hold = None
        self._heard()

    # What went wrong

    def _deal_with(self, error: ClientError, event: Event | None) -> None:
        verdict = judge(error, 0 if event is None else event.attempts)
        match verdict:
            case Offline():
                self._quiet_until = self._clock.monotonic() + backoff_s(self._failures)
                self._credits_due = min(self._credits_due, self._quiet_until)  # notices the network with an empty line
                self._failures += 1
                self._connected = False
                self._drop_client()  # the service of this computer may come back at another address
                self._tell(f"{error.sentence} Recordings wait and go on by themselves.")
            case Hold():
                self._begin_hold(verdict)
            case Closed():
                self._pace.close(self._last_bucket, self._clock.monotonic() + verdict.delay_s)
            case _:
                pass
        if event is None or event.follows:
            return
        match verdict:
            case Later():
                if verdict.upload_again:
                    self._line.keep_upload(event, None)
                self._line.wait(event, self._clock.now() + timedelta(seconds=verdict.delay_s), failed=True)
            case Attention():
                self._line.need_attention(event, verdict.sentence, verdict.fix)
            case _:
                self._line.wait(event)

    def _begin_hold(self, hold: Hold) -> None:
        self._hold = hold
        self._hold_probe = self._clock.monotonic() + PROBE_HOLD_S
        self._credits_at_hold = None
        if hold.fix is Fix.ADD_CREDITS:
            self._credits_due = self._clock.monotonic()
        self._tell(hold.sentence)

    def _heard(self) -> None:
        """The service has answered."""
        self._failures, self._connected = 0, True
        if self._hold is not None and self._hold.fix is Fix.SET_CLOCK and self._clock.monotonic() >= self._hold_probe:
            self._hold = None
        self._tell("Connected." if self._hold is None else self._hold.sentence)

    def _tell(self, sentence: str) -> None:
        status = CourierStatus(self._connected, sentence, self._hold.fix if self._hold else None, self._credits)
        if status != self._status:
            self._status = status
            if self._on_status is not None:
                self._on_status(status)

    # The client

    def _connect(self) -> Client:
        if self._client is None:
            self._client = self._client_factory()
        return self._client

    def _using(self, bucket: Bucket) -> Client:
        """The client, for one request that counts against `bucket`."""
        client = self._connect()
        self._pace.spend(bucket, self._clock.monotonic())
        self._last_bucket = bucket
        return client

    def _drop_client(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()


class _NotWanted:
    """Ends an upload when a person has cancelled it, or the courier is to stop."""

    def __init__(self, line: Line, event: Event, stop: threading.Event) -> None:
        self._line = line
        self._event = event
        self._stop = stop

    def is_set(self) -> bool:
        """Whether to end."""
        return self._stop.is_set() or not self._line.is_wanted(self._event)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the stop."""
        return self._stop.wait(timeout) or self.is_set()


def _length_fault(item: RecordingItem) -> str:
    if item.duration_s < MIN_DURATION_S:
        return f"{int(item.duration_s)} s of sound, under the {MIN_DURATION_S:.0f} s minimum, so it was not sent."
    return "The recording is longer than 20 minutes, so it was not sent. Trim it and try again."
