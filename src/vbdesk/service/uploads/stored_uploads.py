"""Validity of upload addresses of the embedded store: known uploads of active accounts."""

from vbdesk.service.kernel.db.session import Database
from vbdesk.service.uploads import repository
from vbdesk.service.uploads.service import UPLOADS_FOLDER


class StoredUploads:
    """Looks up addresses of the embedded store in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def admits(self, key: str) -> bool:
        """Return whether a file may be stored; keys outside the uploads belong to the service."""
        upload_ref = _ref_of(key)
        if upload_ref is None:
            return True
        with self._database.reading() as connection:
            return repository.is_open(connection, upload_ref)

    def note_stored(self, key: str, size: int) -> bool:
        """Return whether the file may stay; count it again if its reservation has ended."""
        upload_ref = _ref_of(key)
        if upload_ref is None:
            return True
        with self._database.reading() as connection:
            if not repository.is_open(connection, upload_ref):
                return False
            counted = repository.counts(connection, upload_ref)
        if not counted:
            with self._database.writing() as connection:
                repository.settle(connection, {upload_ref: size})
        return True


def _ref_of(key: str) -> str | None:
    folder, _, upload_ref = key.partition("/")
    return upload_ref if folder == UPLOADS_FOLDER else None
