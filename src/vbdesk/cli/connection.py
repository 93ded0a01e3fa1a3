"""The account of a command: from a profile of the desk, or the environment; never from an argument.

Everybody on the computer can read arguments in the list of processes.

Commands that use a service end with 0, or with one sentence on standard error and
    1   something failed: a recording or a request was refused, an analysis failed
    2   the command line is wrong
    3   the service cannot be reached or asks for a pause, or the disk is full, write-protected or gone: run the same
        command again later
    4   a person must act first: key, keyring, credits
    130 stopped by Ctrl-C; what was done is kept
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote, urlsplit

import typer

from vbdesk.cli.output import fail, say
from vbdesk.cli.passphrase import vault_of_passphrase
from vbdesk.language import _, translated

if TYPE_CHECKING:
    from vbdesk.cli.paths import DeskPaths
    from vbdesk.client import Client, ClientError, Credentials, RequestBudget
    from vbdesk.client.request_file import RequestFile
    from vbdesk.outbox.profiles.profiles import Profile
    from vbdesk.outbox.profiles.vault import Vault

REFUSED, USAGE, LATER, ACT_FIRST, KEYRING_SILENT, STOPPED = 1, 2, 3, 4, 5, 130

STATUSES = (
    "Ends with 0, or with one sentence and 1: something was refused or failed; 2: the command line is wrong; 3: the "
    "service cannot be reached now, or the disk takes no data, try later; 4: a person must act first (key, keyring, "
    "credits, consent, a doubtful time); 5: the keyring did not answer; 130: stopped."
)

ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile",
        help="A profile of the desk, by name or id; its key comes from the keyring. Default: the environment "
        "(VBDESK_BASE_URL, VBDESK_ACCOUNT_ID, VBDESK_API_KEY), else the profile in use.",
    ),
]
DataDir = Annotated[Path | None, typer.Option(help="The desk's folder of recordings and profiles.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True, slots=True)
class ConnectedAccount:
    """A client and the account that it uses.

    Attributes:
        client: keeps within the account's plan.
        service: identifies the service; a local one has another address at each start.
        name: of the profile; None for an account of the environment.
        profile, vault: of the desk, with its keys; None for an account of the environment.
    """

    client: "Client"
    base_url: str
    account_id: str
    name: str | None
    service: str
    profile: "Profile | None" = None
    vault: "Vault | None" = None


@contextmanager
def open_client(
    profile: str | None,
    data_dir: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    vault: "Vault | None" = None,
    budget: "RequestBudget | None" = None,
) -> Iterator[ConnectedAccount]:
    """Connect as the command line says; any error in the block ends the command with one sentence.

    Args:
        profile: name or id of a profile, as given.
        data_dir: the desk's folder, as given.
        environ: holds the account if no profile is given.
        vault: the keys of profiles; the system's keyring if None.
        budget: of the profile's account, if this program has used it before.
    """
    with report_errors():
        if profile is None and names_account(environ):
            with _of_environment(environ, data_dir) as connection:
                yield connection
        else:
            with _of_profile(profile, data_dir, environ, vault, budget) as connection:
                yield connection


def names_account(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment names an account, completely or in part."""
    from vbdesk.client.environment import is_named_in

    return is_named_in(environ)


@contextmanager
def report_errors() -> Iterator[None]:
    """End the command with one sentence and the right status on any error of the service or keyring."""
    from vbdesk.client import ClientError, InUse, JsonLinesDamaged, WrongFolder
    from vbdesk.client.local_service import LocalServiceFailed
    from vbdesk.outbox.profiles.profiles import LibraryKeyMissing, ProfilesUnreadable
    from vbdesk.outbox.profiles.service_key import ServiceKeyMissing
    from vbdesk.outbox.profiles.vault import VaultError, VaultWaiting

    try:
        yield
    except KeyboardInterrupt:
        fail(_("Stopped. What was done is kept."), STOPPED)
    except ClientError as error:
        fail(error.sentence, status_of(error))
    except TimeoutError as error:
        fail(translated(error), LATER)
    except LocalServiceFailed as error:
        fail(_("{error} If the desk is open on it, close the desk first.", error=translated(error)), LATER)
    except ServiceKeyMissing as error:
        fail(
            _("{error} The desk takes the recovery key when it opens this profile.", error=translated(error)), ACT_FIRST
        )
    except VaultWaiting as error:
        fail(translated(error), KEYRING_SILENT)
    except (VaultError, LibraryKeyMissing) as error:
        fail(translated(error), ACT_FIRST)
    except InUse as error:
        fail(translated(error), LATER)
    except (ProfilesUnreadable, JsonLinesDamaged, WrongFolder) as error:
        fail(translated(error))


