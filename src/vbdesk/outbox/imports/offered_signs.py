"""Which signs the service of a profile takes, kept for when it does not answer."""

from pathlib import Path
from typing import Protocol

from vbdesk.contract import catalog
from vbdesk.contract.catalog import Sign, SignList
from vbdesk.privacy import make_private, owner_only_opener

FILE_NAME = "offered-signs.json"


class SignCatalog(Protocol):
    """What is asked of a client."""

    def list(self) -> list[Sign]:
        """Every sign that may be asked for by itself, those of a lab's own included."""
        ...


class OfferedSigns:
    """The signs of one service, the last answer in a small file. Both methods touch the disk: call them in a task."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME

    def known(self) -> tuple[Sign, ...]:
        """As the service said last; before that, or if the file cannot be read, those that every service has."""
        try:
            return tuple(SignList.model_validate_json(self._path.read_bytes()).signs)
        except (OSError, ValueError):
            return every_service_has()

    def ask(self, signs: SignCatalog) -> tuple[Sign, ...]:
        """As the service says now; kept for later.

        Raises:
            OSError: the answer cannot be kept.
            ClientError: as the client does.
        """
        answer = SignList(signs=signs.list())
        make_private(self._path.parent)
        unfinished = self._path.with_suffix(".new")
        with open(unfinished, "w", encoding="utf-8", opener=owner_only_opener) as file:
            file.write(answer.model_dump_json())
        unfinished.replace(self._path)
        return tuple(answer.signs)


def every_service_has() -> tuple[Sign, ...]:
    """The standalone signs of the interface."""
    return tuple(catalog.signs().signs)
