"""Checks of the public address, through the proxy, as callers reach it."""

import socket
import ssl
from datetime import UTC, datetime
from urllib.parse import urlsplit

import httpx

from vbdesk.service.health.findings import Finding, action_needed, note, ok
from vbdesk.service.http.openapi_document import INTERFACE_VERSION
from vbdesk.service.kernel.settings import Settings

TIMEOUT_S = 10.0
EXPIRES_SOON_DAYS = 21


def look_at_address(address: str, settings: Settings) -> list[Finding]:
    """Check what `address`, such as `https://voice.example.org`, answers."""
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return [action_needed("public address", "Give --url as https://voice.example.org.")]
    findings = [_look_at_answer(address.rstrip("/")), _look_at_certificate(parts.hostname, parts.port, parts.scheme)]
    store = settings.storage_public_endpoint or (None if settings.storage_location else settings.storage_url)
    if store:
        findings.append(_look_at_store_origin(store))
    return findings


def _look_at_answer(address: str) -> Finding:
    topic = "public address"
    try:
        with httpx.Client(base_url=address, timeout=TIMEOUT_S) as client:
            ready, described = client.get("/readyz"), client.get("/openapi.json")
    except httpx.HTTPError as error:
        return action_needed(
            topic, f"{address} does not answer ({type(error).__name__}): see to its name, proxy and certificate."
        )
    if ready.status_code != httpx.codes.OK:
        return action_needed(topic, f"{address} answers {ready.status_code} at /readyz: no process behind it is ready.")
    try:
        version = described.json()["info"]["version"]
    except (ValueError, KeyError, TypeError):
        return action_needed(topic, f"{address} is ready, and yet describes no service: a proxy answers in its place.")
    if version != INTERFACE_VERSION:
        return action_needed(
            topic, f"{address} has version {version}, this vbdesk {INTERFACE_VERSION}: is it another service?"
        )
    return ok(topic, f"{address} is ready and has version {version}.")


def _look_at_certificate(host: str, port: int | None, scheme: str) -> Finding:
    if scheme == "http":
        return action_needed("certificate", "Voices must not travel without TLS: put a certificate on the proxy.")
    try:
        with (
            socket.create_connection((host, port or 443), TIMEOUT_S) as plain,
            ssl.create_default_context().wrap_socket(plain, server_hostname=host) as secured,
        ):
            certificate = secured.getpeercert() or {}
    except OSError as error:
        return action_needed(
            "certificate", f"{host} shows none that holds ({type(error).__name__}): renew or complete it."
        )
    ends_at = datetime.fromtimestamp(ssl.cert_time_to_seconds(str(certificate["notAfter"])), UTC)
    days = (ends_at - datetime.now(UTC)).days
    if days < EXPIRES_SOON_DAYS:
        return action_needed("certificate", f"It ends in {days} {'day' if days == 1 else 'days'}: renew it.")
    return ok("certificate", f"It holds for {days} days more.")


def _look_at_store_origin(store: str) -> Finding:
    """Accept any answer: a request without a signature is refused."""
    try:
        status = httpx.get(store, timeout=TIMEOUT_S).status_code
    except httpx.HTTPError as error:
        return action_needed(
            "store's address", f"{store} does not answer ({type(error).__name__}): callers cannot upload there."
        )
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return action_needed("store's address", f"{store} answers {status}: the store behind the proxy is away.")
    return (
        ok("store's address", f"{store} answers.")
        if store.startswith("https:")
        else note("store's address", f"{store} answers, without TLS.")
    )
