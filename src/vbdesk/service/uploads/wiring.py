"""Uploads over a context."""

from vbdesk.service.context import Context
from vbdesk.service.uploads.service import UploadService


def uploads_of(context: Context) -> UploadService:
    """The rules of uploads, over this context's store."""
    valid_s = context.settings.upload_valid_s
    return UploadService(context.database, context.storage, context.addresses, context.clock, valid_s)
