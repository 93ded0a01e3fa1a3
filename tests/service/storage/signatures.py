"""Checks V4 signatures with independent code: botocore's signer, and an RSA public key."""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, quote, unquote

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256

from vbdesk.clock import utc_now

_DATE = "%Y%m%dT%H%M%SZ"


class Refused(Exception):
    """An error in the providers' form."""

    def __init__(self, status: int, code: str, message: str, **details: str) -> None:
        super().__init__(code)
        self.status, self.code, self.message, self.details = status, code, message, details


SIGNATURE_DIFFERS = Refused(
    403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided."
)


class Request:
    """The signed parts of a request: raw path and query, header names in lower case."""

    def __init__(self, method: str, raw_path: str, raw_query: str, headers: Mapping[str, str]) -> None:
        self.method, self.raw_path, self.raw_query = method, raw_path, raw_query
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.query = dict(parse_qsl(raw_query, keep_blank_values=True))


class AwsSignatures:
    """Signatures AWS4-HMAC-SHA256 of one key, in the query or in the header."""

    def __init__(self, access_key: str, secret_key: str) -> None:
        self._credentials = Credentials(access_key, secret_key)

    def check(self, request: Request) -> None:
        """Check like S3, where a missing signed header makes the signature differ. Raises Refused."""
        signed_in_query = "X-Amz-Signature" in request.query
        if signed_in_query:
            claim = {name.removeprefix("X-Amz-"): value for name, value in request.query.items()}
            names, given, scope = claim["SignedHeaders"], claim["Signature"], claim["Credential"]
            date = claim["Date"]
        else:
            kind, _, parts = request.headers.get("authorization", "").partition(" ")
            if kind != "AWS4-HMAC-SHA256":
                raise Refused(403, "AccessDenied", "Access Denied")
            claim = dict(part.strip().split("=", 1) for part in parts.split(","))
            names, given, scope = claim["SignedHeaders"], claim["Signature"], claim["Credential"]
            date = request.headers["x-amz-date"]
        access_key, _, region, service, _ = scope.split("/")
        if access_key != self._credentials.access_key:
            raise Refused(403, "InvalidAccessKeyId", "The access key does not exist in our records.")
        expected = self._signature(request, names.split(";"), date, service, region, signed_in_query=signed_in_query)
        if not hmac.compare_digest(expected, given):
            raise SIGNATURE_DIFFERS
        signed_at = datetime.strptime(date, _DATE).replace(tzinfo=UTC)
        valid_s = int(claim["Expires"]) if signed_in_query else 900
        if utc_now() > signed_at + timedelta(seconds=valid_s):
            raise Refused(403, "AccessDenied", "Request has expired")

    def _signature(
        self, request: Request, names: list[str], date: str, service: str, region: str, *, signed_in_query: bool
    ) -> str:
        pairs = [pair for pair in request.raw_query.split("&") if not pair.startswith("X-Amz-Signature=")]
        seen = AWSRequest(request.method, f"http://store{request.raw_path}?{'&'.join(pairs)}")
        for name in names:
            if name not in request.headers:
                raise SIGNATURE_DIFFERS
            seen.headers[name] = request.headers[name]
        seen.context["timestamp"] = date
        signer = S3SigV4Auth(self._credentials, service, region)
        canonical = signer.canonical_request(seen)
        if signed_in_query:
            canonical = canonical.rpartition("\n")[0] + "\nUNSIGNED-PAYLOAD"
        return str(signer.signature(signer.string_to_sign(seen, canonical), seen))


class GoogleSignatures:
    """Signatures GOOG4-RSA-SHA256 in the query, checked with a service account's public key."""

    def __init__(self, email: str, public_key: RSAPublicKey) -> None:
        self._email, self._key = email, public_key

    def check(self, request: Request) -> None:
        """Check like Google Cloud Storage. Raises Refused."""
        claim = {name.removeprefix("X-Goog-"): value for name, value in request.query.items()}
        if claim.get("Algorithm") != "GOOG4-RSA-SHA256":
            raise Refused(403, "AccessDenied", "Access denied.")
        names = claim["SignedHeaders"].split(";")
        for name in names:
            if name not in request.headers:
                raise Refused(
                    400,
                    "MalformedSecurityHeader",
                    "Your request has a malformed header.",
                    ParameterName=name,
                    Details="Header was included in signedheaders, but not in the request.",
                )
        email, _, scope = claim["Credential"].partition("/")
        lines = [f"{name}:{' '.join(request.headers[name].split())}" for name in names]
        pairs = sorted(
            f"{_quoted(name)}={_quoted(value)}" for name, value in request.query.items() if name != "X-Goog-Signature"
        )
        path = quote(unquote(request.raw_path), safe="/~")
        canonical = "\n".join(["PUT", path, "&".join(pairs), *lines, "", ";".join(names), "UNSIGNED-PAYLOAD"])
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        to_sign = "\n".join([claim["Algorithm"], claim["Date"], scope, digest])
        if email != self._email or not self.signed(to_sign.encode(), bytes.fromhex(claim["Signature"])):
            raise SIGNATURE_DIFFERS
        signed_at = datetime.strptime(claim["Date"], _DATE).replace(tzinfo=UTC)
        if utc_now() > signed_at + timedelta(seconds=int(claim["Expires"])):
            raise Refused(400, "ExpiredToken", "The provided token has expired.")

    def signed(self, message: bytes, signature: bytes) -> bool:
        """Return whether the account's key made `signature`."""
        try:
            self._key.verify(signature, message, PKCS1v15(), SHA256())
        except InvalidSignature:
            return False
        return True


def _quoted(text: str) -> str:
    return quote(text, safe="-_.~")
