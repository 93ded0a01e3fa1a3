"""The chip of a recording's state in the outbox."""

from vbdesk.desk.ui.badges import ChipLook
from vbdesk.language import N_
from vbdesk.outbox.library.states import OutboxState

STATE_LOOKS: dict[OutboxState, ChipLook] = {
    OutboxState.CHECKED: ChipLook(N_("Checked"), "check", "text2", "sunken"),
    OutboxState.WAITING: ChipLook(N_("Waiting"), "clock", "text2", "sunken"),
    OutboxState.UPLOADING: ChipLook(N_("Uploading"), "arrow-up", "accent", "accenttint"),
    OutboxState.SUBMITTED: ChipLook(N_("Submitted"), "check", "accent", "accenttint"),
    OutboxState.RUNNING: ChipLook(N_("Running"), "running", "accent", "accenttint"),
    OutboxState.HANDED_OVER: ChipLook(N_("Handed over"), "outbox", "text2", "sunken"),
    OutboxState.DONE: ChipLook(N_("Done"), "check", "ok", "oktint"),
    OutboxState.FAILED: ChipLook(N_("Failed"), "error", "fail", "failtint"),
    OutboxState.TIMED_OUT: ChipLook(N_("Timed out"), "error", "fail", "failtint"),
    OutboxState.NEEDS_ATTENTION: ChipLook(N_("Needs attention"), "warning", "warn", "warntint"),
}
