"""The banner of the Outbox: why the upload queue is stopped, or how long it will take. No Qt."""

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QCoreApplication

from vbdesk.desk.outbox.rows import RowContext
from vbdesk.desk.outbox.sorting import Figures, SortedOutbox
from vbdesk.desk.ui.time_text import counted
from vbdesk.outbox.library.settings import SendRule
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.sync.connectivity import ConnectivityState
from vbdesk.outbox.sync.forecast import approximate_duration

translate = QCoreApplication.translate

_STAYS = "You can close this window; sending goes on next time it opens."


class BannerAction(StrEnum):
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
class OutboxBanner:
    """Text of the banner; `act` is the label of its button, empty for none.

    Attributes:
        asks: whether the service can be asked at once for results.
    """

    sentence: str
    warning: bool = False
    act: str = ""
    mend: BannerAction = BannerAction.NONE
    asks: bool = False


_HOLDS = {
    Fix.ENTER_KEY: ("Enter key", BannerAction.ACCOUNT),
    Fix.ADD_CREDITS: ("Open account", BannerAction.ACCOUNT),
    Fix.UNLOCK_KEYRING: ("Unlock", BannerAction.UNLOCK),
}
_TRY_AGAIN = ("Try again", BannerAction.TRY_NOW)
_TRY_NOW = ("Try now", BannerAction.TRY_NOW)
_REACHES = {
    ConnectivityState.OFFLINE: ("", BannerAction.NONE),  # continues automatically; the user cannot help
    ConnectivityState.PORTAL: ("Open login page", BannerAction.LOG_IN),
}


def banner_of(figures: Figures, around: RowContext) -> OutboxBanner | None:
    """The first cause that stops the queue, or how long it will take; None if nothing waits."""
    status, settings = around.status, around.settings
    held = around.held_back
    moving = figures.waiting + figures.uploading + figures.running
    if around.held:
        return OutboxBanner(around.held, warning=True, act="Accept this list", mend=BannerAction.ACCEPT_COPY)
    if status.on_hold is not None:
        act, mend = _HOLDS.get(status.on_hold, _TRY_AGAIN)
        return OutboxBanner(status.sentence, warning=True, act=act, mend=mend)
    if settings.paused:
        return OutboxBanner(_paused(figures), warning=True, act="Go on", mend=BannerAction.GO_ON)
    if not moving:
        return OutboxBanner(_waiting_for_consent(len(held))) if held else None
    if status.connected is False:
        act, mend = _REACHES.get(status.connectivity, _TRY_NOW)
        return OutboxBanner(status.sentence, warning=True, act=act, mend=mend)
    resting = _resting(around.arranged, held) if settings.send_rule is not SendRule.AT_ONCE else 0
    if resting and settings.send_rule is SendRule.BY_HAND:
        return OutboxBanner(_sent_on_request(resting, moving - resting), act="Send all now", mend=BannerAction.SEND_NOW)
    if resting and around.metered:
        return OutboxBanner(_metered(resting), act="Send anyway", mend=BannerAction.SEND_NOW)
    asks = status.connected is True and figures.running > 0
    sentence = " ".join(part for part in (_on_their_way(moving, around), _waiting_for_consent(len(held))) if part)
    return OutboxBanner(sentence, act="Pause all", mend=BannerAction.PAUSE, asks=asks)


def _resting(arranged: SortedOutbox, held: frozenset[str]) -> int:
    """Number of queued recordings on hold."""
    waiting = set(arranged.of_states({OutboxState.WAITING})) - held
    return sum(not arranged.items[take_id].released for take_id in waiting)


def _waiting_for_consent(held: int) -> str:
    if not held:
        return ""
    if held == 1:
        return translate("outbox", "1 recording waits for consent and is not sent.")
    return translate("outbox", "{count} recordings wait for consent and are not sent.").format(count=held)


def _paused(figures: Figures) -> str:
    if figures.waiting + figures.uploading == 0:
        return "Paused. Nothing is sent until you go on."
    waiting = figures.waiting + figures.uploading
    return f"Paused. {counted(waiting, 'recording')} {_waits(waiting)} here until you go on."


def _sent_on_request(resting: int, moving: int) -> str:
    more = f" {counted(moving, 'other')} {'is' if moving == 1 else 'are'} on the way." if moving else ""
    return f"{counted(resting, 'recording')} {_waits(resting)} until you send {'it' if resting == 1 else 'them'}.{more}"


def _metered(resting: int) -> str:
    return (
        f"{counted(resting, 'recording')} {_waits(resting)} for a network that is not metered. "
        "The present one may cost by what is sent."
    )


def _waits(count: int) -> str:
    return "waits" if count == 1 else "wait"


def _on_their_way(moving: int, around: RowContext) -> str:
    seconds = None if around.forecast is None else around.forecast.whole_s
    if seconds is None:
        return f"{counted(moving, 'recording')} on {'its' if moving == 1 else 'their'} way. {_STAYS}"
    return f"{counted(moving, 'recording')}, {approximate_duration(seconds)}. {_STAYS}"
