"""Consent as texts, the same on every page. No Qt widgets."""

from datetime import datetime

from PySide6.QtCore import QCoreApplication

from vbdesk.contract.timestamps import in_zone
from vbdesk.outbox.library.consent import ConsentChange, ConsentEvent, ConsentKind, ConsentState, ConsentStatus


def no_consent_words() -> str:
    """What a list says of a recording without consent."""
    return QCoreApplication.translate("Consent", "No consent noted")


def kind_words(kind: ConsentKind) -> str:
    """The name of a kind."""
    match kind:
        case ConsentKind.CLINICAL:
            return QCoreApplication.translate("Consent", "Clinical")
        case ConsentKind.RESEARCH:
            return QCoreApplication.translate("Consent", "Research")
        case ConsentKind.BOTH:
            return QCoreApplication.translate("Consent", "Clinical and research")
        case ConsentKind.NOT_STATED:
            return QCoreApplication.translate("Consent", "Kind not stated")


def consent_words(status: ConsentStatus) -> str:
    """Where a consent stands, as a short text."""
    event = status.event
    match status.state:
        case ConsentState.IN_FORCE if status.kind is not None and event is not None:
            return QCoreApplication.translate("Consent", "{kind}, noted {day}").format(
                kind=kind_words(status.kind), day=day_words(event.at)
            )
        case ConsentState.EXPIRED if event is not None and event.expires is not None:
            return QCoreApplication.translate("Consent", "Consent expired {day}").format(day=day_words(event.expires))
        case ConsentState.WITHDRAWN if event is not None:
            return QCoreApplication.translate("Consent", "Consent withdrawn {day}").format(day=day_words(event.at))
        case ConsentState.UNREADABLE:
            return QCoreApplication.translate("Consent", "No consent noted: its entry was changed")
    return no_consent_words()


def missing_words(status: ConsentStatus) -> str:
    """The same for a list: “No consent noted” first, then why, if there was one."""
    event = status.event
    match status.state:
        case ConsentState.EXPIRED if event is not None and event.expires is not None:
            return QCoreApplication.translate("Consent", "No consent noted (expired {day})").format(
                day=day_words(event.expires)
            )
        case ConsentState.WITHDRAWN if event is not None:
            return QCoreApplication.translate("Consent", "No consent noted (withdrawn {day})").format(
                day=day_words(event.at)
            )
    return no_consent_words()


def validity_words(status: ConsentStatus) -> str:
    """Until when a consent is valid, as a sentence; empty if it is not in force."""
    if not status.in_force or status.event is None:
        return ""
    if status.event.expires is None:
        return QCoreApplication.translate("Consent", "Valid until it is withdrawn.")
    return QCoreApplication.translate("Consent", "Valid until {day}.").format(day=day_words(status.event.expires))


def noted_words(status: ConsentStatus) -> str:
    """When a consent in force was noted, and until when it is valid; empty without one."""
    event = status.event
    if not status.in_force or event is None:
        return ""
    if event.expires is None:
        return QCoreApplication.translate("Consent", "Noted {day}, no end").format(day=day_words(event.at))
    return QCoreApplication.translate("Consent", "Noted {day}, until {end}").format(
        day=day_words(event.at), end=day_words(event.expires)
    )


def event_words(event: ConsentEvent) -> str:
    """An event as one sentence."""
    given = event.change is ConsentChange.GIVEN
    if given and event.asked_by:
        text = QCoreApplication.translate("Consent", "{day}: given ({kind}), asked by {name}.")
    elif given:
        text = QCoreApplication.translate("Consent", "{day}: given ({kind}).")
    elif event.asked_by:
        text = QCoreApplication.translate("Consent", "{day}: withdrawn ({kind}), noted by {name}.")
    else:
        text = QCoreApplication.translate("Consent", "{day}: withdrawn ({kind}).")
    return text.format(day=day_words(event.at), kind=kind_words(event.kind), name=event.asked_by)


def wording_words(event: ConsentEvent) -> str:
    """Which wording was used; empty if it is not known."""
    if not event.wording:
        return ""
    return QCoreApplication.translate("Consent", "Wording {version}, language {language}.").format(
        version=event.wording, language=event.language or "–"
    )


def day_words(moment: datetime) -> str:
    """`3 Mar 2026`, by the clocks here."""
    local = in_zone(moment)
    return f"{local.day} {local:%b %Y}"
