"""Why there was no answer: the exceptions of the network, told apart."""

import errno
import socket
import ssl
from collections.abc import Iterator

import httpx

from vbdesk.client.errors import Cause

_NO_ROUTE = frozenset(
    {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL, errno.ENETRESET}
)
_NOT_AT_THIS_TIME = frozenset({9, 10})  # X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED


def cause_of(error: httpx.TransportError) -> Cause:
    """What lies below an error of httpx: it says "connect error" to a wrong name and a wrong clock alike."""
    for below in _chain(error):
        cause = _cause(below)
        if cause is not None:
            return cause
    return Cause.BROKEN_OFF


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _cause(error: BaseException) -> Cause | None:
    match error:
        case httpx.ProxyError():
            return Cause.PROXY
        case httpx.TimeoutException() | TimeoutError():
            return Cause.TIMED_OUT
        case socket.gaierror():
            return Cause.NAME
        case ssl.SSLCertVerificationError() if error.verify_code in _NOT_AT_THIS_TIME:
            return Cause.TLS_CLOCK
        case ssl.SSLEOFError() | ssl.SSLZeroReturnError():
            return Cause.BROKEN_OFF
        case ssl.SSLError():
            return Cause.TLS
        case ConnectionRefusedError():
            return Cause.REFUSED
        case OSError() if error.errno in _NO_ROUTE:
            return Cause.OFFLINE
        case _:
            return None
