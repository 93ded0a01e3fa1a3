"""Rows of the Outbox: state, estimate and action of each recording. No Qt.

A row shows what the library knows of its recording, and what stops the whole queue.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from vbdesk.desk.outbox.sorting import STOPPED, Figures, Rank, SortedOutbox, rank_of
from vbdesk.desk.subject_data.consent_text import no_consent_text
from vbdesk.desk.subject_data.levels import level_of
from vbdesk.desk.ui.cells import ButtonCell, Cell, LabelCell, LevelCell, ProgressCell, StateCell, TwoLineCell
from vbdesk.desk.ui.time_text import day_and_time, megabytes, moment_in_sentence, place_in_line, rate_text
from vbdesk.language import N_, Language, _, current, pgettext, translated
from vbdesk.outbox.imports.take_check import take_fault
from vbdesk.outbox.library.consent import ConsentPolicy
from vbdesk.outbox.library.consent_gate import NOT_ASKED_FOR, ConsentList
from vbdesk.outbox.library.corrections import Correction
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.settings import LibrarySettings, SendRule
from vbdesk.outbox.library.states import ON_THEIR_WAY, Fix, OutboxState
from vbdesk.outbox.library.subject_names import ShownSubject
from vbdesk.outbox.sync.connectivity import ConnectivityState, SyncStatus
from vbdesk.outbox.sync.forecast import Forecast, approximate_duration

_S = OutboxState
HEADINGS = (N_("Subject"), N_("State"), N_("Progress or result"), N_("Estimate"), "")
"""Headings of the columns, translated where they are shown."""


class Show(StrEnum):
    """The filter of the list."""

    ALL = "all"
    ON_THEIR_WAY = "on_their_way"
    ATTENTION = "attention"
    DONE = "done"
    TRASH = "trash"


SHOWN: Mapping[Show, frozenset[OutboxState]] = {
    Show.ALL: frozenset(OutboxState),
    Show.ON_THEIR_WAY: ON_THEIR_WAY | {_S.HANDED_OVER},
    Show.ATTENTION: STOPPED | {_S.CHECKED},
    Show.DONE: frozenset({_S.DONE}),
    Show.TRASH: frozenset(),
}

_STOPPED_TEXTS = {
    _S.NEEDS_ATTENTION: N_("This recording waits for you."),
    _S.FAILED: N_("The analysis failed. The recording is kept and can be sent again."),
    _S.TIMED_OUT: N_("The service gave no result in time. The recording is kept and can be sent again."),
}


class RowAction(StrEnum):
    """What the button of a row does."""

    NONE = "none"
    CANCEL = "cancel"
    SEND = "send"
    SEND_NOW = "send_now"
    RETRY = "retry"
    REVIEW = "review"
    CORRECT = "correct"
    DECIDE = "decide"
    ACCOUNT = "account"
    TAKE_BACK = "take_back"
    OPEN = "open"


ACTION_TEXTS = {
    RowAction.NONE: "",
    RowAction.CANCEL: N_("Cancel"),
    RowAction.SEND: N_("Send"),
    RowAction.SEND_NOW: N_("Send now"),
    RowAction.RETRY: N_("Try again"),
    RowAction.REVIEW: N_("Review take"),
    RowAction.DECIDE: N_("Decide"),
    RowAction.CORRECT: N_("Choose time"),
    RowAction.ACCOUNT: N_("Open account"),
    RowAction.TAKE_BACK: N_("Take back"),
    RowAction.OPEN: N_("Open result"),
}

_FIXES = {
    Fix.REVIEW_TAKE: RowAction.REVIEW,
    Fix.CHANGE_TARGET: RowAction.REVIEW,
    Fix.SET_CLOCK: RowAction.CORRECT,
    Fix.ENTER_KEY: RowAction.ACCOUNT,
    Fix.ADD_CREDITS: RowAction.ACCOUNT,
    Fix.SEND_AGAIN: RowAction.DECIDE,
}


@dataclass(frozen=True)
class RowContext:
    """Context of a row's texts in addition to its recording.

    Attributes:
        rates: bytes per second of each running upload, by take id.
        arranged: all recordings, for queue positions.
        subject: how a subject is shown.
        held: why sending waits until the user accepts a restored copy, as sentences; empty otherwise.
        consents: of all subjects.
        corrections: of the course, which the service has not done yet, by take id.
        forecast: estimated durations; None if unknown.
        metered: the network is metered; None if unknown.
        language: in which the texts are.
    """

    now: datetime
    status: SyncStatus
    settings: LibrarySettings = field(default_factory=LibrarySettings)
    metered: bool | None = None
    forecast: Forecast | None = None
    rates: Mapping[str, float] = field(default_factory=dict)
    arranged: SortedOutbox = field(default_factory=SortedOutbox)
    held: str = ""
    consents: ConsentList = NOT_ASKED_FOR
    corrections: Mapping[str, Correction] = field(default_factory=dict)
    subject: Callable[[str], ShownSubject] = field(default=ShownSubject, compare=False)
    language: Language = field(default_factory=current)

    @cached_property
    def held_back(self) -> frozenset[str]:
        """Queued recordings that the consent policy does not let go."""
        consents = self.consents
        if consents.rules.policy is not ConsentPolicy.REQUIRED:
            return frozenset()
        return frozenset(
            item.take_id for item in self._queued if consents.refusal(item.group_id, item.recorded_at) is not None
        )

    def figures(self) -> Figures:
        """Numbers for the top of the page."""
        return self.arranged.figures(self.now, len(self.held_back))

    @cached_property
    def ranks_that_stay(self) -> tuple[Rank, ...]:
        """Ranks of queued recordings that do not go: without consent, or until a person sends them."""
        return tuple(
            rank_of(item) for item in self._queued if item.take_id in self.held_back or _needs_attention(item, self)
        )

    def place_in_line(self, item: RecordingItem) -> int:
        """Place of a queued recording among those that can go, from 1."""
        return self.arranged.place_in_line(item) - bisect_left(self.ranks_that_stay, rank_of(item))

    def listed(self, show: Show) -> list[str]:
        """Take ids of the recordings to show, in order; those that are held back need attention."""
        order = self.arranged.of_states(SHOWN[show] | ({_S.WAITING} if show is Show.ATTENTION else frozenset()))
        if show is Show.ATTENTION:
            items = self.arranged.items
            return [key for key in order if items[key].state is not _S.WAITING or key in self.held_back]
        return [key for key in order if key not in self.held_back] if show is Show.ON_THEIR_WAY else order

    @cached_property
    def _queued(self) -> tuple[RecordingItem, ...]:
        return tuple(self.arranged.items[take_id] for take_id in self.arranged.of_states({_S.WAITING}))


@dataclass(frozen=True, eq=False)
class OutboxRow:
    """One recording; its cells are made on first paint."""

    item: RecordingItem
    context: RowContext

    @property
    def key(self) -> str:
        """Its take id."""
        return self.item.take_id

    @cached_property
    def action(self) -> RowAction:
        """Action of its button."""
        return row_action(self.item, self.context)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Subject, state, what is happening, estimate, button."""
        item, context = self.item, self.context
        calm = item.state in STOPPED or item.state is _S.DONE
        return (
            TwoLineCell(context.subject(item.group_id).text, _below_subject(item, context)),
            StateCell(item.state),
            _happening(item, context),
            LabelCell(_estimate_and_consent(item, context), ink="text2" if calm else "text"),
            ButtonCell(_(ACTION_TEXTS[self.action]), quiet=self.action in (RowAction.CANCEL, RowAction.TAKE_BACK)),
        )


