"""The sync worker: the one loop that sends recordings to the service and reads results back.

It never sends twice. The database records a submit before it leaves. While the answer is missing, nothing is sent for
that recording until the service was searched for a job with its `recorded_at`.
It never drops: an event leaves the database only in the transaction that changes the recording's state.

`planning` decides what is done next, and when; `task_handlers` do it; `error_policy` says what an error means.
This module manages the queue as a whole: holds, pauses, connectivity and the published status.
"""

import logging
import math
import sqlite3
import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from vbdesk.capture.encrypted_take import EncryptedFileError
from vbdesk.client import Client, ClientError, RequestBudget
from vbdesk.client.errors import Cancelled, RateLimited
from vbdesk.clock import Clock, SystemClock
from vbdesk.contract.limits import Bucket, Plan
from vbdesk.language import joined, message, message_of, plural_message
from vbdesk.outbox.library.disk_faults import waiting_sentence
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.retention import SoundRetention
from vbdesk.outbox.library.settings import SendRule
from vbdesk.outbox.library.states import Fix
from vbdesk.outbox.library.store import UnknownTake
from vbdesk.outbox.profiles.vault import VaultError
from vbdesk.outbox.results.repository import ResultRepository
from vbdesk.outbox.sync.clock_check import ClockCheck
from vbdesk.outbox.sync.connection import RequestBudgetUsedUp, ServiceConnection
from vbdesk.outbox.sync.connectivity import CONNECTED, NO_NETWORK, PORTAL, SyncStatus, connectivity_after
from vbdesk.outbox.sync.correction_handler import CorrectionHandler
from vbdesk.outbox.sync.error_policy import (
    HoldQueue,
    NeedsAttention,
    RetryLater,
    Unreachable,
    backoff_s,
    classify,
    delay_s,
    has_given_up,
)
from vbdesk.outbox.sync.forecast import Forecast, MeasuredDurations, QueuedRecording, forecast
from vbdesk.outbox.sync.network import Network, NetworkState, UnknownNetwork
from vbdesk.outbox.sync.planning import (
    CREDITS_EVERY_S,
    FindHandedOver,
    FindLostJob,
    Planner,
    PollJob,
    ReadCredits,
    ReadSubject,
    SendCorrection,
    SendingLimits,
    SendRecording,
    SyncTask,
)
from vbdesk.outbox.sync.queue_status import PROBE_S, QueueStatus
from vbdesk.outbox.sync.request_journal import StoredRequestJournal
from vbdesk.outbox.sync.sleep_watch import SleepWatch
from vbdesk.outbox.sync.task_handlers import ClockWrong, TaskHandlers
from vbdesk.outbox.sync.upload_queue import PendingEvent, UploadQueue
from vbdesk.voice.errors import AudioError

__all__ = ["SyncStatus", "SyncWorker"]

LONGEST_SLEEP_S = 0.5  # how late the loop may notice a stop, or the network's return
SETTLING_S = 3.0  # the network is unstable just after sleep
NO_ROOM_S = 1.0
MAINTENANCE_EVERY_S = 30.0
DISK_RETRY_S = 5.0
LOG_INTERVAL_S = 3600.0  # a disk that stays full must not fill the log
CONFIRMED_WITHIN_S = 2.0  # a second answer must confirm the service's time
COMPARE_INTERVAL_S = 180.0  # each read of the balance compares the clocks anyway

log = logging.getLogger(__name__)


