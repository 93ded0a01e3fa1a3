import fastapi.routing
import pytest

from vbdesk.service.composition import app as api
from vbdesk.service.composition.app import create_app, included_routers


@pytest.mark.parametrize("path", ["/api/v2/jobs", "/console/sign-in"])
def test_the_first_request_builds_no_route(service, serve_app, monkeypatch, path):
    monkeypatch.setattr(api, "_API", included_routers())  # those of earlier tests are built
    app = create_app(service.context)

    def build(*arguments, **options):
        raise AssertionError("a route is built in a request")

    monkeypatch.setattr(fastapi.routing, "get_dependant", build)
    service.base_url = serve_app(app)
    assert service.client().get(path).status_code < 500
