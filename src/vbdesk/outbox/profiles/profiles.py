"""Profiles: a service and an account each; stored as JSON without any secret."""

import base64
import json
import os
import secrets as random
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from filelock import FileLock

from vbdesk.client.loopback import is_loopback
from vbdesk.contract.ids import new_id
from vbdesk.contract.limits import Plan
from vbdesk.language import N_, _, message, system_reason
from vbdesk.outbox.profiles.shared_files import read_shared, replace_shared
from vbdesk.outbox.profiles.vault import Vault, VaultError, VaultFailed
from vbdesk.privacy import FILE_MODE, make_private, owner_only_opener

KEY_BYTES = 32
COMPUTER_NAME = "computer"
LOCAL_NAME = N_("This computer")
LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Profile:
    """One service and one account.

    Attributes:
        kind: `local` is the service that this computer runs itself.
        base_url: None for `local`, whose address is known once it runs.
        secrets: in the keyring, for this session only, or encrypted with a passphrase (`local` only).
        plan: gives the request limits of the account; the interface does not report them.
    """

    profile_id: str
    name: str
    kind: Literal["local", "service"]
    base_url: str | None
    account_id: str
    secrets: Literal["keyring", "session", "passphrase"] = "keyring"
    plan: Plan = Plan.STANDARD

    @property
    def shown_name(self) -> str:
        """The name as a person reads it."""
        return shown_name(self.name)

    @property
    def on_this_computer(self) -> bool:
        """Whether its service runs on this computer."""
        return self.kind == "local" or (self.base_url is not None and is_loopback(self.base_url))

    def suggested_name(self, others: Iterable[str]) -> str | None:
        """A better name, unlike the `others`, where the present one is an address of this computer; None if not."""
        return free_name(LOCAL_NAME, others) if is_loopback(self.name) and self.on_this_computer else None

    @property
    def api_key_name(self) -> str:
        """Name of the API key in the vault."""
        return f"profile/{self.profile_id}/api-key"

    @property
    def library_key_name(self) -> str:
        """Name of the library key in the vault."""
        return f"profile/{self.profile_id}/library-key"

    @property
    def high_water_name(self) -> str:
        """Name of the mark in the vault, which detects an older copy of the list of recordings."""
        return f"profile/{self.profile_id}/high-water"

    @property
    def fhir_login_name(self) -> str:
        """Name of the credentials for a FHIR server in the vault."""
        return f"profile/{self.profile_id}/fhir-login"

    @property
    def bundle_key_name(self) -> str:
        """Name of the key in the vault that opens bundles for this computer."""
        return f"profile/{self.profile_id}/bundle-key"


def name_of_service(base_url: str, others: Iterable[str] = ()) -> str:
    """A name for a new profile: the service's host or, on this computer, `This computer`; different from `others`."""
    return free_name(LOCAL_NAME if is_loopback(base_url) else urlsplit(base_url).hostname or base_url, others)


def free_name(name: str, others: Iterable[str]) -> str:
    """`name`, with a number if it is among `others`."""
    taken = set(others)
    if name not in taken:
        return name
    return next(numbered for number in count(2) if (numbered := f"{name} {number}") not in taken)


def shown_name(name: str) -> str:
    """A profile's name; one that vbdesk gave itself is in the reader's language."""
    if name == LOCAL_NAME:
        return _(LOCAL_NAME)
    number = name.removeprefix(f"{LOCAL_NAME} ")
    if number != name and number.isascii() and number.isdecimal():
        # Translators: the name of a second profile of this computer: "This computer 2"
        return _("This computer {number}", number=int(number))
    return name


class ProfilesUnreadable(Exception):
    """The file of profiles cannot be read; `str(error)` is one sentence for a person."""


class LibraryKeyMissing(Exception):
    """There are recordings, but their key is not in the vault."""


