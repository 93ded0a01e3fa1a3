"""Webhook receivers that do not answer."""

import socket
import threading


class DeadReceiver:
    """Accepts every connection and never answers, or sends single bytes slowly."""

    def __init__(self, *, drips: bool = False) -> None:
        self.calls = 0
        self._drips = drips
        self._connections: list[socket.socket] = []
        self._server = socket.create_server(("0.0.0.0", 0), backlog=200)
        self._closing = threading.Event()
        self.port = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self.calls += 1
            self._connections.append(connection)
            if self._drips:
                threading.Thread(target=self._drip, args=(connection,), daemon=True).start()

    def _drip(self, connection: socket.socket) -> None:
        while not self._closing.wait(0.2):
            try:
                connection.sendall(b"H")
            except OSError:
                return

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._server.close()
        for connection in self._connections:
            connection.close()
