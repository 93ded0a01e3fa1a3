"""Audio in an S3-compatible store; boto3 finds the credentials."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from functools import cache
from typing import Any, BinaryIO
from urllib.parse import parse_qs, urlsplit

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.loaders import Loader, create_loader
from botocore.session import get_session

from vbdesk.language import N_, message
from vbdesk.service.storage.addresses import LengthRange, UploadAddress, signed_end
from vbdesk.service.storage.remote import StoreTimeouts
from vbdesk.service.storage.store import ObjectMissing, StoreFull, StoreUnavailable, StoreUnusable

_WITHOUT_CREDENTIALS = N_(
    "Audio in S3 needs credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a role."
)
_WITHOUT_REGION = N_("A bucket of Amazon S3 needs its region for signatures. Set storage_region.")
_CONNECTIONS = 32
_STREAMS = 3  # number of attempts at a download
_CHUNK_BYTES = 256 * 1024
_MARK = "vbdesk-write"
_LENGTH_RANGE = "content-length-range"
_FULL = frozenset({"XMinioStorageFull", "QuotaExceeded", "InsufficientStorage"})  # of MinIO, Ceph, OpenStack


def make_client(region: str | None, endpoint: str | None, timeouts: StoreTimeouts) -> Any:
    """Create a client of the store at `endpoint`, or of Amazon S3.

    Raises:
        StoreUnusable: the settings are not valid, or no credentials were found.
    """
    config = Config(
        signature_version="s3v4",
        s3={"addressing_style": "path" if endpoint else "virtual"},
        connect_timeout=timeouts.connect_s,
        read_timeout=timeouts.read_s,
        retries={"mode": "standard", "total_max_attempts": timeouts.attempts},
        max_pool_connections=_CONNECTIONS,
        request_checksum_calculation="when_required",  # other S3-compatible stores do not support the newer checksums
        response_checksum_validation="when_required",
    )
    try:
        session = get_session()
        session.register_component("data_loader", _descriptions())
        if session.get_credentials() is None:
            raise StoreUnusable(_WITHOUT_CREDENTIALS)
        if endpoint is None and not (region or session.get_config_variable("region")):
            raise StoreUnusable(_WITHOUT_REGION)
        return session.create_client("s3", region_name=region, endpoint_url=endpoint, config=config)
    except (BotoCoreError, ValueError) as error:
        raise StoreUnusable(
            message(
                "Audio in S3 cannot be reached with these settings ({kind}). Check storage_region, storage_endpoint "
                "and the AWS_* variables.",
                kind=type(error).__name__,
            )
        ) from None


class _ConditionUnknown(StoreUnavailable):
    """The store does not support conditional writes."""


@cache
def _descriptions() -> Loader:
    """Load the library's description of S3 once; this takes longer than creating a client."""
    return create_loader()


