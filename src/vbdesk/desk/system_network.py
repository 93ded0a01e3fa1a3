"""The operating system's network state, readable from any thread."""

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtNetwork import QNetworkInformation

from vbdesk.outbox.sync.network import NetworkState

_Feature = QNetworkInformation.Feature
_Reach = QNetworkInformation.Reachability


class SystemNetwork(QObject):
    """The operating system's network state. Make it on the GUI thread; read it from any.

    Signals:
        changed: the network's state changed.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = NetworkState()
        QNetworkInformation.loadDefaultBackend()
        network = QNetworkInformation.instance()
        if network is None:
            return
        network.reachabilityChanged.connect(self._read)
        network.isBehindCaptivePortalChanged.connect(self._read)
        network.isMeteredChanged.connect(self._read)
        self._read()

    def state(self) -> NetworkState:
        """The current state. Cheap; never blocks."""
        return self._state

    @Slot()
    def _read(self) -> None:
        network = QNetworkInformation.instance()
        if network is not None:
            before, self._state = self._state, state_of(network)
            if before != self._state:
                self.changed.emit()


def state_of(network: QNetworkInformation) -> NetworkState:
    """Convert the back end's state; None for unknown values."""
    return NetworkState(
        reachable=_reachable(network.reachability()) if network.supports(_Feature.Reachability) else None,
        behind_portal=network.supports(_Feature.CaptivePortal) and network.isBehindCaptivePortal(),
        metered=network.isMetered() if network.supports(_Feature.Metered) else None,
    )


def _reachable(reach: _Reach) -> bool | None:
    """Whether any network is reachable: a service may be in the local network."""
    return None if reach is _Reach.Unknown else reach is not _Reach.Disconnected
