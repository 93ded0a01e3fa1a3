"""Credentials for a FHIR server, and their form in the keyring: one secret with the address that it is for."""

import json
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vbdesk.language import message

MAX_LENGTH = 20_000


class BasicLogin(BaseModel):
    """User name and password."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    kind: Literal["basic"] = "basic"
    user: str = Field(min_length=1, pattern=r"^[^:\x00-\x1f\x7f]+$")
    password: str = Field(min_length=1, repr=False)


class BearerToken(BaseModel):
    """A token that the server's administrator gave."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    kind: Literal["bearer"] = "bearer"
    token: str = Field(pattern=r"^[A-Za-z0-9._~+/=-]+$", repr=False)


class BackendService(BaseModel):
    """SMART backend service: a client that signs with its own key.

    Attributes:
        private_key: PEM, PKCS 8, not encrypted: RSA of at least 2048 bits, or EC on the curve P-384.
        key_id: of the public key, as registered at the server.
        token_url: endpoint for tokens; empty: the server's configuration names it.
        scope: what is asked for; empty: to create and find what an export contains.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    kind: Literal["smart"] = "smart"
    client_id: str = Field(min_length=1)
    private_key: str = Field(repr=False)
    key_id: str
    token_url: str = ""
    scope: str = ""


FhirCredentials = Annotated[BasicLogin | BearerToken | BackendService, Field(discriminator="kind")]


class _Login(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    address: str
    credentials: FhirCredentials


@dataclass(frozen=True, slots=True)
class StoredLogin:
    """Credentials with the address of the one server that gets them."""

    address: str
    credentials: BasicLogin | BearerToken | BackendService = field(repr=False)

    def secret(self) -> str:
        """The form in the keyring."""
        return json.dumps({"address": self.address, "credentials": self.credentials.model_dump()})

    @classmethod
    def of_secret(cls, secret: str) -> "StoredLogin":
        """Read what `secret` wrote.

        Raises:
            ValueError: it is something else; the message has nothing of it.
        """
        try:
            found = _Login.model_validate_json(secret)
        except ValidationError:
            raise ValueError(message("The credentials of the FHIR server in the keyring are damaged.")) from None
        return cls(found.address, found.credentials)
