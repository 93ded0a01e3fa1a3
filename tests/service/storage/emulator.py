"""Emulator of an object store on loopback, S3 or Google Cloud Storage, importable or as a program.

    python tests/service/storage/emulator.py --kind gcs --port 9000 --ready-file F [--folder DIR] [--bucket B]

When it is ready, F contains {"pid", "endpoint", "settings", "environment"}: what `vbdesk` needs to keep audio there.
`PUT /_control` with {"refuse": 0.3} refuses a share of requests, see `moods.Mood`; `GET /_control` returns request
counts.
"""

import argparse
import json
import os
import random
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from gcs_store import GcsStore
from moods import Moods, Moody
from object_files import ObjectFiles
from s3_store import S3Store
from signatures import AwsSignatures, GoogleSignatures
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

BUCKET = "recordings"
PREFIX = "desk/one"
EMAIL = "vbdesk@emulated.iam.gserviceaccount.com"
ACCESS_KEY, SECRET_KEY = "AKIDEMULATEDSTORE", "only+for/the+emulated+store"
_METHODS = ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH"]


@dataclass
class Emulator:
    """An emulated store.

    Attributes:
        app: the ASGI application to serve at `endpoint`.
        settings: settings of vbdesk, by name.
        environment: the credentials, where the provider's library finds them.
    """

    app: ASGIApp
    moods: Moods
    objects: ObjectFiles
    settings: dict[str, str]
    environment: dict[str, str]


def make_emulator(
    kind: str, endpoint: str, folder: Path, bucket: str = BUCKET, chance: Callable[[], float] = random.random
) -> Emulator:
    """Create a store of `kind` (`s3` or `gcs`) for `endpoint` that keeps its data in `folder`.

    `chance` returns a number from 0 to 1 for each request, which decides whether the mood applies.
    """
    moods, objects = Moods(), ObjectFiles(folder / "objects")
    routes = [Route("/_control", moods.control, methods=["GET", "PUT"])]
    if kind == "s3":
        s3 = S3Store(bucket, objects, AwsSignatures(ACCESS_KEY, SECRET_KEY), moods)
        routes += [Route("/{path:path}", s3.answer, methods=_METHODS)]
        environment = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
        settings = {"storage_url": f"s3://{bucket}/{PREFIX}", "storage_region": "eu-central-1"}
    else:
        key_file = folder / "service-account.json"
        key = _write_account(key_file, endpoint)
        gcs = GcsStore(bucket, objects, GoogleSignatures(EMAIL, key.public_key()), moods)
        routes += [Route("/token", gcs.token, methods=["POST"])]
        for root in ("/storage/v1/{path:path}", "/upload/storage/v1/{path:path}", "/download/storage/v1/{path:path}"):
            routes.append(Route(root, gcs.answer_json, methods=_METHODS))
        routes += [Route("/{path:path}", gcs.answer, methods=_METHODS)]
        environment = {"GOOGLE_APPLICATION_CREDENTIALS": str(key_file)}
        settings = {"storage_url": f"gs://{bucket}/{PREFIX}"}
    app = Moody(Starlette(routes=routes), moods, chance)
    return Emulator(app, moods, objects, {**settings, "storage_endpoint": endpoint}, environment)


def _write_account(path: Path, endpoint: str) -> rsa.RSAPrivateKey:
    """Write the key file of a service account, or reuse the existing one."""
    if path.exists():
        key: Any = load_pem_private_key(json.loads(path.read_text())["private_key"].encode(), None)
    else:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    account = {
        "type": "service_account",
        "project_id": "emulated",
        "private_key_id": "1",
        "private_key": pem,
        "client_email": EMAIL,
        "client_id": "1",
        "universe_domain": "cloud.invalid",  # for Google's own domain the library makes more network requests
        "token_uri": f"{endpoint}/token",
    }
    path.write_text(json.dumps(account))
    path.chmod(0o600)
    return key


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=["s3", "gcs"], required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ready-file", type=Path)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--bucket", default=BUCKET)
    asked = parser.parse_args()
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", asked.port))
    bound.listen(512)
    endpoint = f"http://127.0.0.1:{bound.getsockname()[1]}"
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="object-store-"))
    folder.mkdir(parents=True, exist_ok=True)
    emulator = make_emulator(asked.kind, endpoint, folder, asked.bucket)
    ready = {
        "pid": os.getpid(),
        "endpoint": endpoint,
        "settings": emulator.settings,
        "environment": emulator.environment,
    }
    if asked.ready_file is not None:  # the socket listens already: early clients wait a moment
        part = asked.ready_file.with_suffix(".part")
        part.write_text(json.dumps(ready))
        part.replace(asked.ready_file)
    uvicorn.Server(uvicorn.Config(emulator.app, log_level="warning")).run(sockets=[bound])


if __name__ == "__main__":
    main()
