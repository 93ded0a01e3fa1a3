"""Setting an account's webhook: its address is checked without a thread, and one account stores one at a time."""

import asyncio
from weakref import WeakValueDictionary

from starlette.concurrency import run_in_threadpool

from vbdesk.service.ports.context import Context
from vbdesk.service.webhooks.service import WebhookService

# Calls whose names are not resolved end all at once. Their writes would fill the threads that all requests share.
_turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


async def set_webhook(context: Context, account_id: str, url: str, secret_key: str) -> None:
    """Check the address and store the webhook in place of the last one. Raises AddressRefused."""
    webhooks = WebhookService.of(context)
    await webhooks.check_address(url, account_id)

    def store() -> None:
        with context.database.writing() as connection:
            webhooks.configure(connection, account_id, url, secret_key)

    async with _turns.setdefault(account_id, asyncio.Lock()):
        await run_in_threadpool(store)
