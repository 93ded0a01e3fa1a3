"""In whose name commands speak to a service: a profile of the desk, or the environment; never an argument.

What stands in a command line stands in the list of processes, for everybody on the computer to read.

Commands that speak to a service end with 0, or with one sentence on standard error and
    1   something could not be done: a recording or a request was refused, an analysis failed
    2   the command line is wrong
    3   the service cannot be reached or asks for a pause, or the disk is full, write-protected or gone: the same
        command again, later, may do
    4   a person must act first: key, keyring, credits
    130 stopped by Ctrl-C; what was done is kept
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote, urlsplit

import typer

from vbdesk.cli.output import fail, say

if TYPE_CHECKING:
    from vbdesk.cli.paths import Places
    from vbdesk.client import Client, ClientError, Credentials, RequestBudget
    from vbdesk.client.request_file import RequestFile
    from vbdesk.outbox.profiles.encrypted_vault import SealedVault
    from vbdesk.outbox.profiles.profiles import Profile
    from vbdesk.outbox.profiles.vault import Vault

REFUSED, USAGE, LATER, ACT_FIRST, STOPPED = 1, 2, 3, 4, 130

STATUSES = (
    "Ends with 0, or with one sentence and 1: something was refused or failed; 2: the command line is wrong; 3: the "
    "service cannot be reached now, or the disk takes no data, try later; 4: a person must act first (key, keyring, "
    "credits); 130: stopped."
)

ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile",
        help="A profile of the desk, by name or id; its key comes from the keyring. Default: the environment "
        "(VBDESK_BASE_URL, VBDESK_ACCOUNT_ID, VBDESK_API_KEY), else the profile in use.",
    ),
]
DataDir = Annotated[Path | None, typer.Option(help="Where the desk keeps recordings and profiles.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True, slots=True)
class Connection:
    """A way to a service.

    Attributes:
        client: speaks for the account; keeps within its plan.
        service: names the service where its address may change: one of this computer has another one each time.
        name: of the profile; None for an account of the environment.
    """

    client: "Client"
    base_url: str
    account_id: str
    name: str | None
    service: str


@contextmanager
def open_client(
    profile: str | None,
    data_dir: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    vault: "Vault | None" = None,
    budget: "RequestBudget | None" = None,
) -> Iterator[Connection]:
    """Connect as the command line says; whatever goes wrong in the block ends the command with one sentence.

    Args:
        profile: name or id of a profile, as given.
        data_dir: the desk's folder, as given.
        environ: where the account stands if no profile is given.
        vault: where keys of profiles are; the system's keyring if None.
        budget: of a profile's account, where this program has asked in its name before.
    """
    with told():
        if profile is None and names_account(environ):
            with _of_environment(environ, data_dir) as connection:
                yield connection
        else:
            with _of_profile(profile, data_dir, environ, vault, budget) as connection:
                yield connection


def names_account(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment names an account, or begins to."""
    from vbdesk.client.environment import is_named_in

    return is_named_in(environ)


@contextmanager
def told() -> Iterator[None]:
    """End the command with one sentence and the right status, whatever of the service or keyring goes wrong."""
    from vbdesk.client import ClientError, InUse, JsonLinesDamaged, WrongFolder
    from vbdesk.client.local_service import LocalServiceFailed
    from vbdesk.outbox.profiles.profiles import LibraryKeyMissing, ProfilesUnreadable
    from vbdesk.outbox.profiles.service_key import ServiceKeyMissing
    from vbdesk.outbox.profiles.vault import VaultError

    try:
        yield
    except KeyboardInterrupt:
        fail("Stopped. What was done is kept.", STOPPED)
    except ClientError as error:
        fail(error.sentence, status_of(error))
    except TimeoutError as error:
        fail(str(error), LATER)
    except LocalServiceFailed as error:
        fail(f"{error} If the desk is open on it, close the desk first.", LATER)
    except ServiceKeyMissing as error:
        fail(f"{error} The desk takes the recovery key when it opens this profile.", ACT_FIRST)
    except (VaultError, LibraryKeyMissing) as error:
        fail(str(error), ACT_FIRST)
    except InUse as error:
        fail(str(error), LATER)
    except (ProfilesUnreadable, JsonLinesDamaged, WrongFolder) as error:
        fail(str(error))


@contextmanager
def disk_faults_told() -> Iterator[None]:
    """End the command with one sentence where the disk is full, write-protected or gone; other errors pass."""
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
    """How a command ends that met `error`."""
    from vbdesk.client import Kind
    from vbdesk.client.errors import InsufficientCredits, Unauthorized

    if isinstance(error, Unauthorized | InsufficientCredits):
        return ACT_FIRST
    return LATER if error.kind is Kind.RETRYABLE else REFUSED


@contextmanager
def _of_environment(environ: Mapping[str, str], data_dir: Path | None) -> Iterator[Connection]:
    from vbdesk.cli.paths import places
    from vbdesk.client import RequestBudget
    from vbdesk.client.environment import account_in

    try:
        account = account_in(environ)
    except ValueError as error:
        fail(f"{error} Or name a profile with --profile.", USAGE)
    try:
        service = _service(account.base_url)
    except ValueError:
        fail("VBDESK_BASE_URL is not an address. Give it with http:// or https:// in front.", USAGE)
    requests = requests_file(places(data_dir), service, account.credentials.account_id)
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
) -> Iterator[Connection]:
    from vbdesk.cli.paths import places
    from vbdesk.client import Credentials, RequestBudget

    place = places(data_dir)
    profile = named_profile(wanted, place)
    known = vault or vault_of(profile, place)
    key = api_key(profile, known, environ)
    service = service_of(profile)
    requests = requests_file(place, service, profile.account_id)
    budget = budget or RequestBudget.of_plan(profile.plan, requests)
    with (
        running(profile, place, known) as base_url,
        _connected(base_url, Credentials(profile.account_id, key), budget, profile.name, service) as connection,
    ):
        yield connection


