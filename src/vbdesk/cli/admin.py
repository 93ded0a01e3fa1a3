"""`vbdesk admin`: the operator's commands. They work on the data folder, also while the service runs on it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli import admin_encryption, admin_operations, admin_secrets
from vbdesk.cli.admin_context import AccountId, AsJson, DataDir, give_keys, opened_database, show, show_list
from vbdesk.cli.encryption_key import KeyStdin, read_keys
from vbdesk.cli.output import fail
from vbdesk.contract.limits import Plan

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from vbdesk.service.accounts.service import AccountService
    from vbdesk.service.credits.service import CreditsService
    from vbdesk.service.erasure.service import Eraser

_MAX_NAME_LENGTH = 200
_MAX_CREDITS = 10**12
"""At once. Some millions of such grants fit into a balance."""

app = typer.Typer(no_args_is_help=True, help="The operator's commands of a service.")


@app.callback()
def _admin(context: typer.Context, key_stdin: KeyStdin = False) -> None:
    """The operator's commands of a service."""
    give_keys(context, read_keys(key_stdin))


_account = typer.Typer(no_args_is_help=True, help="Accounts.")
_key = typer.Typer(no_args_is_help=True, help="API keys.")
_credits = typer.Typer(no_args_is_help=True, help="Credits.")
_job = typer.Typer(no_args_is_help=True, help="Jobs.")
_group = typer.Typer(no_args_is_help=True, help="Groups.")
_erasure = typer.Typer(no_args_is_help=True, help="The record of what was erased.")
app.add_typer(_account, name="account")
app.add_typer(_key, name="key")
app.add_typer(_credits, name="credits")
app.add_typer(_job, name="job")
app.add_typer(_group, name="group")
app.add_typer(_erasure, name="erasure")
app.add_typer(admin_secrets.app, name="secrets")
app.add_typer(admin_operations.database, name="database")
app.add_typer(admin_operations.worker, name="worker")
app.add_typer(admin_operations.audio, name="audio")
app.add_typer(admin_encryption.app, name="encryption")
app.command("queue")(admin_operations.queue)
app.command("reconcile")(admin_operations.reconcile)

Name = Annotated[str, typer.Option(help="A name for people, up to 200 characters.")]


