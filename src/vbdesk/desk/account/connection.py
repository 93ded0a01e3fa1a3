"""What Account shows and changes of the connection: key, credits, prices, the plan and its use."""

import time
from dataclasses import dataclass, field

from vbdesk.client import Client, Credentials
from vbdesk.client.fhir import StoredLogin
from vbdesk.contract.limits import Bucket
from vbdesk.desk.account.prices import Price, diarize_price, prices
from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.language import _, translated
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.profiles.vault import VaultMissing

_NOTICED_S = 0.1


@dataclass(frozen=True, slots=True)
class Use:
    """Use of the plan's limits in the last minute, by this program."""

    bucket: Bucket
    used: int
    limit: int


def use_of_plan(context: DeskContext) -> tuple[Use, ...]:
    """The plan's three counters. Never blocks."""
    budget, now = context.connection.budget, context.clock.monotonic()
    order = (Bucket.ANALYZE, Bucket.POLLING, Bucket.GENERAL)
    return tuple(Use(bucket, budget.used(bucket, now), budget.limit(bucket)) for bucket in order)


@dataclass(frozen=True, slots=True)
class PriceList:
    """Prices of analyses, and the additional price of separating speakers."""

    prices: tuple[Price, ...]
    diarize: int


@dataclass(frozen=True)
class PricesRead(Read[PriceList]):
    """The prices."""

    topics = frozenset()

    def here(self, context: DeskContext, before: object, task: TaskContext) -> PriceList:  # noqa: D102
        return PriceList(prices(), diarize_price())


@dataclass(frozen=True)
class FhirLoginRead(Read[str]):
    """Which FHIR server the profile sends to, as a sentence; never its credentials."""

    topics = frozenset()

    def here(self, context: DeskContext, before: object, task: TaskContext) -> str:  # noqa: D102
        profile = context.profile
        if profile.secrets == "session":
            return _("This profile forgets its keys when the window closes, so it keeps no login to a server.")
        try:
            secret = context.ports.vault(profile.secrets).get_without_prompt(profile.fhir_login_name)
            login = None if secret is None else StoredLogin.of_secret(secret)
        except VaultMissing:
            login = None
        except ValueError as error:
            return translated(error)
        if login is None:
            return _(
                "No server is configured. To send results to a hospital system, run this command: vbdesk fhir login"
            )
        match login.credentials.kind:
            case "basic":
                return _("{address}, with a user name and a password.", address=login.address)
            case "bearer":
                return _("{address}, with a token.", address=login.address)
        return _("{address}, as a SMART backend service.", address=login.address)


@dataclass(frozen=True)
class AskCredits(Command):
    """Ask for the balance, to see whether address, account and key are right; finds it.

    Attributes:
        key: which API key; empty for the stored one.
    """

    key: str = field(default="", repr=False)
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        start = time.monotonic()
        with self._client(context) as client:
            balance = client.account.credits()
        seconds = time.monotonic() - start
        if seconds < _NOTICED_S:
            return Done(_("The service answered at once: address, account and key are right."), found=balance)
        text = _("The service answered in {seconds:.1f} s: address, account and key are right.", seconds=seconds)
        return Done(text, found=balance)

    def _client(self, context: DeskContext) -> Client:
        profile, connection = context.profile, context.connection
        if not self.key or profile.base_url is None:
            return connection.client()
        return context.ports.connect(profile.base_url, Credentials(profile.account_id, self.key), connection.budget)


@dataclass(frozen=True)
class SaveKey(Command):
    """Store another API key."""

    key: str = field(repr=False)

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        context.ports.vault(context.profile.secrets).set(context.profile.api_key_name, self.key)
        context.library.note(AuditAction.KEY_ENTERED)
        return Done()
