"""Minting of upload addresses over HTTP."""

from vbdesk.contract.errors import ErrorCode
from vbdesk.contract.limits import Bucket
from vbdesk.contract.uploads import UploadGrant, UploadRequest
from vbdesk.service.http.guard import CurrentAccount, CurrentContext, guarded_router
from vbdesk.service.http.openapi_parts import refusals
from vbdesk.service.uploads.wiring import uploads_of

router = guarded_router(Bucket.ANALYZE)


@router.post("/v2/audio/uploads", responses=refusals(ErrorCode.INVALID_REQUEST, ErrorCode.AUDIO_TOO_LARGE))
def mint_upload(body: UploadRequest, account: CurrentAccount, context: CurrentContext) -> UploadGrant:
    """A signed, write-once address on the object store."""
    return uploads_of(context).mint(account, body)
