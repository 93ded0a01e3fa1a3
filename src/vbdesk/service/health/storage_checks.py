"""Object store checks: write, read and delete files, directly and by signed address."""

import httpx

from vbdesk.clock import utc_now
from vbdesk.contract.ids import new_id
from vbdesk.language import N_, message
from vbdesk.service.health.findings import Finding, action_needed, note, ok
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.secret_box import SecretBox
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.maintenance.orphans import RETENTION_DAYS, StoreContext, list_quarantine, search_orphans
from vbdesk.service.maintenance.store_identity import find_mismatch, is_paired
from vbdesk.service.storage.addresses import ANY_AUDIO, EmbeddedAddresses
from vbdesk.service.storage.opening import open_addresses
from vbdesk.service.storage.store import ObjectStore, StoreUnavailable, StoreUnusable

TIMEOUT_S = 10.0
_TOPIC = N_("database and object store")
_PROBE = b"vbdesk doctor"
_CONTENT_TYPE = "audio/wav"
_FOLDER = "probes"  # not under the uploads: addresses there are bound to an account


def check_store(store: ObjectStore) -> Finding:
    """Check that a file can be written once only, then read and deleted."""
    try:
        store.check()
    except StoreUnavailable as error:
        then = message("Recordings can be neither accepted nor analysed.")
        return action_needed(N_("object store"), error, then)
    return ok(N_("object store"), message("A file can be written only once, read, and deleted."))


def check_pairing(database: Database, store: ObjectStore) -> Finding:
    """Check that store and database belong together, without changing either."""
    try:
        mismatch = find_mismatch(database, store)
        paired = is_paired(database, store)
    except StoreUnavailable as error:
        return action_needed(_TOPIC, error, message("Whether the store belongs to the database cannot be checked."))
    if mismatch is not None:
        return action_needed(_TOPIC, mismatch)
    if paired:
        return ok(_TOPIC, message("They belong together."))
    return ok(_TOPIC, message("Nothing shows that they do not belong together. The next start pairs them."))


def check_orphans(context: StoreContext) -> list[Finding]:
    """Report the store's objects that belong to nothing."""
    search = search_orphans(context)
    orphans, objects = (len(search.orphans), search.objects) if search else (0, 0)
    if search and search.too_many:
        return [
            action_needed(
                N_("orphans"),
                message(
                    "{orphans} of {objects} objects in the store belong to no job or upload. The service does not "
                    "quarantine so many. Check that this is the right database. If it is, run vbdesk admin audio "
                    "orphans --quarantine.",
                    orphans=orphans,
                    objects=objects,
                ),
            )
        ]
    waiting = len(list_quarantine(context))
    if orphans or waiting:
        counted = message(
            "Objects that belong to no job or upload: {orphans}. In quarantine for {days} days: {waiting}.",
            orphans=orphans,
            days=RETENTION_DAYS,
            waiting=waiting,
        )
        return [note(N_("orphans"), counted)]
    return []


def check_signed_addresses(settings: Settings, secrets: SecretBox, store: ObjectStore) -> Finding:
    """Check that a signed address accepts one upload and refuses a second."""
    topic = N_("signed addresses")
    try:
        addresses = open_addresses(settings, lambda: secrets.keys_for("upload addresses"), origin="")
        if isinstance(addresses, EmbeddedAddresses) and not settings.storage_url:
            return note(
                topic, message("Callers upload to vbdesk serve itself, at an address that only that process knows.")
            )
        key = f"{_FOLDER}/{new_id()}"
        address = addresses.mint(key, _CONTENT_TYPE, ANY_AUDIO, utc_now(), settings.upload_valid_s)
        try:
            return _try_address(topic, address.url, address.required_headers)
        finally:
            store.delete(key)
    except (StoreUnavailable, StoreUnusable) as error:
        return action_needed(topic, error)


def _try_address(topic: str, url: str, headers: dict[str, str]) -> Finding:
    host = httpx.URL(url).host
    try:
        first, second = (httpx.put(url, content=_PROBE, headers=headers, timeout=TIMEOUT_S) for _ in range(2))
    except httpx.HTTPError as error:
        away = message(
            "{address} does not answer ({kind}). Check its name, proxy and certificate.",
            address=host,
            kind=type(error).__name__,
        )
        return action_needed(topic, away)
    if not first.is_success:
        refused = message(
            "{host} refuses a file at a signed address ({status}). Check whether a proxy changes host, path or "
            "headers.",
            host=host,
            status=str(first.status_code),
        )
        return action_needed(topic, refused)
    if second.status_code != httpx.codes.PRECONDITION_FAILED:
        twice = message(
            "{host} accepts a second file at the same address. Use a store that respects If-None-Match.", host=host
        )
        return action_needed(topic, twice)
    return ok(topic, message("{host} accepts one file at a signed address.", host=host))
