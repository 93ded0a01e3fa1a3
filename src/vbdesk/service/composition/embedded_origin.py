"""HTTP application of the embedded store."""

from starlette.applications import Starlette

from vbdesk.service.http.storage_origin import create_storage_app
from vbdesk.service.ports.context import Context
from vbdesk.service.storage.addresses import EmbeddedAddresses
from vbdesk.service.uploads.stored_uploads import StoredUploads


def embedded_origin(context: Context) -> Starlette | None:
    """Create the application that receives uploads; None where callers upload to a cloud store."""
    if not isinstance(context.addresses, EmbeddedAddresses):
        return None
    gate, origins = StoredUploads(context.database), context.settings.cors_origins
    signer = context.addresses.signer
    return create_storage_app(context.storage, signer, context.clock, gate, context.disk.require, origins)
