"""`vbdesk fhir`: the login to the FHIR server that `vbdesk export --post` sends to."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.connection import USAGE, AsJson, DataDir, ProfileName, report_errors
from vbdesk.cli.fhir_login import login_vault, stored_login
from vbdesk.cli.output import fail, print_json, say
from vbdesk.language import N_, _, message, translated

if TYPE_CHECKING:
    from vbdesk.client.fhir import BackendService

app = typer.Typer(no_args_is_help=True, help="The login to a FHIR server. It is stored in the keyring.")
_LONGEST_KEY = 20_000


@app.command()
def login(
    address: Annotated[str, typer.Argument(metavar="URL", help="Base address of the FHIR server, as for --post.")],
    user: Annotated[str | None, typer.Option(help="User name; the password is asked for.")] = None,
    token: Annotated[bool, typer.Option("--token", help="Ask for a token of the server's administrator.")] = False,
    client_id: Annotated[
        str | None, typer.Option(help="SMART backend service: the client id. Prints the public key to register.")
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(help="Private key as PEM: EC P-384, or RSA. Default: the stored one, else a new one."),
    ] = None,
    key_id: Annotated[str, typer.Option(help="Id of the key at the server. Default: its thumbprint.")] = "",
    token_url: Annotated[str, typer.Option(help="Address for tokens. Default: as the server says.")] = "",
    scope: Annotated[str, typer.Option(help="Scopes to ask for. Default: to create and find what is sent.")] = "",
    profile: ProfileName = None,
    data_dir: DataDir = None,
) -> None:
    """Store the login of one FHIR server in the keyring; it replaces the one before.

    A password or token is asked for, or read from standard input; never given as an argument, which others can see.
    """
    from pydantic import ValidationError

    from vbdesk.client.fhir import BasicLogin, BearerToken, StoredLogin, fhir_address
    from vbdesk.outbox.profiles.vault import retry_while_waiting

    if [user is not None, token, client_id is not None].count(True) != 1:
        fail(_("Give one of --user NAME, --token and --client-id ID."), USAGE)
    if client_id is None and (key is not None or key_id or token_url or scope):
        fail(_("--key, --key-id, --token-url and --scope go with --client-id."), USAGE)
    with report_errors():
        vault, name = login_vault(profile, data_dir)
        try:
            base = fhir_address(address)
            if user is not None:
                credentials: BasicLogin | BearerToken | BackendService = BasicLogin(
                    user=user, password=_secret(_("Password"))
                )
            elif token:
                credentials = BearerToken(token=_secret(_("Token")))
            else:
                pem, known_id = _key_of(key, base, profile, data_dir)
                credentials = _service(client_id or "", pem, key_id or known_id, token_url, scope)
        except ValidationError:
            fail(_("The login is not usable: a name or secret is empty, or has characters that no login has."), USAGE)
        except ValueError as error:
            fail(translated(error), USAGE)
        stored = StoredLogin(base, credentials)
        retry_while_waiting(
            lambda: vault.set(name, stored.secret()), lambda sentence: say(translated(sentence), err=True)
        )
    say(_("The login to {base} is stored.", base=base), err=True)
    if credentials.kind == "smart":
        say(_("Register this public key at the server:"), err=True)
        print_json(_public_keys(credentials), indent=2)


@app.command()
def show(profile: ProfileName = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Show which server the stored login is for, and the public key of a SMART backend service; never a secret."""
    with report_errors():
        found = stored_login(profile, data_dir)
    if found is None:
        fail(_("No login to a FHIR server is stored."))
    credentials = found.credentials
    keys = _public_keys(credentials) if credentials.kind == "smart" else None
    if as_json:
        print_json({"address": found.address, "kind": credentials.kind, "public_keys": keys})
        return
    say(f"{found.address}: {_(_KINDS[credentials.kind])}")
    if keys is not None:
        print_json(keys, indent=2)


@app.command()
def logout(profile: ProfileName = None, data_dir: DataDir = None) -> None:
    """Delete the stored login."""
    from vbdesk.outbox.profiles.vault import retry_while_waiting

    with report_errors():
        vault, name = login_vault(profile, data_dir)
        retry_while_waiting(lambda: vault.delete(name), lambda sentence: say(translated(sentence), err=True))
    say(_("No login to a FHIR server is stored any more."))


_KINDS = {"basic": N_("user name and password"), "bearer": N_("token"), "smart": N_("SMART backend service")}


def _service(client_id: str, pem: str | None, key_id: str, token_url: str, scope: str) -> "BackendService":
    from vbdesk.client.fhir import BackendService, fhir_address
    from vbdesk.client.fhir.addresses import OF_TOKENS
    from vbdesk.client.fhir.signing import SigningKey

    key = SigningKey.new() if pem is None else SigningKey(pem, key_id)
    return BackendService(
        client_id=client_id,
        private_key=key.pem,
        key_id=key_id or key.key_id,
        token_url=fhir_address(token_url, OF_TOKENS) if token_url else "",
        scope=" ".join(scope.split()),
    )


def _key_of(file: Path | None, address: str, profile: str | None, data_dir: Path | None) -> tuple[str | None, str]:
    """The private key in a file, else that of this server, with its id. Raises ValueError."""
    if file is None:
        found = stored_login(profile, data_dir)
        if found is None or found.address != address or found.credentials.kind != "smart":
            return None, ""
        return found.credentials.private_key, found.credentials.key_id
    try:
        with file.open(encoding="ascii") as content:
            return content.read(_LONGEST_KEY), ""
    except (OSError, UnicodeError):
        raise ValueError(message("The key in {file} cannot be read. Give a private key as PEM.", file=file)) from None


def _public_keys(service: "BackendService") -> dict[str, object]:
    from vbdesk.client.fhir.signing import SigningKey

    return {"keys": [SigningKey(service.private_key, service.key_id).public_jwk()]}


def _secret(what: str) -> str:
    """A secret from the terminal, hidden, or a line of standard input."""
    if sys.stdin.isatty():
        entered: str = typer.prompt(what, hide_input=True, err=True)
        return entered
    return sys.stdin.readline().rstrip("\r\n")
