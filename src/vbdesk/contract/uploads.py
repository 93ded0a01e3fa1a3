"""Audio uploads by signed address."""

from typing import Literal

from pydantic import Field

from vbdesk.contract.base import WireModel, is_none
from vbdesk.contract.timestamps import Timestamp

AudioContentType = Literal["audio/wav", "audio/flac", "audio/mpeg", "audio/mp4"]
LENGTH_RANGE_HEADER = "X-Vbdesk-Content-Length-Range"
STORED_SHA256 = "StoredSha256"
"""In the XML of a 412 of the storage: digest in hex of what is at the address. A caller knows its own file by it."""


class UploadRequest(WireModel):
    """Request for a place to put one file.

    Attributes:
        size_bytes: Size of the file, if it is known: the place then takes exactly so many. Servers need not know it.
    """

    content_type: AudioContentType
    filename: str | None = None
    size_bytes: int | None = Field(default=None, ge=1, exclude_if=is_none)


class UploadGrant(WireModel):
    """Where to PUT the bytes, once, with every one of `required_headers`, before `expires_at`."""

    upload_url: str
    upload_ref: str
    expires_at: Timestamp
    required_headers: dict[str, str]
