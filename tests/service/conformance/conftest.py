"""The service under examination.

By default the examiner starts services of its own and shares them. To examine another one, set VBDESK_CONFORMANCE_URL,
_ACCOUNT_ID, _API_KEY and _SECRET_KEY (an enterprise account with many credits, private webhook addresses allowed) and
run with `--allow-hosts` naming the host; clauses that need an operator are then skipped.
"""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

sys.path.append(str(Path(__file__).parent))  # the helpers' module, by name

from examination import Account, Examined, OwnService


@pytest.fixture(scope="session")
def start_own_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., OwnService]]:
    """`start_own_service(workers=1, job_timeout_s="0.05")`: a service with settings of its own; all end together."""
    started: list[OwnService] = []

    def start(*, workers: int, **settings: str) -> OwnService:
        if os.environ.get("VBDESK_CONFORMANCE_URL"):
            pytest.skip("needs a service of the examiner's own")
        own = OwnService(tmp_path_factory.mktemp("own"), workers=workers, **settings)
        own.start()
        started.append(own)
        return own

    yield start
    for own in started:
        own.ask_to_stop()
    for own in started:
        own.wait_until_stopped()


@pytest.fixture(scope="session")
def examined(start_own_service: Callable[..., OwnService]) -> Iterator[Examined]:
    """A whole service, with workers."""
    url = os.environ.get("VBDESK_CONFORMANCE_URL")
    if url:
        names = ("ACCOUNT_ID", "API_KEY", "SECRET_KEY")
        service = Examined(url, Account(*(os.environ[f"VBDESK_CONFORMANCE_{name}"] for name in names)), None)
    else:
        own = start_own_service(workers=2, allow_private_addresses="true")
        service = Examined(own.base_url, None, own)
    yield service
    service.close()


@pytest.fixture(scope="session")
def waiting(start_own_service: Callable[..., OwnService]) -> Iterator[Examined]:
    """A service that accepts and never analyses, and lets webhooks go to public addresses only."""
    own = start_own_service(workers=0)
    service = Examined(own.base_url, None, own)
    yield service
    service.close()


@pytest.fixture(scope="session")
def api(examined: Examined) -> httpx.Client:
    """A caller of the examined service with its main account's key."""
    return examined.call(examined.account().headers)


@pytest.fixture(scope="session")
def v1(examined: Examined) -> httpx.Client:
    """The main account, with the credentials of v1."""
    return examined.call(examined.account().v1_headers)


@pytest.fixture(scope="session")
def still(waiting: Examined) -> httpx.Client:
    """A caller of the service whose jobs stay queued."""
    return waiting.call(waiting.account().headers)


@pytest.fixture(scope="session")
def still_v1(waiting: Examined) -> httpx.Client:
    return waiting.call(waiting.account().v1_headers)
