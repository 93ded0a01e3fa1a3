"""HTTP variants: targets, versions, methods, queries, chunked bodies, pipelined requests."""

import json
from urllib.parse import urlsplit

import httpx
import pytest
from examination import (
    ON_CLUSTERS,
    SPEECH,
    Examined,
    accepted,
    assert_error,
    assert_validation_error,
    exchange,
    mint,
    new_group,
    put,
    read,
    submit,
    written,
)

CLARITY = {"name": "clarity", "signs": ["cognitive-impairment"]}
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def headers(examined: Examined) -> dict[str, str]:
    return examined.account().headers


@pytest.mark.parametrize("target", ["http://voice.example/v2/models/clarity", "HTTP://x:80/v2/models/clarity?a=b"])
def test_target_may_be_a_whole_address(examined: Examined, headers: dict, target: str) -> None:
    assert exchange(examined.base_url, written("GET", target, headers)).json() == CLARITY


def test_target_that_is_an_origin_alone_is_not_found(examined: Examined, headers: dict) -> None:
    assert_error(exchange(examined.base_url, written("GET", "http://voice.example", headers)), 404, "NOT_FOUND")


def test_http_1_0_is_answered(examined: Examined, headers: dict) -> None:
    assert exchange(examined.base_url, written("GET", "/v2/models/clarity", headers, version="1.0")).json() == CLARITY


def test_header_names_are_taken_in_any_case(examined: Examined, headers: dict) -> None:
    shouted = {name.upper(): f"  {value} " for name, value in headers.items()}
    assert exchange(examined.base_url, written("GET", "/v2/models/clarity", shouted)).json() == CLARITY


def test_several_requests_on_one_connection_are_answered_in_order(examined: Examined, headers: dict) -> None:
    going_on = [written("GET", f"/v2/{path}", {**headers, "Connection": ""}) for path in ("models/clarity", "nothing")]
    request = b"".join([*going_on, written("GET", "/v2/signs/stress", headers)])
    answers = exchange(examined.base_url, request).text
    assert answers.index("clarity") < answers.index("NOT_FOUND") < answers.index("acute-stress")


def test_body_in_chunks_is_read(examined: Examined, headers: dict) -> None:
    group = new_group()
    text = json.dumps({"group_id": group}).encode()
    pieces = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (text[:5], text[5:])) + b"0\r\n\r\n"
    fields = {**headers, **JSON, "Content-Length": "", "Transfer-Encoding": "chunked"}
    answer = exchange(examined.base_url, written("POST", "/v2/groups", fields) + pieces)
    assert (answer.status_code, answer.json()["group_id"]) == (201, group)


def test_broken_chunks_are_refused_in_the_common_shape(examined: Examined, headers: dict) -> None:
    fields = {**headers, **JSON, "Content-Length": "", "Transfer-Encoding": "chunked"}
    answer = exchange(examined.base_url, written("POST", "/v2/groups", fields) + b"zz\r\n")
    assert_error(answer, 400, "INVALID_REQUEST")


@pytest.mark.parametrize("length", ["-1", "three", "9" * 30])
def test_length_that_is_none_is_refused_in_the_common_shape(examined: Examined, headers: dict, length: str) -> None:
    request = written("POST", "/v2/groups", {**headers, **JSON, "Content-Length": length})
    assert_error(exchange(examined.base_url, request), 400, "INVALID_REQUEST")


def test_expected_leave_to_send_is_given(examined: Examined, headers: dict) -> None:
    group = new_group()
    body = json.dumps({"group_id": group}).encode()
    request = written("POST", "/v2/groups", {**headers, **JSON, "Expect": "100-continue"}, body)
    assert exchange(examined.base_url, request).json()["group_id"] == group


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PROPFIND", "get"])
def test_method_that_no_route_takes_is_not_allowed(examined: Examined, headers: dict, method: str) -> None:
    answer = exchange(examined.base_url, written(method, "/v2/models", headers))
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
    assert answer.text == "" if method == "HEAD" else assert_error(answer, 405, "METHOD_NOT_ALLOWED")


@pytest.mark.parametrize("path", ["/v2/models/", "/V2/models", "/v2//models", "//v2/models", "/v2/models;x"])
def test_paths_are_taken_to_the_letter(api: httpx.Client, path: str) -> None:
    assert_error(api.get(f"{str(api.base_url).rstrip('/')}{path}"), 404, "NOT_FOUND")


