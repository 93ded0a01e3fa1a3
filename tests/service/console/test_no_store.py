"""No cache may keep what the service answers: every route is asked, by nobody, by its account, and by a guest."""

import itertools
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI
from starlette.routing import BaseRoute, Route

from patience import HANGS_S
from vbdesk.service.composition.app import create_app
from vbdesk.service.console.app import create_console
from vbdesk.service.health.operations_app import create_ops_app
from vbdesk.service.health.readiness import api_readiness

LEAST_ROUTES = 45
WITH_DATA = ("/v2/jobs/{job_id}", "/v2/groups/{group_id}/aggregate", "/api/v1/account/jobs/{job_id}", "/console/keys")
UNKNOWN = "0190a000-0000-7000-8000-000000000000"


def routes_of(app: FastAPI) -> Iterator[BaseRoute]:
    """Every route, also those in applications that routes lead to. FastAPI may keep the routers that it includes."""
    for route in app.routes:
        yield from getattr(route, "effective_candidates", lambda one=route: [one])()


def asked_of(service) -> set[tuple[str, str]]:
    """Method and path pattern of every route of the API and the console."""
    found = set()
    for route in itertools.chain(routes_of(create_app(service.context)), routes_of(create_console(service.context))):
        for method in getattr(route, "methods", None) or {"GET", "POST"}:
            found.add((method, route.path))
    return found


def stored_by_caches(answer: httpx.Response) -> bool:
    return answer.headers.get_list("cache-control") != ["no-store"]


@pytest.fixture
def names(service, account, bench, person) -> dict[str, str]:
    """What stands in for the parameters of paths."""
    client = service.client(account)
    job_id = bench.submit()
    bench.finish(job_id)
    assert client.post("/v2/groups", json={"group_id": "g"}).status_code == 201
    assert client.post("/v2/groups/g/jobs", json={"job_ids": [job_id]}).status_code == 200
    return {
        "job_id": job_id,
        "group_id": "g",
        "model_name": "pulse",
        "sign_name": "stress",
        "use_case_name": "wellness",
        "condition_name": "stress",
        "condition": "wellness",
        "key_id": account.api_key.split("_")[1],
        "delivery_id": UNKNOWN,
        "path:path": "nothing",
    }


def filled(path: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        path = path.replace("{" + name + "}", value)
    assert "{" not in path, f"say what stands in for the parameter of {path}"
    return path


def test_no_answer_of_any_route_may_be_stored(service, account, person, names):
    routes = asked_of(service)
    assert len(routes) > LEAST_ROUTES
    headers = {**account.headers, **account.v1_headers}
    deletes_last = sorted(routes, key=lambda route: (route[0] == "DELETE", "sign-out" in route[1], route))
    answered: dict[str, set[int]] = {}
    for method, path in deletes_last:
        address = filled(path, names)
        for caller, given in ((service.client(), {}), (service.client(), headers), (person.client, {})):
            answer = caller.request(method, address, headers=given)
            assert not stored_by_caches(answer), (method, path, answer.status_code)
            answered.setdefault(path, set()).add(answer.status_code)
    for path in (
        "/v2/jobs/{job_id}",
        "/api/v1/account/jobs/{job_id}",
        "/console/keys",
        "/v2/groups/{group_id}/longitudinal",
    ):
        assert 200 in answered[path], f"{path} was never answered with data"
    assert {401, 404, 422} <= set().union(*answered.values())


def test_no_other_answer_may_be_stored(service, account, client):
    refused = [client.get("/nowhere"), client.delete("/v2/models"), client.request("BREW", "/v2/models")]
    refused += [client.post("/v2/groups", content=b"{"), client.get("/v2/groups/unknown/aggregate")]
    assert [answer.status_code for answer in refused] == [404, 405, 405, 422, 404]
    assert not any(map(stored_by_caches, refused))
    for _ in range(61):
        last = service.client().get("/v2/jobs")
    assert last.status_code == 429
    assert not stored_by_caches(last)


def test_a_crash_may_not_be_stored(start_service, monkeypatch):
    service = start_service()
    account = service.add_account()

    def crash(*_arguments):
        raise ZeroDivisionError

    monkeypatch.setattr(type(service.context.rates), "hit", crash)
    answer = service.client(account).get("/v2/jobs")
    assert answer.status_code == 500
    assert not stored_by_caches(answer)


def test_what_cannot_be_read_is_refused_with_the_same_header(service):
    for origin in (service.base_url, service.storage_url):
        parts = urlsplit(origin)
        with socket.create_connection((parts.hostname, parts.port), timeout=HANGS_S) as caller:
            caller.sendall(b"NOT HTTP\r\n\r\n")
            answer = b"".join(iter(lambda: caller.recv(65_536), b""))
        assert answer.startswith(b"HTTP/1.1 400")
        assert answer.lower().count(b"cache-control: no-store\r\n") == 1


def test_no_answer_of_the_store_and_of_the_operations_port_may_be_stored(service, client, serve_app):
    grant = client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).json()
    puts = [
        httpx.put(
            grant["upload_url"], content=b"s", headers=grant["required_headers"], trust_env=False, timeout=HANGS_S
        )
    ]
    puts += [
        httpx.put(
            grant["upload_url"], content=b"s", headers=grant["required_headers"], trust_env=False, timeout=HANGS_S
        )
    ]
    puts += [httpx.put(service.storage_url + "/x", content=b"s", trust_env=False, timeout=HANGS_S)]
    assert [answer.status_code for answer in puts] == [200, 412, 403]
    assert not any(map(stored_by_caches, puts))
    readiness = api_readiness(service.context)
    operations = create_ops_app(service.context, readiness)
    origin = serve_app(operations)
    for route in operations.routes:
        assert isinstance(route, Route)
        assert not stored_by_caches(httpx.get(origin + route.path, trust_env=False, timeout=HANGS_S))