@contextmanager
def report_disk_faults() -> Iterator[None]:
    """End the command with one sentence if the disk is full, write-protected or gone; other errors pass."""
    import sqlite3

    from vbdesk.outbox.library.disk_faults import DiskFault, disk_fault, stopped_sentence

    try:
        yield
    except (OSError, sqlite3.Error) as error:
        fault = disk_fault(error)
        if fault is None:
            raise
        fail(stopped_sentence(fault), REFUSED if fault is DiskFault.UNKNOWN else LATER)


def status_of(error: "ClientError") -> int:
    """The exit status for `error`."""
    from vbdesk.client import ErrorKind
    from vbdesk.client.errors import InsufficientCredits, Unauthorized

    if isinstance(error, Unauthorized | InsufficientCredits):
        return ACT_FIRST
    return LATER if error.kind is ErrorKind.RETRYABLE else REFUSED


@contextmanager
def _of_environment(environ: Mapping[str, str], data_dir: Path | None) -> Iterator[ConnectedAccount]:
    from vbdesk.cli.paths import desk_paths
    from vbdesk.client import RequestBudget
    from vbdesk.client.environment import account_in

    try:
        account = account_in(environ)
    except ValueError as error:
        fail(_("{error} Or name a profile with --profile.", error=translated(error)), USAGE)
    try:
        service = _service(account.base_url)
    except ValueError:
        fail(_("VBDESK_BASE_URL is not an address. Give it with http:// or https:// in front."), USAGE)
    requests = requests_file(desk_paths(data_dir), service, account.credentials.account_id)
    budget = RequestBudget.of_plan(account.plan, requests)
    with _connected(account.base_url, account.credentials, budget, None, service) as connection:
        yield connection


@contextmanager
def _of_profile(
    wanted: str | None,
    data_dir: Path | None,
    environ: Mapping[str, str],
    vault: "Vault | None",
    budget: "RequestBudget | None",
) -> Iterator[ConnectedAccount]:
    from vbdesk.cli.paths import desk_paths
    from vbdesk.client import Credentials, RequestBudget

    paths = desk_paths(data_dir)
    profile = named_profile(wanted, paths)
    known = vault or vault_of(profile, paths)
    key = api_key(profile, known, environ)
    service = service_of(profile)
    requests = requests_file(paths, service, profile.account_id)
    budget = budget or RequestBudget.of_plan(profile.plan, requests)
    with (
        running(profile, paths, known) as base_url,
        _connected(base_url, Credentials(profile.account_id, key), budget, profile.name, service) as connection,
    ):
        yield replace(connection, profile=profile, vault=known)


def named_profile(wanted: str | None, paths: "DeskPaths") -> "Profile":
    """The profile with this name or id, the one in use if None; ends the command if there is none."""
    from vbdesk.client.environment import ACCOUNT, ADDRESS, KEY
    from vbdesk.outbox.library.opening import ProfileUnknown, find_profile
    from vbdesk.outbox.profiles.profiles import ProfileStore

    try:
        return find_profile(ProfileStore(paths.config), wanted)
    except ProfileUnknown as error:
        names = ", ".join((ADDRESS, ACCOUNT, KEY))
        hint = "" if wanted else _("Or set {names}.", names=names)
        fail(f"{translated(error)} {hint}", USAGE)


