"""The chip of a recording's state in the outbox."""

from vbdesk.desk.ui.badges import ChipLook
from vbdesk.outbox.library.states import STATE_WORDS, OutboxState

STATE_LOOKS: dict[OutboxState, ChipLook] = {
    OutboxState.CHECKED: ChipLook(STATE_WORDS[OutboxState.CHECKED], "check", "text2", "sunken"),
    OutboxState.WAITING: ChipLook(STATE_WORDS[OutboxState.WAITING], "clock", "text2", "sunken"),
    OutboxState.UPLOADING: ChipLook(STATE_WORDS[OutboxState.UPLOADING], "arrow-up", "accent", "accenttint"),
    OutboxState.SUBMITTED: ChipLook(STATE_WORDS[OutboxState.SUBMITTED], "check", "accent", "accenttint"),
    OutboxState.RUNNING: ChipLook(STATE_WORDS[OutboxState.RUNNING], "running", "accent", "accenttint"),
    OutboxState.HANDED_OVER: ChipLook(STATE_WORDS[OutboxState.HANDED_OVER], "outbox", "text2", "sunken"),
    OutboxState.DONE: ChipLook(STATE_WORDS[OutboxState.DONE], "check", "ok", "oktint"),
    OutboxState.FAILED: ChipLook(STATE_WORDS[OutboxState.FAILED], "error", "fail", "failtint"),
    OutboxState.TIMED_OUT: ChipLook(STATE_WORDS[OutboxState.TIMED_OUT], "error", "fail", "failtint"),
    OutboxState.NEEDS_ATTENTION: ChipLook(STATE_WORDS[OutboxState.NEEDS_ATTENTION], "warning", "warn", "warntint"),
}