def test_percent_encoded_letters_are_the_letters(api: httpx.Client) -> None:
    assert read(api, "/v2/models/%63larity") == CLARITY


@pytest.mark.parametrize("group", ["a%2Fb", "%2Fb", "%2e%2e%2fa"])
def test_slash_within_a_group_id_is_no_way_to_another_route(api: httpx.Client, group: str) -> None:
    answer = api.post(f"/v2/signs/stress/groups/{group}/analyze", files={"audio": b"noise"})
    assert_error(answer, 400, "INVALID_REQUEST")
    assert_error(api.get(f"/v2/groups/{group}/jobs"), 404, "NOT_FOUND")


@pytest.mark.parametrize("page", ["", "1.0", "1_0", "true", "null", "0x1", "٢", "9" * 5000])
def test_page_that_is_no_row_of_digits_is_refused(api: httpx.Client, page: str) -> None:
    assert_validation_error(api.get("/v2/jobs", params={"page": page}))


def test_repeated_query_parameters_mean_the_last(api: httpx.Client) -> None:
    assert accepted(api.get("/v2/jobs?page=0&page=7"))["page"] == 7


def test_unknown_query_parameters_are_ignored(api: httpx.Client) -> None:
    assert accepted(api.get("/v2/models/clarity?page=x&Page=-1&%zz")) == CLARITY


def test_offset_whose_plus_was_not_encoded_is_understood(api: httpx.Client) -> None:
    group = new_group()
    api.post("/v2/groups", json={"group_id": group})
    for moment in ("2026-02-02T10:00:00+02:00", "2026-02-02T10:00:00.5+02:00", "2026-02-02T10:00+02:00"):
        assert accepted(api.get(f"/v2/groups/{group}/jobs?from={moment}&to={moment}"))["total_jobs"] == 0


def test_time_of_hours_and_minutes_may_follow_a_space(api: httpx.Client) -> None:
    group = new_group()
    api.post("/v2/groups", json={"group_id": group})
    assert read(api, f"/v2/groups/{group}/jobs", **{"from": "2026-02-02 10:00"})["total_jobs"] == 0


def form(*parts: tuple[str, bytes]) -> bytes:
    """Build a form; each part gives what follows `form-data; ` in its header."""
    written_parts = [b"--b\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n" % (h.encode(), b) for h, b in parts]
    return b"".join(written_parts) + b"--b--\r\n"


FORM = {"content-type": "multipart/form-data; boundary=b"}
PATH = "/v2/signs/stress/analyze"


@pytest.mark.parametrize(
    "head",
    [
        'name="audio"; filename="../../etc/passwd"',
        'name="audio"; filename="a\0.flac"',
        "name=\"audio\"; filename*=UTF-8''%e2%82%ac.flac",
        "name=audio; filename=take",
        'filename="a"; name="audio"',
    ],
)
def test_file_is_taken_whatever_its_name(still: httpx.Client, head: str) -> None:
    answer = still.post(PATH, content=form((head, SPEECH)), headers=FORM)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("content_type", ['multipart/form-data; boundary="b"', "Multipart/Form-Data; BOUNDARY=b"])
def test_content_type_of_a_form_is_read_as_a_header_is(still: httpx.Client, content_type: str) -> None:
    body = form(('name="audio"; filename="a"', SPEECH))
    assert still.post(PATH, content=body, headers={"content-type": content_type}).status_code == 200


@pytest.mark.parametrize(
    ("content_type", "end"),
    [
        ("multipart/form-data", b""),
        ("multipart/form-data; boundary=", b""),
        ("multipart/form-data; boundary=other", b""),
        ("multipart/mixed; boundary=b", b""),
        ("application/x-www-form-urlencoded", b""),
        ("multipart/form-data; boundary=b", b"--b--\r\n"),
    ],
    ids=["no boundary", "empty boundary", "other boundary", "mixed", "urlencoded", "broken off"],
)
def test_form_that_cannot_be_read_is_an_invalid_request(still: httpx.Client, content_type: str, end: bytes) -> None:
    body = form(('name="audio"; filename="a"', SPEECH)).removesuffix(end)
    assert_error(still.post(PATH, content=body, headers={"content-type": content_type}), 400, "INVALID_REQUEST")


