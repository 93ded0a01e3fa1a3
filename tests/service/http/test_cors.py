"""Pages of other origins: none by default, the listed ones for the API and uploads, never for the console."""

import httpx
import pytest

from patience import HANGS_S
from vbdesk.service.kernel.settings import SettingsInvalid, load_settings

PAGE = "https://app.example.org"
STRANGERS = [
    "https://evil.example.org",
    "null",
    "https://app.example.org.evil.com",
    "https://evilapp.example.org",
    "http://app.example.org",
    "https://app.example.org:8443",
    "https://app.example.org/",
    "HTTPS://APP.EXAMPLE.ORG",
    "*",
    "",
]


@pytest.fixture
def open_service(start_service):
    return start_service(cors_origins=[PAGE, "http://localhost:5173"])


def preflight(url, method="POST", origin=PAGE, headers="x-account-id,x-api-key,idempotency-key,content-type"):
    asked = {"Origin": origin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": headers}
    return httpx.options(url, headers=asked, trust_env=False, timeout=HANGS_S)


def cors_headers(answer):
    return {name for name in answer.headers if name.startswith("access-control-")}


def test_by_default_no_origin_is_let_in(service, client):
    for answer in (
        preflight(f"{service.base_url}/v2/signs/stress/analyze"),
        preflight(f"{service.storage_url}/uploads/x", "PUT"),
        client.get("/v2/models", headers={"Origin": PAGE}),
    ):
        assert cors_headers(answer) == set()
    assert client.get("/v2/models").headers.get("vary") is None


@pytest.mark.parametrize("origin", [PAGE, "http://localhost:5173"])
@pytest.mark.parametrize("path", ["/v2/signs/stress/analyze", "/api/v1/wellness/analyze-audio", "/v2/nothing"])
def test_a_preflight_is_answered_before_credentials(open_service, origin, path):
    answer = preflight(open_service.base_url + path, origin=origin)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == origin
    assert {"GET", "POST", "DELETE"} == set(answer.headers["access-control-allow-methods"].split(", "))
    allowed = answer.headers["access-control-allow-headers"].lower()
    assert all(name in allowed for name in ("x-account-id", "x-api-key", "x-secret-key", "idempotency-key"))
    assert "access-control-allow-credentials" not in answer.headers
    assert "Origin" in answer.headers["vary"]


def test_preflights_do_not_use_up_requests(open_service):
    account = open_service.add_account()
    for _ in range(80):
        preflight(f"{open_service.base_url}/v2/models", "GET")
    assert open_service.client(account).get("/v2/models").status_code == 200
    assert open_service.client().get("/v2/models").status_code == 401  # not 429: none counted as a refused credential


@pytest.mark.parametrize("origin", STRANGERS)
def test_a_stranger_is_refused_in_shape_and_told_nothing(open_service, origin):
    answer = preflight(f"{open_service.base_url}/v2/models", "GET", origin=origin)
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    stored = preflight(f"{open_service.storage_url}/uploads/x", "PUT", origin, "content-type")
    assert (stored.status_code, stored.headers["content-type"]) == (400, "application/xml")
    read = open_service.client(open_service.add_account()).get("/v2/models", headers={"Origin": origin})
    assert read.status_code == 200
    for each in (answer, stored, read):
        assert "access-control-allow-origin" not in each.headers
        assert "Origin" in each.headers["vary"]


@pytest.mark.parametrize(
    ("method", "headers"), [("PUT", ""), ("TRACE", ""), ("post", ""), ("POST", "x-forwarded-for"), ("POST", "cookie")]
)
def test_a_method_or_header_that_is_not_allowed_is_refused(open_service, method, headers):
    answer = preflight(f"{open_service.base_url}/v2/models", method, headers=headers or "x-api-key")
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    assert cors_headers(answer) == set()


def test_the_page_reads_answers_refusals_and_crashes(open_service, monkeypatch):
    client = open_service.client(open_service.add_account())
    client.headers["Origin"] = PAGE
    fine, missing = client.get("/v2/models"), client.get("/v2/jobs/none")
    stranger = open_service.client().get("/v2/models", headers={"Origin": PAGE})

    def break_down(*_args, **_kwargs):
        raise RuntimeError

    monkeypatch.setattr("vbdesk.service.jobs.service.JobService.list_jobs", break_down)
    crash = client.get("/v2/jobs")
    assert [each.status_code for each in (fine, missing, stranger, crash)] == [200, 404, 401, 500]
    for answer in (fine, missing, stranger, crash):
        assert answer.headers.get_list("access-control-allow-origin") == [PAGE]
        assert "Origin" in answer.headers["vary"]
        assert "access-control-allow-credentials" not in answer.headers
        exposed = answer.headers["access-control-expose-headers"]
        assert all(name in exposed for name in ("X-Vbdesk-Fields", "Retry-After", "ETag", "RateLimit"))


def test_answers_for_no_page_vary_by_origin_too(open_service):
    """Else a shared cache could give a page the answer that was made for none."""
    answer = open_service.client(open_service.add_account()).get("/v2/models")
    assert "Origin" in answer.headers["vary"]
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("path", ["/console", "/console/sign-in", "/console/style.css", "/docs", "/healthz", "/readyz"])
def test_the_console_and_the_pages_are_never_open(open_service, path):
    url = open_service.base_url + path
    answers = [
        preflight(url),
        preflight(url, "GET"),
        httpx.get(url, headers={"Origin": PAGE}, trust_env=False, timeout=HANGS_S),
    ]
    assert [cors_headers(answer) for answer in answers] == [set(), set(), set()]


def test_a_page_puts_a_recording_to_the_store(open_service):
    client = open_service.client(open_service.add_account())
    grant = client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}, headers={"Origin": PAGE}).json()
    names = ",".join(grant["required_headers"]).lower()
    asked = preflight(grant["upload_url"], "PUT", headers=names)
    assert (asked.status_code, asked.headers["access-control-allow-methods"]) == (200, "PUT")
    headers = {**grant["required_headers"], "Origin": PAGE}
    for status in (200, 412):
        put = httpx.put(grant["upload_url"], content=b"sound", headers=headers, trust_env=False, timeout=HANGS_S)
        assert (put.status_code, put.headers["access-control-allow-origin"]) == (status, PAGE)


