"""The operating system's network state, as the sync worker reads it."""

import pytest
from PySide6.QtNetwork import QNetworkInformation

from vbdesk.desk.system_network import SystemNetwork, state_of
from vbdesk.outbox.sync.network import NetworkState

Feature, Reach = QNetworkInformation.Feature, QNetworkInformation.Reachability


class Told:
    """The values of a system back end."""

    def __init__(self, reach, *features, metered=False, portal=False):
        self._reach, self._features, self._metered, self._portal = reach, features, metered, portal

    def supports(self, feature):
        return feature in self._features

    def reachability(self):
        return self._reach

    def isMetered(self):
        return self._metered

    def isBehindCaptivePortal(self):
        return self._portal


ALL = (Feature.Reachability, Feature.CaptivePortal, Feature.Metered)


@pytest.mark.parametrize(
    ("told", "state"),
    [
        (Told(Reach.Online, *ALL), NetworkState(reachable=True, metered=False)),
        (Told(Reach.Local, *ALL, metered=True), NetworkState(reachable=True, metered=True)),
        (Told(Reach.Site, *ALL, portal=True), NetworkState(reachable=True, behind_portal=True, metered=False)),
        (Told(Reach.Disconnected, *ALL), NetworkState(reachable=False, metered=False)),
        (Told(Reach.Unknown, *ALL), NetworkState(metered=False)),
        (Told(Reach.Disconnected, Feature.Metered, metered=True), NetworkState(metered=True)),
        (Told(Reach.Online), NetworkState()),
    ],
)
def test_what_the_system_cannot_tell_stays_unknown(told, state):
    assert state_of(told) == state


def test_the_network_of_this_computer_is_read_without_a_word(qapp):
    assert isinstance(SystemNetwork().state(), NetworkState)