@_account.command("create")
def create_account(
    data_dir: DataDir,
    name: Name,
    plan: Annotated[Plan, typer.Option(help="What the account may ask per minute.")] = Plan.STANDARD,
    credits: Annotated[int, typer.Option(min=0, max=_MAX_CREDITS, help="Credits to begin with.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Make an account. Its secret key is shown now and never again."""
    checked = _checked_name(name)
    with _opened(data_dir, new=True) as service:
        made = service.accounts.create(service.connection, checked, plan, credits)
    show(asdict(made), as_json)


@_account.command("list")
def list_accounts(data_dir: DataDir, as_json: AsJson = False) -> None:
    """List the accounts, oldest first."""
    with _opened(data_dir) as service:
        accounts = service.accounts.list_accounts(service.connection)
    show_list([asdict(account) for account in accounts], as_json)


@_account.command("rotate-secret")
def rotate_secret(data_dir: DataDir, account: AccountId, as_json: AsJson = False) -> None:
    """Give an account another secret key, shown now and never again.

    The one before and the account's console sessions end at once, API keys go on.
    """
    with _opened(data_dir) as service:
        secret_key = service.accounts.rotate_secret(service.connection, account)
    show({"account_id": account, "secret_key": secret_key}, as_json)


@_account.command("suspend")
def suspend_account(data_dir: DataDir, account: AccountId, as_json: AsJson = False) -> None:
    """Let an account in no more, at once and until it is resumed: its keys, its console, its upload addresses.

    Accepted jobs are run to their end; their webhooks wait. Nothing is deleted.
    """
    with _opened(data_dir) as service:
        service.accounts.suspend(service.connection, account)
    show({"account_id": account, "state": "suspended"}, as_json)


@_account.command("resume")
def resume_account(data_dir: DataDir, account: AccountId, as_json: AsJson = False) -> None:
    """Let a suspended account in again, with the keys and sessions it had. Webhooks that waited are delivered."""
    with _opened(data_dir) as service:
        service.accounts.resume(service.connection, account)
    show({"account_id": account, "state": "active"}, as_json)


@_account.command("end-sessions")
def end_sessions(data_dir: DataDir, account: AccountId, as_json: AsJson = False) -> None:
    """Sign an account out of the console everywhere, at once."""
    with _opened(data_dir) as service:
        ended = service.accounts.end_sessions(service.connection, account)
    show({"account_id": account, "sessions_ended": ended}, as_json)


@_account.command("delete")
def delete_account(
    data_dir: DataDir,
    account: AccountId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete an account with recordings, results, groups, uploads, webhooks, keys and sessions. It cannot be undone.

    The ledger keeps its amounts. A deletion that breaks off is completed by the service, or by the same command.
    """
    with _eraser(data_dir) as eraser:
        content = asdict(eraser.count_account(account))
        if not yes:
            counted = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in content.items())
            typer.echo(f"This permanently removes {counted}.", err=True)
            typer.confirm(f"Delete the account {account}?", abort=True, err=True)
        erasure = eraser.erase_account(account)
        eraser.remove_owed()  # what a call that broke off at its end left
        shown = {**asdict(erasure), "files_left": eraser.count_left()}
    show({**shown, "removed": content} if as_json else shown, as_json)


@_key.command("create")
def create_key(data_dir: DataDir, account: AccountId, name: Name, as_json: AsJson = False) -> None:
    """Make an API key. It is shown now and never again."""
    checked = _checked_name(name)
    with _opened(data_dir) as service:
        made = service.accounts.create_key(service.connection, account, checked)
    show(asdict(made), as_json)


@_key.command("list")
def list_keys(data_dir: DataDir, account: AccountId, as_json: AsJson = False) -> None:
    """List an account's keys, without the keys themselves."""
    with _opened(data_dir) as service:
        keys = service.accounts.list_keys(service.connection, account)
    show_list([asdict(key) for key in keys], as_json)


@_key.command("revoke")
def revoke_key(
    data_dir: DataDir,
    account: AccountId,
    key: Annotated[str, typer.Option(help="The key's id.")],
    as_json: AsJson = False,
) -> None:
    """End a key at once."""
    with _opened(data_dir) as service:
        service.accounts.revoke_key(service.connection, account, key)
    show({"key_id": key, "revoked": True}, as_json)


@_credits.command("grant")
def grant_credits(
    data_dir: DataDir,
    account: AccountId,
    amount: Annotated[int, typer.Option(min=1, max=_MAX_CREDITS, help="Credits to add.")],
    as_json: AsJson = False,
) -> None:
    """Add credits to an account."""
    with _opened(data_dir) as service:
        service.accounts.require(service.connection, account)
        balance = service.credits.grant(service.connection, account, amount)
    show({"account_id": account, "credits": balance}, as_json)


@_job.command("delete")
def delete_job(
    data_dir: DataDir,
    account: AccountId,
    job: Annotated[str, typer.Option(help="The job's id.")],
    as_json: AsJson = False,
) -> None:
    """Erase a job: its audio, its result, its place in histories, its webhook deliveries. It cannot be undone.

    A job that is waiting or running ends with it, and what it held goes back to the account.
    """
    with _eraser(data_dir) as eraser:
        erasure = eraser.erase_job(account, job)
    show(asdict(erasure), as_json)


@_job.command("erase")
def erase_jobs(
    data_dir: DataDir,
    account: AccountId,
    job: Annotated[list[str] | None, typer.Option(help="A job's id; may be given several times.")] = None,
    upload: Annotated[list[str] | None, typer.Option(help="An upload's reference; may be given several times.")] = None,
    sound_only: Annotated[
        bool, typer.Option("--sound-only", help="Keep the jobs and their results; only of jobs that have ended.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Erase several jobs, or the recordings of them alone, and uploads. It may be repeated until nothing is left.

    `left` is how many erased recordings are still stored because the store did not let them go yet.
    """
    from vbdesk.service.kernel.errors import NotFound

    job_ids, erased = job or [], 0
    with _eraser(data_dir) as eraser:
        if not sound_only:
            for job_id in job_ids:
                with suppress(NotFound):
                    erased += eraser.erase_job(account, job_id).jobs
        erased += eraser.erase_sounds(account, job_ids, upload or [])
        left = eraser.count_left()
    show({"erased": erased, "left": left}, as_json)


@_group.command("erase")
def erase_group(
    data_dir: DataDir,
    account: AccountId,
    group: Annotated[str, typer.Option(help="The group's id.")],
    as_json: AsJson = False,
) -> None:
    """Erase a group with all its jobs, also those that are in other groups too. It cannot be undone."""
    with _eraser(data_dir) as eraser:
        erasure = eraser.erase_group(account, group)
    show(asdict(erasure), as_json)


@_erasure.command("list")
def list_erasures(data_dir: DataDir, as_json: AsJson = False) -> None:
    """List what was erased and when, oldest first; not what it was about."""
    from vbdesk.service.erasure.service import list_erasures as read

    with _opened(data_dir) as service:
        erasures = read(service.connection)
    show_list([asdict(erasure) for erasure in erasures], as_json)


@dataclass(frozen=True, slots=True)
class _Service:
    """The service's rules, in one transaction on its database."""

    connection: "Connection"
    accounts: "AccountService"
    credits: "CreditsService"


@contextmanager
def _opened(data_dir: Path, *, new: bool = False) -> Iterator[_Service]:
    from vbdesk.service.accounts.service import AccountService
    from vbdesk.service.credits.service import CreditsService
    from vbdesk.service.kernel.clock import SystemClock

    clock = SystemClock()
    with opened_database(data_dir, new=new) as (_, database), database.writing() as connection:
        yield _Service(connection, AccountService(clock), CreditsService(clock))


@contextmanager
def _eraser(data_dir: Path) -> Iterator["Eraser"]:
    from vbdesk.service.composition.eraser import open_eraser
    from vbdesk.service.kernel.clock import SystemClock

    with opened_database(data_dir) as (settings, database):
        yield open_eraser(settings, database, SystemClock())


def _checked_name(name: str) -> str:
    if not (1 <= len(name.strip()) <= _MAX_NAME_LENGTH and name.isprintable()):
        fail(f"Give a name of 1 to {_MAX_NAME_LENGTH} characters.")
    return name.strip()
