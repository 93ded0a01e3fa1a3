"""The `Authorization` header for each kind of credentials."""

from base64 import b64encode
from typing import Protocol

from vbdesk.client.fhir.credentials import BackendService, BasicLogin, BearerToken
from vbdesk.client.fhir.exchange import FhirHttp
from vbdesk.client.fhir.smart import SmartAuthorization


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
