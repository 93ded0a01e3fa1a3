"""Audio in Google Cloud Storage; Google's library finds the credentials."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, BinaryIO
from urllib.parse import parse_qs, urlsplit

import google.auth
import requests
from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import GoogleAPICallError, NotFound, PreconditionFailed, RetryError
from google.auth.credentials import Signing
from google.auth.exceptions import GoogleAuthError
from google.cloud.storage import Blob, Client
from google.cloud.storage.exceptions import DataCorruption, InvalidResponse
from google.cloud.storage.retry import DEFAULT_RETRY
from requests.adapters import HTTPAdapter

from vbdesk.language import N_, message
from vbdesk.service.storage.addresses import LengthRange, UploadAddress, signed_end
from vbdesk.service.storage.remote import StoreTimeouts
from vbdesk.service.storage.store import ObjectMissing, StoreUnavailable, StoreUnusable

_MARK = "vbdesk-write"
_CONNECTIONS = 32
_PAUSE_S = 1.0  # between tries, on average; the library limits retries by time
_SCOPES = ["https://www.googleapis.com/auth/devstorage.read_write"]
_PROJECT = "unused"  # bucket calls need no project, but the library requires one


def make_client(endpoint: str | None) -> Client:
    """Create a client of the store at `endpoint`, or of Google's own.

    Raises:
        StoreUnusable: no credentials were found.
    """
    try:
        credentials, _ = google.auth.default(scopes=_SCOPES)
        options = ClientOptions(api_endpoint=endpoint, universe_domain=credentials.universe_domain)
        client = Client(project=_PROJECT, credentials=credentials, client_options=options)
    except (GoogleAuthError, OSError, ValueError) as error:
        raise StoreUnusable(
            message(
                "Audio in Google Cloud Storage needs credentials ({kind}). Set GOOGLE_APPLICATION_CREDENTIALS to the "
                "key file of a service account.",
                kind=type(error).__name__,
            )
        ) from None
    client._http.hooks["response"].append(_read_refusal)
    for scheme in ("http://", "https://"):
        client._http.mount(scheme, HTTPAdapter(pool_maxsize=_CONNECTIONS))
    return client


def _read_refusal(response: requests.Response, **_how: Any) -> None:
    """WORKAROUND: the library leaves the body of refused downloads unread, which drops the connection."""
    if not response.ok:
        _ = response.content


class GcsBucket:
    """A bucket in Google Cloud Storage."""

    def __init__(self, client: Client, bucket: str, timeouts: StoreTimeouts) -> None:
        self._client = client
        self._bucket = client.bucket(bucket)
        retry = None
        if timeouts.attempts > 1:
            retry = DEFAULT_RETRY.with_delay(0.2, 2.0, 2.0).with_timeout(timeouts.attempts * _PAUSE_S)
        self._how: dict[str, Any] = {"timeout": (timeouts.connect_s, timeouts.read_s), "retry": retry}

    def put(self, key: str, file: BinaryIO, mark: str) -> bool:
        """Upload on condition that no generation of the object exists."""
        blob = self._marked(key, mark)
        with self._asking(key):
            try:
                blob.upload_from_file(file, rewind=True, if_generation_match=0, **self._how)
            except PreconditionFailed:
                return False
        return True

    def copy(self, source_key: str, key: str, mark: str) -> bool:
        """Copy in as many calls as the store asks for; inside one bucket it is one."""
        source, blob = self._bucket.blob(source_key), self._marked(key, mark)
        token = None
        with self._asking(source_key):
            try:
                while True:
                    token, _, _ = blob.rewrite(source, token=token, if_generation_match=0, **self._how)
                    if token is None:
                        return True
            except PreconditionFailed:
                return False

    def mark(self, key: str) -> str | None:
        """Read the mark from the object's metadata."""
        mark: str | None = (self._described(key).metadata or {}).get(_MARK)
        return mark

    def fetch(self, key: str, file: BinaryIO) -> None:
        """Download; the library resumes broken streams and compares checksums."""
        with self._asking(key):
            self._bucket.blob(key).download_to_file(file, **self._how)

    def size(self, key: str) -> int:
        """Read the size from the object's description."""
        return int(self._described(key).size)

    def delete(self, key: str) -> None:
        """Delete; a missing object is no error."""
        try:
            with self._asking(key):
                self._bucket.blob(key).delete(**self._how)
        except ObjectMissing:
            pass

    def keys(self, start: str) -> Iterator[str]:
        """List a thousand keys per request."""
        found = iter(self._client.list_blobs(self._bucket, prefix=start, fields=_LISTED, **self._how))
        while True:
            with self._asking_bucket():
                blob = next(found, None)
            if blob is None:
                return
            yield blob.name

    def close(self) -> None:
        """Close the client; closing it twice is no error."""
        self._client.close()

    def _marked(self, key: str, mark: str) -> Blob:
        blob = self._bucket.blob(key)
        blob.metadata = {_MARK: mark}
        return blob

    def _described(self, key: str) -> Blob:
        blob = self._bucket.blob(key)
        with self._asking(key):
            blob.reload(**self._how)
        return blob

    @contextmanager
    def _asking(self, key: str) -> Iterator[None]:
        """Distinguish a missing object from a store that does not work."""
        with self._asking_bucket():
            try:
                yield
            except NotFound:  # the object, or the bucket?
                list(self._client.list_blobs(self._bucket, prefix=key, max_results=1, fields=_LISTED, **self._how))
                raise ObjectMissing(key) from None

    @contextmanager
    def _asking_bucket(self) -> Iterator[None]:
        try:
            yield
        except GoogleAPICallError as error:
            raise StoreUnavailable(
                message("The object store refuses a request ({code}).", code=str(error.code))
            ) from None
        except _AWAY as error:
            raise StoreUnavailable(
                message("The object store cannot be reached ({kind}).", kind=type(error).__name__)
            ) from None


