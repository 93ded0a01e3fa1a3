"""Whose word counts on where a caller is: that of proxies that the operator names."""

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from vbdesk.service.servers import LOOPBACK
from vbdesk.service.settings import SettingsInvalid, load_settings

CLAIM = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}


async def whereabouts(request: Request) -> JSONResponse:
    assert request.client is not None
    return JSONResponse([request.client.host, request.url.scheme])


APP = Starlette(routes=[Route("/", whereabouts)])


def test_a_trusted_proxy_tells_the_callers_address_and_scheme(serve_app):
    address = serve_app(APP, trusted_proxies=LOOPBACK)
    assert httpx.get(address, headers=CLAIM, trust_env=False).json() == ["203.0.113.7", "https"]


def test_what_anybody_else_claims_counts_for_nothing(serve_app, tmp_path):
    elsewhere = load_settings(tmp_path, trusted_proxies=["10.0.0.0/24"]).trusted_proxies
    for trusted in (elsewhere, ()):
        address = serve_app(APP, trusted_proxies=trusted)
        assert httpx.get(address, headers=CLAIM, trust_env=False).json() == ["127.0.0.1", "http"]


def test_this_computer_is_trusted_unless_told_otherwise(tmp_path):
    assert load_settings(tmp_path).trusted_proxies == LOOPBACK
    with pytest.raises(SettingsInvalid, match="trusted_proxies"):
        load_settings(tmp_path, trusted_proxies=["everybody"])
