"""The signs that the Record page offers are those of the connected service."""

from dataclasses import replace

import httpx
import pytest

from vbdesk.contract.catalog import STANDALONE_SIGNS, Sign
from vbdesk.desk.shell.view_models import offered_signs_view_model
from vbdesk.outbox.sync.connectivity import SyncStatus

OWN = Sign(name="slow-speech", label="Slow Speech")
STRESS = Sign(name="stress", label="Stress")


@pytest.fixture
def network(network):
    """A network whose service has a sign of its own."""
    answer_otherwise = network.answer

    def answer(request: httpx.Request) -> httpx.Response:
        otherwise = answer_otherwise(request)
        if request.url.path != "/v2/signs" or otherwise.is_error:
            return otherwise
        return httpx.Response(200, json={"signs": [STRESS.model_dump(), OWN.model_dump()]})

    network.answer = answer
    return network


def say(workspace, *, connected: bool) -> None:
    """The sync worker's status of the connection."""
    workspace.sync.status = replace(SyncStatus(None, "", None, None), connected=connected)
    workspace.sync.status_changed.emit(workspace.sync.status)


def test_the_list_comes_from_the_service_once_it_answers(workspace, network, qtbot):
    offered = offered_signs_view_model(workspace)
    offered.start()
    assert [sign.name for sign in offered.signs] == list(STANDALONE_SIGNS)
    with qtbot.waitSignal(offered.signs_changed) as told:
        say(workspace, connected=True)
    assert told.args == [(STRESS, OWN)]
    say(workspace, connected=True)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    assert len(network.asked) == 1


def test_offline_the_last_list_is_offered(workspace, network, qtbot):
    first = offered_signs_view_model(workspace)
    with qtbot.waitSignal(first.signs_changed):
        say(workspace, connected=True)
    network.up = False
    say(workspace, connected=False)
    second = offered_signs_view_model(workspace)
    with qtbot.waitSignal(second.signs_changed):
        second.start()
    assert second.signs == (STRESS, OWN)


def test_a_service_that_fails_to_answer_is_asked_again_when_it_is_back(workspace, network, qtbot):
    offered = offered_signs_view_model(workspace)
    network.up = False
    say(workspace, connected=True)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    assert len(offered.signs) == len(STANDALONE_SIGNS)
    network.up = True

    def told() -> bool:
        say(workspace, connected=True)
        return offered.signs == (STRESS, OWN)

    qtbot.waitUntil(told)
