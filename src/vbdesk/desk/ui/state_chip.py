"""The chip of a recording's state in the outbox."""

from vbdesk.desk.ui.badges import ChipStyle
from vbdesk.outbox.library.states import STATE_TEXTS, OutboxState

_STYLES = {  # icon, ink and fill
    OutboxState.CHECKED: ("check", "text2", "sunken"),
    OutboxState.WAITING: ("clock", "text2", "sunken"),
    OutboxState.UPLOADING: ("arrow-up", "accent", "accenttint"),
    OutboxState.SUBMITTED: ("check", "accent", "accenttint"),
    OutboxState.RUNNING: ("running", "accent", "accenttint"),
    OutboxState.HANDED_OVER: ("outbox", "text2", "sunken"),
    OutboxState.DONE: ("check", "ok", "oktint"),
    OutboxState.FAILED: ("error", "fail", "failtint"),
    OutboxState.TIMED_OUT: ("error", "fail", "failtint"),
    OutboxState.NEEDS_ATTENTION: ("warning", "warn", "warntint"),
}

STATE_CHIP_STYLES = {state: ChipStyle(STATE_TEXTS[state], *chip_style) for state, chip_style in _STYLES.items()}
