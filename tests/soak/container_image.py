"""The container image, built and used: `python tests/soak/container_image.py [--folder FOLDER]`.

buildah builds the shipped Dockerfile on a stand-in for its base image: Debian with Debian's own Python. Then it runs as
compose.yaml says: as the image's user, without capabilities, with a read-only root, folders in memory and secrets in
files. First `serve` analyses a recording alone, then `serve` and `worker` on PostgreSQL and an object store. Needs
root, Debian's packages and a package index; says what it skips.
"""

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml
from support import debian_tree
from support.programs import absent

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "service" / room) for room in ("cluster", "support")]
sys.path.append(str(ROOT / "tests"))

from own_postgresql import OwnPostgresql  # noqa: E402
from served import settings_as_environment, upload, wait_for_end  # noqa: E402
from store_server import StoreServer  # noqa: E402

from free_ports import free_port  # noqa: E402

NEEDED = ("buildah", "debootstrap", "unshare", "chroot", "setpriv")
DEPLOY = ROOT / "packaging" / "deploy"
DOCKERFILE = DEPLOY / "Dockerfile"
RECORDING = ROOT / "tests" / "data" / "speech_kathleen_20s.flac"
DATA, SECRETS = "/var/lib/vbdesk", "/run/secrets"
START_LIMIT_S, STOP_LIMIT_S = 300, 150
CREDITS, PRICE = 1000, 10


