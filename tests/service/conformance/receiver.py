"""Webhook receiver on loopback that records deliveries and answers as its paths say."""

import hashlib
import hmac
import http.server
import json
import threading
import time
from dataclasses import dataclass
from typing import Any

from patience import until


@dataclass(frozen=True)
class Delivery:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def job(self) -> Any:
        return json.loads(self.body)

    def is_signed_with(self, secret: str) -> bool:
        expected = hmac.new(secret.encode(), self.body, hashlib.sha256).hexdigest()
        return self.headers["x-webhook-signature"] == expected


class Receiver:
    """Receiver whose paths select the answer: `/ok`, `/fail-once/...` (500, then 200), `/moved` (302 to `/ok`)."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        handler = type("Handler", (_Handler,), {"receiver": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        self.origin = f"http://127.0.0.1:{self._server.server_port}"

    def status_for(self, delivery: Delivery) -> int:
        """Return the status for this delivery, which is already recorded."""
        if delivery.path == "/moved":
            return 302
        return 500 if delivery.path.startswith("/fail-once") and len(self.to(delivery.path)) == 1 else 200

    def to(self, path: str) -> list[Delivery]:
        return [delivery for delivery in list(self.deliveries) if delivery.path == path]

    def wait_for(self, path: str, count: int = 1) -> list[Delivery]:
        until(lambda: len(self.to(path)) >= count, f"{count} deliveries to {path}")
        return self.to(path)

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    receiver: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        delivery = Delivery("POST", self.path, headers, body, time.monotonic())
        self.receiver.deliveries.append(delivery)
        status = self.receiver.status_for(delivery)
        self.send_response(status)
        if status == 302:
            self.send_header("Location", f"{self.receiver.origin}/ok-after-moving")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.receiver.deliveries.append(Delivery("GET", self.path, {}, b"", time.monotonic()))
        self.send_error(405)

    def log_message(self, *_: Any) -> None:
        pass
