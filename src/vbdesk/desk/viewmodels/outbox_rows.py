"""The outbox as rows: what is happening to each recording, how long it will take, what a person can do. No Qt."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from vbdesk.contract.limits import REQUESTS_PER_WINDOW, Bucket, Plan
from vbdesk.desk.models.cells import Act, Cell, LevelMark, Moving, StateMark, TwoLines, Words
from vbdesk.desk.viewmodels.levels import level_of
from vbdesk.desk.viewmodels.time_words import day_and_time, in_about, megabytes, place_in_line, rate_words
from vbdesk.outbox.courier import CourierStatus
from vbdesk.outbox.items import RecordingItem
from vbdesk.outbox.states import ON_THEIR_WAY, Fix, OutboxState

_S = OutboxState

HEADINGS = ("Subject", "State", "What is happening", "Estimate", "")

STOPPED = frozenset({_S.NEEDS_ATTENTION, _S.FAILED, _S.TIMED_OUT})
"""States in which a recording waits for a person."""

ANALYSIS_S = 20.0
"""A usual analysis, until this desk has seen some."""

_REQUESTS_A_RECORDING = 2  # a place for the upload, and the analysis


class Show(StrEnum):
    """Which recordings are listed."""

    ALL = "all"
    ON_THEIR_WAY = "on_their_way"
    ATTENTION = "attention"
    DONE = "done"


SHOWN: Mapping[Show, frozenset[OutboxState]] = {
    Show.ALL: frozenset(OutboxState),
    Show.ON_THEIR_WAY: ON_THEIR_WAY,
    Show.ATTENTION: STOPPED | {_S.CHECKED},
    Show.DONE: frozenset({_S.DONE}),
}

# in the order of the list: what moves, what waits, what needs a person, what is done
_ORDER = {
    _S.UPLOADING: 0,
    _S.RUNNING: 1,
    _S.SUBMITTED: 1,
    _S.WAITING: 2,
    _S.NEEDS_ATTENTION: 3,
    _S.TIMED_OUT: 3,
    _S.FAILED: 3,
    _S.CHECKED: 4,
    _S.DONE: 5,
}

_FIX_WORDS = {
    Fix.REVIEW_TAKE: "Review take",
    Fix.TRY_AGAIN: "Try again",
    Fix.CHANGE_TARGET: "Review take",
    Fix.ENTER_KEY: "Enter key",
    Fix.ADD_CREDITS: "Add credits",
    Fix.SET_CLOCK: "Try again",
    Fix.UNLOCK_KEYRING: "Unlock",
}

_STOPPED_WORDS = {
    _S.NEEDS_ATTENTION: "This recording waits for you.",
    _S.FAILED: "The analysis failed. The recording is kept and can be sent again.",
    _S.TIMED_OUT: "The service gave no result in time. The recording is kept and can be sent again.",
}


class Deed(StrEnum):
    """What the button of a row does."""

    NONE = "none"
    CANCEL = "cancel"
    SEND = "send"
    RETRY = "retry"
    REVIEW = "review"
    ACCOUNT = "account"
    RESUME = "resume"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One recording as it is shown; equal rows look the same."""

    key: str
    state: OutboxState
    deed: Deed
    cells: tuple[Cell, ...] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Figures:
    """The five figures at the head of the page."""

    waiting: int = 0
    uploading: int = 0
    running: int = 0
    attention: int = 0
    done_today: int = 0


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the words depend on beside the recording itself.

    Attributes:
        rates: bytes a second of each upload under way, by take id.
        places: place in the line of each waiting recording, from 1.
    """

    now: datetime
    status: CourierStatus
    plan: Plan
    rates: Mapping[str, float]
    places: Mapping[str, int]


def ordered(items: Iterable[RecordingItem]) -> list[RecordingItem]:
    """As listed: what moves first, then the line, then what needs a person, then the done, newest first."""

    def rank(item: RecordingItem) -> tuple[int, float, str]:
        order = _ORDER[item.state]
        moment = item.created_at if item.state is _S.WAITING else item.updated_at
        seconds = moment.timestamp()
        if item.state in (_S.DONE, _S.CHECKED) or item.state in STOPPED:
            return order, -item.recorded_at.timestamp(), item.take_id
        return order, seconds, item.take_id

    return sorted(items, key=rank)


def places_in_line(items: Iterable[RecordingItem]) -> dict[str, int]:
    """Place of each waiting recording, from 1, in the order the courier takes them."""
    waiting = [item for item in items if item.state is _S.WAITING]
    return {item.take_id: place for place, item in enumerate(sorted(waiting, key=lambda item: item.created_at), 1)}


def figures_of(items: Iterable[RecordingItem], now: datetime) -> Figures:
    """Count for the head of the page."""
    count = dict.fromkeys(OutboxState, 0)
    done_today, midnight = 0, now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    for item in items:
        count[item.state] += 1
        done_today += item.state is _S.DONE and item.updated_at >= midnight
    return Figures(
        waiting=count[_S.WAITING],
        uploading=count[_S.UPLOADING],
        running=count[_S.RUNNING] + count[_S.SUBMITTED],
        attention=sum(count[state] for state in STOPPED),
        done_today=done_today,
    )


def row_of(item: RecordingItem, around: Circumstances) -> OutboxRow:
    """One recording as a row."""
    words, act = _deed(item)
    cells: tuple[Cell, ...] = (
        TwoLines(item.group_id, day_and_time(item.recorded_at, around.now)),
        StateMark(item.state),
        _happening(item, around),
        Words(_estimate(item, around), ink="text2" if item.state in STOPPED or item.state is _S.DONE else "text"),
        Act(words, quiet=act is Deed.CANCEL),
    )
    return OutboxRow(item.take_id, item.state, act, cells)


def whole_line_s(around: Circumstances) -> float:
    """Seconds until everything in the line should be done."""
    return _seconds_to(max(around.places.values(), default=0), around.plan)


def _happening(item: RecordingItem, around: Circumstances) -> Cell:
    match item.state:
        case _S.UPLOADING if item.bytes_total:
            rate = around.rates.get(item.take_id, 0.0)
            more = f"· {rate_words(rate)}" if rate else ""
            return Moving(megabytes(item.bytes_sent, item.bytes_total), more, item.bytes_sent / item.bytes_total)
        case _S.UPLOADING:
            return Words("Preparing the upload.")
        case _S.SUBMITTED | _S.RUNNING:
            doing = "is analysing it" if item.state is _S.RUNNING else "has it in its queue"
            sent = day_and_time(item.updated_at, around.now).lower().removeprefix("today ")
            return Words(f"Sent {sent}. The service {doing}.")
        case _S.WAITING:
            place = place_in_line(around.places.get(item.take_id, 1))
            return Words(f"{place}. {item.reason}" if item.reason else f"{place}.")
        case _S.CHECKED:
            return Words(item.reason or "Kept on this computer. It is not sent until you say so.")
        case _S.DONE:
            return _level(item)
    return Words(item.reason or _STOPPED_WORDS[item.state])


def _level(item: RecordingItem) -> Cell:
    return LevelMark(level_of(item), "The service gave no result")


def _estimate(item: RecordingItem, around: Circumstances) -> str:
    match item.state:
        case _S.DONE:
            return f"done {day_and_time(item.updated_at, around.now).lower()}"
        case _S.CHECKED | _S.NEEDS_ATTENTION:
            return "until you decide"
        case _S.FAILED | _S.TIMED_OUT:
            return ""
    if around.status.on_hold is not None:
        return "until you decide"
    if around.status.connected is False:
        return "waiting for the network"
    if item.state is _S.WAITING:
        return in_about(_seconds_to(around.places.get(item.take_id, 1), around.plan))
    if item.state is _S.UPLOADING:
        rate = around.rates.get(item.take_id, 0.0)
        return in_about((item.bytes_total - item.bytes_sent) / rate + ANALYSIS_S) if rate else ""
    return in_about(ANALYSIS_S)


def _seconds_to(place: int, plan: Plan) -> float:
    """The plan's rate of analyses decides: each recording costs two of its requests."""
    a_minute = REQUESTS_PER_WINDOW[plan][Bucket.ANALYZE] / _REQUESTS_A_RECORDING
    return 60.0 * place / a_minute + ANALYSIS_S


def _deed(item: RecordingItem) -> tuple[str, Deed]:
    match item.state:
        case _S.WAITING | _S.UPLOADING:
            return "Cancel", Deed.CANCEL
        case _S.CHECKED:
            return "Send", Deed.SEND
        case _S.DONE:
            return "Open result", Deed.OPEN
        case _S.SUBMITTED | _S.RUNNING:
            return "", Deed.NONE
    fix = item.fix or Fix.TRY_AGAIN
    deeds = {
        Fix.REVIEW_TAKE: Deed.REVIEW,
        Fix.CHANGE_TARGET: Deed.REVIEW,
        Fix.ENTER_KEY: Deed.ACCOUNT,
        Fix.ADD_CREDITS: Deed.ACCOUNT,
    }
    return _FIX_WORDS[fix], deeds.get(fix, Deed.RETRY)
