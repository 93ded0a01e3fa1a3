"""A FHIR server that takes transactions."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

import httpx

from vbdesk.client.errors import UnexpectedAnswer
from vbdesk.client.fhir.addresses import fhir_address, host_of
from vbdesk.client.fhir.credentials import BackendService, BasicLogin, BearerToken
from vbdesk.client.fhir.errors import outcome_text, parsed, quoted, status_error
from vbdesk.client.fhir.exchange import FhirHttp
from vbdesk.client.fhir.smart import SmartAuthorization
from vbdesk.clock import Clock, SystemClock
from vbdesk.language import joined, message

_FHIR_JSON = "application/fhir+json"
_HEADERS: Mapping[str, str] = {
    "Content-Type": _FHIR_JSON,
    "Accept": "application/fhir+json",
    "Prefer": "return=minimal",
}


@dataclass(frozen=True, slots=True)
class TransactionCounts:
    """What a server did with the resources of transactions.

    Attributes:
        created: did not exist.
        kept: existed; a consent that has ended may have been updated.
    """

    created: int = 0
    kept: int = 0

    def __add__(self, other: "TransactionCounts") -> "TransactionCounts":
        return TransactionCounts(self.created + other.created, self.kept + other.kept)


class FhirServer:
    """A FHIR R4 server; a context manager. Every method waits for the network."""

    def __init__(
        self,
        address: str,
        credentials: BasicLogin | BearerToken | BackendService | None = None,
        *,
        clock: Clock | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            address: base address of the server.
            credentials: of this server; None for a server that needs none.
            clock: the system's if None.
            transport: replaces the network in tests.

        Raises:
            ValueError: the address or the key of the credentials is not usable.
        """
        self._address = fhir_address(address)
        self._http = FhirHttp(clock or SystemClock(), transport)
        self._authorization: Authorization = authorization_of(credentials, self._address, self._http)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def __repr__(self) -> str:
        return f"FhirServer({self._address!r})"

    def send(self, transaction: bytes) -> TransactionCounts:
        """Send a Bundle of type transaction; the server does all of it or nothing.

        Raises:
            ClientError: nothing was stored, or the sentence says that this is not known.
        """
        headers = self._authorization.headers()
        answer = self._http.request("POST", self._address, {**_HEADERS, **headers}, transaction)
        if answer.status != httpx.codes.OK:
            raise status_error(answer.status, host_of(self._address), answer.body, self._authorization.secrets())
        return self._counts(answer.body, len(parsed(transaction)["entry"]))

    def _counts(self, body: bytes, sent: int) -> TransactionCounts:
        """Count the entries of a transaction-response."""
        document = parsed(body)
        bundle = document if isinstance(document, dict) else {}
        entries = bundle.get("entry")
        if bundle.get("type") != "transaction-response" or not isinstance(entries, list):
            raise self._unexpected(body)
        found = [_status_of(entry) for entry in entries]
        if len(found) != sent or not all(status.startswith("2") for status in found):
            raise self._unexpected(body)
        created = sum(status.startswith("201") for status in found)
        return TransactionCounts(created, len(found) - created)

    def _unexpected(self, body: bytes) -> UnexpectedAnswer:
        sentence = message(
            "{host} answers, but not as a FHIR server that has done a transaction, so what it has stored is not known. "
            "Check the address; a repeat is harmless.",
            host=host_of(self._address),
        )
        return UnexpectedAnswer(joined(sentence, quoted(outcome_text(body, self._authorization.secrets()))))


def _status_of(entry: object) -> str:
    response = entry.get("response") if isinstance(entry, dict) else None
    status = response.get("status") if isinstance(response, dict) else None
    return status if isinstance(status, str) else ""


class Authorization(Protocol):
    """Gives headers, and names the secrets in them."""

    def headers(self) -> dict[str, str]:
        """Headers of the next request; may wait for the network."""

    def secrets(self) -> tuple[str, ...]:
        """What no message may show."""


class _Fixed:
    """The same header for every request; none if `value` is empty."""

    def __init__(self, value: str, *secrets: str) -> None:
        self._value, self._secrets = value, secrets

    def headers(self) -> dict[str, str]:
        return {"Authorization": self._value} if self._value else {}

    def secrets(self) -> tuple[str, ...]:
        return self._secrets


def authorization_of(
    credentials: BasicLogin | BearerToken | BackendService | None, address: str, http: FhirHttp
) -> Authorization:
    """The authorization for the server at `address`.

    Raises:
        ValueError: the key of a backend service is not usable.
    """
    match credentials:
        case None:
            return _Fixed("")
        case BearerToken():
            return _Fixed(f"Bearer {credentials.token}", credentials.token)
        case BasicLogin():
            pair = b64encode(f"{credentials.user}:{credentials.password}".encode()).decode("ascii")
            return _Fixed(f"Basic {pair}", pair, credentials.password)
    return SmartAuthorization(credentials, address, http)
