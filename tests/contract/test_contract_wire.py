"""Shapes on the wire: present, null and omitted fields."""

import ast
import json
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from vbdesk.clock import utc_now
from vbdesk.contract.accounts import WebhookConfig
from vbdesk.contract.audio_formats import AUDIO_FORMATS, AUDIO_SUFFIXES
from vbdesk.contract.errors import ErrorCode, error_body
from vbdesk.contract.feature_texts import feature_texts, is_finding
from vbdesk.contract.groups import AddJobs, group_id_fault, subject_fault
from vbdesk.contract.idempotency import is_client_ref
from vbdesk.contract.ids import id_timestamp, new_id
from vbdesk.contract.jobs import JOB_EDGES, Job, JobStatus
from vbdesk.contract.legacy import V1AudioUrl, v1_status
from vbdesk.contract.limits import RATE_WINDOW_S
from vbdesk.contract.limits import REQUESTS_PER_WINDOW as PLANS
from vbdesk.contract.results import LongitudinalSignal, ModelResult, Signal, SignResult, ValueInterpretation
from vbdesk.contract.uploads import UploadRequest
from vbdesk.contract.webhooks import signature_matches, webhook_signature

SIGNAL = {"name": "stress", "label": "Stress", "score": 0.2, "level": "none", "flagged": False}
HISTORY = {
    "latest_score": None, "baseline_score": None, "deviation_from_baseline": None,
    "anomaly": None, "z_score": None, "population_z": None,
}  # fmt: skip
QUALITY = {"issues": [], "voice_percentage": 71.0, "audio_clarity": None}


def job(**fields):
    return {
        "job_id": "j", "status": "queued", "created_at": "2026-03-01T09:00:00Z", "completed_at": None,
        "job_type": "sign", "api_version": "v2", "audio_content_type": "audio/flac", "audio_size_bytes": 10,
        "audio_duration_seconds": 20.0,
        "audio_sample_rate": 16000, "sign_name": "stress", "result": None, **fields,
    }  # fmt: skip


def test_a_queued_job_has_its_nulls_and_no_field_of_the_earlier_form():
    body = json.loads(Job.model_validate(job()).model_dump_json())
    assert body["completed_at"] is None
    assert body["result"] is None
    assert body["model_name"] is None
    assert "use_case" not in body and "condition" not in body


def test_signals_have_history_fields_only_if_received():
    plain = Job.model_validate(job(status="done", result={"signal": SIGNAL, "audio_quality": QUALITY}))
    assert isinstance(plain.result, SignResult)
    assert type(plain.result.signal) is Signal
    first = Job.model_validate(job(status="done", result={"signal": SIGNAL | HISTORY, "audio_quality": QUALITY}))
    assert isinstance(first.result, SignResult)
    assert type(first.result.signal) is LongitudinalSignal
    assert json.loads(first.model_dump_json())["result"]["signal"] == SIGNAL | HISTORY


def test_a_model_result_is_distinguished_from_a_sign_result():
    summary = {
        "overall_level": "none", "recommended_action": "none", "flagged_count": 0, "primary_signals": ["stress"],
        "description": {"summary": "Nothing stood out.", "vocal_features": []},
    }  # fmt: skip
    result = {"summary": summary, "signals": [SIGNAL], "audio_quality": QUALITY, "extended_metrics": []}
    read = Job.model_validate(job(job_type="model", status="done", model_name="pulse", result=result))
    assert isinstance(read.result, ModelResult)
    assert json.loads(read.model_dump_json())["result"] == result


def test_unknown_fields_from_a_newer_server_are_ignored():
    assert Job.model_validate(job(invented_later=1)).job_id == "j"


@pytest.mark.parametrize("text", ["a", "0", "ward4-0172", "A.b_c~d:e-f", "x" * 512])
def test_valid_group_ids(text):
    assert group_id_fault(text) is None


@pytest.mark.parametrize("text", ["", "-a", ".a", "a b", "a/b", "é", "a\n", "x" * 513])
def test_invalid_group_ids_get_a_sentence(text):
    fault = group_id_fault(text)
    assert fault is not None
    assert fault.endswith(".") or fault.endswith(")")


@pytest.mark.parametrize("count", [0, 101])
def test_add_jobs_takes_one_to_a_hundred(count):
    with pytest.raises(ValidationError):
        AddJobs(job_ids=["x"] * count)


def test_a_job_changes_its_state_only_as_written_here():
    assert {str(before): sorted(map(str, after)) for before, after in JOB_EDGES.items()} == {
        "queued": ["done", "failed", "running", "timed-out"],
        "running": ["done", "failed", "timed-out"],
        "done": [], "failed": [], "timed-out": [],
    }  # fmt: skip


STATUSES = {
    400: "AUDIO_TOO_SHORT AUDIO_TOO_LONG UNSUPPORTED_FORMAT INVALID_USE_CASE INVALID_REQUEST",
    401: "UNAUTHORIZED",
    402: "INSUFFICIENT_CREDITS",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    409: "CONFLICT",
    413: "AUDIO_TOO_LARGE",
    422: "AUDIO_POOR_QUALITY VALIDATION_ERROR",
    429: "RATE_LIMIT_EXCEEDED",
    500: "PROCESSING_ERROR",
    503: "SERVICE_UNAVAILABLE",
}
"""What callers rely on: written here a second time, so that a changed status is noticed."""


def test_every_error_code_has_the_status_that_callers_rely_on():
    assert {code: status for status, codes in STATUSES.items() for code in codes.split()} == {
        code.value: code.facts.status for code in ErrorCode
    }
    of_audio = {code.value for code in ErrorCode if code.facts.of_audio}
    assert of_audio == {"UNSUPPORTED_FORMAT", *(code.value for code in ErrorCode if code.value.startswith("AUDIO_"))}


