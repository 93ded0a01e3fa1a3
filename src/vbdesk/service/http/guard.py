"""What every guarded route goes through before its body is read, and what it may ask for.

FastAPI reads and parses a body before it runs dependencies. Credentials and rate limits must come first, so they are
checked by the route class, around FastAPI's own handling: 401, then 429, then 404 for a name in the path.
"""

import ipaddress
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response, Security
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from vbdesk.contract.accounts import ACCOUNT_HEADER, API_KEY_HEADER, SECRET_KEY_HEADER
from vbdesk.contract.errors import ErrorCode
from vbdesk.contract.limits import Bucket
from vbdesk.service.accounts.service import Account, AccountService, Credential
from vbdesk.service.http.json_body import bounded_json
from vbdesk.service.http.openapi_parts import refusals
from vbdesk.service.kernel.errors import NotFound, RateLimited, Unauthorized
from vbdesk.service.ports.context import Context

MAX_UNAUTHORIZED_PER_WINDOW = 60
"""401 answers that one address gets within the window before it is told to wait; of IPv6, one network."""

IPV6_NETWORK_BITS = 64
"""The smallest network that providers give to a caller, who has every address in it."""

_CREDENTIAL_HEADERS = {Credential.API_KEY: API_KEY_HEADER, Credential.SECRET_KEY: SECRET_KEY_HEADER}

Check = Callable[[Request, Connection, Account], None]
"""Looks at names in the path, before the body is read; raises NotFound."""

Answer = Callable[[Request, Connection, Account], Response]
"""Answers a request that has no body; raises NotFound."""


def _context(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


async def _given_context(request: Request) -> Context:
    return _context(request)


async def _given_account(request: Request) -> Account:
    account: Account = request.state.account
    return account


# Coroutines, though they wait for nothing: FastAPI sends plain functions to a thread, which costs more than they do.
CurrentContext = Annotated[Context, Depends(_given_context)]
CurrentAccount = Annotated[Account, Depends(_given_account)]


def guarded_router(
    bucket: Bucket,
    credential: Credential = Credential.API_KEY,
    check: Check | None = None,
    answer: Answer | None = None,
) -> APIRouter:
    """A router whose routes need `credential`, count in `bucket` and pass `check`, in this order.

    With `answer` the guard answers by itself, in the same visit to the database; route functions only describe the
    route then. For what callers poll: FastAPI's own handling would be half of the work.
    """
    # For the API description alone: the headers are read by the route class.
    documented = [
        Security(APIKeyHeader(name=name, scheme_name=name, auto_error=False))
        for name in (ACCOUNT_HEADER, _CREDENTIAL_HEADERS[credential])
    ]

    class GuardedRoute(APIRoute):
        """A route behind the guard."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()
            takes_json = self.body_field is not None

            async def guarded(request: Request) -> Response:
                answered = await run_in_threadpool(_admit, request, bucket, credential, check, answer)
                return answered or await handle(bounded_json(request) if takes_json else request)

            return guarded

    responses = refusals(ErrorCode.NOT_FOUND) if check or answer else None
    return APIRouter(route_class=GuardedRoute, dependencies=documented, responses=responses)


def _admit(
    request: Request, bucket: Bucket, credential: Credential, check: Check | None, answer: Answer | None
) -> Response | None:
    context = _context(request)
    account_id = request.headers.get(ACCOUNT_HEADER, "")
    token = request.headers.get(_CREDENTIAL_HEADERS[credential], "")
    account = None
    try:
        with context.database.reading() as connection:
            account = request.state.account = _authenticate(connection, request, context, credential, account_id, token)
            if bucket is Bucket.ANALYZE:
                context.disk.require()
                context.admission.check(connection, account.account_id)
            limit = context.settings.rate_limits[account.plan][bucket]
            retry_after_s = context.rates.hit(account.account_id, bucket.value, limit, context.clock.now())
            if retry_after_s:
                context.metrics.rate_limited.labels(bucket.value).inc()
                raise RateLimited(retry_after_s)
            if bucket is not Bucket.ANALYZE and any("\0" in str(name) for name in request.path_params.values()):
                raise NotFound  # PostgreSQL cannot even be asked for it; analyze routes judge their names by themselves
            if check is not None:
                check(request, connection, account)
            return answer(request, connection, account) if answer is not None else None
    finally:
        if account is not None and credential is Credential.API_KEY:
            context.key_uses.note(account, token)


def authenticate(request: Request, context: Context, credential: Credential, account_id: str, token: str) -> Account:
    """The account that `token` opens; what opens none counts against the caller's address.

    Raises:
        Unauthorized: no such account, or not its credential.
        RateLimited: the same, from an address that tried too often.
    """
    with context.database.reading() as connection:
        return _authenticate(connection, request, context, credential, account_id, token)


def _authenticate(
    connection: Connection, request: Request, context: Context, credential: Credential, account_id: str, token: str
) -> Account:
    try:
        return AccountService(context.clock).authenticate(connection, credential, account_id, token)
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
    """The one who counts as the sender of what comes from an address.

    An IPv6 address counts as its network, and an IPv4 address that is written as IPv6 counts as IPv4. A text that is no
    address, which a proxy may send, counts as itself.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])  # without the name of the network interface
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, IPV6_NETWORK_BITS), strict=False))
