"""HTTP route to create upload addresses."""

from typing import Annotated

from fastapi import APIRouter

from vbdesk.contract.errors import ErrorCode
from vbdesk.contract.limits import Bucket
from vbdesk.contract.uploads import UploadGrant, UploadRequest
from vbdesk.service.http.guard import CurrentAccount, CurrentContext, guard
from vbdesk.service.http.json_body import json_body
from vbdesk.service.http.openapi_parts import refusals
from vbdesk.service.uploads.service import UploadService

ANALYZE = guard(Bucket.ANALYZE)
router = APIRouter()


@router.post(
    "/v2/audio/uploads", responses=refusals(ErrorCode.INVALID_REQUEST, ErrorCode.AUDIO_TOO_LARGE), dependencies=ANALYZE
)
def mint_upload(
    body: Annotated[UploadRequest, json_body(UploadRequest)], account: CurrentAccount, context: CurrentContext
) -> UploadGrant:
    """A signed, write-once address on the object store."""
    return UploadService.of(context).mint(account, body)
