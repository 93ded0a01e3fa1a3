"""The states of a recording in the outbox, and the only legal changes between them."""

from enum import StrEnum

from vbdesk.language import N_


class OutboxState(StrEnum):
    """How far a recording is on its way to a result.

    `checked` waits until a person decides; `handed_over` is in a bundle for another computer to send; `failed` and
    `timed_out` are final states of a job.
    """

    CHECKED = "checked"
    WAITING = "waiting"
    HANDED_OVER = "handed_over"
    UPLOADING = "uploading"
    SUBMITTED = "submitted"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    NEEDS_ATTENTION = "needs_attention"


STATE_TEXTS = {
    OutboxState.CHECKED: N_("Checked"),
    OutboxState.WAITING: N_("Waiting"),
    OutboxState.HANDED_OVER: N_("Handed over"),
    OutboxState.UPLOADING: N_("Uploading"),
    OutboxState.SUBMITTED: N_("Submitted"),
    OutboxState.RUNNING: N_("Running"),
    OutboxState.DONE: N_("Done"),
    OutboxState.FAILED: N_("Failed"),
    OutboxState.TIMED_OUT: N_("Timed out"),
    OutboxState.NEEDS_ATTENTION: N_("Needs attention"),
}
"""Each state in a word for people."""


class Fix(StrEnum):
    """What a person can do about a recording, or the whole queue, that does not continue.

    `send_again` costs credits: the service may have the recording, or has its key for another one.
    """

    REVIEW_TAKE = "review_take"
    TRY_AGAIN = "try_again"
    CHANGE_TARGET = "change_target"
    ENTER_KEY = "enter_key"
    ADD_CREDITS = "add_credits"
    SET_CLOCK = "set_clock"
    UNLOCK_KEYRING = "unlock_keyring"
    SEND_AGAIN = "send_again"
    MAKE_ROOM = "make_room"


_S = OutboxState

EDGES: dict[OutboxState, frozenset[OutboxState]] = {
    _S.CHECKED: frozenset({_S.WAITING}),
    _S.WAITING: frozenset({_S.UPLOADING, _S.SUBMITTED, _S.NEEDS_ATTENTION, _S.CHECKED, _S.HANDED_OVER}),
    _S.HANDED_OVER: frozenset({_S.WAITING, _S.SUBMITTED}),
    _S.UPLOADING: frozenset({_S.SUBMITTED, _S.WAITING, _S.NEEDS_ATTENTION, _S.CHECKED, _S.HANDED_OVER}),
    _S.SUBMITTED: frozenset({_S.RUNNING, _S.DONE, _S.FAILED, _S.TIMED_OUT, _S.NEEDS_ATTENTION}),
    _S.RUNNING: frozenset({_S.DONE, _S.FAILED, _S.TIMED_OUT, _S.NEEDS_ATTENTION}),
    _S.DONE: frozenset(),
    _S.FAILED: frozenset({_S.WAITING}),
    _S.TIMED_OUT: frozenset({_S.WAITING}),
    _S.NEEDS_ATTENTION: frozenset({_S.WAITING, _S.CHECKED}),
}
"""`waiting` to `submitted`: a lost answer was found. `handed_over` to `submitted`: another computer sent it.
`handed_over` to `waiting`: it was taken back, and the service is searched before it is sent. `uploading` to
`handed_over`: only before the analysis is requested; the upload stops."""

ON_THEIR_WAY = frozenset({_S.WAITING, _S.UPLOADING, _S.SUBMITTED, _S.RUNNING})
"""States in which the sync worker has something to do."""

AT_THE_SERVICE = frozenset({_S.UPLOADING, _S.SUBMITTED, _S.RUNNING})
"""States in which a recording must not be discarded."""


class NotAllowed(Exception):
    """The operation is not possible in the recording's present state; nothing was changed."""


class IllegalStateChange(Exception):
    """The table of states has no such edge; the recording is unchanged."""


def check_move(before: OutboxState, after: OutboxState) -> None:
    """Raise IllegalStateChange unless the table has the edge."""
    if after not in EDGES[before]:
        raise IllegalStateChange(f"A recording that is {before} cannot become {after}.")
