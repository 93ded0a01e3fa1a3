"""Object store checks: write, read and delete files, directly and by signed address."""

from datetime import UTC, datetime

import httpx

from vbdesk.contract.ids import new_id
from vbdesk.service.health.findings import Finding, action_needed, note, ok
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.secret_box import SecretBox
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.maintenance.orphans import StoreContext, list_quarantine, search_orphans
from vbdesk.service.maintenance.store_identity import find_mismatch, is_paired
from vbdesk.service.storage.addresses import ANY_AUDIO, EmbeddedAddresses
from vbdesk.service.storage.opening import open_addresses
from vbdesk.service.storage.store import ObjectStore, StoreUnavailable, StoreUnusable

TIMEOUT_S = 10.0
_TOPIC = "database and object store"
_PROBE = b"vbdesk doctor"
_CONTENT_TYPE = "audio/wav"
_FOLDER = "probes"  # not under the uploads: addresses there are bound to an account


def look_at_store(store: ObjectStore) -> Finding:
    """Check that a file can be written once only, then read and deleted."""
    try:
        store.check()
    except StoreUnavailable as error:
        return action_needed("object store", f"{error} Audio can be neither taken nor analysed.")
    return ok("object store", "It takes a file once, gives it back and removes it.")


def look_at_pairing(database: Database, store: ObjectStore) -> Finding:
    """Check that store and database belong together, without changing either."""
    try:
        mismatch = find_mismatch(database, store)
        paired = is_paired(database, store)
    except StoreUnavailable as error:
        return action_needed(_TOPIC, f"{error} Whether it belongs to the database cannot be checked.")
    if mismatch is not None:
        return action_needed(_TOPIC, mismatch)
    return ok(_TOPIC, "They belong together." if paired else "They may belong together; the next start pairs them.")


def look_at_orphans(context: StoreContext) -> list[Finding]:
    """Report the store's objects that belong to nothing."""
    search = search_orphans(context)
    orphans, objects = (len(search.orphans), search.objects) if search else (0, 0)
    if search and search.too_many:
        return [
            action_needed(
                "orphans",
                f"{orphans} of {objects} objects in the store belong to no job or upload. So many are not quarantined: "
                "see that this is the right database. If it is, take vbdesk admin audio orphans --quarantine.",
            )
        ]
    waiting = len(list_quarantine(context))
    if orphans or waiting:
        return [note("orphans", f"{orphans} objects belong to nothing, {waiting} are in quarantine for 14 days.")]
    return []


def look_at_signed_addresses(settings: Settings, secrets: SecretBox, store: ObjectStore) -> Finding:
    """Check that a signed address accepts one upload and refuses a second."""
    topic = "signed addresses"
    try:
        addresses = open_addresses(settings, lambda: secrets.keys_for("upload addresses"), origin="")
        if isinstance(addresses, EmbeddedAddresses) and not settings.storage_url:
            return note(topic, "Callers put files to the serve process itself, at an address that only it knows.")
        key = f"{_FOLDER}/{new_id()}"
        address = addresses.mint(key, _CONTENT_TYPE, ANY_AUDIO, datetime.now(UTC), settings.upload_valid_s)
        try:
            return _try_address(topic, address.url, address.required_headers)
        finally:
            store.delete(key)
    except (StoreUnavailable, StoreUnusable) as error:
        return action_needed(topic, str(error))


def _try_address(topic: str, url: str, headers: dict[str, str]) -> Finding:
    host = httpx.URL(url).host
    try:
        first, second = (httpx.put(url, content=_PROBE, headers=headers, timeout=TIMEOUT_S) for _ in range(2))
    except httpx.HTTPError as error:
        return action_needed(
            topic, f"{host} cannot be reached ({type(error).__name__}): see to its name, proxy and certificate."
        )
    if not first.is_success:
        return action_needed(
            topic,
            f"{host} refuses a file at a signed address ({first.status_code}): see whether a proxy changes host, path "
            "or headers.",
        )
    if second.status_code != httpx.codes.PRECONDITION_FAILED:
        return action_needed(topic, f"{host} takes a second file at the same address: it must honour If-None-Match.")
    return ok(topic, f"{host} takes a file once.")
