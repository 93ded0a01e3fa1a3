"""The chip of a recording's state in the outbox."""

from vbdesk.desk.ui.badges import ChipLook
from vbdesk.outbox.library.states import OutboxState

STATE_LOOKS: dict[OutboxState, ChipLook] = {
    OutboxState.CHECKED: ChipLook("Checked", "check", "text2", "sunken"),
    OutboxState.WAITING: ChipLook("Waiting", "clock", "text2", "sunken"),
    OutboxState.UPLOADING: ChipLook("Uploading", "arrow-up", "accent", "accenttint"),
    OutboxState.SUBMITTED: ChipLook("Submitted", "check", "accent", "accenttint"),
    OutboxState.RUNNING: ChipLook("Running", "running", "accent", "accenttint"),
    OutboxState.HANDED_OVER: ChipLook("Handed over", "outbox", "text2", "sunken"),
    OutboxState.DONE: ChipLook("Done", "check", "ok", "oktint"),
    OutboxState.FAILED: ChipLook("Failed", "error", "fail", "failtint"),
    OutboxState.TIMED_OUT: ChipLook("Timed out", "error", "fail", "failtint"),
    OutboxState.NEEDS_ATTENTION: ChipLook("Needs attention", "warning", "warn", "warntint"),
}
