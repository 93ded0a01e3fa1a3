"""The bucket of the audio as the settings name it: provider, bucket and prefix."""

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

CLOUD_SCHEMES: dict[str, Literal["s3", "gcs"]] = {"s3": "s3", "gs": "gcs"}
_OBJECT_KEY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")


@dataclass(frozen=True, slots=True)
class Location:
    """A bucket in a cloud store, and a prefix in it."""

    kind: Literal["s3", "gcs"]
    bucket: str
    prefix: str


def is_cloud(address: str) -> bool:
    """Return whether an address names a bucket."""
    return urlsplit(address).scheme in CLOUD_SCHEMES


def read_location(address: str) -> Location:
    """Parse `s3://bucket/prefix` or `gs://bucket/prefix`; the prefix is optional.

    Raises:
        ValueError: the address is not of that form.
    """
    parts = urlsplit(address)
    prefix = parts.path.strip("/")
    if not _BUCKET.fullmatch(parts.netloc) or parts.query or parts.fragment:
        raise ValueError("Give a bucket such as s3://bucket/prefix or gs://bucket/prefix")
    return Location(CLOUD_SCHEMES[parts.scheme], parts.netloc, checked_key(prefix) if prefix else "")


def checked_key(key: str) -> str:
    """Return the key if it consists of plain segments joined by slashes.

    Raises:
        ValueError: it does not; such a key could point outside the store.
    """
    if not _OBJECT_KEY.fullmatch(key):
        raise ValueError("An object key is made of letters, digits, dots, dashes and underscores.")
    return key
