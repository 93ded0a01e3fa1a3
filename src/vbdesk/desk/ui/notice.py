"""Notices: a sentence, and the buttons that belong to it and to no other."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from vbdesk.language import _


class Tone(StrEnum):
    """Severity of a notice."""

    INFO = "info"
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class NoticeAction:
    """One button. What it does names what it changes by id; nothing is looked up when it is pressed.

    Attributes:
        run: what it does; None only closes the notice.
        stays: the notice stays until another one replaces it.
    """

    label: str
    run: Callable[[], object] | None = None
    stays: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """What a banner says and offers.

    Attributes:
        actions: at most three, the most important first.
        title: a heading; empty for none.
        topic: what it is about, so that it can be withdrawn as soon as that is over; empty for none.
        closed: what happens when a person closes it without one of its other actions.
    """

    tone: Tone
    sentence: str
    actions: tuple[NoticeAction, ...] = ()
    title: str = ""
    topic: str = ""
    closed: Callable[[], object] | None = None


def close_action() -> NoticeAction:
    """A button that only closes."""
    return NoticeAction(_("Close"))
