"""The FHIR Bundle, read back by fhir.resources, and rules that its models do not check."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from fhir.resources.R4B.bundle import Bundle
from report_cases import AS_OF, pulse_scores, subject

from vbdesk import __version__
from vbdesk.report.fhir import bundle as bundle_module
from vbdesk.report.fhir import fhir_bundle, fhir_transactions
from vbdesk.report.fhir.codes import fhir_codes
from vbdesk.report.sign_off import SignOff
from vbdesk.report.subject_consent import ConsentGrant
from vbdesk.report.subject_record import SubjectRecord

SIGN_OFF = SignOff("Dr. 山田 <b>&", AS_OF + timedelta(hours=1))
EARLIER = AS_OF - timedelta(days=30)
CONSENTS = (
    ConsentGrant("event-1", "clinical", EARLIER, "2.0", "de"),
    ConsentGrant("event-1", "research", EARLIER, "2.0", "de", ended_at=AS_OF),
    ConsentGrant("event-2", "not_stated", EARLIER, expires=AS_OF),
    ConsentGrant("event-3", "research", AS_OF, refused=True),
)


def resources(bundle: bytes, kind: str) -> list[dict[str, Any]]:
    entries = json.loads(bundle).get("entry", [])
    return [entry["resource"] for entry in entries if entry["resource"]["resourceType"] == kind]


def signs(bundle: bytes) -> list[dict[str, Any]]:
    system = fhir_codes().system("sign")
    return [o for o in resources(bundle, "Observation") if o["code"]["coding"][0]["system"] == system]


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for part in value.values() for text in strings(part)]
    if isinstance(value, list):
        return [text for part in value for text in strings(part)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("scores", [False, True])
def test_every_subject_is_a_valid_bundle(case: SubjectRecord, scores: bool) -> None:
    text = fhir_bundle(case, scores=scores, sign_off=SIGN_OFF)
    bundle = Bundle.model_validate_json(text)
    assert json.loads(bundle.model_dump_json(exclude_none=True)).keys() == json.loads(text).keys()
    signals = sum(len(item.signals) for item in case.finished)
    assert len(signs(text)) == signals
    assert len(resources(text, "DiagnosticReport")) == len(case.finished)
    assert not resources(text, "Patient")


def test_every_reference_leads_to_a_resource_of_the_bundle(case: SubjectRecord) -> None:
    bundle = json.loads(fhir_bundle(case, scores=True, sign_off=SIGN_OFF))
    known = [entry["fullUrl"] for entry in bundle.get("entry", [])]
    assert len(set(known)) == len(known)
    assert {text for text in strings(bundle) if text.startswith("urn:uuid:")} == set(known)
    assert all(entry["fullUrl"] == f"urn:uuid:{entry['resource']['id']}" for entry in bundle.get("entry", []))


def test_no_value_has_a_reason_for_its_absence(case: SubjectRecord) -> None:
    for sign in signs(fhir_bundle(case, scores=True)):
        assert ("valueCodeableConcept" in sign) != ("dataAbsentReason" in sign)
        assert sign["interpretation"]


def test_inconclusive_is_a_missing_value(cases: dict[str, SubjectRecord]) -> None:
    readings = signs(fhir_bundle(cases["inconclusive only"]))
    assert readings
    for sign in readings:
        assert sign["dataAbsentReason"]["coding"][0]["code"] == "unknown"
        assert sign["interpretation"][0]["coding"][0]["code"] == "IND"


def test_the_levels_and_a_change_are_coded(cases: dict[str, SubjectRecord]) -> None:
    record = cases["gaps and anomalies"]
    found = signs(fhir_bundle(record))
    readings = [(recording, signal) for recording in record.finished for signal in recording.signals]
    for item, signal in readings:
        sign = found.pop(0)
        assert sign["valueCodeableConcept"]["coding"][0]["code"] == signal.level.value
        assert datetime.fromisoformat(sign["effectiveDateTime"]) == item.recorded_at
        codes = [one["coding"][0]["code"] for one in sign["interpretation"]]
        assert ("U" in codes) == bool(signal.anomaly and signal.z_score > 0)


def test_scores_are_exported_for_research_only(cases: dict[str, SubjectRecord]) -> None:
    care, research = (fhir_bundle(cases["two"], scores=scores).decode() for scores in (False, True))
    assert "0.6839" in research
    assert "0.6839" not in care
    assert "extended-metrics" not in care


def test_codes_use_only_our_systems_hl7_and_ucum(case: SubjectRecord) -> None:
    systems = {text for text in strings(json.loads(fhir_bundle(case, scores=True))) if "://" in text}
    addresses = {address.split("/")[2] for address in systems if address.startswith("http://")}
    assert addresses <= {"terminology.hl7.org", "unitsofmeasure.org", "www.w3.org"} | {"loinc.org"}


def test_the_patient_is_a_pseudonym_within_the_account(cases: dict[str, SubjectRecord]) -> None:
    text = fhir_bundle(cases["two"])
    subjects = {
        json.dumps(one["subject"], sort_keys=True)
        for kind in ("Observation", "DiagnosticReport")
        for one in resources(text, kind)
    }
    assert [json.loads(one) for one in subjects] == [
        {"type": "Patient", "identifier": {"system": "urn:x-vbdesk:group:acct-7", "value": "two"}}
    ]


def test_a_repeated_export_is_equal_byte_for_byte(cases: dict[str, SubjectRecord]) -> None:
    record = cases["mixed models"]
    assert fhir_bundle(record, scores=True) == fhir_bundle(record, scores=True)


def test_ids_stay_when_recordings_are_added_and_differ_between_accounts(cases: dict[str, SubjectRecord]) -> None:
    whole = cases["gaps and anomalies"]
    early = replace(whole, recordings=whole.recordings[:-1])
    other = replace(whole, source=replace(whole.source, account_id="acct-8"))
    ids = [{one["id"] for one in signs(fhir_bundle(record))} for record in (whole, early, other)]
    assert ids[1] < ids[0]
    assert not ids[2] & ids[0]


def test_the_device_names_the_version_of_the_calibration(cases: dict[str, SubjectRecord]) -> None:
    devices = resources(fhir_bundle(cases["mixed models"]), "Device")
    names = {device["deviceName"][0]["name"]: device["version"][0]["value"] for device in devices}
    assert names["Voice biomarker analysis, model pulse"] == "1.0.0"
    assert names["Voice biomarker analysis, sign stress"] == "1.0.0"


def test_the_reader_verifies_the_newest_recording(cases: dict[str, SubjectRecord]) -> None:
    text = fhir_bundle(cases["two"], sign_off=SIGN_OFF)
    Bundle.model_validate_json(text)
    verified = [one for one in resources(text, "Provenance") if one["agent"][0]["who"].get("display")]
    reports = resources(text, "DiagnosticReport")
    assert [one["target"][0]["reference"] for one in verified] == [f"urn:uuid:{reports[-1]['id']}"]
    assert verified[0]["agent"][0]["who"]["display"] == SIGN_OFF.name
    assert "resultsInterpreter" not in reports[0]


@pytest.mark.parametrize("group_id", ["a" * 512, "A~b:c-d.e_f", "0"])
@pytest.mark.parametrize("narrative", ["", " ", "\x00\x1b[31m", 'שלום 🎙 "<script>', "=1+1\n\n"])
def test_hostile_text_makes_a_valid_bundle(group_id: str, narrative: str) -> None:
    Bundle.model_validate_json(fhir_bundle(subject(pulse_scores(1), group_id=group_id, narrative=narrative)))


def test_a_service_with_blank_names_still_makes_a_valid_bundle() -> None:
    record = subject(pulse_scores(1))
    item = record.recordings[0]
    result = item.job.result
    signals = [
        signal.model_copy(update={"name": f" odd\tname  {k}", "label": "\x01"}) for k, signal in enumerate(item.signals)
    ]
    job = item.job.model_copy(update={"result": result.model_copy(update={"signals": signals})})
    Bundle.model_validate_json(fhir_bundle(replace(record, recordings=(replace(item, job=job),)), scores=True))


def test_a_sign_off_needs_a_name_and_a_time() -> None:
    with pytest.raises(ValueError, match="name of the person"):
        SignOff("  ", AS_OF)
    with pytest.raises(ValueError, match="zone"):
        SignOff("Dr. A", AS_OF.replace(tzinfo=None))
    with pytest.raises(ValueError, match="200 characters"):
        SignOff("x" * 201, AS_OF)
    assert SignOff("x" * 200, AS_OF).name == "x" * 200


def test_consents_tell_purpose_wording_period_and_end(cases: dict[str, SubjectRecord]) -> None:
    text = fhir_bundle(replace(cases["nothing yet"], consents=CONSENTS))
    Bundle.model_validate_json(text)
    care, withdrawn, tick, refused = resources(text, "Consent")
    assert [one["status"] for one in (care, withdrawn, tick, refused)] == ["active", "inactive", "active", "inactive"]
    assert care["scope"]["coding"][0]["code"] == "treatment"
    assert care["sourceAttachment"] == {"language": "de", "title": "Wording 2.0"}
    assert "end" not in care["provision"]["period"]
    assert datetime.fromisoformat(withdrawn["provision"]["period"]["end"]) == AS_OF
    assert datetime.fromisoformat(tick["provision"]["period"]["end"]) == AS_OF
    assert (refused["provision"]["type"], care["provision"]["type"]) == ("deny", "permit")
    assert all(one["patient"]["identifier"]["value"] == "empty" for one in (care, withdrawn, tick, refused))


@pytest.mark.parametrize("language", ["", "no language", "x" * 9, "de\n"])
def test_an_odd_wording_makes_a_valid_consent(cases: dict[str, SubjectRecord], language: str) -> None:
    odd = ConsentGrant("e", "clinical", AS_OF, "\x00 <b>", language, expires=EARLIER)
    text = fhir_bundle(replace(cases["nothing yet"], consents=(odd,)))
    Bundle.model_validate_json(text)
    [consent] = resources(text, "Consent")
    assert "language" not in consent["sourceAttachment"]
    assert consent["provision"]["period"]["end"] == consent["provision"]["period"]["start"]


def requests(transaction: bytes) -> list[dict[str, str]]:
    return [entry["request"] for entry in json.loads(transaction)["entry"]]


def test_a_transaction_creates_what_a_server_does_not_have(case: SubjectRecord) -> None:
    record = replace(case, consents=CONSENTS)
    whole = json.loads(fhir_bundle(record, scores=True, sign_off=SIGN_OFF))
    [text] = fhir_transactions(record, scores=True, sign_off=SIGN_OFF)
    transaction = json.loads(text)
    Bundle.model_validate_json(text)
    assert transaction["type"] == "transaction"
    assert [entry["fullUrl"] for entry in transaction["entry"]] == [entry["fullUrl"] for entry in whole["entry"]]
    for entry in transaction["entry"]:
        assert "id" not in entry["resource"], "the server gives its own"
    matched = [request.get("ifNoneExist") or request["url"].partition("?")[2] for request in requests(text)]
    assert len(set(matched)) == len(matched), "no two resources share an identifier"
    for entry, query in zip(transaction["entry"], matched, strict=True):
        value = query.rpartition("|")[2]
        assert entry["fullUrl"] == f"urn:uuid:{value}"
        resource = entry["resource"]
        known = resource.get("identifier") or resource["meta"]["tag"]
        assert value in [one.get("value") or one["code"] for one in known]


def test_only_an_ended_consent_is_updated(cases: dict[str, SubjectRecord]) -> None:
    [text] = fhir_transactions(replace(cases["two"], consents=CONSENTS))
    entries = json.loads(text)["entry"]
    consents = [entry for entry in entries if entry["resource"]["resourceType"] == "Consent"]
    assert [entry["request"]["method"] for entry in consents] == ["POST", "PUT", "POST", "PUT"]
    assert {entry["request"]["method"] for entry in entries if entry not in consents} == {"POST"}


def test_a_long_history_is_several_transactions_that_stand_alone(
    cases: dict[str, SubjectRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_module, "RECORDINGS_EACH", 3)
    record = replace(
        cases["gaps and anomalies"], recordings=cases["gaps and anomalies"].recordings[:7], consents=CONSENTS
    )
    parts = list(fhir_transactions(record, sign_off=SIGN_OFF))
    assert len(parts) == 3
    for part in parts:
        bundle = json.loads(part)
        known = {entry["fullUrl"] for entry in bundle["entry"]}
        assert {text for text in strings(bundle) if text.startswith("urn:uuid:")} == known
    assert [len(resources(part, "Consent")) for part in parts] == [4, 0, 0]
    assert [SIGN_OFF.name in part.decode() for part in parts] == [False, False, True]
    whole = {entry["fullUrl"] for entry in json.loads(fhir_bundle(record, sign_off=SIGN_OFF))["entry"]}
    assert whole == {entry["fullUrl"] for part in parts for entry in json.loads(part)["entry"]}


def test_a_recording_of_two_subjects_is_two_sets_of_resources(cases: dict[str, SubjectRecord]) -> None:
    records = [replace(cases["two"], group_id=group_id) for group_id in ("a", "b")]
    first, second = (
        {request["ifNoneExist"] for request in requests(text) if request["url"] != "Device"}
        for record in records
        for text in fhir_transactions(record)
    )
    assert not first & second


def test_nothing_to_tell_is_no_transaction(cases: dict[str, SubjectRecord]) -> None:
    assert list(fhir_transactions(cases["nothing yet"])) == []


def test_a_reader_verifies_a_report_once(cases: dict[str, SubjectRecord]) -> None:
    later = SignOff(SIGN_OFF.name, SIGN_OFF.at + timedelta(days=1))
    first, second, other = (
        {
            request.get("ifNoneExist")
            for text in fhir_transactions(cases["two"], sign_off=who)
            for request in requests(text)
        }
        for who in (SIGN_OFF, later, SignOff("Another", later.at))
    )
    assert first == second
    assert len(other - first) == 1


def test_the_device_names_calibration_method_and_release(cases: dict[str, SubjectRecord]) -> None:
    record = cases["two"]
    analysis, exporter = resources(fhir_bundle(record), "Device")
    versions = {version["type"]["text"]: version["value"] for version in analysis["version"]}
    assert versions == {"Calibration": "1.0.0", "Longitudinal method": record.trajectory.method}
    assert exporter["version"] == [{"type": {"text": "Software"}, "value": __version__}]
