"""What a running service tells on its operations port."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from patience import HANGS_S
from vbdesk.service.credits.service import read_ledger
from vbdesk.service.health.operations_app import create_ops_app
from vbdesk.service.health.readiness import api_readiness
from vbdesk.service.kernel.db.events import CreditsMoved, JobAccepted, publish

GROUP = "anna-meier-1961"
HOME = Path(__file__).parents[3]


class Told:
    """The operations port of a service."""

    def __init__(self, service: Any, base_url: str) -> None:
        self.service = service
        self._base_url = base_url

    def text(self) -> str:
        answer = httpx.get(f"{self._base_url}/metrics", trust_env=False, timeout=HANGS_S)
        assert answer.status_code == 200
        return answer.text

    def value(self, sample: str) -> float | None:
        found = re.search(rf"^{re.escape(sample)} (\S+)$", self.text(), re.MULTILINE)
        return None if found is None else float(found[1])


@pytest.fixture
def told(start_service: Callable[..., Any], serve_app: Callable[..., str]) -> Told:
    service = start_service()
    return Told(service, serve_app(create_ops_app(service.context, api_readiness(service.context))))


def test_requests_are_counted_by_route_and_no_path_is_told(told: Told):
    client = told.service.client(told.service.add_account())
    for _ in range(2):
        client.post("/v2/groups", json={"group_id": GROUP})
    client.get(f"/v2/groups/{GROUP}/jobs")
    client.get(f"/{GROUP}/nowhere")
    client.get("/console/sign-in")
    text = told.text()
    assert 'vbdesk_requests_total{method="POST",route="/v2/groups",status="2xx"} 1.0' in text
    assert 'vbdesk_requests_total{method="POST",route="/v2/groups",status="4xx"} 1.0' in text
    assert 'vbdesk_requests_total{method="GET",route="/v2/groups/{group_id}/jobs",status="2xx"} 1.0' in text
    assert 'vbdesk_requests_total{method="GET",route="unknown",status="4xx"} 1.0' in text
    assert 'vbdesk_request_seconds_count{method="POST",route="/v2/groups"} 2.0' in text
    assert 'vbdesk_refusals_total{code="CONFLICT"} 1.0' in text
    assert 'vbdesk_refusals_total{code="NOT_FOUND"} 1.0' in text
    assert GROUP not in text
    assert client.headers["X-Account-ID"] not in text


def test_metrics_are_not_told_on_the_public_port(told: Told):
    assert told.service.client().get("/metrics").status_code == 404


def test_a_refusal_for_haste_is_counted_by_bucket(start_service: Any, serve_app: Any):
    service = start_service(rate_limits={"enterprise": {"general": 1}})
    told = Told(service, serve_app(create_ops_app(service.context, api_readiness(service.context))))
    client = service.client(service.add_account())
    assert [client.get("/v2/jobs").status_code for _ in range(3)] == [200, 429, 429]
    assert told.value('vbdesk_rate_limited_total{bucket="general"}') == 2


def test_what_is_rolled_back_is_not_counted(told: Told):
    database = told.service.context.database
    with pytest.raises(ZeroDivisionError), database.writing() as connection:
        publish(connection, CreditsMoved("hold", 70))
        publish(connection, JobAccepted())
        1 / 0  # noqa: B018
    with database.writing() as connection:
        publish(connection, CreditsMoved("hold", 5))
    assert told.value('vbdesk_credits_moved_total{kind="hold"}') == 5
    assert told.value("vbdesk_jobs_accepted_total") == 0


def test_every_metric_is_documented(told: Told):
    document = (HOME / "docs" / "observability.md").read_text(encoding="utf-8")
    assert [name for name in sorted(_families(told)) if f"`{name}`" not in document] == []


@pytest.mark.parametrize("file", ["dashboard.json", "alerts.yaml"])
def test_every_metric_that_is_looked_at_is_told(told: Told, file: str):
    text = (HOME / "packaging" / "deploy" / "observability" / file).read_text(encoding="utf-8")
    looked_at = {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"\bvbdesk_[a-z_]+", text)}
    assert len(looked_at) > 10
    assert looked_at - _families(told) == set()


def test_panels_say_what_they_show_and_in_which_unit():
    dashboard = json.loads((HOME / "packaging" / "deploy" / "observability" / "dashboard.json").read_text("utf-8"))
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    for panel in panels:
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]


def _families(told: Told) -> set[str]:
    """Names told by the service when something is known of everything."""
    with told.service.context.database.reading() as connection:
        told.service.context.metrics.ledger = read_ledger(connection)
    names = re.findall(r"^# TYPE (\S+) ", told.text(), re.MULTILINE)
    return {name for name in names if name.startswith("vbdesk_")}
