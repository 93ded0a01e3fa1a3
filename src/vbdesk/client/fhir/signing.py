"""Keys that sign assertions for a token, as JSON Web Signatures (RFC 7515): RS384 and ES384."""

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from vbdesk.language import message

LEAST_RSA_BITS = 2048
_P384_BYTES = 48
_UNUSABLE = message(
    "The key is not usable. Give a private key as PEM without a passphrase: EC on the curve P-384, "
    "or RSA of at least {least_rsa_bits} bits.",
    least_rsa_bits=LEAST_RSA_BITS,
)


class SigningKey:
    """A private key and its id.

    Attributes:
        algorithm: `RS384` or `ES384`.
    """

    def __init__(self, pem: str, key_id: str = "") -> None:
        """Read a key.

        Args:
            pem: PKCS 8 or traditional, not encrypted.
            key_id: as registered; the thumbprint of the public key if empty (RFC 7638).

        Raises:
            ValueError: it is no usable key; the message has nothing of it.
        """
        try:
            key = load_pem_private_key(pem.encode("ascii"), None)
        except (ValueError, TypeError, UnicodeError, UnsupportedAlgorithm):
            raise ValueError(_UNUSABLE) from None
        if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP384R1):
            self.algorithm = "ES384"
        elif isinstance(key, rsa.RSAPrivateKey) and key.key_size >= LEAST_RSA_BITS:
            self.algorithm = "RS384"
        else:
            raise ValueError(_UNUSABLE)
        self._key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey = key
        self.key_id = key_id or self._thumbprint()

    @classmethod
    def new(cls) -> "SigningKey":
        """A new key for ES384: short enough for every keyring."""
        return cls(_pem(ec.generate_private_key(ec.SECP384R1())))

    @property
    def pem(self) -> str:
        """The private key as PKCS 8."""
        return _pem(self._key)

    def public_jwk(self) -> dict[str, str]:
        """The public key to register at the server, as a JSON Web Key."""
        return {**self._public_fields(), "kid": self.key_id, "alg": self.algorithm, "use": "sig"}

    def signed(self, claims: Mapping[str, str | int]) -> str:
        """A JSON Web Token with these claims."""
        header = {"alg": self.algorithm, "kid": self.key_id, "typ": "JWT"}
        content = ".".join(_encoded(json.dumps(part, separators=(",", ":")).encode()) for part in (header, claims))
        return f"{content}.{_encoded(self._signature(content.encode('ascii')))}"

    def _signature(self, content: bytes) -> bytes:
        if isinstance(self._key, rsa.RSAPrivateKey):
            return self._key.sign(content, padding.PKCS1v15(), SHA384())
        r, s = decode_dss_signature(self._key.sign(content, ec.ECDSA(SHA384())))
        return r.to_bytes(_P384_BYTES, "big") + s.to_bytes(_P384_BYTES, "big")

    def _public_fields(self) -> dict[str, str]:
        if isinstance(self._key, rsa.RSAPrivateKey):
            numbers = self._key.public_key().public_numbers()
            return {"kty": "RSA", "n": _encoded(_unsigned(numbers.n)), "e": _encoded(_unsigned(numbers.e))}
        point = self._key.public_key().public_numbers()
        x, y = (_encoded(value.to_bytes(_P384_BYTES, "big")) for value in (point.x, point.y))
        return {"kty": "EC", "crv": "P-384", "x": x, "y": y}

    def _thumbprint(self) -> str:
        canonical = json.dumps(self._public_fields(), separators=(",", ":"), sort_keys=True)
        return _encoded(hashlib.sha256(canonical.encode()).digest())


def _pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")


def _encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def _unsigned(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")
