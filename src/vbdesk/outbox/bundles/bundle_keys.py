"""Age keys and passphrases for bundles; the secret of this computer stays in the keyring."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pyrage

from vbdesk.language import message
from vbdesk.outbox.bundles import passphrase_child
from vbdesk.outbox.bundles.age_header import check_passphrase_header
from vbdesk.outbox.bundles.bundle_errors import BundleError, BundleKeyWrong, MalformedBundle
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import Vault

SHORTEST_PASSPHRASE = 12

Secret = Callable[[bytes], pyrage.x25519.Identity]
"""Gives what opens a bundle, from the locked secret in its header: empty if a key opens it."""


@dataclass(frozen=True, slots=True)
class KeyLock:
    """The bundle is for the computer with this public key, as `vbdesk bundle key` prints it there."""

    public_key: str


@dataclass(frozen=True, slots=True)
class PassphraseLock:
    """The bundle is for anybody who knows the passphrase."""

    passphrase: str = field(repr=False)


Lock = KeyLock | PassphraseLock


def recipient_of(lock: KeyLock) -> pyrage.x25519.Recipient:
    """The public key for the age library. Raises BundleError if it is invalid."""
    try:
        return pyrage.x25519.Recipient.from_str(lock.public_key.strip())
    except pyrage.RecipientError:
        raise BundleError(
            message(
                "This is not the public key of a computer. It begins with age1; "
                "`vbdesk bundle key` prints it on the computer that is to send."
            )
        ) from None


def lock_identity(identity: pyrage.x25519.Identity, lock: PassphraseLock) -> bytes:
    """Encrypt the secret of one bundle with the passphrase, as an age file (scrypt; takes a second or two)."""
    if len(lock.passphrase) < SHORTEST_PASSPHRASE:
        raise BundleError(
            message(
                "The passphrase is too short: take at least {least} characters.",
                least=SHORTEST_PASSPHRASE,
            )
        )
    locked = passphrase_child.lock(str(identity).encode(), lock.passphrase)
    try:
        check_passphrase_header(locked)
    except MalformedBundle:
        raise BundleError(
            message(
                "This computer applies the passphrase with more work than other computers can do. "
                "Make the bundle for a key instead."
            )
        ) from None
    return locked


def unlock_identity(locked: bytes, passphrase: str) -> pyrage.x25519.Identity:
    """Decrypt what `lock_identity` made. Raises BundleKeyWrong, MalformedBundle, OSError."""
    check_passphrase_header(locked)
    opened = passphrase_child.unlock(locked, passphrase)
    try:
        if opened is not None:
            return pyrage.x25519.Identity.from_str(opened.decode())
    except (pyrage.IdentityError, UnicodeDecodeError):
        pass  # the content is not an age secret
    raise BundleKeyWrong(message("The passphrase does not open this bundle. Type it again as it was agreed."))


def identity_of(vault: Vault, profile: Profile) -> pyrage.x25519.Identity:
    """This computer's secret for bundles of `profile`, made on first use. Raises VaultError."""
    name = profile.bundle_key_name
    known = vault.get(name)
    if known is None:
        identity = pyrage.x25519.Identity.generate()
        vault.set(name, str(identity))
        return identity
    try:
        return pyrage.x25519.Identity.from_str(known)
    except pyrage.IdentityError:
        raise BundleError(
            message(
                "The key for bundles in the keyring is damaged and was left as it is. Delete the entry {name} "
                "there to get a new one; bundles for the old one cannot be opened any more.",
                name=name,
            )
        ) from None


def public_key(vault: Vault, profile: Profile) -> str:
    """This computer's public key for bundles. Raises VaultError."""
    return str(identity_of(vault, profile).to_public())


def secret_of(vault: Vault, profile: Profile, passphrase: str | None) -> Secret:
    """What opens bundles for `profile` here: its key in the vault, or a passphrase."""

    def secret(locked_secret: bytes) -> pyrage.x25519.Identity:
        if not locked_secret:
            return identity_of(vault, profile)
        if passphrase is None:
            raise BundleError(message("This bundle is opened with a passphrase. Ask who made it."))
        return unlock_identity(locked_secret, passphrase)

    return secret
