"""The courier: the one loop that brings recordings to the service and results back.

It never sends twice: before a request that starts an analysis leaves, the database knows of it, and while its answer is
missing nothing is sent for that recording until the service has been searched for a job of its `recorded_at`. It never
drops: an event leaves the database only together with the change of state that it stood for.

What is done next, and when, is decided in `planning`; what a task does, in `steps`; what an error means, in `verdicts`.
Here the line as a whole is kept: holds, pauses, the way to the service, and what is said of it.
"""

import logging
import math
import sqlite3
import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from vbdesk.capture.clock import Clock, SystemClock
from vbdesk.capture.encrypted_take import SealedError
from vbdesk.client import Client, ClientError, RequestBudget
from vbdesk.client.errors import Cancelled, RateLimited
from vbdesk.contract.limits import Bucket, Plan
from vbdesk.outbox.library.disk_faults import waiting_sentence
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.retention import SoundRetention
from vbdesk.outbox.library.settings import SendRule
from vbdesk.outbox.library.states import Fix
from vbdesk.outbox.library.store import UnknownTake
from vbdesk.outbox.profiles.vault import VaultError
from vbdesk.outbox.results.repository import ResultRepository
from vbdesk.outbox.sync.clock_check import ClockCheck
from vbdesk.outbox.sync.connection import Connection, NoRoom
from vbdesk.outbox.sync.connectivity import CONNECTED, NO_NETWORK, PORTAL, CourierStatus, way_of
from vbdesk.outbox.sync.error_policy import Attention, Hold, Later, Offline, backoff_s, delay_s, has_given_up, judge
from vbdesk.outbox.sync.forecast import Forecast, InLine, Measured, forecast
from vbdesk.outbox.sync.network import Network, NetworkState, UnknownNetwork
from vbdesk.outbox.sync.planning import (
    CREDITS_EVERY_S,
    Agenda,
    Follow,
    Gate,
    LookFor,
    ReadCredits,
    ReadSubject,
    Search,
    Send,
    Task,
)
from vbdesk.outbox.sync.queue_status import PROBE_S, Standing
from vbdesk.outbox.sync.request_journal import StoredRequests
from vbdesk.outbox.sync.sleep_watch import SleepWatch
from vbdesk.outbox.sync.task_handlers import ClockWrong, Steps
from vbdesk.outbox.sync.upload_queue import Event, Line
from vbdesk.voice.errors import AudioError

__all__ = ["Courier", "CourierStatus"]

LONGEST_SLEEP_S = 0.5  # how late the loop may notice that it is to stop, or that the network is back
SETTLING_S = 3.0  # after sleep the network comes back piece by piece
NO_ROOM_S = 1.0
HOUSE_EVERY_S = 30.0
DISK_AGAIN_S = 5.0
LOGGED_AGAIN_S = 3600.0  # a disk that stays full must not fill the log
CONFIRMED_WITHIN_S = 2.0  # after one answer of the service another is asked for, which must tell the same time
COMPARED_AGAIN_S = 180.0  # a clock known to be wrong is compared with each balance, so it need not be tried

