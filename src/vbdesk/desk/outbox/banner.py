"""The banner of the Outbox: why the upload queue is stopped, or how long it will take. No Qt."""

from dataclasses import dataclass
from enum import StrEnum

from vbdesk.desk.outbox.rows import RowContext
from vbdesk.desk.outbox.sorting import Figures, SortedOutbox
from vbdesk.language import N_, _, ngettext, translated
from vbdesk.outbox.library.settings import SendRule
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.sync.connectivity import ConnectivityState
from vbdesk.outbox.sync.forecast import approximate_duration

_STAYS = N_("You can close this window; sending goes on next time it opens.")


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
    """Text of the banner; `action_text` is the label of its button, empty for none.

    Attributes:
        asks: whether the service can be asked at once for results.
    """

    sentence: str
    warning: bool = False
    action_text: str = ""
    action: BannerAction = BannerAction.NONE
    asks: bool = False


_HOLDS = {
    Fix.ENTER_KEY: (N_("Enter key"), BannerAction.ACCOUNT),
    Fix.ADD_CREDITS: (N_("Open account"), BannerAction.ACCOUNT),
    Fix.UNLOCK_KEYRING: (N_("Unlock"), BannerAction.UNLOCK),
}
_TRY_AGAIN = (N_("Try again"), BannerAction.TRY_NOW)
_TRY_NOW = (N_("Try now"), BannerAction.TRY_NOW)
_REACHES = {
    ConnectivityState.OFFLINE: ("", BannerAction.NONE),  # continues automatically; the user cannot help
    ConnectivityState.PORTAL: (N_("Open login page"), BannerAction.LOG_IN),
}


def banner_of(figures: Figures, context: RowContext) -> OutboxBanner | None:
    """The first cause that stops the queue, or how long it will take; None if nothing waits."""
    status, settings = context.status, context.settings
    held = context.held_back
    moving = figures.waiting + figures.uploading + figures.running
    if context.held:
        return OutboxBanner(
            context.held, warning=True, action_text=_("Accept this list"), action=BannerAction.ACCEPT_COPY
        )
    if status.on_hold is not None:
        action_text, action = _HOLDS.get(status.on_hold, _TRY_AGAIN)
        return OutboxBanner(translated(status.sentence), warning=True, action_text=_(action_text), action=action)
    if settings.paused:
        return OutboxBanner(_paused(figures), warning=True, action_text=_("Go on"), action=BannerAction.GO_ON)
    if not moving:
        return OutboxBanner(_waiting_for_consent(len(held))) if held else None
    if status.connected is False:
        action_text, action = _REACHES.get(status.connectivity, _TRY_NOW)
        return OutboxBanner(translated(status.sentence), warning=True, action_text=_(action_text), action=action)
    resting = _resting(context.arranged, held) if settings.send_rule is not SendRule.AT_ONCE else 0
    if resting and settings.send_rule is SendRule.BY_HAND:
        return OutboxBanner(
            _sent_on_request(resting, moving - resting), action_text=_("Send all now"), action=BannerAction.SEND_NOW
        )
    if resting and context.metered:
        return OutboxBanner(_metered(resting), action_text=_("Send anyway"), action=BannerAction.SEND_NOW)
    asks = status.connected is True and figures.running > 0
    sentence = " ".join(part for part in (_on_their_way(moving, context), _waiting_for_consent(len(held))) if part)
    return OutboxBanner(sentence, action_text=_("Pause all"), action=BannerAction.PAUSE, asks=asks)


def _resting(arranged: SortedOutbox, held: frozenset[str]) -> int:
    """Number of queued recordings on hold."""
    waiting = set(arranged.of_states({OutboxState.WAITING})) - held
    return sum(not arranged.items[take_id].released for take_id in waiting)


def _waiting_for_consent(held: int) -> str:
    if not held:
        return ""
    return ngettext(
        "{count} recording waits for consent and is not sent.",
        "{count} recordings wait for consent and are not sent.",
        held,
    )


def _paused(figures: Figures) -> str:
    waiting = figures.waiting + figures.uploading
    if waiting == 0:
        return _("Paused. Nothing is sent until you go on.")
    return ngettext(
        "Paused. {count:,} recording waits here until you go on.",
        "Paused. {count:,} recordings wait here until you go on.",
        waiting,
    )


def _sent_on_request(resting: int, moving: int) -> str:
    sentence = ngettext(
        "{count:,} recording waits until you send it.", "{count:,} recordings wait until you send them.", resting
    )
    if not moving:
        return sentence
    return f"{sentence} {ngettext('{count:,} other is on the way.', '{count:,} others are on the way.', moving)}"


def _metered(resting: int) -> str:
    return ngettext(
        "{count:,} recording waits for a network that is not metered. The present one may cost by what is sent.",
        "{count:,} recordings wait for a network that is not metered. The present one may cost by what is sent.",
        resting,
    )


def _on_their_way(moving: int, context: RowContext) -> str:
    seconds = None if context.forecast is None else context.forecast.whole_s
    if seconds is None:
        sentence = ngettext("{count:,} recording on its way.", "{count:,} recordings on their way.", moving)
    else:
        sentence = ngettext(
            "{count:,} recording, {time}.", "{count:,} recordings, {time}.", moving, time=approximate_duration(seconds)
        )
    return f"{sentence} {_(_STAYS)}"