def api_key(profile: "Profile", vault: "Vault", environ: Mapping[str, str] = os.environ) -> str:
    """The profile's API key; waits while the keyring waits for a person. Raises VaultError."""
    from vbdesk.client.environment import KEY
    from vbdesk.outbox.profiles.vault import retry_while_waiting

    if profile.secrets == "session":  # its owner did not want it in the keyring
        if not environ.get(KEY):
            fail(_("The key of {name} is not kept on this computer. Set {key}.", name=profile.name, key=KEY), ACT_FIRST)
        return environ[KEY].strip()
    key = retry_while_waiting(
        lambda: vault.get(profile.api_key_name), lambda sentence: say(translated(sentence), err=True)
    )
    if key is None:
        fail(
            _("The key of {name} is not in the keyring. Enter it in the desk, under Account.", name=profile.name),
            ACT_FIRST,
        )
    return key


def vault_of(profile: "Profile", paths: "DeskPaths") -> "Vault":
    """The vault of a profile; asks for this computer's passphrase if that opens it. Raises ServiceKeyMissing."""
    from vbdesk.outbox.profiles.app_lock import LockableVault
    from vbdesk.outbox.profiles.encrypted_vault import UnlockableVault
    from vbdesk.outbox.profiles.service_key import ServiceKeyStore
    from vbdesk.outbox.profiles.vault import KeyringVault

    if profile.secrets == "passphrase":
        return vault_of_passphrase(paths.service)
    unlocked = UnlockableVault()
    if profile.secrets == "keyring" and ServiceKeyStore(paths.service).lock_state() is not None:
        unlocked.unlock(vault_of_passphrase(paths.service))
        unlocked.replaces_keyring = True
    return LockableVault(KeyringVault(), unlocked)


def local_service_key(paths: "DeskPaths", vault: "Vault") -> bytes:
    """The key of the service on this computer; made on first use. Raises VaultError, ServiceKeyMissing."""
    from vbdesk.outbox.profiles.app_lock import LockableVault
    from vbdesk.outbox.profiles.encrypted_vault import EncryptedVault
    from vbdesk.outbox.profiles.service_key import PassphraseNeeded, ServiceKeyStore
    from vbdesk.outbox.profiles.vault import retry_while_waiting

    if isinstance(vault, EncryptedVault | LockableVault) and vault.service_key is not None:
        return vault.service_key
    store = ServiceKeyStore(paths.service)
    try:
        return retry_while_waiting(lambda: store.open(vault), lambda sentence: say(translated(sentence), err=True)).key
    except PassphraseNeeded:
        return vault_of_passphrase(paths.service).service_key


@contextmanager
def running(profile: "Profile", paths: "DeskPaths", vault: "Vault") -> Iterator[str]:
    """The address of the profile's service; a local one runs during the block.

    Raises:
        LocalServiceFailed: it does not start, for example because the desk runs it already.
        VaultError, ServiceKeyMissing: `vault` does not give its encryption key.
    """
    from vbdesk.client.local_service import LocalService

    if profile.base_url is not None:
        yield profile.base_url
        return
    service = LocalService(paths.service, local_service_key(paths, vault))
    try:
        yield service.start().base_url
    finally:
        service.stop()


@contextmanager
def _connected(
    base_url: str, credentials: "Credentials", budget: "RequestBudget", name: str | None, service: str
) -> Iterator[ConnectedAccount]:
    from vbdesk.client import Client

    try:
        client = Client(base_url, credentials, budget=budget)
    except ValueError as error:
        fail(translated(error), USAGE)
    with client:
        yield ConnectedAccount(client, base_url, credentials.account_id, name, service)


def service_of(profile: "Profile") -> str:
    """An identifier of a profile's service; the same at each start."""
    return "this-computer" if profile.base_url is None else _service(profile.base_url)


def _service(base_url: str) -> str:
    parts = urlsplit(base_url.rstrip("/"))
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path}"


def requests_file(paths: "DeskPaths", service: str, account_id: str) -> "RequestFile":
    """Request journal shared by the commands of an account, so that a loop of them keeps within the plan."""
    from vbdesk.client.request_file import RequestFile

    return RequestFile(account_file(paths, "requests", service, account_id))


def account_file(paths: "DeskPaths", folder: str, service: str, account_id: str) -> Path:
    """Path of an account's file; its name includes the service, since account ids are not globally unique."""
    return paths.data / folder / f"{quote(account_id, safe='')}@{quote(service, safe='')}.jsonl"
