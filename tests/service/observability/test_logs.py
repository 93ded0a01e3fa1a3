"""Contents of log lines, and data that they must not contain."""

import io
import json
import logging

import pytest

from vbdesk.service.observability.logs import JsonFormatter, TextFormatter, log_fields, redact

SIGNATURE = "4f3c0ffee0ddba11"
SECRETS = {
    "an address signed for S3": (
        "PUT https://audio.s3.eu-central-1.amazonaws.com/uploads/u1?X-Amz-Algorithm=AWS4-HMAC-SHA256"
        f"&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20260301&X-Amz-Signature={SIGNATURE}",
        [SIGNATURE, "AKIAIOSFODNN7EXAMPLE"],
    ),
    "an address signed for GCS": (
        f"https://storage.googleapis.com/b/u1?X-Goog-Credential=robot%40lab.iam&X-Goog-Signature={SIGNATURE}",
        [SIGNATURE, "robot%40lab"],
    ),
    "an address signed by the embedded store": (
        f'"PUT /uploads/u1?X-Vbdesk-Date=20260301T093000Z&X-Vbdesk-Signature={SIGNATURE} HTTP/1.1" 200',
        [SIGNATURE],
    ),
    "a canonical request of botocore": (
        f"StringToSign:\nAWS4-HMAC-SHA256\n20260301T093000Z\nx-amz-security-token: {SIGNATURE}",
        [SIGNATURE],
    ),
    "headers in a debug line of urllib3 or botocore": (
        f"headers={{'X-Amz-Date': b'2026', 'Authorization': b'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/2026, "
        f"SignedHeaders=host, Signature={SIGNATURE}', 'amz-sdk': b'1'}}",
        [SIGNATURE, "AKIAIOSFODNN7EXAMPLE"],
    ),
    "a bearer token of google-auth": (f"Authorization: Bearer ya29.{SIGNATURE}", [SIGNATURE]),
    "a service account's key": (
        f'{{"private_key": "-----BEGIN PRIVATE KEY-----\\n{SIGNATURE}\\n-----END PRIVATE KEY-----"}}',
        [SIGNATURE],
    ),
    "a database's address": (
        f"could not connect: postgresql+psycopg://vbdesk:{SIGNATURE}@db.example.org:5432/vbdesk",
        [SIGNATURE],
    ),
    "a connection string of libpq": (f"host=db user=vbdesk password='{SIGNATURE}' dbname=v", [SIGNATURE]),
    "our API key": (f"bad key vbk_0198f1c2-aaaa_{SIGNATURE}-_x", [SIGNATURE]),
    "our secret key in a header": (f"X-Secret-Key: vbs_{SIGNATURE}", [SIGNATURE]),
    "a webhook's secret in a form": (f"webhook_secret_key={SIGNATURE}&diarize=true", [SIGNATURE]),
    "a webhook's address with a token": (f"POST https://hooks.example.org/in?token={SIGNATURE}", [SIGNATURE]),
    "a group in a path": ("GET /v2/groups/anna-meier-1961/trajectory 200", ["anna-meier"]),
    "a group in an analyze path": (
        "http://api/v2/models/pulse/groups/anna-meier/analyze/longitudinal",
        ["anna-meier"],
    ),
    "an e-mail address": ("mail anna.meier@clinic.example.org bounced", ["anna.meier"]),
}


@pytest.mark.parametrize("kind", SECRETS)
def test_secrets_and_names_are_redacted(kind: str):
    line, secrets = SECRETS[kind]
    redacted = redact(line)
    assert not [secret for secret in secrets if secret in redacted], redacted


@pytest.mark.parametrize(
    "line",
    [
        "Job 0198f1c2-7a3e-7c11-8d0a-55c1f2b3a4d5 failed: ValueError",
        "The service answers at http://127.0.0.1:8080, its object store at http://127.0.0.1:8081.",
        "2 jobs of executors that died are run again.",
        "The analysis process ended with code -9.",
        "The signs anxiety and stress are offered.",
    ],
)
def test_ordinary_lines_stay_unchanged(line: str):
    assert redact(line) == line


def test_a_line_for_machines_has_its_fields(spoken):
    spoken.with_format(JsonFormatter())
    with log_fields(job_id="j1", executor_id="host-1"):
        spoken.log.warning("Job %s is slow.", "j1")
    line = json.loads(spoken.text)
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "WARNING",
        "logger": "vbdesk.test",
        "message": "Job j1 is slow.",
        "job_id": "j1",
        "executor_id": "host-1",
    }


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_an_exception_is_logged_with_types_and_frames_but_no_values(spoken, formatter: logging.Formatter):
    spoken.with_format(formatter)
    anna = "anna-meier"

    def look_up() -> None:
        try:
            {}[anna]
        except KeyError as error:
            raise ValueError(f"Key (group_id)=({anna}) is missing") from error

    try:
        look_up()
    except ValueError:
        spoken.log.exception("It went wrong.")
    text = spoken.text
    assert anna not in text
    assert "ValueError" in text
    assert "KeyError" in text
    assert "look_up" in text
    assert len(text.splitlines()) == 1


def test_the_code_of_a_failed_connection_is_logged(spoken):
    spoken.with_format(JsonFormatter())
    try:
        raise ConnectionRefusedError(111, "Connection refused", "/run/secret-name")
    except ConnectionRefusedError:
        spoken.log.exception("The database is away.")
    text = spoken.text
    assert json.loads(text)["exception"]["kinds"] == ["ConnectionRefusedError 111"]
    assert "secret-name" not in text


class Spoken:
    """A logger that formats each line with a given formatter."""

    def __init__(self) -> None:
        self.log = logging.Logger("vbdesk.test")
        self._handler = logging.StreamHandler(io.StringIO())
        self.log.addHandler(self._handler)

    def with_format(self, formatter: logging.Formatter) -> "Spoken":
        self._handler.setFormatter(formatter)
        return self

    @property
    def text(self) -> str:
        text: str = self._handler.stream.getvalue()
        return text


@pytest.fixture
def spoken() -> Spoken:
    return Spoken()
