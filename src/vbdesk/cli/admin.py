"""`vbdesk admin`: administration of a service. Commands use its data folder, also while it runs."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli import admin_encryption, admin_operations, admin_secrets
from vbdesk.cli.admin_context import AccountId, AsJson, DataDir, give_keys, opened_database, show, show_list
from vbdesk.cli.encryption_key import KeyStdin, read_keys
from vbdesk.cli.output import confirm, fail
from vbdesk.contract.limits import Plan
from vbdesk.language import N_, _, formats

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from vbdesk.service.accounts.service import AccountService
    from vbdesk.service.credits.service import CreditsService
    from vbdesk.service.erasure.service import Eraser

_MAX_NAME_LENGTH = 200
_MAX_CREDITS = 10**12
"""Maximum of one grant; a balance can hold millions of such grants."""
_COUNTED = {
    "recordings": N_("recordings: {count}"),
    "jobs": N_("jobs: {count}"),
    "groups": N_("groups: {count}"),
    "uploads": N_("uploads: {count}"),
    "api_keys": N_("API keys: {count}"),
    "console_sessions": N_("sessions of the console: {count}"),
    "webhook_deliveries": N_("deliveries of webhooks: {count}"),
}
"""What the deletion of an account removes, by the names of `AccountContent`."""

app = typer.Typer(no_args_is_help=True, help="Administration of a service.")


@app.callback()
def _admin(context: typer.Context, key_stdin: KeyStdin = False) -> None:
    """Administration of a service."""
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
_group.command("recompute")(admin_operations.recompute_group)
app.command("queue")(admin_operations.queue)
app.command("reconcile")(admin_operations.reconcile)

Name = Annotated[str, typer.Option(help="A display name, up to 200 characters.")]


@_account.command("create")
def create_account(
    data_dir: DataDir,
    name: Name,
    plan: Annotated[Plan, typer.Option(help="Request limits of the account.")] = Plan.STANDARD,
    credits: Annotated[int, typer.Option(min=0, max=_MAX_CREDITS, help="Initial credits.")] = 0,
    with_key: Annotated[
        bool, typer.Option("--with-key", help="Create an API key. It is shown now and never again.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Create an account. Its secret key is shown now and never again."""
    checked = _checked_name(name)
    with _opened(data_dir, new=True) as service:
        made = asdict(service.accounts.create(service.connection, checked, plan, credits))
        if with_key:
            made |= asdict(service.accounts.create_key(service.connection, made["account_id"], checked))
    show(made, as_json)


@_account.command("list")
def list_accounts(data_dir: DataDir, as_json: AsJson = False) -> None:
    """List the accounts, oldest first."""
    with _opened(data_dir) as service:
        accounts = service.accounts.list_accounts(service.connection)
    show_list([asdict(account) for account in accounts], as_json)


@_account.command("rotate-secret")
def rotate_secret(data_dir: DataDir, account: AccountId, as_json: AsJson = False) -> None:
    """Replace the secret key of an account; the new one is shown now and never again.

    The old one and the account's console sessions end at once; API keys stay valid.
    """
    with _opened(data_dir) as service:
        secret_key = service.accounts.rotate_secret(service.connection, account)
    show({"account_id": account, "secret_key": secret_key}, as_json)


@_account.command("suspend")
def suspend_account(data_dir: DataDir, account: AccountId, as_json: AsJson = False) -> None:
    """Block an account until it is resumed: its keys, its console, its upload addresses.

    Accepted jobs continue to their end; their webhooks wait. Nothing is deleted.
    """
    with _opened(data_dir) as service:
        service.accounts.suspend(service.connection, account)
    show({"account_id": account, "state": "suspended"}, as_json)


@_account.command("resume")
def resume_account(data_dir: DataDir, account: AccountId, as_json: AsJson = False) -> None:
    """Unblock a suspended account, with its former keys and sessions. Delayed webhooks are delivered."""
    with _opened(data_dir) as service:
        service.accounts.resume(service.connection, account)
    show({"account_id": account, "state": "active"}, as_json)


