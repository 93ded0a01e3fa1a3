"""Audio uploads by signed address."""

from typing import Literal

from vbdesk.contract.base import WireModel
from vbdesk.contract.timestamps import Timestamp

AudioContentType = Literal["audio/wav", "audio/flac", "audio/mpeg", "audio/mp4"]
LENGTH_RANGE_HEADER = "X-Vbdesk-Content-Length-Range"


class UploadRequest(WireModel):
    """Request for a place to put one file."""

    content_type: AudioContentType
    filename: str | None = None


class UploadGrant(WireModel):
    """Where to PUT the bytes, once, with every one of `required_headers`, before `expires_at`."""

    upload_url: str
    upload_ref: str
    expires_at: Timestamp
    required_headers: dict[str, str]