def main() -> int:
    """Build the image and use it both ways; an assertion tells what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="keep the base image here and use it again")
    options = parser.parse_args()
    if why := absent(NEEDED, root=True):
        print(f"skipped: the container image: {why}")
        return 0
    with tempfile.TemporaryDirectory(prefix="vbdesk-image-") as scratch:
        folder = (options.folder or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        images = Images(folder)
        begun = time.monotonic()
        image = images.build()
        print(f"the image is built in {time.monotonic() - begun:.0f} s: {images.sizes()}", flush=True)
        alone(image, Path(scratch) / "alone")
        cluster(image, Path(scratch) / "cluster")
    print("container image: built, and serve and worker answer")
    return 0


@dataclass(frozen=True)
class Image:
    """The files of an image, and what its configuration says."""

    root: Path
    entrypoint: list[str]
    user: str
    folder: str
    environment: dict[str, str]


class Images:
    """buildah with a store of its own below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._base, *_ = re.findall(r"(?m)^FROM (\S+)", DOCKERFILE.read_text())
        self._name = "localhost/vbdesk:latest"

    def build(self) -> Image:
        """Build the image on the stand-in, and open its files."""
        base = f"docker.io/library/{self._base}"
        if base not in self._run("images", "--format", "{{.Name}}:{{.Tag}}").split():
            self._make_base(base)
        options = ["--isolation", "chroot", "--pull=never", "--no-cache", "-f", str(DOCKERFILE), "-t", self._name]
        self._run("build", *options, str(ROOT))
        said = json.loads(self._run("inspect", "--type", "image", self._name))["OCIv1"]["config"]
        container = self._run("from", "--pull=never", self._name).strip()
        root = Path(self._run("mount", container).strip())
        (root / SECRETS.lstrip("/")).mkdir(parents=True, exist_ok=True)
        environment = dict(pair.split("=", 1) for pair in said["Env"])
        return Image(root, said["Entrypoint"], said["User"], said["WorkingDir"], environment)

    def sizes(self) -> str:
        """How large the image is, and how much of that the stand-in."""
        told = self._run("images", "--format", "{{.Name}} {{.Size}}").splitlines()
        return ", ".join(line.rpartition("/")[2] for line in sorted(told) if not line.startswith("<none>"))

    def _make_base(self, name: str) -> None:
        """What the Dockerfile relies on of the official image: Debian, `python` of that version, and pip's trust."""
        tree = self._folder / "base"
        debian_tree.make(tree, "python3-venv", "python3-distutils")
        version = re.findall(r"python:([\d.]+)", name)[0]
        (tree / "usr/local/bin/python").symlink_to(f"/usr/bin/python{version}")
        (tree / "etc/pip.conf").write_text("[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n")
        container = self._run("from", "scratch").strip()
        self._run("add", "--quiet", container, str(tree), "/")
        self._run("commit", "--quiet", "--rm", container, name)
        shutil.rmtree(tree)

    def _run(self, *arguments: str) -> str:
        """Run buildah; returns what it printed."""
        place = ["--root", self._folder / "storage", "--runroot", self._folder / "run", "--storage-driver", "vfs"]
        done = subprocess.run(["buildah", *place, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stdout[-4000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
            done.check_returncode()
        return done.stdout


class Container:
    """A way to run programs of the image: in its files, which are read-only, with the network of this computer.

    buildah itself would give them a root that they can write to, and capabilities.
    """

    def __init__(self, image: Image, log: Path, mounts: Sequence[str], environment: Mapping[str, str]) -> None:
        self._image, self._log, self._mounts = image, log, mounts
        self._environment = {**image.environment, **environment}
        self._process: subprocess.Popen[bytes] | None = None

    def command(self, *arguments: str, user: str = "") -> list[str]:
        """The command that runs a program inside, as the user of the image."""
        root = shlex.quote(str(self._image.root))
        owner, group = (user or self._image.user).split(":")
        limits = [f"--reuid={owner}", f"--regid={group}", "--clear-groups", "--no-new-privs", "--bounding-set=-all"]
        inside = ["env", "-i", f"--chdir={self._image.folder}", *(f"{k}={v}" for k, v in self._environment.items())]
        steps = [
            f"mount --bind {root} {root}",
            f"mount -t proc proc {root}/proc",
            f"mount --rbind /dev {root}/dev",
            *(mount.format(root=root) for mount in self._mounts),
            f"mount -o remount,bind,ro {root}",
            f"exec chroot {root} {shlex.join([*inside, 'setpriv', *limits, *arguments])}",
        ]
        return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", "\n".join(steps)]

    def run(self, *arguments: str, user: str = "") -> str:
        """Run a program to its end; returns what it printed. Raises AssertionError."""
        done = subprocess.run(self.command(*arguments, user=user), capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{arguments}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout

    def vbdesk(self, *arguments: str, user: str = "") -> Any:
        """Run a command of an operator; returns its JSON."""
        return json.loads(self.run(*self._image.entrypoint, *arguments, "--json", user=user))

    def start(self, *arguments: str) -> None:
        """Start the entry point with these arguments."""
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self.command(*self._image.entrypoint, *arguments), stdout=log, stderr=subprocess.STDOUT
            )

    def wait_healthy(self, test: Sequence[str]) -> None:
        """Wait until the health check of compose.yaml passes inside."""
        assert self._process is not None
        assert test[0] == "CMD", test
        ends_at = time.monotonic() + START_LIMIT_S
        while subprocess.run(self.command(*test[1:]), capture_output=True, check=False).returncode:
            assert self._process.poll() is None, f"it ended: {self._log.read_text()[-4000:]}"
            assert time.monotonic() < ends_at, f"it is not healthy: {self._log.read_text()[-4000:]}"
            time.sleep(0.5)

    def stop(self) -> None:
        """Ask it to end as an engine does, by SIGTERM. Raises AssertionError if it does not end well."""
        assert self._process is not None
        self._process.terminate()
        status = self._process.wait(STOP_LIMIT_S)
        assert status == 0, f"it ended with {status}: {self._log.read_text()[-4000:]}"

    def kill(self) -> None:
        """End what still runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def alone(image: Image, folder: Path) -> None:
    """`serve` with everything in one process, on a volume."""
    volume = folder / "volume"
    volume.mkdir(parents=True)
    own(volume, image)
    _, memory = service("api-1")
    mounts = [*(mount for mount in memory if not mount.endswith(DATA)), f"mount --bind {volume} {{root}}{DATA}"]
    port = free_port()
    server = Container(image, folder / "log", mounts, {})
    options = ["--host", "0.0.0.0", "--port", str(port), "--storage-port", str(free_port()), "--workers", "1"]
    with ExitStack() as stack:
        stack.callback(server.kill)
        server.start("serve", "--data-dir", DATA, *options)
        server.wait_healthy(service("api-1", {"8080": port})[0]["healthcheck"]["test"])
        headers = account(server)
        assert analysed(f"http://127.0.0.1:{port}", headers) == "done"
        server.stop()
    assert (volume / "vbdesk.db").exists()
    print("serve alone: health, an upload, an analysis and SIGTERM: passed", flush=True)


def cluster(image: Image, folder: Path) -> None:
    """`serve` and `worker` as compose.yaml starts them, with the secrets that the runbook makes."""
    with ExitStack() as stack:
        database = OwnPostgresql()
        stack.callback(database.close)
        store = StoreServer("s3")
        stack.callback(store.close)
        access = store.access("vbdesk")
        secrets = folder / "secrets"
        secrets.mkdir(parents=True)
        (secrets / "pgpass").write_text("*:*:*:*:not asked for on this computer\n")
        keys = [f"{name.lower()} = {value}" for name, value in access.environment.items()]
        (secrets / "store_credentials").write_text("\n".join(["[default]", *keys, ""]))
        mounted = f"mount --bind {secrets} {{root}}{SECRETS}"
        url = f"{database.make_database('vbdesk')}?passfile={SECRETS}/pgpass"
        endpoint = access.settings["storage_endpoint"]
        ours = settings_as_environment(database_url=url, storage_public_endpoint=endpoint, **access.settings)
        keys_file = {"VBDESK_SECRETS_FILE": f"{SECRETS}/vbdesk_keys"}
        keeper = Container(image, folder / "keeper", ["mount -t tmpfs tmpfs {root}/tmp", mounted], keys_file)
        keeper.vbdesk("admin", "secrets", "create", "--data-dir", "/tmp", user="0:0")
        for secret in secrets.iterdir():
            secret.chmod(0o400)
            own(secret, image)

        started, api_port = {}, free_port()
        for name in ("api-1", "worker-1"):
            ops_port = free_port()
            said, memory = service(name, {"8080": api_port, "9100": ops_port})
            environment = {**said["environment"], **ours}
            container = Container(image, folder / name, [*memory, mounted], environment)
            stack.callback(container.kill)
            container.start(*said["command"])
            container.wait_healthy(said["healthcheck"]["test"])
            started[name] = container
        origin = f"http://127.0.0.1:{api_port}"
        headers = account(started["api-1"])
        assert analysed(origin, headers) == "done"
        workers = started["api-1"].vbdesk("admin", "worker", "list", "--data-dir", DATA)
        assert len(workers) == 1, workers
        assert store.kept().below(""), "no recording in the store"
        for container in reversed(started.values()):
            container.stop()
    print("serve and worker on PostgreSQL: health, an upload, a job of the worker, SIGTERM: passed", flush=True)


def service(name: str, ports: Mapping[str, int] | None = None) -> tuple[dict[str, Any], list[str]]:
    """A service of compose.yaml with other ports, and the mounts of its folders in memory."""
    text = (DEPLOY / "compose.yaml").read_text()
    given = dict(re.findall(r"(?m)^(\w+)=(.*)$", (DEPLOY / "example.env").read_text()))
    text = re.sub(r"\$\{(\w+):[^}]*\}", lambda match: given[match[1]], text)
    for shipped, port in (ports or {}).items():
        text = text.replace(shipped, str(port))
    said = yaml.safe_load(text)["services"][name]
    assert said["read_only"], said
    assert said["cap_drop"] == ["ALL"], said
    folders = [entry.split(":") for entry in said["tmpfs"]]
    return said, [f"mount -t tmpfs -o {options} tmpfs {{root}}{place}" for place, options in folders]


def own(path: Path, image: Image) -> None:
    """Give a file or folder to the user of the image."""
    owner, group = image.user.split(":")
    shutil.chown(path, int(owner), int(group))


def account(container: Container) -> dict[str, str]:
    """Make an account; returns the headers of its requests."""
    options = ["--name", "Ward", "--plan", "enterprise", "--credits", str(CREDITS)]
    made = container.vbdesk("admin", "account", "create", "--data-dir", DATA, *options)
    named = ["--account", made["account_id"], "--name", "soak"]
    key = container.vbdesk("admin", "key", "create", "--data-dir", DATA, *named)
    return {"X-Account-ID": made["account_id"], "X-API-Key": key["api_key"]}


def analysed(origin: str, headers: Mapping[str, str]) -> str:
    """Ask for what everyone may see, then upload a recording and wait for its job; returns how it ended."""
    with httpx.Client(base_url=origin, headers=headers, timeout=120, trust_env=False) as client:
        for path in ("/healthz", "/readyz", "/openapi.json"):
            client.get(path).raise_for_status()
        reference = upload(client, RECORDING, "audio/flac")
        form = {"audio_upload_ref": (None, reference)}
        job = client.post("/v2/signs/stress/analyze", files=form).raise_for_status().json()
        ended = wait_for_end(client, job["job_id"])
        if ended["status"] == "done":
            assert ended["result"], ended
        return str(ended["status"])


if __name__ == "__main__":
    sys.exit(main())
