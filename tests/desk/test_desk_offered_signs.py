"""The signs that the Record page offers are those of the connected service."""

from dataclasses import replace
from types import SimpleNamespace

import httpx
import pytest

from vbdesk.contract.catalog import STANDALONE_SIGNS, Sign
from vbdesk.desk.record.reads import OfferedSignsRead
from vbdesk.outbox.imports.offered_signs import OfferedSigns
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


def signs_on(screen) -> list[str]:
    """Names of the signs that a page shows."""
    return [sign.name for sign in screen.of(OfferedSignsRead).value or ()]


@pytest.fixture
def open_screen(workspace):
    """Opens a page that shows the signs."""

    def make():
        screen = workspace.flow.screen(workspace)
        screen.add(OfferedSignsRead())
        return screen

    return make


def test_the_list_comes_from_the_service_and_is_read_again_after_the_connection_was_lost(
    workspace, network, qtbot, open_screen
):
    screen = open_screen()
    qtbot.waitUntil(lambda: signs_on(screen) == ["stress", "slow-speech"])
    say(workspace, connected=True)
    say(workspace, connected=True)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    assert len(network.asked) == 1
    say(workspace, connected=False)
    say(workspace, connected=True)
    qtbot.waitUntil(lambda: len(network.asked) == 2)


def test_offline_the_last_list_is_offered(workspace, network, qtbot, ports, profile, open_screen):
    OfferedSigns(ports.library_dir(profile.profile_id)).ask(SimpleNamespace(list=lambda: [STRESS, OWN]))
    network.up = False
    screen = open_screen()
    qtbot.waitUntil(lambda: signs_on(screen) == ["stress", "slow-speech"])


def test_a_service_that_fails_to_answer_is_asked_again_when_it_is_back(workspace, network, qtbot, open_screen):
    network.up = False
    screen = open_screen()
    qtbot.waitUntil(lambda: screen.of(OfferedSignsRead).failure is not None)
    qtbot.waitUntil(lambda: signs_on(screen) == list(STANDALONE_SIGNS))
    network.up = True
    say(workspace, connected=True)
    qtbot.waitUntil(lambda: signs_on(screen) == ["stress", "slow-speech"])
