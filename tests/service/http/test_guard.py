"""Every route of the API names a guard, and reads its body after it."""

import pytest
from fastapi.routing import APIRoute

from vbdesk.service.composition.app import ROUTERS
from vbdesk.service.http.guard import Guard

OPEN = {"/healthz", "/readyz"}
ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]


@pytest.mark.parametrize("route", [route for route in ROUTES if route.path not in OPEN], ids=lambda route: route.name)
def test_a_route_names_one_guard_which_comes_first(route: APIRoute) -> None:
    calls = [dependency.call for dependency in route.dependant.dependencies]
    assert [isinstance(call, Guard) for call in calls] == [True, *[False] * (len(calls) - 1)]
    assert type(route) is APIRoute


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_no_route_declares_a_body(route: APIRoute) -> None:
    """FastAPI parses a declared body before dependencies, and so before the guard."""
    assert route.body_field is None
