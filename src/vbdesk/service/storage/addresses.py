"""Upload addresses: where a caller may PUT one file, once, without passing through the API."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.contract.uploads import LENGTH_RANGE_HEADER
from vbdesk.service.storage.signing import UploadSigner


@dataclass(frozen=True, slots=True)
class LengthRange:
    """Sizes in bytes that an address takes, both inclusive."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.least},{self.most}"

    @property
    def exact(self) -> int | None:
        """The one size that is taken, if it is one."""
        return self.most if self.least == self.most else None


ANY_AUDIO = LengthRange(1, MAX_AUDIO_BYTES)


@dataclass(frozen=True, slots=True)
class UploadAddress:
    """A signed PUT address, the headers that must come with the file, and when it ends."""

    url: str
    required_headers: dict[str, str]
    expires_at: datetime


class UploadAddresses(Protocol):
    """Mints addresses of the store in which audio lies."""

    def mint(self, key: str, content_type: str, length: LengthRange, now: datetime, valid_s: float) -> UploadAddress:
        """The address at which `key` may be PUT once, as `content_type`, for `valid_s` seconds.

        Raises:
            StoreUnavailable: the store's credentials cannot be had at the moment.
        """
        ...


class EmbeddedAddresses:
    """Addresses of the service's own store, below its `origin`.

    Attributes:
        signer: signs them, and checks them where they are used.
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
    """When an address ends by its own query: the makers' form of a date, and seconds from it."""
    return datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC) + timedelta(seconds=int(expires_s))
