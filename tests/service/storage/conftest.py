"""Every kind of object store: a folder, and emulators of S3 and Google Cloud Storage on loopback."""

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from patience import HANGS_S
from vbdesk.service.kernel.settings import Settings, load_settings
from vbdesk.service.storage.addresses import UploadAddresses
from vbdesk.service.storage.opening import open_addresses, open_store
from vbdesk.service.storage.store import ObjectStore

sys.path.append(str(Path(__file__).parent))

from emulator import Emulator, make_emulator
from moods import Mood

CLOUDS = ["s3", "gcs"]


@dataclass
class Place:
    """A store, and the settings with which vbdesk uses it."""

    kind: str
    settings: dict[str, str]
    emulator: Emulator

    def load(self, data_dir: Path) -> Settings:
        return load_settings(data_dir, **self.settings)

    def feel(self, **mood: Any) -> None:
        self.emulator.moods.mood = Mood(**mood)


def _evenly() -> Callable[[], float]:
    """Return evenly spread numbers: of two neighbours at most one is below 0.3; deterministic."""
    steps = count()
    return lambda: next(steps) * 0.6180339887 % 1


@pytest.fixture(scope="session")
def emulators(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Emulator]]:
    """One emulator per kind for all tests, started on demand."""
    running: dict[str, tuple[Emulator, uvicorn.Server, threading.Thread]] = {}

    def emulator_of(kind: str) -> Emulator:
        if kind not in running:
            bound = socket.create_server(("127.0.0.1", 0), backlog=128)
            endpoint = f"http://127.0.0.1:{bound.getsockname()[1]}"
            emulator = make_emulator(kind, endpoint, tmp_path_factory.mktemp(kind), chance=_evenly())
            server = uvicorn.Server(uvicorn.Config(emulator.app, log_level="warning", lifespan="off"))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
            thread.start()
            running[kind] = emulator, server, thread
        return running[kind][0]

    yield emulator_of
    for _, server, thread in running.values():
        server.should_exit = True
        thread.join(HANGS_S)
        assert not thread.is_alive()


@pytest.fixture
def place_of(emulators: Callable[[str], Emulator], monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Place]:
    """An empty store of a kind, with credentials where the provider's library finds them."""

    def prepare(kind: str) -> Place:
        emulator = emulators(kind)
        emulator.objects.clear()
        emulator.moods.mood = Mood()
        emulator.moods.counts.clear()
        for name, value in emulator.environment.items():
            monkeypatch.setenv(name, value)
        if kind == "s3":  # as many retries as in the product, but no pauses of up to 20 s between them
            monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda _backoff, _try: 0.0)
        return Place(kind, dict(emulator.settings), emulator)

    return prepare


@pytest.fixture(params=CLOUDS)
def cloud(request: pytest.FixtureRequest, place_of: Callable[[str], Place]) -> Place:
    return place_of(request.param)


@pytest.fixture(scope="session")
def open_stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Place], ObjectStore]]:
    """Stores that stay open, because the providers' clients are slow to create."""
    stores: dict[str, ObjectStore] = {}

    def store_at(place: Place) -> ObjectStore:
        if place.kind not in stores:
            stores[place.kind] = open_store(place.load(tmp_path_factory.mktemp("data")))
        for left in stores[place.kind].incoming.iterdir():
            left.unlink()
        return stores[place.kind]

    yield store_at
    for store in stores.values():
        store.close()


@pytest.fixture
def cloud_store(cloud: Place, open_stores: Callable[[Place], ObjectStore]) -> ObjectStore:
    return open_stores(cloud)


@pytest.fixture(params=["local", *CLOUDS])
def store(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    place_of: Callable[[str], Place],
    open_stores: Callable[[Place], ObjectStore],
) -> ObjectStore:
    """A store of every kind."""
    return open_store(load_settings(tmp_path)) if request.param == "local" else open_stores(place_of(request.param))


@pytest.fixture
def addresses(cloud: Place, tmp_path: Path) -> UploadAddresses:
    return open_addresses(cloud.load(tmp_path), lambda: (b"unused",), "")