def _below_subject(item: RecordingItem, context: RowContext) -> str:
    """When it was recorded, and the file that it came from."""
    return " · ".join(part for part in (day_and_time(item.recorded_at, context.now), item.file_name) if part)


def _estimate_and_consent(item: RecordingItem, context: RowContext) -> str:
    """When it goes on, and that no consent is noted: the widest room for both lines."""
    consent = no_consent_text() if context.consents.is_missing(item) else ""
    return " · ".join(part for part in (_estimate(item, context), consent) if part)


def row_action(item: RecordingItem, context: RowContext) -> RowAction:
    """The action that the library allows for a recording now."""
    match item.state:
        case _S.WAITING if _needs_attention(item, context):
            return RowAction.SEND_NOW
        case _S.WAITING | _S.UPLOADING:
            return RowAction.NONE if item.asked else RowAction.CANCEL
        case _S.CHECKED:
            return _action_before_sending(item)
        case _S.DONE:
            return RowAction.OPEN
        case _S.HANDED_OVER:
            return RowAction.TAKE_BACK
        case _S.SUBMITTED | _S.RUNNING:
            return RowAction.NONE
    return RowAction.NONE if item.fault else _FIXES.get(item.fix or Fix.TRY_AGAIN, RowAction.RETRY)


def _action_before_sending(item: RecordingItem) -> RowAction:
    if item.fix is Fix.SET_CLOCK or item.original_time is not None:
        return RowAction.CORRECT
    fault = take_fault(item.duration_s, item.quality)
    return RowAction.REVIEW if fault is not None and fault[1] else RowAction.SEND


def _needs_attention(item: RecordingItem, context: RowContext) -> bool:
    return context.settings.send_rule is SendRule.BY_HAND and not item.released


