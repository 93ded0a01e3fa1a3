"""The signs that a profile's service offers, cached for when it does not answer."""

from pathlib import Path
from typing import Protocol

from vbdesk.contract import catalog
from vbdesk.contract.catalog import Sign, SignList
from vbdesk.outbox.profiles.shared_files import replace_shared
from vbdesk.privacy import make_private, owner_only_opener

FILE_NAME = "offered-signs.json"


class SignCatalog(Protocol):
    """The part of a client that is needed here."""

    def list(self) -> list[Sign]:
        """Every sign that can be requested individually, including a lab's own."""
        ...


class OfferedSigns:
    """The signs of one service; the last answer is in a small file. Both methods do file I/O: call them in a task."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME

    def known(self) -> tuple[Sign, ...]:
        """The signs in the service's last answer; without a readable one, those that every service has."""
        try:
            return tuple(SignList.model_validate_json(self._path.read_bytes()).signs)
        except (OSError, ValueError):
            return every_service_has()

    def ask(self, signs: SignCatalog) -> tuple[Sign, ...]:
        """Read the signs from the service, and cache them.

        Raises:
            OSError: the answer cannot be stored.
            ClientError: as the client does.
        """
        answer = SignList(signs=signs.list())
        make_private(self._path.parent)
        unfinished = self._path.with_suffix(".new")
        with open(unfinished, "w", encoding="utf-8", opener=owner_only_opener) as file:
            file.write(answer.model_dump_json())
        replace_shared(unfinished, self._path)
        return tuple(answer.signs)


def every_service_has() -> tuple[Sign, ...]:
    """The standalone signs of the interface."""
    return tuple(catalog.signs().signs)
