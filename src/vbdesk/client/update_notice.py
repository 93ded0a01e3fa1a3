"""Ask whether there is a newer version: one small signed file; nothing else is downloaded.

The address names the key: `https://HOST/PATH#KEY`, where KEY is the Ed25519 public key of those who publish versions,
as 43 or 44 characters of base64url. The file is JSON:

    {"notice": "<JSON as text>", "signature": "<base64url of the Ed25519 signature of that text>"}

and the text is `{"product": "vbdesk", "version": "1.2.0", "published": "2026-11-23", "valid_until": "2027-05-23",
"page": "https://..."}`.
"""

import base64
import json
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from vbdesk.language import message

LONGEST_ANSWER = 16 * 1024  # bytes
TIMEOUT_S = 15.0
KEY_BYTES = 32
PRODUCT = "vbdesk"
_VERSION = re.compile(r"\d{1,5}(\.\d{1,5}){1,3}")
_CLOCKS_DIFFER = timedelta(days=1)


class NoticeRefused(Exception):
    """The answer is not used; `str(error)` is one sentence for a person."""


@dataclass(frozen=True, slots=True)
class NoticeSource:
    """Where to ask, and the public key that answers are signed with."""

    url: str
    key: bytes

    def __str__(self) -> str:
        return f"{self.url}#{base64.urlsafe_b64encode(self.key).decode().rstrip('=')}"


@dataclass(frozen=True, slots=True)
class VersionNotice:
    """A version that was published.

    Attributes:
        page: where a person gets it.
    """

    version: str
    published: date
    page: str


def read_notice_source(text: str) -> NoticeSource:
    """Parse `https://HOST/PATH#KEY`.

    Raises:
        ValueError: it is not such an address; the message is for a person.
    """
    address, _, key_text = text.strip().partition("#")
    parts = urlsplit(address)
    try:
        key = _decoded(key_text)
    except ValueError:
        key = b""
    if parts.scheme != "https" or not parts.hostname or parts.username or len(key) != KEY_BYTES:
        raise ValueError(message("Enter the whole address: it begins with https:// and ends with # and a key."))
    return NoticeSource(address, key)


def version_key(version: str) -> tuple[int, ...]:
    """A version for comparisons: `1.10` is above `1.9`, and `1.2` is `1.2.0`."""
    numbers = [int(part) for part in version.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def ask_for_notice(
    source: NoticeSource, now: datetime, newest_seen: str = "", transport: httpx.BaseTransport | None = None
) -> VersionNotice:
    """Ask for the newest version; at most `LONGEST_ANSWER` bytes, without redirects, cookies or anything about us.

    Args:
        source: where.
        now: to check the dates.
        newest_seen: the newest version that an earlier notice named: an older one is a replay.
        transport: the network of a test.

    Raises:
        NoticeRefused: no answer, or one that is not signed, not for now, or older than one before.
    """
    return checked_notice(_fetched(source.url, transport), source.key, now, newest_seen)


def checked_notice(answer: bytes, key: bytes, now: datetime, newest_seen: str = "") -> VersionNotice:
    """Check signature, dates and version of an answer. Raises NoticeRefused."""
    try:
        document = json.loads(answer)
        text = document["notice"].encode()
        Ed25519PublicKey.from_public_bytes(key).verify(_decoded(document["signature"]), text)
    except (ValueError, KeyError, TypeError, AttributeError, InvalidSignature, RecursionError):
        raise NoticeRefused(message("The notice of new versions is not signed with the key of its address.")) from None
    try:
        notice, valid_until = _parsed(json.loads(text))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _unreadable() from None
    today = now.astimezone(UTC).date()
    if valid_until < today or notice.published > today + _CLOCKS_DIFFER:
        raise NoticeRefused(message("The notice of new versions is not valid on this date."))
    if newest_seen and version_key(notice.version) < version_key(newest_seen):
        raise NoticeRefused(message("The notice of new versions is older than one seen before."))
    return notice


def _parsed(found: dict[str, Any]) -> tuple[VersionNotice, date]:
    page = urlsplit(found["page"])
    if found["product"] != PRODUCT or not _VERSION.fullmatch(found["version"]):
        raise ValueError(found["version"])
    if page.scheme != "https" or not page.hostname or not found["page"].isprintable():
        raise ValueError(found["page"])
    published, valid_until = (date.fromisoformat(found[name]) for name in ("published", "valid_until"))
    return VersionNotice(found["version"], published, found["page"]), valid_until


def _fetched(url: str, transport: httpx.BaseTransport | None) -> bytes:
    content = bytearray()
    try:
        with (
            httpx.Client(timeout=TIMEOUT_S, follow_redirects=False, transport=transport) as client,
            client.stream("GET", url, headers={"User-Agent": PRODUCT, "Accept-Encoding": "identity"}) as answer,
        ):
            if answer.status_code != httpx.codes.OK:
                raise _no_answer()
            for part in answer.iter_raw():
                content += part
                if len(content) > LONGEST_ANSWER:
                    raise _unreadable()
    except httpx.HTTPError:
        raise _no_answer() from None
    return bytes(content)


def _decoded(text: str) -> bytes:
    """Decode base64url, with or without padding. Raises ValueError."""
    if not re.fullmatch(r"[A-Za-z0-9_-]*={0,2}", text):
        raise ValueError(text)
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _no_answer() -> NoticeRefused:
    return NoticeRefused(message("The address of new versions does not answer as expected."))


def _unreadable() -> NoticeRefused:
    return NoticeRefused(message("The notice of new versions cannot be read."))
