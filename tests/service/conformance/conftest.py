"""Fixtures for the service under test.

By default the tests start their own services and share them. To test another service, set VBDESK_CONFORMANCE_URL,
_ACCOUNT_ID, _API_KEY and _SECRET_KEY (an enterprise account with many credits), and run with `--allow-hosts` for its
host. VBDESK_CONFORMANCE_OTHER_ACCOUNT_ID and so on name a second account. Tests that need more are skipped.

With VBDESK_CONFORMANCE_ON=cluster every own service is a cluster: PostgreSQL, a Google Cloud Storage emulator, two API
processes behind a round-robin address, and workers in their own processes.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

sys.path.append(str(Path(__file__).parent))  # makes the helper modules importable by name

from examination import ADDRESS, ON_CLUSTERS, Examined, OneMachine, OwnService, credits, submit


@pytest.fixture(scope="package")
def make_own_service(request: pytest.FixtureRequest) -> Callable[..., OwnService]:
    """Return the factory of own services: one machine, or a cluster."""
    return request.getfixturevalue("make_own_cluster") if ON_CLUSTERS else OneMachine


@pytest.fixture(scope="package")
def make_own_cluster() -> Iterator[Callable[..., OwnService]]:
    from own_clusters import Ground  # imported here because it needs PostgreSQL

    ground = Ground()
    yield ground.make_cluster
    ground.close()


@pytest.fixture(scope="package")
def start_own_service(
    tmp_path_factory: pytest.TempPathFactory, make_own_service: Callable[..., OwnService]
) -> Iterator[Callable[..., OwnService]]:
    """Start own services with given settings; all end together.

    Example: `start_own_service(workers=1, job_timeout_s="0.05")`.
    """
    started: list[OwnService] = []

    def start(*, workers: int, **settings: str) -> OwnService:
        if ADDRESS:
            pytest.skip("needs a service of the examiner's own")
        own = make_own_service(tmp_path_factory.mktemp("own"), workers=workers, **settings)
        started.append(own)
        own.start()
        return own

    yield start
    try:
        for own in started:
            own.ask_to_stop()
        for own in started:
            own.wait_until_stopped()
    finally:
        for own in started:
            own.close()


@pytest.fixture(scope="package")
def examined(start_own_service: Callable[..., OwnService]) -> Iterator[Examined]:
    """Service under test, with workers."""
    own = None if ADDRESS else start_own_service(workers=2, allow_private_addresses="true")
    service = Examined(own.base_url if own else ADDRESS, own)
    yield service
    service.close()


@pytest.fixture(scope="package")
def waiting(start_own_service: Callable[..., OwnService], request: pytest.FixtureRequest) -> Iterator[Examined]:
    """Service for tests that need no results.

    An own service has no workers, which saves CPU time, and sends webhooks to public addresses only.
    """
    if ADDRESS:
        yield request.getfixturevalue("examined")
        return
    own = start_own_service(workers=0)
    service = Examined(own.base_url, own)
    yield service
    service.close()


@pytest.fixture(scope="package")
def api(examined: Examined) -> httpx.Client:
    """Client with the main account's API key."""
    return examined.call(examined.account().headers)


@pytest.fixture(scope="package")
def v1(examined: Examined) -> httpx.Client:
    """Client with the main account's v1 credentials."""
    return examined.call(examined.account().v1_headers)


@pytest.fixture(scope="package")
def still(waiting: Examined) -> httpx.Client:
    """Client of the service that need not analyse."""
    return waiting.call(waiting.account().headers)


@pytest.fixture(scope="package")
def still_v1(waiting: Examined) -> httpx.Client:
    return waiting.call(waiting.account().v1_headers)


@pytest.fixture(scope="package")
def queued(waiting: Examined) -> httpx.Client:
    """Client whose jobs always stay queued."""
    if waiting.own is None:
        pytest.skip("needs jobs that stay queued")
    return waiting.call(waiting.account().headers)


@pytest.fixture(scope="package")
def takes_private_addresses(examined: Examined) -> bool:
    """Whether the service sends webhooks to private addresses, where the tests' receiver listens."""
    return examined.own is not None or examined.takes_private_addresses()


@pytest.fixture(scope="package")
def reached(takes_private_addresses: bool) -> None:
    """Skip unless the service can call the tests' receiver."""
    if not takes_private_addresses or urlsplit(ADDRESS).hostname not in (None, "127.0.0.1", "::1", "localhost"):
        pytest.skip("needs a service on this computer that lets webhooks go to private addresses")


@pytest.fixture(scope="package")
def closed(waiting: Examined, request: pytest.FixtureRequest) -> Examined:
    """Service that sends webhooks to public addresses only."""
    if waiting.own is None and request.getfixturevalue("takes_private_addresses"):
        pytest.skip("needs a service that lets webhooks go to public addresses only")
    return waiting


@pytest.fixture(scope="package")
def sign_price(waiting: Examined, still: httpx.Client) -> int:
    """Price of one sign in tokens; 10 for own services, not defined by the API."""
    if waiting.own is not None:
        return 10
    before = credits(still)
    submit(still, "/v2/signs/stress/analyze")
    return before - credits(still)
