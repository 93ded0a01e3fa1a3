"""SMART backend services: a token for a signed assertion (client credentials, private_key_jwt).

SMART App Launch 2.2, "Backend Services" and "Asymmetric Authentication"; RFC 7523. The token stays in memory.
"""

import re
from typing import Any
from urllib.parse import urlencode

from vbdesk.client.errors import UnexpectedAnswer
from vbdesk.client.fhir.addresses import OF_TOKENS, fhir_address, host_of
from vbdesk.client.fhir.credentials import BackendService
from vbdesk.client.fhir.errors import FhirNotAllowed, FhirRefused, parsed, status_error
from vbdesk.client.fhir.exchange import FhirHttp, HttpAnswer
from vbdesk.client.fhir.signing import SigningKey
from vbdesk.contract.ids import new_id
from vbdesk.language import Message, joined, message

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_VALID_S = 240
"""SMART allows at most five minutes."""
RENEW_BEFORE_S = 30.0
_UNSTATED_TOKEN_S = 300.0
_TOKEN = re.compile(r"[!-~]+")
_TYPES = ("Consent", "Device", "DiagnosticReport", "Observation", "Provenance")
SCOPE_V2 = " ".join(f"system/{kind}.{'cus' if kind == 'Consent' else 'cs'}" for kind in _TYPES)
SCOPE_V1 = " ".join(f"system/{kind}.{right}" for kind in _TYPES for right in ("read", "write"))


class SmartAuthorization:
    """Gets a token when one is needed, and again before it ends."""

    def __init__(self, service: BackendService, address: str, http: FhirHttp) -> None:
        self._service, self._address, self._http = service, address, http
        self._key = SigningKey(service.private_key, service.key_id)
        self._token, self._valid_until = "", 0.0

    def headers(self) -> dict[str, str]:
        """The header with a valid token. Raises ClientError."""
        if not self._token or self._http.clock.monotonic() >= self._valid_until:
            self._renew()
        return {"Authorization": f"Bearer {self._token}"}

    def secrets(self) -> tuple[str, ...]:
        """The token."""
        return (self._token,) if self._token else ()

    def _renew(self) -> None:
        configuration: dict[str, Any] = {}
        if not self._service.token_url or not self._service.scope:
            configuration = self._configuration(required=not self._service.token_url)
        endpoint = self._endpoint(configuration)
        assertion = self._key.signed(self._claims(endpoint))
        form = {
            "grant_type": "client_credentials",
            "scope": self._service.scope or _scope(configuration),
            "client_assertion_type": ASSERTION_TYPE,
            "client_assertion": assertion,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        asked_at = self._http.clock.monotonic()
        answer = self._http.request("POST", endpoint, headers, urlencode(form).encode("ascii"))
        self._take(answer, endpoint, assertion, asked_at)

    def _claims(self, endpoint: str) -> dict[str, str | int]:
        now = int(self._http.clock.now().timestamp())
        return {
            "iss": self._service.client_id,
            "sub": self._service.client_id,
            "aud": endpoint,
            "iat": now,
            "exp": now + ASSERTION_VALID_S,
            "jti": new_id(),
        }

    def _take(self, answer: HttpAnswer, endpoint: str, assertion: str, asked_at: float) -> None:
        document, host = parsed(answer.body), host_of(endpoint)
        if answer.status in (400, 401, 403):
            raise FhirNotAllowed(
                _no_token(host, document),
                status=answer.status,
            )
        if answer.status != 200:
            raise status_error(answer.status, host, answer.body, (assertion,))
        fields = document if isinstance(document, dict) else {}
        token, kind, seconds = fields.get("access_token"), fields.get("token_type"), fields.get("expires_in")
        if not isinstance(token, str) or not _TOKEN.fullmatch(token) or str(kind).lower() != "bearer":
            raise UnexpectedAnswer(
                message("{host} answers, but not with a token. Check the address for tokens.", host=host)
            )
        valid_s = seconds if isinstance(seconds, int | float) and seconds > 0 else _UNSTATED_TOKEN_S
        self._token, self._valid_until = token, asked_at + valid_s - RENEW_BEFORE_S

    def _endpoint(self, configuration: dict[str, Any]) -> str:
        named = self._service.token_url or configuration.get("token_endpoint")
        try:
            return fhir_address(named if isinstance(named, str) else "", OF_TOKENS)
        except ValueError as error:
            raise FhirRefused(joined(error)) from None

    def _configuration(self, *, required: bool) -> dict[str, Any]:
        """The server's SMART configuration; empty if there is none and it is not required."""
        answer = self._http.request(
            "GET", f"{self._address}/.well-known/smart-configuration", {"Accept": "application/json"}
        )
        document = parsed(answer.body) if answer.status == 200 else None
        if isinstance(document, dict):
            self._check_algorithm(document.get("token_endpoint_auth_signing_alg_values_supported"))
            return document
        if required:
            raise FhirRefused(
                message(
                    "The FHIR server {host} does not say where to get a token. Give the address with --token-url "
                    "when you store the credentials.",
                    host=host_of(self._address),
                ),
                status=answer.status,
            )
        return {}

    def _check_algorithm(self, supported: object) -> None:
        if isinstance(supported, list) and supported and self._key.algorithm not in supported:
            raise FhirRefused(
                message(
                    "The FHIR server {host} does not take signatures of the kind {algorithm}. Store a key of "
                    "another kind: EC on the curve P-384 signs ES384, RSA signs RS384.",
                    host=host_of(self._address),
                    algorithm=self._key.algorithm,
                )
            )


def _scope(configuration: dict[str, Any]) -> str:
    """Scopes to create and find what an export contains, in the notation that the server knows."""
    capabilities = configuration.get("capabilities")
    first_version = isinstance(capabilities, list) and "permission-v1" in capabilities
    return SCOPE_V1 if first_version and "permission-v2" not in (capabilities or ()) else SCOPE_V2


def _no_token(host: str, document: object) -> Message:
    """With the standard error code of OAuth 2, which is a short word; nothing else of the answer is shown."""
    code = document.get("error") if isinstance(document, dict) else None
    known = isinstance(code, str) and code.isascii() and code.replace("_", "").isalnum() and len(code) <= 40
    plain = message("{host} gives no token to this client.", host=host)
    advice = message(
        "Check with its administrator that the client id is registered with this key and may ask for these scopes, and "
        "that the clock here is right."
    )
    return joined(
        message("{host} gives no token to this client ({code}).", host=host, code=code) if known else plain, advice
    )
