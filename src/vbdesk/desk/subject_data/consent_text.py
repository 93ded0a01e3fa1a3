"""Consent as texts, the same on every page. No Qt widgets."""

from datetime import datetime

from vbdesk.contract.timestamps import in_zone
from vbdesk.desk.language_choice import language_name
from vbdesk.language import _, current, formats, pgettext
from vbdesk.outbox.library.consent import ConsentChange, ConsentEvent, ConsentKind, ConsentState, ConsentStatus
from vbdesk.outbox.library.consent_wordings import ConsentWording
from vbdesk.outbox.library.subject_notes import SubjectNote


def no_consent_text() -> str:
    """What a list says of a recording without consent."""
    return _("No consent noted")


def kind_text(kind: ConsentKind) -> str:
    """The name of a kind."""
    match kind:
        case ConsentKind.CLINICAL:
            # Translators: what a consent covers.
            return pgettext("consent", "Clinical")
        case ConsentKind.RESEARCH:
            return pgettext("consent", "Research")
        case ConsentKind.BOTH:
            return _("Clinical and research")
        case ConsentKind.NOT_STATED:
            return _("Kind not stated")


def consent_text(status: ConsentStatus) -> str:
    """Where a consent stands, as a short text."""
    event = status.event
    match status.state:
        case ConsentState.IN_FORCE if status.kind is not None and event is not None:
            return _("{kind}, noted {day}", kind=kind_text(status.kind), day=day_text(event.at))
        case ConsentState.EXPIRED if event is not None and event.expires is not None:
            return _("Consent expired {day}", day=day_text(event.expires))
        case ConsentState.WITHDRAWN if event is not None:
            return _("Consent withdrawn {day}", day=day_text(event.at))
        case ConsentState.UNREADABLE:
            return _("No consent noted: its entry was changed")
    return no_consent_text()


def missing_text(status: ConsentStatus) -> str:
    """The same for a list: “No consent noted” first, then why, if there was one."""
    event = status.event
    match status.state:
        case ConsentState.EXPIRED if event is not None and event.expires is not None:
            return _("No consent noted (expired {day})", day=day_text(event.expires))
        case ConsentState.WITHDRAWN if event is not None:
            return _("No consent noted (withdrawn {day})", day=day_text(event.at))
    return no_consent_text()


def validity_text(status: ConsentStatus) -> str:
    """Until when a consent is valid, as a sentence; empty if it is not in force."""
    if not status.in_force or status.event is None:
        return ""
    if status.event.expires is None:
        return _("Valid until it is withdrawn.")
    return _("Valid until {day}.", day=day_text(status.event.expires))


def noted_text(status: ConsentStatus) -> str:
    """When a consent in force was noted, and until when it is valid; empty without one."""
    event = status.event
    if not status.in_force or event is None:
        return ""
    if event.expires is None:
        return _("Noted {day}, no end", day=day_text(event.at))
    return _("Noted {day}, until {end}", day=day_text(event.at), end=day_text(event.expires))


def event_text(event: ConsentEvent) -> str:
    """An event as one sentence."""
    known = {"day": day_text(event.at), "kind": kind_text(event.kind)}
    if event.change is ConsentChange.GIVEN:
        if event.asked_by:
            return _("{day}: given ({kind}), asked by {name}.", name=event.asked_by, **known)
        return _("{day}: given ({kind}).", **known)
    if event.asked_by:
        return _("{day}: withdrawn ({kind}), noted by {name}.", name=event.asked_by, **known)
    return _("{day}: withdrawn ({kind}).", **known)


def wording_text(event: ConsentEvent) -> str:
    """Which wording was used; empty if it is not known."""
    if not event.wording:
        return ""
    return _("Wording {version}, language {language}.", version=event.wording, language=event.language or "–")


def subject_language(note: SubjectNote) -> str:
    """Tag of the language that a subject reads: that of the prompts, as noted for the subject, else the reader's."""
    return note.prompts or current().tag


def other_language_text(wording: ConsentWording, wanted: str) -> str:
    """That a wording is not in the language that was wanted; empty if it is."""
    if wording.is_for(wanted):
        return ""
    return _(
        "There is no consent wording in {wanted}. It is shown in {shown}.",
        wanted=language_name(wanted),
        shown=language_name(wording.language),
    )


def day_text(moment: datetime) -> str:
    """`3 Mar 2026`, by the clocks here."""
    return formats.day(in_zone(moment))
