"""The models and signs that a service offers."""

from vbdesk.client.refusals import OF_MODEL, OF_SIGN
from vbdesk.client.transport import Call, Transport
from vbdesk.client.url_paths import path
from vbdesk.contract.catalog import Model, ModelList, Sign, SignDetail, SignList


class Models:
    """Named bundles of signs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> list[Model]:
        """All models."""
        call = Call("GET", path("models"), repeatable=True)
        return self._transport.read(call, ModelList.model_validate_json).models

    def get(self, name: str) -> Model:
        """One model."""
        call = Call("GET", path("models", name), repeatable=True, refusals=OF_MODEL)
        return self._transport.read(call, Model.model_validate_json)


class Signs:
    """Signs that can be requested individually."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> list[Sign]:
        """All standalone signs."""
        return self._transport.read(Call("GET", path("signs"), repeatable=True), SignList.model_validate_json).signs

    def get(self, name: str) -> SignDetail:
        """One sign with its condition."""
        call = Call("GET", path("signs", name), repeatable=True, refusals=OF_SIGN)
        return self._transport.read(call, SignDetail.model_validate_json)
