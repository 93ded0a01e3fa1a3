"""Form of an authenticated request, within the account's quota and the free disk space."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from fastapi import Request

from vbdesk.service.http.multipart import Form, received_form
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.identity import Account
from vbdesk.service.storage.spool import TakeBytes


@contextmanager
def taking_bytes(context: Context, account: Account) -> Iterator[TakeBytes]:
    """Return the check that admits bytes of one request to the disk; it raises OutOfSpace and QuotaExceeded."""
    with context.in_flight.counting(account.account_id, context.settings.quota_bytes(account.plan)) as count:

        def take(wanted: int) -> None:
            context.disk.require(wanted)
            count(wanted)

        yield take


@asynccontextmanager
async def account_form(request: Request, context: Context, account: Account) -> AsyncIterator[Form]:
    """Read the form, see `received_form`."""
    with taking_bytes(context, account) as take:
        async with received_form(request, context.storage.files, take=take) as form:
            yield form
