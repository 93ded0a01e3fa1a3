"""Guard of the API: checks before a body is read, and dependencies of routes."""

import ipaddress
from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import Depends, Request, params
from sqlalchemy import Connection

from vbdesk.contract.accounts import ACCOUNT_HEADER, API_KEY_HEADER, SECRET_KEY_HEADER
from vbdesk.contract.limits import Bucket
from vbdesk.service.kernel.errors import NotFound, RateLimited, Unauthorized
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.identity import Account, Credential

MAX_UNAUTHORIZED_PER_WINDOW = 60
"""401 responses per address and window before 429; for IPv6, per network."""

IPV6_NETWORK_BITS = 64
"""Smallest network that providers assign to a customer, who can use every address in it."""

_CREDENTIAL_HEADERS = {Credential.API_KEY: API_KEY_HEADER, Credential.SECRET_KEY: SECRET_KEY_HEADER}

Check = Callable[[Request, Connection, Account], None]
"""Checks names in the path before the body is read; raises NotFound."""


def _context(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


async def _given_context(request: Request) -> Context:
    return _context(request)


async def _given_account(request: Request) -> Account:
    account: Account = request.state.account
    return account


# Async without awaits: FastAPI runs plain functions in a thread, which costs more than they do.
CurrentContext = Annotated[Context, Depends(_given_context)]
CurrentAccount = Annotated[Account, Depends(_given_account)]


class Guard:
    """Checks a request before its body is read: 401, 503 for a full disk, 429, then 404 for its path.

    Attributes:
        headers: names of the headers with the credentials.
    """

    def __init__(self, bucket: Bucket, credential: Credential, check: Check | None) -> None:
        self.headers = ACCOUNT_HEADER, _CREDENTIAL_HEADERS[credential]
        self._bucket = bucket
        self._credential = credential
        self._check = check

    def __call__(self, request: Request) -> None:
        """Check the request, and store its account for the route. Raises ServiceError."""
        context = _context(request)
        account_id = request.headers.get(ACCOUNT_HEADER, "")
        token = request.headers.get(_CREDENTIAL_HEADERS[self._credential], "")
        account = None
        try:
            with context.database.reading() as connection:
                account = _authenticate(connection, request, context, self._credential, account_id, token)
                request.state.account = account
                self._admit(request, connection, context, account)
        finally:
            if account is not None and self._credential is Credential.API_KEY:
                context.key_uses.note(account, token)

    def _admit(self, request: Request, connection: Connection, context: Context, account: Account) -> None:
        if self._bucket is Bucket.ANALYZE:
            context.disk.require()
            context.admission.check(connection, account.account_id)
        limit = context.settings.rate_limits[account.plan][self._bucket]
        retry_after_s = context.rates.hit(account.account_id, self._bucket.value, limit, context.clock.now())
        if retry_after_s:
            context.metrics.rate_limited.labels(self._bucket.value).inc()
            raise RateLimited(retry_after_s)
        if self._bucket is not Bucket.ANALYZE and any("\0" in str(name) for name in request.path_params.values()):
            raise NotFound  # PostgreSQL refuses such text; analyze routes check their names themselves
        if self._check is not None:
            self._check(request, connection, account)


def guard(
    bucket: Bucket, credential: Credential = Credential.API_KEY, check: Check | None = None
) -> Sequence[params.Depends]:
    """Create the `dependencies` of a route: check `credential`, count in `bucket`, then run `check`.

    FastAPI parses a declared body before it runs dependencies. So a route reads its body itself, or by `json_body`,
    which runs after the guard.
    """
    return [Depends(Guard(bucket, credential, check))]


def authenticate(request: Request, context: Context, credential: Credential, account_id: str, token: str) -> Account:
    """Return the account for `token`; count a failure for the caller's address.

    Raises:
        Unauthorized: unknown account or wrong credential.
        RateLimited: the same, from an address with too many failures.
    """
    with context.database.reading() as connection:
        return _authenticate(connection, request, context, credential, account_id, token)


def _authenticate(
    connection: Connection, request: Request, context: Context, credential: Credential, account_id: str, token: str
) -> Account:
    try:
        return context.accounts.authenticate(connection, credential, account_id, token)
    except Unauthorized:
        source = source_of(request.client.host if request.client else "unknown")
        retry_after_s = context.rates.hit(
            f"address {source}", "unauthorized", MAX_UNAUTHORIZED_PER_WINDOW, context.clock.now()
        )
        if retry_after_s:
            context.metrics.rate_limited.labels("unauthorized").inc()
            raise RateLimited(retry_after_s) from None
        raise


def source_of(address: str) -> str:
    """Return the rate-limit key of an address.

    An IPv6 address counts as its network, and an IPv4-mapped IPv6 address as IPv4. Text that is not an address, which a
    proxy may send, counts as itself.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])  # without the zone (network interface)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, IPV6_NETWORK_BITS), strict=False))