def test_a_plan_allows_as_many_requests_a_minute_as_written_here():
    allowed = {plan: [limits[bucket] for bucket in ("general", "analyze", "polling")] for plan, limits in PLANS.items()}
    assert (RATE_WINDOW_S, allowed) == (60, {"standard": [10, 5, 30], "enterprise": [1000, 500, 1000]})


def test_every_error_code_has_its_status_and_body():
    assert {code.name for code in ErrorCode} == {code.value for code in ErrorCode}
    assert all(400 <= code.facts.status < 600 and code.facts.sentence for code in ErrorCode)
    body = error_body(ErrorCode.AUDIO_TOO_SHORT, "Record at least 15 seconds.")
    assert json.loads(body.model_dump_json()) == {
        "code": "AUDIO_TOO_SHORT", "message": "Record at least 15 seconds.", "status": 400,
    }  # fmt: skip


def test_an_upload_needs_one_of_the_four_content_types():
    assert UploadRequest.model_validate({"content_type": "audio/flac"}).filename is None
    for body in ({}, {"content_type": "audio/ogg"}):
        with pytest.raises(ValidationError):
            UploadRequest.model_validate(body)


def test_a_webhook_secret_is_not_shown():
    config = WebhookConfig.model_validate({"url": "https://clinic.example/hook", "secret_key": "do-not-show"})
    assert "do-not-show" not in repr(config) + config.model_dump_json()


def test_a_signature_is_the_hex_hmac_of_the_raw_body():
    # RFC 4231, test case 2
    signature = webhook_signature(b"what do ya want for nothing?", "Jefe")
    assert signature == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    assert signature_matches(b"what do ya want for nothing?", "Jefe", signature)
    assert not signature_matches(b"what do ya want for nothing!", "Jefe", signature)


def test_ids_are_version_7_and_sort_by_age(monkeypatch):
    monkeypatch.setattr("vbdesk.contract.ids._last", 0)  # the clock of an earlier test may have been ahead
    before = utc_now() - timedelta(milliseconds=1)  # the finest that an id tells
    ids = [new_id() for _ in range(10_000)]
    assert ids == sorted(set(ids))
    newest = uuid.UUID(ids[-1])
    assert newest.version == 7
    assert newest.variant == uuid.RFC_4122
    made = datetime.fromtimestamp((newest.int >> 80) / 1000, UTC)
    assert before <= made < utc_now() + timedelta(minutes=1)  # many ids of one moment run ahead of the clock


def test_only_the_table_spells_error_codes():
    sources = Path(__file__).parents[2] / "src" / "vbdesk"
    spelled = {
        f"{path.relative_to(sources).as_posix()}: {node.value}"
        for path in sources.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in set(ErrorCode)
    }
    assert {place.partition(":")[0] for place in spelled} == {"contract/errors.py"}


def test_each_accepted_format_has_its_content_type_and_suffix():
    assert {name: kind.content_type for name, kind in AUDIO_FORMATS.items()} == {
        "wav": "audio/wav", "flac": "audio/flac", "mp3": "audio/mpeg", "m4a": "audio/mp4",
    }  # fmt: skip
    assert {f".{name}": kind.content_type for name, kind in AUDIO_FORMATS.items()} == AUDIO_SUFFIXES


@pytest.mark.parametrize(("text", "tag"), [(None, None), ("", None), (" ", None), ("EN-gb", "en-GB")])
def test_v1_takes_an_empty_language_as_none(text, tag):
    assert V1AudioUrl(url="https://example.org/a.wav", language=text).language == tag


def test_v1_shows_every_unfinished_job_as_pending():
    shown = {str(status): str(v1_status(status)) for status in JobStatus}
    finished = {name: name for name in ("done", "failed", "timed-out")}
    assert shown == {"queued": "pending", "running": "pending", "pending": "pending", **finished}
    assert {str(status) for status in JobStatus if status.terminal} == finished.keys()


def test_only_a_value_out_of_the_normal_range_may_be_a_finding():
    band = ValueInterpretation
    sides = {"lower": {band.LOW, band.REDUCED}, "higher": {band.HIGH, band.SLIGHTLY_ELEVATED}}
    for feature, text in [("unknown", None), *feature_texts().items()]:
        no_finding = sides.get(text.no_finding, set()) if text else set()
        assert {each for each in band if is_finding(feature, each)} == {*band} - {band.WITHIN_RANGE} - no_finding


def test_an_id_tells_when_it_was_made(monkeypatch):
    monkeypatch.setattr("vbdesk.contract.ids._last", 0)
    assert abs(id_timestamp(new_id()) - utc_now()) < timedelta(minutes=1)
    assert id_timestamp("017f22e2-79b0-7cc3-98c4-dc0c0c07398f").isoformat() == "2022-02-22T19:22:22+00:00"  # RFC 9562
    with pytest.raises(ValueError, match="does not contain"):
        id_timestamp(str(uuid.uuid4()))


def test_an_empty_subject_is_asked_for():
    assert (group_id_fault(""), subject_fault("")) == ("Give a group id.", "Enter a subject.")


@pytest.mark.parametrize(
    ("text", "taken"), [("a" * 15, False), ("a" * 16, True), ("A-9_" * 16, True), ("a" * 65, False), ("é" * 16, False)]
)
def test_a_client_reference_has_16_to_64_plain_signs(text, taken):
    assert is_client_ref(text) is taken
