"""The login to a FHIR server, in the keyring: of a profile, or of an account in the environment."""

from pathlib import Path
from typing import TYPE_CHECKING

from vbdesk.cli.connection import ACT_FIRST, named_profile, names_account, vault_of
from vbdesk.cli.output import fail, say
from vbdesk.cli.paths import desk_paths
from vbdesk.language import _, translated

if TYPE_CHECKING:
    from vbdesk.client.fhir import StoredLogin
    from vbdesk.outbox.profiles.vault import Vault

LOGIN_NAME = "fhir-login"
"""Name in the keyring for an account of the environment, which has no profile."""


def login_vault(profile: str | None, data_dir: Path | None) -> "tuple[Vault, str]":
    """Where the login is stored: a vault, and the name in it. Ends the command if it is stored nowhere."""
    from vbdesk.outbox.profiles.vault import KeyringVault

    if profile is None and names_account():
        return KeyringVault(), LOGIN_NAME
    paths = desk_paths(data_dir)
    known = named_profile(profile, paths)
    if known.secrets == "session":
        fail(
            _(
                "{name} keeps its keys for one session of the desk only, so no login to a FHIR server can be kept."
                " Use a profile whose keys are in the keyring.",
                name=known.name,
            ),
            ACT_FIRST,
        )
    return vault_of(known, paths), known.fhir_login_name


def stored_login(profile: str | None, data_dir: Path | None) -> "StoredLogin | None":
    """The stored login; None if there is none, or no keyring. Raises VaultError."""
    from vbdesk.client.fhir import StoredLogin
    from vbdesk.outbox.profiles.vault import VaultMissing, retry_while_waiting

    vault, name = login_vault(profile, data_dir)
    try:
        secret = retry_while_waiting(lambda: vault.get(name), lambda sentence: say(sentence, err=True))
    except VaultMissing:
        return None
    try:
        return None if secret is None else StoredLogin.of_secret(secret)
    except ValueError as error:
        fail(_("{error} Store them again with: vbdesk fhir login", error=translated(error)), ACT_FIRST)
