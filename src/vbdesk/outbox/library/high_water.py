"""How far the library had come, kept beside its database, so that an older database in its place is noticed.

Written after each change, so it is never ahead of the database. It cannot tell a whole folder that was put back, mark
and all, from the folder as it was.
"""

import contextlib
from pathlib import Path

from vbdesk.outbox.library.column_seal import ColumnSeal, InvalidTag
from vbdesk.privacy import for_owner_alone

FILE_NAME = "library.mark"
_PLACE = "high water"


class HighWater:
    """The highest version that the library has had."""

    def __init__(self, folder: Path, seal: ColumnSeal) -> None:
        self._path = folder / FILE_NAME
        self._seal = seal

    def rise_to(self, version: int) -> None:
        """Keep `version`; a disk that refuses costs the notice, not the change."""
        unfinished = self._path.with_suffix(".mark.new")
        with contextlib.suppress(OSError):
            with open(unfinished, "wb", opener=for_owner_alone) as file:
                file.write(self._seal.seal(str(version).encode(), _PLACE))
            unfinished.replace(self._path)

    def known(self) -> int:
        """What was kept last; 0 if nothing was, or it cannot be read."""
        try:
            return int(self._seal.open(self._path.read_bytes(), _PLACE))
        except (OSError, InvalidTag, ValueError):
            return 0
