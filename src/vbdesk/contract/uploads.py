"""Audio uploads to a signed URL."""

from pydantic import Field

from vbdesk.contract.audio_formats import AudioContentType
from vbdesk.contract.base import WireModel, is_none
from vbdesk.contract.timestamps import Timestamp

LENGTH_RANGE_HEADER = "X-Vbdesk-Content-Length-Range"
STORED_SHA256 = "StoredSha256"
"""XML element of a storage answer 412: hex digest of the stored file, by which a caller recognises its own file."""


class UploadRequest(WireModel):
    """Request for an upload URL for one file.

    Attributes:
        size_bytes: size of the file, if known; the URL then accepts exactly this size. Servers can ignore it.
    """

    content_type: AudioContentType
    filename: str | None = None
    size_bytes: int | None = Field(default=None, ge=1, exclude_if=is_none)


class UploadGrant(WireModel):
    """An upload URL: PUT the bytes once, with all `required_headers`, before `expires_at`."""

    upload_url: str
    upload_ref: str
    expires_at: Timestamp
    required_headers: dict[str, str]
