"""Signed PUT addresses: one upload for the holder, until the address expires.

The scheme follows the V4 signatures of S3 and GCS. The method, path, query and signed headers form a canonical request,
whose hash is part of the string to sign. The signing key is derived from the secret, the date and the scope.
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, quote, urlsplit

ALGORITHM = "VBDESK4-HMAC-SHA256"
_PREFIX = "X-Vbdesk"
_SCOPE_TAIL = "local/storage/vbdesk4_request"
_DATE_FORM = "%Y%m%dT%H%M%S.%fZ"


class SignedAddressRefused(Exception):
    """The request does not match a signed address; `code` is the S3 or GCS error code."""

    def __init__(self, status: int, code: str, message: str, **details: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.details = status, code, message, details


@dataclass(frozen=True, slots=True)
class PutRequest:
    """The signed parts of a PUT: raw path and query as received, header names in lower case."""

    raw_path: str
    raw_query: str
    headers: Mapping[str, str]


class UploadSigner:
    """Creates and checks signed PUT addresses."""

    def __init__(self, keys: Callable[[], Sequence[bytes]]) -> None:
        """Read `keys` at every use: the first signs, all verify."""
        self._keys = keys

    def sign(self, origin: str, key: str, headers: Mapping[str, str], now: datetime, valid_s: float) -> str:
        """Return an address below `origin` to PUT `key` with exactly `headers` within `valid_s` seconds."""
        signed = {name.lower(): value for name, value in headers.items()} | {"host": urlsplit(origin).netloc}
        date = now.astimezone(UTC).strftime(_DATE_FORM)
        query = {
            f"{_PREFIX}-Algorithm": ALGORITHM,
            f"{_PREFIX}-Credential": f"desk/{date[:8]}/{_SCOPE_TAIL}",
            f"{_PREFIX}-Date": date,
            f"{_PREFIX}-Expires": str(valid_s),
            f"{_PREFIX}-SignedHeaders": ";".join(sorted(signed)),
        }
        path = "/" + quote(key, safe="/-_.~")
        signature = _signature(self._keys()[0], path, query, signed)
        return f"{origin}{path}?{_canonical_query(query)}&{_PREFIX}-Signature={signature}"

    def check(self, request: PutRequest, now: datetime) -> None:
        """Check that a signed address allows the request.

        Raises:
            SignedAddressRefused: it is not signed, lacks a signed header, was altered, or has expired; checked in this
                order.
        """
        query = dict(parse_qsl(request.raw_query, keep_blank_values=True))
        if query.get(f"{_PREFIX}-Algorithm") != ALGORITHM:
            raise SignedAddressRefused(403, "AccessDenied", "The address has no signature.")
        names = query.get(f"{_PREFIX}-SignedHeaders", "").split(";")
        for name in names:
            if not name.isascii() or name not in request.headers:  # other names cannot be looked up in headers
                raise SignedAddressRefused(
                    400,
                    "MalformedSecurityHeader",
                    "Your request has a malformed header.",
                    ParameterName=name,
                    Details="Header was included in signedheaders, but not in the request.",
                )
        given = query.pop(f"{_PREFIX}-Signature", "")
        signed = {name: request.headers[name] for name in names}
        right = (_signature(key, request.raw_path, query, signed) for key in self._keys())
        if not any(hmac.compare_digest(signature.encode(), given.encode()) for signature in right):
            raise SignedAddressRefused(
                403, "SignatureDoesNotMatch", "The signature does not match: send the address and headers unaltered."
            )
        # Signed by us, hence well-formed.
        minted_at = datetime.strptime(query[f"{_PREFIX}-Date"], _DATE_FORM).replace(tzinfo=UTC)
        if now > minted_at + timedelta(seconds=float(query[f"{_PREFIX}-Expires"])):
            raise SignedAddressRefused(400, "ExpiredToken", "The address has expired. Ask for a new one.")


def _signature(root: bytes, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> str:
    names = sorted(headers)
    lines = [f"{name}:{' '.join(headers[name].split())}" for name in names]
    canonical = "\n".join(["PUT", path, _canonical_query(query), *lines, "", ";".join(names), "UNSIGNED-PAYLOAD"])
    date = query.get(f"{_PREFIX}-Date", "")
    scope = query.get(f"{_PREFIX}-Credential", "").partition("/")[2]
    to_sign = "\n".join([ALGORITHM, date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = b"VBDESK4" + root
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()


def _canonical_query(query: Mapping[str, str]) -> str:
    return "&".join(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in sorted(query.items()))