def test_origins_are_compared_as_browsers_send_them(tmp_path):
    given = ["HTTPS://App.Example.org:443", "http://localhost:80", "http://[::1]:5173", "https://app.example.org"]
    expected = ("https://app.example.org", "http://localhost", "http://[::1]:5173")
    assert load_settings(tmp_path, cors_origins=given).cors_origins == expected
    assert load_settings(tmp_path).cors_origins == ()


@pytest.mark.parametrize(
    "origin",
    [
        "*",
        "null",
        "",
        "app.example.org",
        "https://*.example.org",
        "https://app.example.org/",
        "https://app.example.org/path",
        "https://user:hunter2@app.example.org",
        "ftp://app.example.org",
        "file://",
        "https://app.example.org:0",
        "https://app.example.org:70000",
        "https://app.example.org, https://other.example.org",
        "https://bücher.example",
        "https://app.example.org\n",
    ],
)
def test_what_is_no_origin_is_refused_at_the_start(tmp_path, origin):
    with pytest.raises(SettingsInvalid, match="cors_origins") as refused:
        load_settings(tmp_path, cors_origins=[origin])
    assert "hunter2" not in str(refused.value)


def test_origins_come_from_the_environment_and_the_file(tmp_path, monkeypatch):
    (tmp_path / "vbdesk.toml").write_text('cors_origins = ["https://file.example.org"]\n')
    assert load_settings(tmp_path).cors_origins == ("https://file.example.org",)
    monkeypatch.setenv("VBDESK_CORS_ORIGINS", '["https://app.example.org"]')
    assert load_settings(tmp_path).cors_origins == (PAGE,)