log = logging.getLogger(__name__)


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
        budget: RequestBudget | None = None,
        network: Network | None = None,
        results: ResultRepository | None = None,
        on_status: Callable[[CourierStatus], None] | None = None,
    ) -> None:
        """Make a courier.

        Args:
            library: whose recordings.
            client_factory: makes the client, with `retries=RetryRule.NEVER` and no plan or budget: the courier does
                both itself. Called in the courier's thread; it may raise VaultError.
            clock: the system's if None.
            wake: ends the loop's present wait when set; set by every change of the library.
            plan: how many requests a minute the account may make, where no budget is given.
            budget: shared with everything else in this program that asks in the account's name.
            network: what the operating system knows; None for a service on this computer.
            results: where answers of the service are stored; one of its own if None.
            on_status: called with every new status, in the courier's thread.
        """
        self._library = library
        self._line = Line(library.store)
        self._clock = clock or SystemClock()
        self._wake = wake or threading.Event()
        self._budget = budget or RequestBudget.of_plan(plan, StoredRequests(library.store))
        self._network = network or UnknownNetwork()
        self._connection = Connection(client_factory, self._budget, self._clock, self._heard)
        self._agenda = Agenda(self._clock, self._budget)
        self._measured = Measured()
        results = results or ResultRepository(library, client_factory)
        self._steps = Steps(library, results, self._line, self._connection, self._agenda, self._clock, self._measured)
        self._sleep_watch = SleepWatch(self._clock)
        self._clock_check = ClockCheck(self._clock, library.times)
        self._standing = Standing(self._clock, on_status)
        self._reconnect = threading.Event()
        self._retention = SoundRetention(library)
        self._house_due = 0.0
        self._quiet_until = 0.0
        self._disk_fault_logged_at = -math.inf
        self._seen = NetworkState()

    @property
    def status(self) -> CourierStatus:
        """How the line is."""
        return self._standing.status

    def resume(self) -> None:
        """Try again now: the key was entered, credits were added, the clock was set, or the service has moved."""
        self._reconnect.set()
        self._wake.set()

    def forecast(self) -> Forecast:
        """How long the line will take. Reads the library: not for the thread of a window."""
        now = self._clock.monotonic()
        events = self._line.events()
        line = [
            InLine(
                event.take_id,
                event.duration_s,
                event.upload_ref is not None,
                self._steps.taken_since_s(event) if event.follows else None,
            )
            for event in events
        ]
        by_hand = self._is_by_hand() and any(not (event.follows or event.released) for event in events)
        stands = self._standing.hold or self._standing.disk_fault or self._standing.way.connected is False
        if by_hand or stands or self._sends_wait_s():
            return Forecast(len(line), None)
        limit = self._budget.limit(Bucket.ANALYZE)
        opens_in_s = [self._budget.wait_s(Bucket.ANALYZE, now, count) for count in range(1, limit + 1)]
        return forecast(line, opens_in_s, self._measured)

    def has_looked(self) -> bool:
        """Whether this run has looked at the service for all that was handed over. Not for the thread of a window."""
        return self._agenda.has_looked_for(self._line.handed_over())

    # The loop

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set; an upload under way is broken off then, and begun anew at the next start."""
        self._steps.stop = stop
        leave = self._library.subscribe(self._wake.set)
        work = self._first_step
        try:
            while not stop.is_set():
                self._wake.clear()
                due_s = self._survived(work)
                if due_s == 0:
                    work = self.step
                while due_s > 0 and not stop.is_set() and not self._wake.wait(min(due_s, LONGEST_SLEEP_S)):
                    due_s -= LONGEST_SLEEP_S
                    if self._network.state() != self._seen:
                        break
        finally:
            leave()
            self.disconnect()

    def recover(self) -> None:
        """Put what an earlier run left half done back into the line; `run` begins with it."""
        self._line.recover()
        self._line.try_again()
        for group_id in self._line.subjects_to_read():
            self._agenda.read_subject(group_id)

    def _first_step(self) -> float:
        def work() -> float:
            self.recover()
            return 0.0

        return self._guarded(work)

    def _survived(self, work: Callable[[], float]) -> float:
        """Do a part of `run`; whatever comes of it, the thread goes on."""
        try:
            return work()
        except Exception:  # a fault of ours; without the courier nothing would ever be sent again
            log.exception("A step of the courier went wrong")
            self._standing.tell("Something unexpected went wrong. Nothing is lost; it is tried again by itself.")
            return backoff_s(4)

    def disconnect(self) -> None:
        """Let go of the connections; `run` ends with it."""
        self._connection.drop()

    def step(self) -> float:
        """Do the most urgent thing, if any is due; returns the seconds until the next is."""
        due_s = self._guarded(self._step)
        self._sleep_watch.look_again_in(due_s)
        return due_s

    def _guarded(self, work: Callable[[], float]) -> float:
        """Do a part of the loop; after a fault of the disk, only once the disk takes changes again."""
        try:
            if self._standing.disk_fault:
                self._library.store.try_disk()
            due_s = work()
            if self._standing.disk_fault:
                self._standing.disk_fault = ""
                self._tell()
            return due_s
        except VaultError as error:
            self._begin_hold(Hold(str(error), Fix.UNLOCK_KEYRING))
            return PROBE_S[Fix.UNLOCK_KEYRING]
        except (sqlite3.Error, OSError) as error:
            return self._library_is_out(error)

    def _library_is_out(self, error: Exception) -> float:
        """The library could not be used; returns the seconds until it is tried again."""
        sentence, now = waiting_sentence(error), self._clock.monotonic()
        if now >= self._disk_fault_logged_at + LOGGED_AGAIN_S:
            self._disk_fault_logged_at = now
            log.error("The library could not be used", exc_info=error)
        self._standing.disk_fault = sentence
        self._standing.tell(sentence)
        return DISK_AGAIN_S

    def _step(self) -> float:
        if self._reconnect.is_set():
            self._reconnect.clear()
            self._begin_anew()
        now = self._clock.monotonic()
        if self._sleep_watch.has_slept():
            self.disconnect()
            self._quiet_until = max(self._quiet_until, now + SETTLING_S)
        if not self._has_network():
            return LONGEST_SLEEP_S
        if now < self._quiet_until:
            return self._quiet_until - now
        task, wait_s = self._agenda.next(self._line.events(), self._line.handed_over(), self._gate())
        if task is not None:
            self._do(task)
            return 0.0
        return self._keep_house(now, wait_s)

    def _keep_house(self, now: float, wait_s: float) -> float:
        """While nothing is to be sent or read: remove sounds as the rule says. Seconds until the next step."""
        if now < self._house_due:
            return wait_s
        if self._retention.step(self._connection.heard_time()):
            return 0.0
        self._house_due = now + HOUSE_EVERY_S
        return wait_s

    def _has_network(self) -> bool:
        """What the system knows; when it finds a network again, the line goes on at once."""
        before, self._seen = self._seen, self._network.state()
        if self._seen.reachable is False:
            if before.reachable is not False:
                self._standing.lost(NO_NETWORK)
                self._tell()
            return False
        if before.reachable is False or (before.behind_portal and not self._seen.behind_portal):
            self._begin_anew()
        return True

    def _gate(self) -> Gate:
        if self._standing.fix is Fix.ENTER_KEY:
            return Gate(only_credits_s=self._standing.probe_in_s)
        return Gate(self._sends_wait_s(), self._is_by_hand(), heard=self._connection.answered)

    def _sends_wait_s(self) -> float:
        stands = self._library.store.held or self._library.settings().paused
        return math.inf if stands else self._standing.probe_in_s

    def _is_by_hand(self) -> bool:
        """Whether only what a person has released is sent."""
        rule = self._library.settings().send_rule
        return rule is SendRule.BY_HAND or (rule is SendRule.UNMETERED and bool(self._seen.metered))

    def _resting(self) -> str:
        """Why nothing is sent though it could be; empty if it is sent."""
        rules = self._library.settings()
        if self._library.store.held:
            return "Nothing is sent before the list of recordings is in order; results still come."
        if rules.paused:
            return "Sending is paused; results still come."
        if rules.send_rule is SendRule.UNMETERED and self._seen.metered:
            return "Recordings wait for a network that does not cost by volume."
        return ""

    # One task

    def _do(self, task: Task) -> None:
        event = task.event if isinstance(task, Send | Search | Follow | LookFor) else None
        sent = event if isinstance(task, Send | Search) else None
        try:
            self._begin(task)
        except UnknownTake:
            return
        except (Cancelled, NoRoom, ClockWrong) as interruption:
            if isinstance(interruption, ClockWrong):
                self._clock_is_wrong()
            if sent is not None:
                self._line.wait(sent, self._after(interruption))
        except ClientError as error:
            self._deal_with(error, sent)
        except VaultError:
            if sent is not None:
                self._line.wait(sent)
            raise
        except (sqlite3.Error, OSError):
            raise
        except (SealedError, AudioError, ValueError) as error:
            self._set_aside(event, str(error), Fix.REVIEW_TAKE)
        except Exception:  # a fault of ours in one recording must not stop the others
            reason = "Something unexpected went wrong with this recording. It is kept and can be sent again."
            self._set_aside(event, reason, Fix.TRY_AGAIN)

    def _after(self, interruption: Exception) -> datetime | None:
        """When to go on with a recording: without room for a request, trying at once would only try again."""
        return self._clock.now() + timedelta(seconds=NO_ROOM_S) if isinstance(interruption, NoRoom) else None

    def _begin(self, task: Task) -> None:
        match task:
            case Send(event):
                if self._steps.send(event):
                    self._standing.lift(Fix.ADD_CREDITS)
            case Search(event):
                self._steps.search(event)
            case Follow(event):
                self._steps.follow(event)
            case LookFor(event):
                self._steps.look_for(event)
            case ReadSubject(group_id):
                self._steps.read_subject(group_id)
            case ReadCredits():
                if self._standing.fix is Fix.ENTER_KEY:
                    self.disconnect()  # the key may be another one by now
                    self._standing.hold_on(PROBE_S[Fix.ENTER_KEY])
                self._standing.take_in_credits(self._steps.read_credits())
        self._tell()

    def _set_aside(self, event: Event | None, reason: str, fix: Fix) -> None:
        """A recording waits for a person, because of the exception being handled; what is none is tried again."""
        if fix is Fix.TRY_AGAIN or event is None:
            log.exception("A task could not be done")
        if event is not None:
            self._line.need_attention(event, reason, fix)

    # What went wrong

    def _deal_with(self, error: ClientError, event: Event | None) -> None:
        """Draw the consequences for the line, and for the recording that was being sent, if one was."""
        self._standing.lift(Fix.UNLOCK_KEYRING)  # with a key the service could be tried
        verdict = judge(error)
        if isinstance(verdict, Offline):
            self._lose_way(error)
        elif isinstance(verdict, Hold):
            self._begin_hold(verdict)
        elif isinstance(error, RateLimited):
            pause = "a minute" if error.retry_after_s is None else f"{error.retry_after_s:.0f} s"
            log.warning("The service asks for a pause of %s, though we kept within the plan", pause)
        self._tell()
        if event is None:
            return
        match verdict:
            case Attention():
                self._line.need_attention(event, verdict.sentence, verdict.fix)
            case Later(upload_again):
                if upload_again:
                    self._line.forget_upload(event)
                self._try_later(event, error)
            case Offline(failed=True):
                self._try_later(event, error)
            case _:
                self._line.wait(event)

    def _try_later(self, event: Event, error: ClientError) -> None:
        attempts = event.attempts + 1
        at = self._clock.now() + timedelta(seconds=delay_s(attempts))
        if has_given_up(attempts):
            self._line.give_up_for_now(
                event,
                at,
                f"{error.sentence} It was tried {attempts} times; it is kept and will be tried again by itself.",
            )
        else:
            self._line.wait(event, at, failed=True)

    def _lose_way(self, error: ClientError) -> None:
        before = self._standing.lost(PORTAL if self._seen.behind_portal else way_of(error))
        quiet_s = backoff_s(before)
        self._quiet_until = self._clock.monotonic() + quiet_s
        self._agenda.read_credits(quiet_s)  # notices the network with an empty line
        if self._standing.fix is Fix.ENTER_KEY:
            self._standing.hold_on(CREDITS_EVERY_S)  # it was the way that was tried, not the key
        self.disconnect()  # the service of this computer may come back at another address

    def _begin_hold(self, hold: Hold) -> None:
        if hold.fix is not self._standing.fix:
            log.info("The line waits for a person: %s", hold.fix)
        self._standing.begin_hold(hold)
        if hold.fix is Fix.ADD_CREDITS:
            self._agenda.read_credits(0.0)
        self._tell()

    def _clock_is_wrong(self) -> None:
        error = self._connection.clock_error
        self._begin_hold(Hold(self._clock_check.sentence(error), Fix.SET_CLOCK))
        if error is not None:
            self._standing.hold_on(COMPARED_AGAIN_S)

    # What went well

    def _heard(self) -> None:
        """The service has answered."""
        if self._standing.reached():
            self._line.try_again()
        self._standing.lift(Fix.ENTER_KEY, Fix.UNLOCK_KEYRING)
        answer = self._connection.answer
        confirmed = answer is not None and self._clock_check.hear(answer)
        if self._clock_check.needs_another:
            self._agenda.read_credits(CONFIRMED_WITHIN_S)
        if self._connection.clock_is_wrong:
            if confirmed:
                self._clock_is_wrong()
        elif answer is not None or self._standing.is_probed():
            self._standing.lift(Fix.SET_CLOCK)
        self._tell()

    def _begin_anew(self) -> None:
        """A person has mended something, or the network is back: nothing that was put off waits any longer."""
        self.disconnect()
        self._standing.begin_anew()
        self._quiet_until = 0.0
        self._line.try_again()
        self._agenda.read_credits(0.0)

    def _tell(self) -> None:
        resting = self._resting()
        self._standing.tell(f"{CONNECTED.sentence} {resting}".rstrip() if self._standing.way.connected else resting)
