"""What the one banner of the Outbox says: why the line stands, or how long it will take. No Qt."""

from dataclasses import dataclass
from enum import StrEnum

from vbdesk.desk.outbox.rows import Circumstances
from vbdesk.desk.outbox.sorting import Arranged, Figures
from vbdesk.desk.ui.time_text import counted
from vbdesk.outbox.library.settings import SendRule
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.sync.connectivity import ConnectivityState
from vbdesk.outbox.sync.forecast import approximate_duration

_STAYS = "You can close this window; sending goes on next time it opens."


class Mend(StrEnum):
    """What the banner's button does."""

    NONE = "none"
    ACCOUNT = "account"
    TRY_NOW = "try_now"
    UNLOCK = "unlock"
    LOG_IN = "log_in"
    PAUSE = "pause"
    GO_ON = "go_on"
    SEND_NOW = "send_now"
    ACCEPT_COPY = "accept_copy"


@dataclass(frozen=True, slots=True)
class News:
    """What the banner says; `act` is the words of its button, empty for none."""

    sentence: str
    warning: bool = False
    act: str = ""
    mend: Mend = Mend.NONE


_HOLDS = {
    Fix.ENTER_KEY: ("Enter key", Mend.ACCOUNT),
    Fix.ADD_CREDITS: ("Open account", Mend.ACCOUNT),
    Fix.UNLOCK_KEYRING: ("Unlock", Mend.UNLOCK),
}
_TRY_AGAIN = ("Try again", Mend.TRY_NOW)
_TRY_NOW = ("Try now", Mend.TRY_NOW)
_REACHES = {
    ConnectivityState.OFFLINE: ("", Mend.NONE),  # goes on by itself, and nothing here brings a network
    ConnectivityState.PORTAL: ("Open login page", Mend.LOG_IN),
}


def news_of(figures: Figures, around: Circumstances) -> News | None:
    """The first cause that keeps the line from moving; without one, how long it takes; None where nothing waits."""
    status, settings = around.status, around.settings
    moving = figures.waiting + figures.uploading + figures.running
    if around.held:
        return News(around.held, warning=True, act="Accept this list", mend=Mend.ACCEPT_COPY)
    if status.on_hold is not None:
        act, mend = _HOLDS.get(status.on_hold, _TRY_AGAIN)
        return News(status.sentence, warning=True, act=act, mend=mend)
    if settings.paused:
        return News(_paused(figures), warning=True, act="Go on", mend=Mend.GO_ON)
    if not moving:
        return None
    if status.connected is False:
        act, mend = _REACHES.get(status.connectivity, _TRY_NOW)
        return News(status.sentence, warning=True, act=act, mend=mend)
    resting = _resting(around.arranged) if settings.send_rule is not SendRule.AT_ONCE else 0
    if resting and settings.send_rule is SendRule.BY_HAND:
        return News(_by_hand(resting, moving - resting), act="Send all now", mend=Mend.SEND_NOW)
    if resting and around.metered:
        return News(_metered(resting), act="Send anyway", mend=Mend.SEND_NOW)
    return News(_on_their_way(moving, around), act="Pause all", mend=Mend.PAUSE)


def _resting(arranged: Arranged) -> int:
    """How many recordings in the line nobody has let go."""
    waiting = arranged.of_states({OutboxState.WAITING})
    return sum(not arranged.items[take_id].released for take_id in waiting)


def _paused(figures: Figures) -> str:
    if figures.waiting + figures.uploading == 0:
        return "Paused. Nothing is sent until you go on."
    waiting = figures.waiting + figures.uploading
    return f"Paused. {counted(waiting, 'recording')} {_waits(waiting)} here until you go on."


def _by_hand(resting: int, moving: int) -> str:
    more = f" {counted(moving, 'other')} {'is' if moving == 1 else 'are'} on the way." if moving else ""
    return f"{counted(resting, 'recording')} {_waits(resting)} until you send {'it' if resting == 1 else 'them'}.{more}"


def _metered(resting: int) -> str:
    return (
        f"{counted(resting, 'recording')} {_waits(resting)} for a network that is not metered. "
        "The present one may cost by what is sent."
    )


def _waits(count: int) -> str:
    return "waits" if count == 1 else "wait"


def _on_their_way(moving: int, around: Circumstances) -> str:
    seconds = None if around.forecast is None else around.forecast.whole_s
    if seconds is None:
        return f"{counted(moving, 'recording')} on {'its' if moving == 1 else 'their'} way. {_STAYS}"
    return f"{counted(moving, 'recording')}, {approximate_duration(seconds)}. {_STAYS}"
