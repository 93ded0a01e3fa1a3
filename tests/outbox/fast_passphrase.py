"""Bundles for a passphrase with the smallest work factor, so that tests are fast."""

import base64
import hashlib
import hmac
import struct

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

HEAD = struct.Struct(">7sBQ32sI")


def lock_quickly(secret, passphrase):
    """Make what `lock_identity` makes, in the age format (C2SP age.md)."""

    def text(content):
        return base64.b64encode(content).rstrip(b"=")

    def derived(salt, info):
        return HKDF(SHA256(), 32, salt, info).derive(file_key)

    file_key, salt, nonce = bytes(range(16)), bytes(16), bytes(16)
    wrap = Scrypt(b"age-encryption.org/v1/scrypt" + salt, 32, 2**4, 8, 1).derive(passphrase.encode())
    body = ChaCha20Poly1305(wrap).encrypt(bytes(12), file_key, None)
    head = b"age-encryption.org/v1\n-> scrypt " + text(salt) + b" 4\n" + text(body) + b"\n---"
    proof = hmac.digest(derived(None, b"header"), head, "sha256")
    sealed = ChaCha20Poly1305(derived(nonce, b"payload")).encrypt(bytes(11) + b"\1", secret.encode(), None)
    return head + b" " + text(proof) + b"\n" + nonce + sealed


def with_quick_passphrase(bundle, secret, passphrase):
    """Convert a bundle for `secret` to one for `passphrase`."""
    magic, form, _, _, _ = HEAD.unpack_from(bundle)
    locked = lock_quickly(secret, passphrase)
    rest = struct.pack(">I", len(locked)) + locked + bundle[HEAD.size :]
    size = HEAD.size + len(locked) + len(bundle) - HEAD.size
    return HEAD.pack(magic, form, size, hashlib.sha256(rest).digest(), len(locked)) + rest[4:]
