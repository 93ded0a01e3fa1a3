"""Whose word counts on where a caller is: that of proxies that the operator names."""

import re

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from patience import HANGS_S
from vbdesk.service.composition.servers import LOOPBACK
from vbdesk.service.http.guard import MAX_UNAUTHORIZED_PER_WINDOW, source_of
from vbdesk.service.kernel.settings import SettingsInvalid, load_settings

CLAIM = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}


async def whereabouts(request: Request) -> JSONResponse:
    assert request.client is not None
    return JSONResponse([request.client.host, request.url.scheme])


APP = Starlette(routes=[Route("/", whereabouts)])


def test_a_trusted_proxy_tells_the_callers_address_and_scheme(serve_app):
    address = serve_app(APP, trusted_proxies=LOOPBACK)
    assert httpx.get(address, headers=CLAIM, trust_env=False, timeout=HANGS_S).json() == ["203.0.113.7", "https"]


def test_what_anybody_else_claims_counts_for_nothing(serve_app, tmp_path):
    elsewhere = load_settings(tmp_path, trusted_proxies=["10.0.0.0/24"]).trusted_proxies
    for trusted in (elsewhere, ()):
        address = serve_app(APP, trusted_proxies=trusted)
        assert httpx.get(address, headers=CLAIM, trust_env=False, timeout=HANGS_S).json() == ["127.0.0.1", "http"]


def test_this_computer_is_trusted_unless_told_otherwise(tmp_path):
    assert load_settings(tmp_path).trusted_proxies == LOOPBACK
    with pytest.raises(SettingsInvalid, match="trusted_proxies"):
        load_settings(tmp_path, trusted_proxies=["everybody"])


def status_of(service, caller: str) -> int:
    """The answer to a caller without credentials, at an address that a trusted proxy tells."""
    return service.client().get("/v2/models", headers={"X-Forwarded-For": caller}).status_code


def test_refusals_of_an_ipv6_network_count_together(service):
    network = [f"2001:db8:1:2:{part:x}::{part:x}" for part in range(MAX_UNAUTHORIZED_PER_WINDOW)]
    assert {status_of(service, caller) for caller in network} == {401}
    assert status_of(service, "2001:db8:1:2:ffff:ffff:ffff:ffff") == 429
    assert status_of(service, "2001:db8:1:3::1") == 401, "the network beside it is somebody else's"


def test_refusals_of_the_console_count_with_the_network_too(service):
    for part in range(MAX_UNAUTHORIZED_PER_WINDOW):
        assert status_of(service, f"2001:db8:5::{part:x}") == 401
    visitor = service.client()
    page = visitor.get("/console/sign-in").text
    [token] = set(re.findall(r'name="form_token" value="(\w+)"', page))
    answer = visitor.post(
        "/console/sign-in",
        data={"account_id": "a", "secret_key": "b", "form_token": token},
        headers={"X-Forwarded-For": "2001:db8:5::ffff"},
    )
    assert answer.status_code == 429


def test_an_ipv4_address_counts_once_however_it_is_written(service):
    written = ["192.0.2.1", "::ffff:192.0.2.1", "::ffff:c000:201", "0:0:0:0:0:FFFF:192.0.2.1"]
    for caller in written * (MAX_UNAUTHORIZED_PER_WINDOW // len(written)):
        assert status_of(service, caller) == 401
    assert {status_of(service, caller) for caller in written} == {429}
    assert {status_of(service, caller) for caller in ("192.0.2.2", "::ffff:192.0.2.3", "::")} == {401}


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::/64"),
        ("fe80::2%eth1", "fe80::/64"),
        ("::1", "::/64"),
        ("::192.0.2.1", "::/64"),
        ("2001:DB8::A", "2001:db8::/64"),
        ("testclient", "testclient"),
        ("", ""),
    ],
)
def test_what_counts_as_the_source_of_a_request(address: str, source: str):
    assert source_of(address) == source