class S3Bucket:
    """A bucket of an S3-compatible store."""

    def __init__(self, client: Any, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def put(self, key: str, file: BinaryIO, mark: str) -> bool:
        """Upload in one request: recordings are far below the size of multipart uploads."""
        return self._write(self._client.put_object, key, mark, Body=file)

    def copy(self, source_key: str, key: str, mark: str) -> bool:
        """Copy in one request; some stores support conditions on writes but not on copies."""
        what = {"CopySource": {"Bucket": self._bucket, "Key": source_key}, "MetadataDirective": "REPLACE"}
        try:
            return self._write(self._client.copy_object, key, mark, **what)
        except _ConditionUnknown:
            with self._asking():
                self._client.copy_object(Bucket=self._bucket, Key=key, Metadata={_MARK: mark}, **what)
            return True

    def mark(self, key: str) -> str | None:
        """Read the mark from the object's metadata."""
        mark: str | None = self._head(key)["Metadata"].get(_MARK)
        return mark

    def fetch(self, key: str, file: BinaryIO) -> None:
        """Download; restart a broken stream."""
        for left in reversed(range(_STREAMS)):
            with self._asking():
                body = self._client.get_object(Bucket=self._bucket, Key=key)["Body"]
                try:
                    with closing(body):
                        for chunk in body.iter_chunks(_CHUNK_BYTES):
                            file.write(chunk)
                except BotoCoreError:
                    if not left:
                        raise
                    file.seek(0)
                    file.truncate()
                else:
                    return

    def size(self, key: str) -> int:
        """Read the size with a HEAD request."""
        return int(self._head(key)["ContentLength"])

    def delete(self, key: str) -> None:
        """Delete; a missing object is no error."""
        with self._asking():
            self._client.delete_object(Bucket=self._bucket, Key=key)

    def keys(self, start: str) -> Iterator[str]:
        """List a thousand keys per request."""
        pages = iter(self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=start))
        while True:
            with self._asking():
                page = next(pages, None)
            if page is None:
                return
            yield from (item["Key"] for item in page.get("Contents", ()))

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def _write(self, call: Callable[..., Any], key: str, mark: str, **what: Any) -> bool:
        with self._asking():
            try:
                call(Bucket=self._bucket, Key=key, IfNoneMatch="*", Metadata={_MARK: mark}, **what)
            except ClientError as error:
                if _code_of(error) in {"PreconditionFailed", "412"}:
                    return False
                if _code_of(error) in {"NotImplemented", "501"}:
                    raise _ConditionUnknown(N_("The object store does not support conditional writes.")) from None
                raise
        return True

    def _head(self, key: str) -> Any:
        with self._asking():
            try:
                return self._client.head_object(Bucket=self._bucket, Key=key)
            except ClientError as error:
                if _code_of(error) == "404":  # without a body that says whether object or bucket is missing
                    self._client.head_bucket(Bucket=self._bucket)
                    raise ObjectMissing(key) from None
                raise

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Distinguish a missing object from a store that does not work."""
        try:
            yield
        except ClientError as error:
            if _code_of(error) == "NoSuchKey":
                raise ObjectMissing from None
            kind = StoreFull if _code_of(error) in _FULL else StoreUnavailable
            raise kind(message("The object store refuses a request ({code}).", code=_code_of(error))) from None
        except BotoCoreError as error:
            raise StoreUnavailable(
                message("The object store cannot be reached ({kind}).", kind=type(error).__name__)
            ) from None


class S3Addresses:
    """Signed addresses of a bucket, at the endpoint that callers reach.

    S3 has no length range for a PUT. The address carries it as signed metadata, which informs the caller. Where the
    caller declared the size, the store enforces a signed `Content-Length`.
    """

    def __init__(self, client: Any, bucket: str, prefix: str) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""

    def mint(self, key: str, content_type: str, length: LengthRange, now: datetime, valid_s: float) -> UploadAddress:
        """Sign with the current credentials; the library uses the computer's clock, not `now`."""
        what: dict[str, Any] = {
            "Bucket": self._bucket,
            "Key": self._prefix + key,
            "ContentType": content_type,
            "IfNoneMatch": "*",
            "Metadata": {_LENGTH_RANGE: str(length)},
        }
        headers = {
            "Content-Type": content_type,
            "If-None-Match": "*",
            "X-Amz-Meta-Content-Length-Range": str(length),
        }
        if length.exact is not None:
            what["ContentLength"] = length.exact
            headers["Content-Length"] = str(length.exact)
        try:
            url = self._client.generate_presigned_url("put_object", what, ExpiresIn=max(1, int(valid_s)))
        except BotoCoreError as error:
            raise StoreUnavailable(
                message("No address of the object store can be signed ({kind}).", kind=type(error).__name__)
            ) from None
        query = parse_qs(urlsplit(url).query)
        return UploadAddress(url, headers, signed_end(query["X-Amz-Date"][0], query["X-Amz-Expires"][0]))


def _code_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", "unknown"))
