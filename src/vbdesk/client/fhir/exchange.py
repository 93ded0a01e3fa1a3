"""Requests to a FHIR server and its token endpoint: bounded in time and size, and never redirected."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from vbdesk.client.errors import ConnectionFailed, FailureCause
from vbdesk.client.fhir.addresses import host_of
from vbdesk.client.fhir.errors import FhirUnavailable
from vbdesk.client.network_errors import cause_of
from vbdesk.clock import Clock
from vbdesk.language import N_, joined, message

MAX_ANSWER_BYTES = 16 * 1024 * 1024
TIMEOUT = httpx.Timeout(120.0, connect=10.0)
WHOLE_ANSWER_S = 180.0

# httpx logs full addresses at INFO
logging.getLogger("httpx").setLevel(logging.WARNING)

_DIRECT: Mapping[str, None] = {"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None}
_MAYBE = N_("Whether it has stored this transaction is not known; send it again, a repeat is harmless.")


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Status and body of an answer."""

    status: int
    body: bytes


class FhirHttp:
    """An HTTP client for one export; not thread-safe."""

    def __init__(self, clock: Clock, transport: httpx.BaseTransport | None = None) -> None:
        self.clock = clock
        self._client = httpx.Client(
            timeout=TIMEOUT, transport=transport, mounts=None if transport else dict(_DIRECT), follow_redirects=False
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def request(
        self, method: str, address: str, headers: Mapping[str, str], content: bytes | None = None
    ) -> HttpAnswer:
        """Send a request and read its answer.

        Raises:
            ConnectionFailed: there is no answer.
            FhirUnavailable: the answer is too long, takes too long, or is damaged.
        """
        host = host_of(address)
        ends_at = self.clock.monotonic() + WHOLE_ANSWER_S
        body = bytearray()
        try:
            with self._client.stream(
                method, address, headers={"Accept-Encoding": "identity", **headers}, content=content
            ) as response:
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > MAX_ANSWER_BYTES or self.clock.monotonic() > ends_at:
                        raise FhirUnavailable(
                            joined(message("The answer of the FHIR server {host} does not end.", host=host), _MAYBE)
                        )
                return HttpAnswer(response.status_code, bytes(body))
        except httpx.DecodingError:
            raise FhirUnavailable(
                joined(message("The answer of the FHIR server {host} cannot be read.", host=host), _MAYBE)
            ) from None
        except httpx.TransportError as error:
            # httpx errors hold the request with its credentials, so do not chain them
            raise _no_answer(cause_of(error), host, sent=not isinstance(error, _NOT_SENT)) from None


_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)


def _no_answer(cause: FailureCause, host: str, *, sent: bool) -> ConnectionFailed:
    error = ConnectionFailed(cause, maybe_delivered=sent)
    sentence = cause.sentence_in(N_("The FHIR server {host} cannot be reached: {cause}"), host=host)
    error.sentence = joined(sentence, _MAYBE) if sent else sentence
    error.args = (error.sentence,)
    return error
