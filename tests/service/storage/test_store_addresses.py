"""Addresses signed by the providers' libraries, at stores that check them with other code."""

import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from urllib.parse import urlsplit

import httpx

from patience import HANGS_S, until
from vbdesk.clock import utc_now
from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.service.storage.addresses import ANY_AUDIO, LengthRange, UploadAddress
from vbdesk.service.storage.opening import open_addresses

SOUND = b"sound"
MISSING_HEADER = {"s3": (403, "SignatureDoesNotMatch"), "gcs": (400, "MalformedSecurityHeader")}
EXPIRED = {"s3": (403, "AccessDenied"), "gcs": (400, "ExpiredToken")}


def minted(addresses, length=ANY_AUDIO, valid_s=900.0) -> UploadAddress:
    return addresses.mint("uploads/one", "audio/flac", length, utc_now(), valid_s)


def put(address, content=SOUND, **changes):
    headers = {name: value for name, value in {**address.required_headers, **changes}.items() if value is not None}
    return httpx.put(address.url, content=content, headers=headers, trust_env=False, timeout=HANGS_S)


def refusal(answer):
    return answer.status_code, ET.fromstring(answer.content).findtext("Code")


def test_an_address_accepts_one_file_once(cloud_store, addresses):
    address = minted(addresses)
    assert put(address).status_code == 200
    assert refusal(put(address, b"again")) == (412, "PreconditionFailed")
    with cloud_store.open("uploads/one") as file:
        assert file.read() == SOUND


def test_of_racing_uploads_exactly_one_is_stored_completely(cloud_store, addresses):
    address = minted(addresses)
    bodies = [bytes([number]) * 100_000 for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda body: put(address, body).status_code, bodies))
    assert sorted(answers) == [200] + [412] * 5
    with cloud_store.open("uploads/one") as file:
        assert file.read() in bodies


def test_every_required_header_is_required(cloud, cloud_store, addresses):
    address = minted(addresses)
    assert address.required_headers["Content-Type"] == "audio/flac"
    assert [v for n, v in address.required_headers.items() if n.endswith("-Content-Length-Range")] == ["1,33554432"]
    for name in address.required_headers:
        assert refusal(put(address, **{name: None})) == MISSING_HEADER[cloud.kind]
    assert not cloud_store.exists("uploads/one")


def test_signed_parts_cannot_be_altered(cloud_store, addresses):
    address = minted(addresses)
    for name in address.required_headers:
        assert refusal(put(address, **{name: "audio/wav"})) == (403, "SignatureDoesNotMatch")
    for old, new in (("Expires=900", "Expires=901"), ("uploads/one", "uploads/two")):
        altered = UploadAddress(address.url.replace(old, new), address.required_headers, address.expires_at)
        assert refusal(put(altered)) == (403, "SignatureDoesNotMatch")
    assert list(cloud_store.keys("uploads")) == []


def test_an_address_expires_as_stated(cloud, addresses):
    before = utc_now()
    address = minted(addresses, valid_s=1.9)
    assert before <= address.expires_at <= utc_now() + timedelta(seconds=2)
    until(lambda: utc_now() > address.expires_at)
    assert refusal(put(address)) == EXPIRED[cloud.kind]


def test_a_store_that_supports_length_ranges_enforces_them(place_of, tmp_path):
    google = open_addresses(place_of("gcs").load(tmp_path), lambda: (b"unused",), "")
    address = minted(google)
    assert refusal(put(address, b"")) == (400, "EntityTooSmall")
    assert refusal(put(address, bytes(MAX_AUDIO_BYTES + 1))) == (400, "EntityTooLarge")
    assert put(address, bytes(MAX_AUDIO_BYTES)).status_code == 200


def test_only_a_file_of_the_declared_size_is_accepted(cloud, cloud_store, addresses):
    address = minted(addresses, LengthRange(len(SOUND), len(SOUND)))
    longer = {"Content-Length": str(len(SOUND) + 1)} if cloud.kind == "s3" else {}
    assert not put(address, SOUND + b"!", **longer).is_success
    assert not cloud_store.exists("uploads/one")
    assert put(address).status_code == 200


def test_addresses_use_the_public_endpoint(cloud, tmp_path):
    settings = cloud.load(tmp_path).model_copy(update={"storage_public_endpoint": "https://audio.example.org"})
    address = minted(open_addresses(settings, lambda: (b"unused",), ""))
    parts = urlsplit(address.url)
    assert (parts.scheme, parts.netloc) == ("https", "audio.example.org")
    assert parts.path == "/recordings/desk/one/uploads/one"
