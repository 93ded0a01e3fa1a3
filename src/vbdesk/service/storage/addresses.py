"""Upload addresses: a caller may PUT one file there once, without the API."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.contract.uploads import LENGTH_RANGE_HEADER
from vbdesk.service.storage.signing import UploadSigner


@dataclass(frozen=True, slots=True)
class LengthRange:
    """Accepted file sizes in bytes, both bounds inclusive."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.least},{self.most}"

    @property
    def exact(self) -> int | None:
        """The accepted size, if there is only one."""
        return self.most if self.least == self.most else None


ANY_AUDIO = LengthRange(1, MAX_AUDIO_BYTES)


@dataclass(frozen=True, slots=True)
class UploadAddress:
    """A signed PUT address, the headers that the request must have, and its end."""

    url: str
    required_headers: dict[str, str]
    expires_at: datetime


class UploadAddresses(Protocol):
    """Creates upload addresses of the store."""

    def mint(self, key: str, content_type: str, length: LengthRange, now: datetime, valid_s: float) -> UploadAddress:
        """Create an address to PUT `key` once, as `content_type`, within `valid_s` seconds.

        Raises:
            StoreUnavailable: the store's credentials are not available now.
        """
        ...


class EmbeddedAddresses:
    """Addresses of the embedded store, below its `origin`.

    Attributes:
        signer: signs addresses, and checks them on use.
    """

    def __init__(self, signer: UploadSigner, origin: str) -> None:
        self.signer = signer
        self._origin = origin

    def mint(self, key: str, content_type: str, length: LengthRange, now: datetime, valid_s: float) -> UploadAddress:
        """Sign with the service's own key."""
        headers = {"Content-Type": content_type, LENGTH_RANGE_HEADER: str(length)}
        url = self.signer.sign(self._origin, key, headers, now, valid_s)
        return UploadAddress(url, headers, now + timedelta(seconds=valid_s))


def signed_end(date: str, expires_s: str) -> datetime:
    """Return the end of an address from its query: the provider's date format and seconds."""
    return datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC) + timedelta(seconds=int(expires_s))