def named_profile(wanted: str | None, place: "Places") -> "Profile":
    """The profile of this name or id, the one in use if None; ends the command if there is none."""
    from vbdesk.client.environment import ACCOUNT, ADDRESS, KEY
    from vbdesk.outbox.library.opening import ProfileUnknown, find_profile
    from vbdesk.outbox.profiles.profiles import ProfileStore

    try:
        return find_profile(ProfileStore(place.config), wanted)
    except ProfileUnknown as error:
        hint = "" if wanted else f" Or set {ADDRESS}, {ACCOUNT} and {KEY}."
        fail(f"{error}{hint}", USAGE)


def api_key(profile: "Profile", vault: "Vault", environ: Mapping[str, str] = os.environ) -> str:
    """The profile's key; waits while the keyring waits for a person. Raises VaultError."""
    from vbdesk.client.environment import KEY
    from vbdesk.outbox.profiles.vault import patiently

    if profile.secrets == "session":  # it is not in the keyring, as its owner wanted
        if not environ.get(KEY):
            fail(f"The key of {profile.name} is not kept on this computer. Set {KEY}.", ACT_FIRST)
        return environ[KEY].strip()
    key = patiently(lambda: vault.get(profile.api_key_name), lambda sentence: say(sentence, err=True))
    if key is None:
        fail(f"The key of {profile.name} is not in the keyring. Enter it in the desk, under Account.", ACT_FIRST)
    return key


def vault_of(profile: "Profile", place: "Places") -> "Vault":
    """Where the keys of a profile are; asks for the passphrase of this computer, where that opens them."""
    from vbdesk.outbox.profiles.vault import KeyringVault

    return _ask_for_passphrase(place) if profile.secrets == "passphrase" else KeyringVault()


def local_service_key(place: "Places", vault: "Vault") -> bytes:
    """The key of the service on this computer; made on first use. Raises VaultError, ServiceKeyMissing."""
    from vbdesk.outbox.profiles.encrypted_vault import SealedVault
    from vbdesk.outbox.profiles.service_key import PassphraseNeeded, ServiceKeyStore
    from vbdesk.outbox.profiles.vault import patiently

    if isinstance(vault, SealedVault):
        return vault.service_key
    store = ServiceKeyStore(place.service)
    try:
        return patiently(lambda: store.open(vault), lambda sentence: say(sentence, err=True)).key
    except PassphraseNeeded:
        return _ask_for_passphrase(place).service_key


def _ask_for_passphrase(place: "Places") -> "SealedVault":
    """What the passphrase of this computer opens; a command without a terminal ends here."""
    from vbdesk.outbox.profiles.encrypted_vault import SealedVault
    from vbdesk.outbox.profiles.service_key import PassphraseWrong, ServiceKeyMissing, ServiceKeyStore

    if not sys.stdin.isatty():
        fail("The keys of this computer open with a passphrase. Give this command in a terminal.", ACT_FIRST)
    passphrase = typer.prompt("Passphrase of this computer", hide_input=True, err=True)
    try:
        key = ServiceKeyStore(place.service).unlock(passphrase).key
    except (PassphraseWrong, ServiceKeyMissing) as error:
        fail(str(error), ACT_FIRST)
    return SealedVault(place.service, key)


@contextmanager
def running(profile: "Profile", place: "Places", vault: "Vault") -> Iterator[str]:
    """The address of the profile's service; one of this computer runs for as long as the block does.

    Raises:
        LocalServiceFailed: it does not start, for example because the desk runs it already.
        VaultError, ServiceKeyMissing: the key that it encrypts its data with does not come from `vault`.
    """
    from vbdesk.client.local_service import LocalService

    if profile.base_url is not None:
        yield profile.base_url
        return
    service = LocalService(place.service, local_service_key(place, vault))
    try:
        yield service.start().base_url
    finally:
        service.stop()


@contextmanager
def _connected(
    base_url: str, credentials: "Credentials", budget: "RequestBudget", name: str | None, service: str
) -> Iterator[Connection]:
    from vbdesk.client import Client

    try:
        client = Client(base_url, credentials, budget=budget)
    except ValueError as error:
        fail(str(error), USAGE)
    with client:
        yield Connection(client, base_url, credentials.account_id, name, service)


def service_of(profile: "Profile") -> str:
    """What names the service of a profile; the same one at each start."""
    return "this-computer" if profile.base_url is None else _service(profile.base_url)


def _service(base_url: str) -> str:
    parts = urlsplit(base_url.rstrip("/"))
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path}"


def requests_file(place: "Places", service: str, account_id: str) -> "RequestFile":
    """What the commands of an account asked lately: a loop of them keeps within the plan as one program does."""
    from vbdesk.client.request_file import RequestFile

    return RequestFile(account_file(place, "requests", service, account_id))


def account_file(place: "Places", folder: str, service: str, account_id: str) -> Path:
    """Where commands keep something of an account: another service may know another account by the same id."""
    return place.data / folder / f"{quote(account_id, safe='')}@{quote(service, safe='')}.jsonl"