def test_note_before_the_first_boundary_is_passed_over(still: httpx.Client) -> None:
    body = form(('name="audio"; filename="a"', SPEECH))
    for note in (b"This is a form in several parts.\r\n", b"\r\n", b"--not the boundary\r\n", b"n" * 8190 + b"\r\n"):
        assert still.post(PATH, content=note + body, headers=FORM).status_code == 200, note
    for note in (b"no end of its line", b"n" * 100_000 + b"\r\n"):
        assert_error(still.post(PATH, content=note + body, headers=FORM), 400, "INVALID_REQUEST")


def test_two_files_are_refused(still: httpx.Client) -> None:
    body = form(('name="audio"; filename="a"', SPEECH), ('name="audio"; filename="b"', SPEECH))
    assert_validation_error(still.post(PATH, content=body, headers=FORM))


def test_file_field_in_which_nothing_was_chosen_counts_as_not_sent(still: httpx.Client) -> None:
    grant = mint(still)
    put(grant, SPEECH)
    reference = ('name="audio_upload_ref"', grant["upload_ref"].encode())
    for head in ('name="audio"; filename=""', 'name="audio"'):
        assert still.post(PATH, content=form((head, b""), reference), headers=FORM).status_code == 200
        assert_error(still.post(PATH, content=form((head, b"")), headers=FORM), 400, "INVALID_REQUEST")


def test_fields_sent_as_files_and_fields_repeated_mean_their_last_text(still: httpx.Client) -> None:
    audio = ('name="audio"; filename="a"', SPEECH)
    as_file = ('name="diarize"; filename="x.txt"', b"false")
    body = form(('name="diarize"', b"perhaps"), as_file, audio)
    assert still.post(PATH, content=body, headers=FORM).status_code == 200
    assert_validation_error(
        still.post(PATH, content=form(as_file, ('name="diarize"', b"perhaps"), audio), headers=FORM)
    )


def test_field_that_is_no_text_or_too_long_is_a_validation_error(still: httpx.Client) -> None:
    audio = ('name="audio"; filename="a"', SPEECH)
    for value in (b"\xff\xfe", b"x" * 100_000):
        body = form(('name="webhook_secret_key"', value), audio)
        assert_validation_error(still.post(PATH, content=body, headers=FORM))


def test_unknown_and_foreign_fields_are_ignored(still: httpx.Client) -> None:
    strangers = {"colour": "red", "use_case": "unknown", "recorded_at": "not a time", "Audio": "x"}
    assert submit(still, PATH, **strangers)["sign_name"] == "stress"


def test_empty_idempotency_key_is_none(still: httpx.Client) -> None:
    ids = set()
    for _ in range(2):
        answer = still.post(PATH, files={"audio": SPEECH}, headers={"Idempotency-Key": ""})
        ids.add(answer.json()["job_id"])
    assert len(ids) == 2


embedded_store_only = pytest.mark.skipif(
    ON_CLUSTERS, reason="examines the embedded store, which a cluster does not have"
)


def storage_of(api: httpx.Client) -> str:
    parts = urlsplit(mint(api)["upload_url"])
    return f"{parts.scheme}://{parts.netloc}"


@embedded_store_only
@pytest.mark.parametrize(
    "request_bytes",
    [
        b"this is not HTTP\r\n\r\n",
        b"PUT /uploads/x HTTP/1.1\r\n\r\n",
        written("PUT", "/uploads/x", {"Content-Length": "-1"}),
        written("PUT", "/uploads/x", {"X": "y" * 200_000}),
        written("GET", "/", {}),
        written("POST", "/uploads/x", {}),
        written("OPTIONS", "*", {}),
        written("PUT", "/", {}, b"x"),
        written("PUT", "/uploads/%ff%00", {}, b"x"),
        written("PUT", "/uploads/x?X-Vbdesk-Algorithm=VBDESK4-HMAC-SHA256", {}, b"x"),
    ],
    ids=range(10),
)
def test_every_refusal_of_the_storage_origin_is_xml(api: httpx.Client, request_bytes: bytes) -> None:
    answer = exchange(storage_of(api), request_bytes)
    assert answer.status_code in (400, 403, 404, 405)
    assert answer.headers["content-type"] == "application/xml"
    assert answer.text.startswith('<?xml version="1.0" encoding="UTF-8"?><Error><Code>')
    assert "<Message>" in answer.text


@embedded_store_only
def test_storage_takes_a_whole_address_as_target(api: httpx.Client) -> None:
    grant = mint(api)
    parts = urlsplit(grant["upload_url"])
    request = written("PUT", grant["upload_url"], {**grant["required_headers"], "Host": parts.netloc}, SPEECH)
    assert exchange(grant["upload_url"], request).status_code == 200
