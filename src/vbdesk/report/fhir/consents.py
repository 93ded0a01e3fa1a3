"""FHIR Consents of a subject: one for each consent and purpose."""

import re
from collections.abc import Iterator

from vbdesk.contract.timestamps import format_timestamp
from vbdesk.report.fhir.codes import HL7, LOINC, Element, fhir_codes, fhir_string, hl7_concept
from vbdesk.report.fhir.observations import narrative, subject_reference
from vbdesk.report.subject_consent import ConsentGrant
from vbdesk.report.subject_record import SubjectRecord

_PATIENT_CONSENT = {"system": LOINC, "code": "59284-0", "display": "Patient Consent"}
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


def consent_resources(record: SubjectRecord) -> Iterator[Element]:
    """A Consent for each purpose of each consent; no name of the person who asked.

    A consent that was withdrawn or replaced is inactive. An agreed end does not make it inactive: it is stated as the
    end of the period, so that the same events give the same resources at any time.
    """
    for grant in record.consents:
        yield _consent(record, grant)


def _consent(record: SubjectRecord, grant: ConsentGrant) -> Element:
    codes = fhir_codes()
    code = codes.consent[grant.purpose]
    resource_id = codes.resource_id(record.source.account_id, record.group_id, "consent", grant.event_id, grant.purpose)
    status = "active" if grant.active else "inactive"
    return {
        "resourceType": "Consent",
        "id": resource_id,
        "language": record.language,
        "text": narrative(f"{code.display}: {'refused' if grant.refused else status}."),
        "identifier": codes.identifiers(resource_id),
        "status": status,
        "scope": hl7_concept("consentscope", code.scope, code.scope_display),
        "category": [
            {"coding": [_PATIENT_CONSENT]},
            codes.own_concept("consent", grant.purpose.replace("_", "-"), code.display),
        ],
        "patient": subject_reference(record),
        "dateTime": format_timestamp(grant.at),
        **_wording(grant),
        "policyRule": hl7_concept("v3-ActCode", "OPTIN", "opt-in"),
        "provision": {
            "type": "deny" if grant.refused else "permit",
            "period": _period(grant),
            **({"purpose": [{"system": f"{HL7}/v3-ActReason", "code": code.reason}]} if code.reason else {}),
        },
    }


def _period(grant: ConsentGrant) -> Element:
    start = {"start": format_timestamp(grant.at)}
    if grant.until is None:
        return start
    return start | {"end": format_timestamp(max(grant.until, grant.at))}  # FHIR forbids an end before the start


def _wording(grant: ConsentGrant) -> Element:
    title = fhir_string(grant.wording)
    language = {"language": grant.language} if _LANGUAGE.fullmatch(grant.language) else {}
    if title is None and not language:
        return {}
    return {"sourceAttachment": {**language, **({"title": f"Wording {title}"} if title else {})}}