@_account.command("end-sessions")
def end_sessions(data_dir: DataDir, account: AccountId, as_json: AsJson = False) -> None:
    """Sign an account out of the console on all devices, at once."""
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

    The ledger keeps its amounts. The service, or the same command, completes an interrupted deletion.
    """
    with _eraser(data_dir) as eraser:
        content = asdict(eraser.count_account(account))
        if not yes:
            counted = formats.list_of([_(_COUNTED[name], count=count) for name, count in content.items()])
            typer.echo(_("This permanently removes {counted}.", counted=counted), err=True)
            confirm(_("Delete the account {account}?", account=account))
        erasure = eraser.erase_account(account)
        eraser.remove_due()  # what an interrupted call left
        shown = {**asdict(erasure), "files_left": eraser.count_left()}
    show({**shown, "removed": content} if as_json else shown, as_json)


@_key.command("create")
def create_key(data_dir: DataDir, account: AccountId, name: Name, as_json: AsJson = False) -> None:
    """Create an API key. It is shown now and never again."""
    checked = _checked_name(name)
    with _opened(data_dir) as service:
        made = service.accounts.create_key(service.connection, account, checked)
    show(asdict(made), as_json)


@_key.command("list")
def list_keys(data_dir: DataDir, account: AccountId, as_json: AsJson = False) -> None:
    """List the keys of an account, by name only."""
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
    """Revoke a key at once."""
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
    """Erase a job: its audio, result, webhook deliveries and part in histories. It cannot be undone.

    A waiting or running job is cancelled, and its reserved credits return to the account.
    """
    with _eraser(data_dir) as eraser:
        erasure = eraser.erase_job(account, job)
    show(asdict(erasure), as_json)


@_job.command("erase")
def erase_jobs(
    data_dir: DataDir,
    account: AccountId,
    job: Annotated[list[str] | None, typer.Option(help="A job's id; repeatable.")] = None,
    upload: Annotated[list[str] | None, typer.Option(help="An upload's reference; repeatable.")] = None,
    sound_only: Annotated[
        bool, typer.Option("--sound-only", help="Keep the jobs and their results; only of jobs that have ended.")
    ] = False,
    empty_groups: Annotated[
        bool, typer.Option("--empty-groups", help="Then erase every group of the account that has no job.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Erase several jobs, or only their recordings, and uploads. It may be repeated until nothing is left.

    `left` is the number of erased recordings that the store has not deleted yet.
    """
    from vbdesk.service.kernel.errors import NotFound

    job_ids, erased = job or [], 0
    with _eraser(data_dir) as eraser:
        if not sound_only:
            for job_id in job_ids:
                with suppress(NotFound):
                    erased += eraser.erase_job(account, job_id).jobs
        erased += eraser.erase_sounds(account, job_ids, upload or [])
        if empty_groups:
            eraser.erase_empty_groups(account)
        left = eraser.count_left()
    show({"erased": erased, "left": left}, as_json)


@_group.command("erase")
def erase_group(
    data_dir: DataDir,
    account: AccountId,
    group: Annotated[str, typer.Option(help="The group's id.")],
    as_json: AsJson = False,
) -> None:
    """Erase a group with all its jobs, also those that are in other groups. It cannot be undone."""
    with _eraser(data_dir) as eraser:
        erasure = eraser.erase_group(account, group)
    show(asdict(erasure), as_json)


@_erasure.command("list")
def list_erasures(data_dir: DataDir, as_json: AsJson = False) -> None:
    """List what was erased and when, oldest first, without its content."""
    from vbdesk.service.erasure.service import list_erasures as read

    with _opened(data_dir) as service:
        erasures = read(service.connection)
    show_list([asdict(erasure) for erasure in erasures], as_json)


@dataclass(frozen=True, slots=True)
class _Service:
    """The service's business rules, in one database transaction."""

    connection: "Connection"
    accounts: "AccountService"
    credits: "CreditsService"


@contextmanager
def _opened(data_dir: Path, *, new: bool = False) -> Iterator[_Service]:
    from vbdesk.clock import SystemClock
    from vbdesk.service.accounts.service import AccountService
    from vbdesk.service.credits.service import CreditsService

    clock = SystemClock()
    with opened_database(data_dir, new=new) as (_settings, database), database.writing() as connection:
        yield _Service(connection, AccountService(clock), CreditsService(clock))


@contextmanager
def _eraser(data_dir: Path) -> Iterator["Eraser"]:
    from vbdesk.clock import SystemClock
    from vbdesk.service.composition.eraser import open_eraser

    with opened_database(data_dir) as (settings, database):
        yield open_eraser(settings, database, SystemClock())


def _checked_name(name: str) -> str:
    if not (1 <= len(name.strip()) <= _MAX_NAME_LENGTH and name.isprintable()):
        fail(_("Give a name of 1 to {length} characters.", length=_MAX_NAME_LENGTH))
    return name.strip()