class SyncWorker:
    """Sends recordings and reads results. `run` has its own thread; everything else is thread-safe."""

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
        on_status: Callable[[SyncStatus], None] | None = None,
    ) -> None:
        """Make a sync worker.

        Args:
            library: the recordings to send.
            client_factory: makes the client, with `retries=RetryRule.NEVER` and no plan or budget: the worker retries
                and counts itself. Called in the worker's thread; may raise VaultError.
            clock: the system's if None.
            wake: ends the loop's wait when set; every change of the library sets it.
            plan: gives the request limits if there is no `budget`.
            budget: shared with everything else in this program that uses the account.
            network: what the operating system knows; None for a service on this computer.
            results: where service answers are stored; made if None.
            on_status: called with every new status, in the worker's thread.
        """
        self._library = library
        self._queue = UploadQueue(library.store)
        self._clock = clock or SystemClock()
        self._wake = wake or threading.Event()
        self._budget = budget or RequestBudget.of_plan(plan, StoredRequestJournal(library.store))
        self._network = network or UnknownNetwork()
        self._connection = ServiceConnection(client_factory, self._budget, self._clock, self._on_answer)
        self._planner = Planner(self._clock, self._budget)
        self._measured = MeasuredDurations()
        results = results or ResultRepository(library, client_factory)
        self._handlers = TaskHandlers(
            library, results, self._queue, self._connection, self._planner, self._clock, self._measured
        )
        self._correction_handler = CorrectionHandler(library.corrections, self._connection, self._planner, self._clock)
        self._sleep_watch = SleepWatch(self._clock)
        self._clock_check = ClockCheck(self._clock, library.times)
        self._queue_status = QueueStatus(self._clock, on_status)
        self._reconnect = threading.Event()
        self._asked = threading.Event()
        self._retention = SoundRetention(library)
        self._maintenance_due = 0.0
        self._trash_due = 0.0
        self._quiet_until = 0.0
        self._disk_fault_logged_at = -math.inf
        self._seen = NetworkState()

    @property
    def status(self) -> SyncStatus:
        """State of the queue as a whole."""
        return self._queue_status.status

    def resume(self) -> None:
        """Retry now: the key, the credits, the clock or the service's address has changed."""
        self._reconnect.set()
        self._wake.set()

    def check_now(self) -> None:
        """Ask the service for everything that waits for it, within the plan's limits. From any thread."""
        self._asked.set()
        self._wake.set()

    def forecast(self) -> Forecast:
        """Estimate when the queue is done. Reads the library, so not for the GUI thread."""
        now = self._clock.monotonic()
        events = self._queue.events()
        line = [
            QueuedRecording(
                event.take_id,
                event.duration_s,
                event.upload_ref is not None,
                self._handlers.taken_since_s(event) if event.follows else None,
            )
            for event in events
        ]
        manual = self._sends_manually() and any(not (event.follows or event.released) for event in events)
        blocked = (
            self._queue_status.hold
            or self._queue_status.disk_fault
            or self._queue_status.connectivity.connected is False
        )
        if manual or blocked or self._send_delay_s():
            return Forecast(len(line), None)
        limit = self._budget.limit(Bucket.ANALYZE)
        opens_in_s = [self._budget.wait_s(Bucket.ANALYZE, now, count) for count in range(1, limit + 1)]
        return forecast(line, opens_in_s, self._measured)

    def has_checked_service(self) -> bool:
        """Whether this run has searched the service for all that was handed over. Not for the GUI thread."""
        return self._planner.has_searched_for(self._queue.handed_over())

    # The loop

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set. A stop cancels a running upload, which starts again at the next start."""
        self._handlers.stop = stop
        leave = self._library.subscribe(self._wake.set)
        work = self._first_step
        try:
            while not stop.is_set():
                self._wake.clear()
                due_s = self._run_safely(work)
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
        """Put what an earlier run left unfinished back into the queue; `run` starts with it."""
        self._queue.recover()
        self._queue.retry_postponed()
        for group_id in self._queue.subjects_to_read():
            self._planner.read_subject(group_id)

    def _first_step(self) -> float:
        def work() -> float:
            self.recover()
            return 0.0

        return self._guarded(work)

    def _run_safely(self, work: Callable[[], float]) -> float:
        """Do one part of `run`; the thread survives any error."""
        try:
            return work()
        except Exception:  # a bug; without this thread nothing would ever be sent
            log.exception("A step of the sync worker failed")
            self._queue_status.publish(
                message("Something unexpected went wrong. Nothing is lost; it is retried automatically.")
            )
            return backoff_s(4)

    def disconnect(self) -> None:
        """Close the connections; `run` ends with it."""
        self._connection.drop()

    def step(self) -> float:
        """Do the most urgent task if one is due; returns the seconds until the next."""
        due_s = self._guarded(self._step)
        self._sleep_watch.expect_step_within(due_s)
        return due_s

    def _guarded(self, work: Callable[[], float]) -> float:
        """Do one part of the loop; after a disk fault, only once the disk accepts writes again."""
        try:
            if self._queue_status.disk_fault:
                self._library.store.check_disk()
            due_s = work()
            if self._queue_status.disk_fault:
                self._queue_status.disk_fault = ""
                self._publish_status()
            return due_s
        except VaultError as error:
            self._begin_hold(HoldQueue(message_of(error), Fix.UNLOCK_KEYRING))
            return PROBE_S[Fix.UNLOCK_KEYRING]
        except (sqlite3.Error, OSError) as error:
            return self._on_library_error(error)

    def _on_library_error(self, error: Exception) -> float:
        """Report that the library could not be used; returns the seconds until the retry."""
        sentence, now = waiting_sentence(error), self._clock.monotonic()
        if now >= self._disk_fault_logged_at + LOG_INTERVAL_S:
            self._disk_fault_logged_at = now
            log.error("The library could not be used", exc_info=error)
        self._queue_status.disk_fault = sentence
        self._queue_status.publish(sentence)
        return DISK_RETRY_S

    def _step(self) -> float:
        if self._reconnect.is_set():
            self._reconnect.clear()
            self._restart()
        if self._asked.is_set():
            self._asked.clear()
            self._planner.ask_now()
        now = self._clock.monotonic()
        self._destroy_trashed(now)
        if self._sleep_watch.has_slept():
            self.disconnect()
            self._quiet_until = max(self._quiet_until, now + SETTLING_S)
        if not self._has_network():
            return LONGEST_SLEEP_S
        if now < self._quiet_until:
            return self._quiet_until - now
        corrections = [] if self._library.store.sending_blocked else self._library.corrections.due()
        task, wait_s = self._planner.next(
            self._queue.events(), self._queue.handed_over(), self._sending_limits(), corrections
        )
        if task is not None:
            self._run_task(task)
            return 0.0
        return self._run_maintenance(now, wait_s)

    def _destroy_trashed(self, now: float) -> None:
        """Destroy some of what was in the trash for long enough, also without a network."""
        if now >= self._trash_due and not self._library.trash.destroy_due():
            self._trash_due = now + MAINTENANCE_EVERY_S

    def _run_maintenance(self, now: float, wait_s: float) -> float:
        """Delete sounds by the retention rule while nothing else is due; returns the seconds until the next step."""
        if now < self._maintenance_due:
            return wait_s
        if self._retention.step(self._connection.last_answer_time()):
            return 0.0
        self._maintenance_due = now + MAINTENANCE_EVERY_S
        return wait_s

    def _has_network(self) -> bool:
        """Whether the system has a network; restarts the queue when it is back."""
        before, self._seen = self._seen, self._network.state()
        if self._seen.reachable is False:
            if before.reachable is not False:
                self._queue_status.set_unreachable(NO_NETWORK)
                self._publish_status()
            return False
        if before.reachable is False or (before.behind_portal and not self._seen.behind_portal):
            self._restart()
        return True

    def _sending_limits(self) -> SendingLimits:
        if self._queue_status.fix is Fix.ENTER_KEY:
            return SendingLimits(only_credits_s=self._queue_status.probe_in_s)
        return SendingLimits(self._send_delay_s(), self._sends_manually(), answered=self._connection.answered)

    def _send_delay_s(self) -> float:
        blocked = self._library.store.sending_blocked or self._library.settings().paused
        return math.inf if blocked else self._queue_status.probe_in_s

    def _sends_manually(self) -> bool:
        """Whether only recordings that a person has released are sent."""
        rule = self._library.settings().send_rule
        return rule is SendRule.BY_HAND or (rule is SendRule.UNMETERED and bool(self._seen.metered))

    def _paused_sentence(self) -> str:
        """Why nothing is sent although it could be; empty if it is sent."""
        rules = self._library.settings()
        if self._library.store.sending_blocked:
            return message("Nothing is sent before the list of recordings is in order; results still come.")
        if rules.paused:
            return message("Sending is paused; results still come.")
        if rules.send_rule is SendRule.UNMETERED and self._seen.metered:
            return message("Recordings wait for a network that does not cost by volume.")
        return ""

    # One task

    def _run_task(self, task: SyncTask) -> None:
        event = task.event if isinstance(task, SendRecording | FindLostJob | PollJob | FindHandedOver) else None
        sent = event if isinstance(task, SendRecording | FindLostJob) else None
        try:
            self._dispatch(task)
        except UnknownTake:
            return
        except (Cancelled, RequestBudgetUsedUp, ClockWrong) as interruption:
            if isinstance(interruption, ClockWrong):
                self._clock_is_wrong()
            if sent is not None:
                self._queue.requeue(sent, self._after(interruption))
        except ClientError as error:
            self._on_client_error(error, sent)
        except VaultError:
            if sent is not None:
                self._queue.requeue(sent)
            raise
        except (sqlite3.Error, OSError):
            raise
        except (EncryptedFileError, AudioError, ValueError) as error:
            self._mark_failed(event, message_of(error), Fix.REVIEW_TAKE)
        except Exception:  # a bug in one recording must not stop the others
            reason = message("Something unexpected went wrong with this recording. It is kept and can be sent again.")
            self._mark_failed(event, reason, Fix.TRY_AGAIN)
            if isinstance(task, SendCorrection):
                self._correction_handler.postpone(task.entry)

    def _after(self, interruption: Exception) -> datetime | None:
        """When to retry an interrupted recording; without budget, an immediate retry would be useless."""
        return (
            self._clock.now() + timedelta(seconds=NO_ROOM_S) if isinstance(interruption, RequestBudgetUsedUp) else None
        )

    def _dispatch(self, task: SyncTask) -> None:
        match task:
            case SendRecording(event):
                if self._handlers.send(event):
                    self._queue_status.release(Fix.ADD_CREDITS)
            case FindLostJob(event):
                self._handlers.find_lost_job(event)
            case PollJob(event):
                self._handlers.poll_job(event)
            case FindHandedOver(event):
                self._handlers.find_handed_over(event)
            case SendCorrection(entry):
                self._correction_handler.run(entry)
            case ReadSubject(group_id):
                self._handlers.read_subject(group_id)
            case ReadCredits():
                if self._queue_status.fix is Fix.ENTER_KEY:
                    self.disconnect()  # the key may have changed
                    self._queue_status.postpone_probe(PROBE_S[Fix.ENTER_KEY])
                self._queue_status.take_in_credits(self._handlers.read_credits())
        self._publish_status()

    def _mark_failed(self, event: PendingEvent | None, reason: str, fix: Fix) -> None:
        """Let a recording wait for a person, because of the exception being handled."""
        if fix is Fix.TRY_AGAIN or event is None:
            log.exception("A task failed")
        if event is not None:
            self._queue.need_attention(event, reason, fix)

    # Errors

    def _on_client_error(self, error: ClientError, event: PendingEvent | None) -> None:
        """Apply the policy for `error` to the queue, and to the recording that was being sent, if any."""
        self._queue_status.release(Fix.UNLOCK_KEYRING)  # the service was tried, so there is a key
        action = classify(error)
        if isinstance(action, Unreachable):
            self._set_unreachable(error)
        elif isinstance(action, HoldQueue):
            self._begin_hold(action)
        elif isinstance(error, RateLimited):
            pause = "a minute" if error.retry_after_s is None else f"{error.retry_after_s:.0f} s"
            log.warning("The service asks for a pause of %s although we kept within the plan", pause)
        self._publish_status()
        if event is None:
            return
        match action:
            case NeedsAttention():
                self._queue.need_attention(event, action.sentence, action.fix)
            case RetryLater(upload_again):
                if upload_again:
                    self._queue.forget_upload(event)
                self._retry_later(event, error)
            case Unreachable(failed=True):
                self._retry_later(event, error)
            case _:
                self._queue.requeue(event)

    def _retry_later(self, event: PendingEvent, error: ClientError) -> None:
        attempts = event.attempts + 1
        at = self._clock.now() + timedelta(seconds=delay_s(attempts))
        if has_given_up(attempts):
            self._queue.postpone(
                event,
                at,
                joined(
                    error.reason,
                    plural_message("It was tried {count} time.", "It was tried {count} times.", attempts),
                    message("It is kept and will be retried automatically."),
                ),
            )
        else:
            self._queue.requeue(event, at, failed=True)

    def _set_unreachable(self, error: ClientError) -> None:
        before = self._queue_status.set_unreachable(PORTAL if self._seen.behind_portal else connectivity_after(error))
        quiet_s = backoff_s(before)
        self._quiet_until = self._clock.monotonic() + quiet_s
        self._planner.read_credits(quiet_s)  # detects the network with an empty queue
        if self._queue_status.fix is Fix.ENTER_KEY:
            self._queue_status.postpone_probe(CREDITS_EVERY_S)  # the connection failed, not the key
        self.disconnect()  # a service on this computer may return at another address

    def _begin_hold(self, hold: HoldQueue) -> None:
        if hold.fix is not self._queue_status.fix:
            log.info("The queue waits for a person: %s", hold.fix)
        self._queue_status.begin_hold(hold)
        if hold.fix is Fix.ADD_CREDITS:
            self._planner.read_credits(0.0)
        self._publish_status()

    def _clock_is_wrong(self) -> None:
        error = self._connection.clock_error
        self._begin_hold(HoldQueue(self._clock_check.sentence(error), Fix.SET_CLOCK))
        if error is not None:
            self._queue_status.postpone_probe(COMPARE_INTERVAL_S)

    # Answers

    def _on_answer(self) -> None:
        """Update the status after an answer of the service."""
        if self._queue_status.set_reached():
            self._queue.retry_postponed()
        self._queue_status.release(Fix.ENTER_KEY, Fix.UNLOCK_KEYRING)
        answer = self._connection.answer
        confirmed = answer is not None and self._clock_check.add_answer(answer)
        if self._clock_check.needs_another:
            self._planner.read_credits(CONFIRMED_WITHIN_S)
        if self._connection.clock_is_wrong:
            if confirmed:
                self._clock_is_wrong()
        elif answer is not None or self._queue_status.is_probed():
            self._queue_status.release(Fix.SET_CLOCK)
        self._publish_status()

    def _restart(self) -> None:
        """Retry everything at once: a person has acted, or the network is back."""
        self.disconnect()
        self._queue_status.restart()
        self._quiet_until = 0.0
        self._queue.retry_postponed()
        self._planner.read_credits(0.0)

    def _publish_status(self) -> None:
        resting = self._paused_sentence()
        self._queue_status.publish(
            f"{CONNECTED.sentence} {resting}".rstrip() if self._queue_status.connectivity.connected else resting
        )
