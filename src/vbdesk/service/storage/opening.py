"""Opens the store and upload addresses of the settings; loads a cloud library only if used."""

from collections.abc import Callable

from vbdesk.language import message
from vbdesk.service.kernel.encrypted_text import Keys
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.kernel.store_location import Location
from vbdesk.service.storage.addresses import EmbeddedAddresses, UploadAddresses
from vbdesk.service.storage.local import LocalObjectStore
from vbdesk.service.storage.remote import PROBING_TIMEOUTS, USUAL_TIMEOUTS, RemoteObjectStore
from vbdesk.service.storage.signing import UploadSigner
from vbdesk.service.storage.store import ObjectStore, StoreUnusable

_OBJECTS = "objects"
_INCOMING = "incoming"


def open_store(settings: Settings, keys: Keys | None = None) -> ObjectStore:
    """Open the object store; `keys` encrypt its files on this computer.

    Raises:
        StoreUnusable: a library or its credentials are missing.
    """
    location = settings.storage_location
    if location is None:
        return LocalObjectStore(settings.data_dir / _OBJECTS, keys)
    return _open_remote(settings, location, keys)


def open_addresses(settings: Settings, keys: Callable[[], tuple[bytes, ...]], origin: str) -> UploadAddresses:
    """Open upload addresses: of the embedded store at `origin`, or of the bucket.

    Raises:
        StoreUnusable: a library or its credentials are missing, or the credentials cannot sign.
    """
    location = settings.storage_location
    if location is None:
        return EmbeddedAddresses(UploadSigner(keys), settings.storage_url or origin)
    return _open_remote_addresses(settings, location)


def _open_remote(settings: Settings, location: Location, keys: Keys | None) -> RemoteObjectStore:
    incoming = settings.data_dir / _INCOMING
    if location.kind == "s3":
        try:
            from vbdesk.service.storage import s3
        except ImportError:
            raise _without_library("S3") from None

        bucket, probing = (
            s3.S3Bucket(s3.make_client(settings.storage_region, settings.storage_endpoint, timeouts), location.bucket)
            for timeouts in (USUAL_TIMEOUTS, PROBING_TIMEOUTS)
        )
        return RemoteObjectStore(bucket, probing, location.prefix, incoming, keys)
    try:
        from vbdesk.service.storage import gcs
    except ImportError:
        raise _without_library("Google Cloud Storage") from None

    client = gcs.make_client(settings.storage_endpoint)
    gcs_bucket, gcs_probing = (
        gcs.GcsBucket(client, location.bucket, timeouts) for timeouts in (USUAL_TIMEOUTS, PROBING_TIMEOUTS)
    )
    return RemoteObjectStore(gcs_bucket, gcs_probing, location.prefix, incoming, keys)


def _open_remote_addresses(settings: Settings, location: Location) -> UploadAddresses:
    endpoint = settings.storage_public_endpoint or settings.storage_endpoint
    if location.kind == "s3":
        from vbdesk.service.storage import s3

        client = s3.make_client(settings.storage_region, endpoint, USUAL_TIMEOUTS)
        return s3.S3Addresses(client, location.bucket, location.prefix)
    from vbdesk.service.storage import gcs

    return gcs.GcsAddresses(gcs.make_client(settings.storage_endpoint), location.bucket, location.prefix, endpoint)


def _without_library(maker: str) -> StoreUnusable:
    return StoreUnusable(message("Audio in {maker} needs the provider's library: install vbdesk[cloud].", maker=maker))
