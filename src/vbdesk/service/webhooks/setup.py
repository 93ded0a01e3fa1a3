"""Setup of an account's webhook; calls of one account store one at a time."""

import asyncio
from weakref import WeakValueDictionary

from starlette.concurrency import run_in_threadpool

from vbdesk.service.ports.context import Context
from vbdesk.service.webhooks.service import WebhookService

# Calls whose DNS lookups hang all end at the same time. Without the lock, their writes would fill the request threads.
_turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


async def set_webhook(context: Context, account_id: str, url: str, secret_key: str) -> None:
    """Check the address and store the webhook, replacing an earlier one. Raises AddressNotAllowed."""
    webhooks = WebhookService.of(context)
    await webhooks.check_address(url, account_id)

    def store() -> None:
        with context.database.writing() as connection:
            webhooks.configure(connection, account_id, url, secret_key)

    async with _turns.setdefault(account_id, asyncio.Lock()):
        await run_in_threadpool(store)
