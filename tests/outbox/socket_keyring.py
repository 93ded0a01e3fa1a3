"""A keyring for separate processes, in the memory of the test: no file or environment holds its secrets.

The process finds it by `PYTHON_KEYRING_BACKEND=socket_keyring.Keyring` and the socket by `TEST_KEYRING`.
"""

import json
import os
import socket
import socketserver
import threading
from pathlib import Path

from keyring.backend import KeyringBackend


class Keyring(KeyringBackend):
    """Asks the test."""

    priority = -1  # never selected automatically

    def get_password(self, service, username):
        return self._ask(username)

    def set_password(self, service, username, password):
        self._ask(username, password)

    def _ask(self, *words):
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(os.environ["TEST_KEYRING"])
            line.sendall(json.dumps(words).encode() + b"\n")
            return json.loads(line.makefile().readline())


class KeyringServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Answers processes from `secrets`."""

    daemon_threads = True

    def __init__(self, path: Path, secrets: dict[str, str]) -> None:
        super().__init__(str(path), _Answer)
        self.secrets = secrets
        self.environment = {
            "PYTHON_KEYRING_BACKEND": "socket_keyring.Keyring",
            "TEST_KEYRING": str(path),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")])),
        }
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()


class _Answer(socketserver.StreamRequestHandler):
    def handle(self):
        name, *secret = json.loads(self.rfile.readline())
        if secret:
            self.server.secrets[name] = secret[0]
        self.wfile.write(json.dumps(self.server.secrets.get(name)).encode() + b"\n")
