"""What the operating system tells of the network, kept where any thread may look."""

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtNetwork import QNetworkInformation

from vbdesk.outbox.sync.network import NetworkState

_Feature = QNetworkInformation.Feature
_Reach = QNetworkInformation.Reachability


class SystemNetwork(QObject):
    """The network as the operating system sees it. Make it on the window's thread; ask it from any.

    Signals:
        changed: something about the network is another than before.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = NetworkState()
        QNetworkInformation.loadDefaultBackend()
        told = QNetworkInformation.instance()
        if told is None:
            return
        told.reachabilityChanged.connect(self._read)
        told.isBehindCaptivePortalChanged.connect(self._read)
        told.isMeteredChanged.connect(self._read)
        self._read()

    def state(self) -> NetworkState:
        """As it is now. Cheap; never blocks."""
        return self._state

    @Slot()
    def _read(self) -> None:
        told = QNetworkInformation.instance()
        if told is not None:
            before, self._state = self._state, state_of(told)
            if before != self._state:
                self.changed.emit()


def state_of(told: QNetworkInformation) -> NetworkState:
    """What is known, and None for what the system's back end cannot tell."""
    return NetworkState(
        reachable=_reachable(told.reachability()) if told.supports(_Feature.Reachability) else None,
        behind_portal=told.supports(_Feature.CaptivePortal) and told.isBehindCaptivePortal(),
        metered=told.isMetered() if told.supports(_Feature.Metered) else None,
    )


def _reachable(reach: _Reach) -> bool | None:
    """A service may stand in the local network: only a computer without any network reaches nothing."""
    return None if reach is _Reach.Unknown else reach is not _Reach.Disconnected
