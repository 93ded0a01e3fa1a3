"""The embedded store's origin over a context."""

from starlette.applications import Starlette

from vbdesk.service.http.storage_origin import create_storage_app
from vbdesk.service.ports.context import Context
from vbdesk.service.storage.addresses import EmbeddedAddresses
from vbdesk.service.uploads.stored_uploads import StoredUploads


def embedded_origin(context: Context) -> Starlette | None:
    """Where callers put recordings, if that is with us; None where they put them into a cloud."""
    if not isinstance(context.addresses, EmbeddedAddresses):
        return None
    gate, origins = StoredUploads(context.database), context.settings.cors_origins
    signer = context.addresses.signer
    return create_storage_app(context.storage, signer, context.clock, gate, context.disk.require, origins)
