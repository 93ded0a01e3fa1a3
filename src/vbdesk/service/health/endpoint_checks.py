"""Checks of the public address, through the proxy, as callers reach it."""

import socket
import ssl
from datetime import UTC, datetime
from urllib.parse import urlsplit

import httpx

from vbdesk.clock import utc_now
from vbdesk.language import N_, message, plural_message
from vbdesk.service.health.findings import Finding, action_needed, note, ok
from vbdesk.service.http.openapi_document import INTERFACE_VERSION
from vbdesk.service.kernel.settings import Settings

TIMEOUT_S = 10.0
EXPIRES_SOON_DAYS = 21


def check_host_address(address: str, settings: Settings) -> list[Finding]:
    """Check what `address`, such as `https://voice.example.org`, answers."""
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return [action_needed(N_("public address"), message("Give --url as https://voice.example.org."))]
    findings = [_check_answer(address.rstrip("/")), _check_certificate(parts.hostname, parts.port, parts.scheme)]
    store = settings.storage_public_endpoint or (None if settings.storage_location else settings.storage_url)
    if store:
        findings.append(_check_store_origin(store))
    return findings


def _check_answer(address: str) -> Finding:
    topic = N_("public address")
    try:
        with httpx.Client(base_url=address, timeout=TIMEOUT_S) as client:
            ready, described = client.get("/readyz"), client.get("/openapi.json")
    except httpx.HTTPError as error:
        away = message(
            "{address} does not answer ({kind}). Check its name, proxy and certificate.",
            address=address,
            kind=type(error).__name__,
        )
        return action_needed(topic, away)
    if ready.status_code != httpx.codes.OK:
        not_ready = message(
            "{address} answers {status} at /readyz: no process behind it is ready. Start the service.",
            address=address,
            status=str(ready.status_code),
        )
        return action_needed(topic, not_ready)
    try:
        version = described.json()["info"]["version"]
    except (ValueError, KeyError, TypeError):
        other = message("{address} answers, but not like a service. Check the proxy.", address=address)
        return action_needed(topic, other)
    if version != INTERFACE_VERSION:
        differs = message(
            "{address} has version {version}, and this vbdesk has {own}. Check whether it is another service.",
            address=address,
            version=str(version),
            own=INTERFACE_VERSION,
        )
        return action_needed(topic, differs)
    ready_now = message("{address} is ready and has version {version}.", address=address, version=str(version))
    return ok(topic, ready_now)


def _check_certificate(host: str, port: int | None, scheme: str) -> Finding:
    if scheme == "http":
        without = message("Recordings must not be sent without TLS. Put a certificate on the proxy.")
        return action_needed(N_("certificate"), without)
    try:
        with (
            socket.create_connection((host, port or 443), TIMEOUT_S) as plain,
            ssl.create_default_context().wrap_socket(plain, server_hostname=host) as secured,
        ):
            certificate = secured.getpeercert() or {}
    except OSError as error:
        invalid = message(
            "{host} shows no valid certificate ({kind}). Renew or complete it.", host=host, kind=type(error).__name__
        )
        return action_needed(N_("certificate"), invalid)
    ends_at = datetime.fromtimestamp(ssl.cert_time_to_seconds(str(certificate["notAfter"])), UTC)
    days = (ends_at - utc_now()).days
    if days < EXPIRES_SOON_DAYS:
        soon = plural_message(
            "The certificate ends in {count} day. Renew it.", "The certificate ends in {count} days. Renew it.", days
        )
        return action_needed(N_("certificate"), soon)
    valid = plural_message(
        "The certificate is valid for {count} more day.", "The certificate is valid for {count} more days.", days
    )
    return ok(N_("certificate"), valid)


def _check_store_origin(store: str) -> Finding:
    """Accept any answer: a request without a signature is refused."""
    topic = N_("address of the store")
    try:
        status = httpx.get(store, timeout=TIMEOUT_S).status_code
    except httpx.HTTPError as error:
        away = message(
            "{address} does not answer ({kind}), so callers cannot upload there. Check its name, proxy and "
            "certificate.",
            address=store,
            kind=type(error).__name__,
        )
        return action_needed(topic, away)
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        fails = message(
            "{address} answers {status}: the store behind the proxy does not answer. Start it, or correct the proxy.",
            address=store,
            status=str(status),
        )
        return action_needed(topic, fails)
    if store.startswith("https:"):
        return ok(topic, message("{address} answers.", address=store))
    return note(topic, message("{address} answers without TLS.", address=store))