_LISTED = "items(name),nextPageToken"
_AWAY = (
    GoogleAuthError,
    RetryError,
    InvalidResponse,
    DataCorruption,
    requests.exceptions.RequestException,
    ConnectionError,
)


class GcsAddresses:
    """Signed addresses of a bucket, at the endpoint that callers reach."""

    def __init__(self, client: Client, bucket: str, prefix: str, endpoint: str | None) -> None:
        if not isinstance(client._credentials, Signing):
            raise StoreUnusable(
                N_(
                    "The credentials for Google Cloud Storage cannot sign addresses. "
                    "Use the key file of a service account, or credentials that impersonate one."
                )
            )
        self._bucket = client.bucket(bucket)
        self._prefix = f"{prefix}/" if prefix else ""
        self._endpoint = endpoint

    def mint(self, key: str, content_type: str, length: LengthRange, now: datetime, valid_s: float) -> UploadAddress:
        """Sign with the service account; Google's signer uses the computer's clock, not `now`."""
        headers = {"X-Goog-Content-Length-Range": str(length), "X-Goog-If-Generation-Match": "0"}
        try:
            url = self._bucket.blob(self._prefix + key).generate_signed_url(
                version="v4",
                method="PUT",
                expiration=timedelta(seconds=max(1, int(valid_s))),
                content_type=content_type,
                headers=dict(headers),
                api_access_endpoint=self._endpoint,
            )
        except (GoogleAuthError, requests.exceptions.RequestException) as error:
            raise StoreUnavailable(
                message("No address of the object store can be signed ({kind}).", kind=type(error).__name__)
            ) from None
        query = parse_qs(urlsplit(url).query)
        ends = signed_end(query["X-Goog-Date"][0], query["X-Goog-Expires"][0])
        return UploadAddress(url, {"Content-Type": content_type, **headers}, ends)
