"""Find the cause of a network exception."""

import errno
import socket
import ssl
from collections.abc import Iterator

import httpx

from vbdesk.client.errors import FailureCause

_NO_ROUTE = frozenset(
    {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL, errno.ENETRESET}
)
_NOT_AT_THIS_TIME = frozenset({9, 10})  # X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED


def cause_of(error: httpx.TransportError) -> FailureCause:
    """The cause below an httpx error, which is a "connect error" for a wrong name and a wrong clock alike."""
    for below in _chain(error):
        cause = _cause(below)
        if cause is not None:
            return cause
    return FailureCause.BROKEN_OFF


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _cause(error: BaseException) -> FailureCause | None:
    match error:
        case httpx.ProxyError():
            return FailureCause.PROXY
        case httpx.TimeoutException() | TimeoutError():
            return FailureCause.TIMED_OUT
        case socket.gaierror():
            return FailureCause.NAME
        case ssl.SSLCertVerificationError() if error.verify_code in _NOT_AT_THIS_TIME:
            return FailureCause.TLS_CLOCK
        case ssl.SSLEOFError() | ssl.SSLZeroReturnError():
            return FailureCause.BROKEN_OFF
        case ssl.SSLError():
            return FailureCause.TLS
        case ConnectionRefusedError():
            return FailureCause.REFUSED
        case OSError() if error.errno in _NO_ROUTE:
            return FailureCause.OFFLINE
        case _:
            return None