def _happening(item: RecordingItem, context: RowContext) -> Cell:
    match item.state:
        case _S.UPLOADING if item.asked:
            return LabelCell(_("All of it is sent. The service is asked for the analysis."))
        case _S.UPLOADING if item.bytes_total:
            rate = context.rates.get(item.take_id, 0.0)
            more = f"· {rate_text(rate)}" if rate else ""
            return ProgressCell(megabytes(item.bytes_sent, item.bytes_total), more, item.bytes_sent / item.bytes_total)
        case _S.UPLOADING:
            return LabelCell(_("Preparing the upload."))
        case _S.SUBMITTED:
            return LabelCell(_("Sent {time}. The service has it in its queue.", time=_moment(item, context)))
        case _S.RUNNING:
            return LabelCell(_("The service is analysing it, since {time}.", time=_moment(item, context)))
        case _S.WAITING:
            return LabelCell(_waiting_text(item, context))
        case _S.HANDED_OVER:
            return LabelCell(_("Handed over {time}. Another computer sends it.", time=_moment(item, context)))
        case _S.CHECKED:
            return LabelCell(translated(item.reason) if item.reason else _stored_text(item))
        case _S.DONE if item.excluded or item.take_id in context.corrections:
            return LabelCell(_correction_text(item, context))
        case _S.DONE:
            return LevelCell(level_of(item), _("The service gave no result"), overall=True)
    return LabelCell(translated(item.fault or item.reason or _STOPPED_TEXTS[item.state]))


def _correction_text(item: RecordingItem, context: RowContext) -> str:
    """How the course of a recording was corrected, and what the service has not done of it yet."""
    waiting = context.corrections.get(item.take_id)
    if waiting is None:
        return _("Excluded from the person's course. It can be put back.")
    if waiting.target is None:
        what = _("Excluded from the person's course.")
    elif waiting.source is None:
        what = _("Put back into the person's course.")
    else:
        what = _("Moved from {subject}.", subject=context.subject(waiting.source).name)
    why = translated(waiting.trouble) if waiting.trouble else _("Waiting for the service.")
    return f"{what} {why}"


def _stored_text(item: RecordingItem) -> str:
    """What a recording is good for that nobody has sent yet."""
    fault = take_fault(item.duration_s, item.quality)
    if fault is None:
        return _("Kept on this computer. It is not sent until you say so.")
    return f"{_('Kept on this computer, not sent.')} {translated(fault[0])}"


def _waiting_text(item: RecordingItem, context: RowContext) -> str:
    refusal = context.consents.refusal(item.group_id, item.recorded_at)
    if refusal is not None:
        return translated(refusal)
    if _needs_attention(item, context):
        return _("Ready to go. It is sent when you say so.")
    if item.asked and item.bundle_id:
        return translated(
            item.reason or N_("It was in a bundle. The service is asked first whether it has the recording.")
        )
    if item.asked:
        return translated(
            item.reason
            or N_("No answer came to the last try. The service is asked first whether it has the recording.")
        )
    place_text = pgettext("place in line as a sentence", "{place}.", place=place_in_line(context.place_in_line(item)))
    return f"{place_text} {translated(item.reason)}" if item.reason else place_text


def _moment(item: RecordingItem, context: RowContext) -> str:
    """When its state changed, as `today 10:43` or `yesterday 16:30`."""
    return moment_in_sentence(item.updated_at, context.now)


def _estimate(item: RecordingItem, context: RowContext) -> str:
    match item.state:
        case _S.DONE:
            return _("done {time}", time=moment_in_sentence(item.updated_at, context.now))
        case _S.CHECKED | _S.NEEDS_ATTENTION:
            return _("until you decide")
        case _S.FAILED | _S.TIMED_OUT | _S.HANDED_OVER:
            return ""
    if context.status.on_hold is not None:
        return _("waiting for the disk") if context.status.on_hold is Fix.MAKE_ROOM else _("until you decide")
    if item.state is _S.WAITING:
        waits = _what_it_waits_for(item, context)
        if waits:
            return waits
    if context.status.connectivity is ConnectivityState.SERVICE_DOWN:
        return _("waiting for the service")
    if context.status.connected is False:
        return _("waiting for the network")
    seconds = None if context.forecast is None else context.forecast.seconds_to(item.take_id)
    return "" if seconds is None else translated(approximate_duration(seconds))


def _what_it_waits_for(item: RecordingItem, context: RowContext) -> str:
    """Why a queued recording is not sent although the service may be available."""
    if context.held:
        return _("until you accept the list")
    if context.settings.paused:
        return _("until you go on")
    if context.consents.refusal(item.group_id, item.recorded_at) is not None:
        return _("until consent is noted")
    if _needs_attention(item, context):
        return _("until you send it")
    if context.settings.send_rule is SendRule.UNMETERED and context.metered and not item.released:
        return _("for an unmetered network")
    return ""
