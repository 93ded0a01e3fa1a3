"""Uploads over a context."""

from vbdesk.service.ports.context import Context
from vbdesk.service.uploads.service import UploadService


def uploads_of(context: Context) -> UploadService:
    """The rules of uploads, over this context's store."""
    settings = context.settings
    quotas = {plan: settings.quota_bytes(plan) for plan in settings.upload_quota_mb}
    return UploadService(
        context.database, context.storage, context.addresses, context.clock, settings.upload_valid_s, quotas
    )
