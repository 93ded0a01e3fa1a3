"""Clusters for conformance tests, on one PostgreSQL server and one object store."""

import sys
from pathlib import Path
from typing import Any

from examination import BAD_AUDIO, OwnService

sys.path.append(str(Path(__file__).parents[1] / "cluster"))

from cluster import Cluster
from own_postgresql import OwnPostgresql
from store_server import StoreServer

APIS = 2


class Ground:
    """Shared servers of all clusters. Each cluster has its own database and store prefix."""

    def __init__(self) -> None:
        self._postgresql = OwnPostgresql()
        self._store = StoreServer("gcs")
        self._count = 0

    def make_cluster(self, folder: Path, *, workers: int, **settings: str) -> "OwnCluster":
        self._count += 1
        database_url = self._postgresql.make_database(f"own-{self._count}")
        access = self._store.access(f"own-{self._count}")
        cluster = Cluster(folder, database_url, access, apis=APIS, workers=workers, **settings)
        return OwnCluster(cluster, self._store)

    def close(self) -> None:
        self._store.close()
        self._postgresql.close()


class OwnCluster(OwnService):
    """Cluster with the interface of `OwnService`."""

    def __init__(self, cluster: Cluster, store: StoreServer) -> None:
        super().__init__()
        self._cluster, self._store = cluster, store

    @property
    def base_url(self) -> str:
        return self._cluster.base_url

    @property
    def data_dir(self) -> Path:
        return self._cluster.data_dir

    def start(self, workers: int | None = None) -> None:
        self._cluster.add_workers((workers or 0) - len(self._cluster.workers))
        self._cluster.start()

    def ask_to_stop(self) -> None:
        self._cluster.ask_to_stop()

    def wait_until_stopped(self) -> None:
        self._cluster.wait_until_stopped()

    def close(self) -> None:
        self._cluster.close()

    def damage(self, recording: bytes) -> int:
        return self._store.replace(recording, BAD_AUDIO)

    def admin(self, *arguments: str) -> Any:
        return self._cluster.operate(*arguments)
