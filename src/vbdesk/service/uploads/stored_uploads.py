"""Which upload addresses still hold: those of uploads that the database knows, of accounts that are let in."""

from vbdesk.service.kernel.db.session import Database
from vbdesk.service.uploads import repository
from vbdesk.service.uploads.service import UPLOADS_FOLDER


class StoredUploads:
    """Looks addresses of the embedded store up in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def admits(self, key: str) -> bool:
        """Whether a file may be put there; keys outside the uploads are the service's own."""
        upload_ref = _ref_of(key)
        if upload_ref is None:
            return True
        with self._database.reading() as connection:
            return repository.is_open(connection, upload_ref)

    def note_stored(self, key: str, size: int) -> bool:
        """Whether the file may stay. One that came after its reservation ended counts again from now on."""
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
