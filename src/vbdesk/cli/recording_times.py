"""Decide on the command line about the time of recordings whose clock was wrong."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from vbdesk.cli.connection import USAGE
from vbdesk.cli.output import fail, local_time, say
from vbdesk.language import _, message, ngettext, translated

if TYPE_CHECKING:
    from vbdesk.outbox.library.items import RecordingItem
    from vbdesk.outbox.library.library import Library

ALL = "all"


class TimeChoice(StrEnum):
    """A known time of a recording: the service's, the one before a correction, or its present one."""

    SUGGESTED = "suggested"
    CLOCK = "clock"
    KEEP = "keep"


DecidedTime = TimeChoice | datetime


def parse_times(options: Iterable[str]) -> dict[str, DecidedTime]:
    """Parse `--time`, by take id or `all`; ends the command on a mistake."""
    from vbdesk.outbox.library.recording_time import read_entered

    chosen: dict[str, DecidedTime] = {}
    for option in options:
        take_id, _sign, text = option.partition("=")
        try:
            chosen[take_id] = TimeChoice(text) if text in list(TimeChoice) else read_entered(text)
        except ValueError as error:
            choices = ", ".join(f"{take_id}={each}" for each in TimeChoice)
            fail(
                _(
                    "--time {option} is not understood. {error} Or write {words}.",
                    option=option,
                    error=translated(error),
                    words=choices,
                ),
                USAGE,
            )
        if take_id == ALL and isinstance(chosen[take_id], datetime):
            fail(
                _(
                    "Recordings cannot all have one time. Write --time all=suggested, --time all=clock, --time"
                    " all=keep, or name one."
                ),
                USAGE,
            )
    return chosen


def is_undecided(item: "RecordingItem") -> bool:
    """Whether a recording waits for a decision about its time."""
    from vbdesk.outbox.library.states import Fix, OutboxState

    return item.state is OutboxState.NEEDS_ATTENTION and item.fix is Fix.SET_CLOCK


def undecided_times(library: "Library") -> "list[RecordingItem]":
    """All recordings that wait for such a decision."""
    return [item for item in library.list() if is_undecided(item)]


def how_to_decide(item: "RecordingItem") -> str:
    """How to decide about a recording: its sentence, and the options."""
    known = item.time_doubt is not None and item.time_doubt.suggested is not None
    choices = [f"--time {item.take_id}={TimeChoice.SUGGESTED}"] if known else []
    choices += [f"--time {item.take_id}={TimeChoice.CLOCK}"] if item.original_time is not None else []
    choices += [f"--time {item.take_id}={TimeChoice.KEEP}", f"--time {item.take_id}=DATE-AND-TIME"]
    use = _("Use vbdesk sync with one of these: {options}.", options=", ".join(choices))
    return f"{item.group_id}, {local_time(item.recorded_at)}: {translated(item.reason)}\n  {use}{_explained(item)}"


def _explained(item: "RecordingItem") -> str:
    """The times that `clock` and `keep` mean, if they differ."""
    if item.original_time is None:
        return ""
    before, now = local_time(item.original_time), local_time(item.recorded_at)
    text = _(
        "{clock} means {before}, the time before the correction. {keep} means {now}.",
        clock=TimeChoice.CLOCK.value,
        before=before,
        keep=TimeChoice.KEEP.value,
        now=now,
    )
    return f"\n  {text}"


def decide_times(library: "Library", times: Mapping[str, DecidedTime]) -> None:
    """Put the chosen recordings back into the queue with the decided time.

    A recording with a corrected time can be named again until it is sent.
    If a named recording cannot be decided, the command ends with the reason; earlier decisions stay. With `all`, such a
    recording continues to wait, and the reason is printed. The number of decisions is printed in any case, because
    sending may end before it reaches these recordings.
    """
    decided = 0
    try:
        for item, choice, is_named in _chosen(library, times):
            decided += _is_decided(library, item, choice, is_named=is_named)
    finally:
        if times:
            say(_decided_sentence(decided), err=True)


def _chosen(
    library: "Library", times: Mapping[str, DecidedTime]
) -> "Iterator[tuple[RecordingItem, DecidedTime, bool]]":
    """Each recording with its choice, and whether it was named."""
    from vbdesk.outbox.library.items import ItemFilter
    from vbdesk.outbox.library.states import OutboxState

    asked = {item.take_id: item for item in undecided_times(library)}
    waiting = library.list(ItemFilter(states=frozenset({OutboxState.WAITING})))
    open_again = {item.take_id: item for item in waiting if item.original_time is not None} | asked
    for take_id, choice in times.items():
        if take_id == ALL:
            yield from ((item, choice, False) for item in asked.values() if item.take_id not in times)
        elif take_id in open_again:
            yield open_again[take_id], choice, True
        else:
            fail(_("No recording {take_id} waits for a decision about its time.", take_id=take_id), USAGE)


def _is_decided(library: "Library", item: "RecordingItem", choice: DecidedTime, *, is_named: bool) -> bool:
    from vbdesk.outbox.library.library import NotAllowed

    try:
        _decide(library, item, choice)
    except NotAllowed as refusal:
        sentence = f"{item.group_id}, {local_time(item.recorded_at)}: {translated(refusal)}"
        if is_named:
            fail(sentence)
        say(sentence, err=True)
        return False
    return True


def _decided_sentence(decided: int) -> str:
    if not decided:
        return _("No time of a recording was decided.")
    return ngettext(
        "Your decision about the time of {count} recording is kept, whenever it is sent.",
        "Your decisions about the times of {count} recordings are kept, whenever they are sent.",
        decided,
    )


def _decide(library: "Library", item: "RecordingItem", choice: DecidedTime) -> None:
    from vbdesk.outbox.library.library import NotAllowed
    from vbdesk.outbox.library.states import OutboxState

    if choice is TimeChoice.KEEP or (choice is TimeChoice.CLOCK and item.original_time is None):
        library.confirm_recorded_at(item.take_id)
    elif choice is TimeChoice.CLOCK:
        library.restore_recorded_at(item.take_id)
    elif choice is TimeChoice.SUGGESTED:
        if item.time_doubt is None or item.time_doubt.suggested is None:
            raise NotAllowed(
                message("The right time of this recording is not known. Enter it, or keep the clock's time.")
            )
        library.set_recorded_at(item.take_id, item.time_doubt.suggested)
    elif isinstance(choice, datetime):
        library.set_recorded_at(item.take_id, choice)
    if item.state is not OutboxState.WAITING:
        library.retry(item.take_id)