class ProfileStore:
    """The profiles of this computer and which one is in use, in `profiles.json`."""

    def __init__(self, config_dir: Path) -> None:
        self._path = config_dir / "profiles.json"

    def all(self) -> list[Profile]:
        """Every profile, in the order in which they were added.

        Raises:
            ProfilesUnreadable: the file is damaged or cannot be read; it is left as it is.
        """
        return self._load()[0]

    def get(self, profile_id: str) -> Profile | None:
        """One profile; None if it is unknown."""
        return next((profile for profile in self.all() if profile.profile_id == profile_id), None)

    def current(self) -> Profile | None:
        """The profile in use; None before the first start is done."""
        profiles, current_id = self._load()
        return next((profile for profile in profiles if profile.profile_id == current_id), None)

    def use(self, profile_id: str) -> None:
        """Make a profile the one in use."""
        with self._changing():
            profiles, _ = self._load()
            self._save(profiles, profile_id)

    def save(self, profile: Profile) -> None:
        """Add a profile, or replace the one with its id; the first one becomes the one in use."""
        with self._changing():
            profiles, current_id = self._load()
            known = any(other.profile_id == profile.profile_id for other in profiles)
            if known:
                profiles = [profile if other.profile_id == profile.profile_id else other for other in profiles]
            else:
                profiles = [*profiles, profile]
            self._save(profiles, current_id or profile.profile_id)

    def rename(self, profile_id: str, name: str) -> None:
        """Give a profile another name; its recordings, account and keys stay as they are.

        Raises:
            ValueError: the name is empty, too long, or another profile has it.
        """
        name = " ".join(name.split())
        if not name:
            raise ValueError(message("Enter a name for the profile."))
        if len(name) > LONGEST_NAME:
            raise ValueError(
                message(
                    "A profile's name has at most {most} characters; this one has {length}.",
                    most=LONGEST_NAME,
                    length=len(name),
                )
            )
        with self._changing():
            profiles, current_id = self._load()
            if any(other.name == name and other.profile_id != profile_id for other in profiles):
                raise ValueError(message("Another profile has this name already. Choose another one."))
            renamed = [replace(other, name=name) if other.profile_id == profile_id else other for other in profiles]
            self._save(renamed, current_id)

    def remove(self, profile_id: str, vault: Vault) -> None:
        """Delete a profile, its API key and its login to a FHIR server. Its recordings and their key stay."""
        known = self.get(profile_id)
        if known is not None:
            vault.delete(known.api_key_name)
            vault.delete(known.fhir_login_name)
        with self._changing():
            profiles, current_id = self._load()
            remaining = [profile for profile in profiles if profile.profile_id != profile_id]
            if current_id == profile_id:
                current_id = remaining[0].profile_id if remaining else None
            self._save(remaining, current_id)

    def _changing(self) -> FileLock:
        """Lock the list against other programs between reading and writing."""
        make_private(self._path.parent)
        return FileLock(self._path.with_suffix(".lock"), mode=FILE_MODE, is_singleton=False)

    def _load(self) -> tuple[list[Profile], str | None]:
        try:
            document = json.loads(read_shared(self._path))
            profiles = [replace(Profile(**entry), plan=Plan(entry["plan"])) for entry in document["profiles"]]
            current_id: str | None = document["current"]
        except FileNotFoundError:
            return [], None
        except OSError as error:
            raise ProfilesUnreadable(
                message("{file} cannot be read: {cause}.", file=self._path, cause=system_reason(error))
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise ProfilesUnreadable(
                message(
                    "The list of services in {path} is damaged and was left as it is. Move the file away to set the "
                    "services up again; the recordings are not touched.",
                    path=self._path,
                )
            ) from error
        return profiles, current_id

    def _save(self, profiles: list[Profile], current_id: str | None) -> None:
        document = {"current": current_id, "profiles": [asdict(profile) for profile in profiles]}
        unfinished = self._path.with_suffix(".new")
        with open(unfinished, "w", encoding="utf-8", opener=owner_only_opener) as file:
            json.dump(document, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        replace_shared(unfinished, self._path)


def new_profile_id() -> str:
    """A new profile id."""
    return new_id()


def library_folder(data_dir: Path, profile_id: str) -> Path:
    """The folder of a profile's recordings."""
    return profiles_folder(data_dir) / profile_id


def profiles_folder(data_dir: Path) -> Path:
    """The folder with one folder for each profile."""
    return data_dir / "profiles"


def secret_names(profile_id: str) -> tuple[str, ...]:
    """Names of a profile's secrets in the vault; the mark is none."""
    return tuple(f"profile/{profile_id}/{name}" for name in ("api-key", "library-key", "bundle-key", "fhir-login"))


def library_key(vault: Vault, profile: Profile, folder: Path) -> bytes:
    """The key of the profile's recordings, 32 bytes; random on first use. Takes as long as the vault does.

    Lock the library's folder first (see `opening`): two programs at once would make two keys.

    Raises:
        LibraryKeyMissing: recordings exist already, so that a new key would not decrypt them.
        VaultError: the vault did not answer, or does not store what it is given.
    """
    known = known_library_key(vault, profile)
    if known is not None:
        return known
    if (folder / "library.sqlite").exists():
        raise LibraryKeyMissing(
            message(
                "The key to the recordings on this computer is not in the keyring. "
                "The recordings are kept; log in as the person who made them, or restore the keyring."
            )
        )
    key = random.token_bytes(KEY_BYTES)
    vault.set(profile.library_key_name, base64.b64encode(key).decode("ascii"))
    if known_library_key(vault, profile) != key:  # before anything is encrypted with it
        raise _not_kept()
    return key


def computer_mark(vault: Vault) -> str | None:
    """A random id of this computer, made on first use. Takes as long as the vault does.

    None if the vault does not store it.
    """
    try:
        known = vault.get(COMPUTER_NAME)
        if known is None:
            vault.set(COMPUTER_NAME, new_id())
            known = vault.get(COMPUTER_NAME)
    except VaultError:
        return None
    return known


def known_library_key(vault: Vault, profile: Profile) -> bytes | None:
    """The key of the profile's recordings; None if there is none yet. Takes as long as the vault does.

    Raises:
        VaultError: the vault did not answer, or does not store what it is given.
    """
    text = vault.get(profile.library_key_name)
    if text is None:
        return None
    try:
        key = base64.b64decode(text, validate=True)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise _not_kept()
    return key


def _not_kept() -> VaultFailed:
    return VaultFailed(
        message(
            "The keyring does not give back the key of the recordings as it was given. They are kept; restore "
            "the keyring."
        )
    )
