"""Minting of upload addresses over HTTP."""

from vbdesk.contract.errors import ErrorCode
from vbdesk.contract.limits import Bucket
from vbdesk.contract.uploads import UploadGrant, UploadRequest
from vbdesk.service.dependencies import CurrentAccount, CurrentContext, guarded_router
from vbdesk.service.http.description import refusals
from vbdesk.service.uploads.service import UploadService

router = guarded_router(Bucket.ANALYZE)


@router.post("/v2/audio/uploads", responses=refusals(ErrorCode.INVALID_REQUEST))
def mint_upload(body: UploadRequest, account: CurrentAccount, context: CurrentContext) -> UploadGrant:
    """A signed, write-once address on the object store."""
    uploads = UploadService(context.storage, context.signer, context.clock, context.settings.upload_valid_s)
    with context.database.writing() as connection:
        return uploads.mint(connection, account, body, context.storage_origin)
