"""Put the shipped nginx.conf in front of two API processes and an object store, and check its promises.

    python tests/soak/proxy.py        needs nginx (Debian: nginx-light) and openssl

Prints one JSON object; exits with 0 if every figure is right.
"""

import json
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "service" / "cluster")]

from cluster import Cluster  # noqa: E402
from own_postgresql import OwnPostgresql  # noqa: E402
from store_server import StoreServer  # noqa: E402

from free_ports import free_port  # noqa: E402

CONFIGURATION = ROOT / "packaging" / "deploy" / "nginx.conf"
RECORDING = (ROOT / "tests" / "data" / "speech_kathleen_20s.flac").read_bytes()
LARGEST = 32 * 1024 * 1024
REFUSED_PER_MINUTE = 60


class Proxy:
    """nginx with the shipped configuration, adapted to this machine's names, ports and paths."""

    def __init__(self, folder: Path, port: int, apis: list[int], store: int) -> None:
        self.folder, self.port = folder, port
        certificates = folder / "certificates"
        certificates.mkdir()
        names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
        files = ["-keyout", str(certificates / "privkey.pem"), "-out", str(certificates / "fullchain.pem")]
        make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "90", "-subj", "/CN=localhost"]
        subprocess.run([*make, "-addext", names, *files], check=True, capture_output=True)
        self.certificate = certificates / "fullchain.pem"
        text = CONFIGURATION.read_text()
        for number, api in enumerate(apis, 1):
            text = text.replace(f"api-{number}:8080", f"127.0.0.1:{api}")
        text = text.replace("server store:9000", f"server 127.0.0.1:{store}")
        text = text.replace("audio.example.org", "localhost").replace("voice.example.org", "127.0.0.1")
        text = re.sub(r"listen \[::\].*\n", "\n", text)
        text = text.replace("listen 443", f"listen 127.0.0.1:{port}").replace("listen 80", f"listen {free_port()}")
        text = text.replace("/var/run/nginx.pid", str(folder / "nginx.pid")).replace(
            "certificates/", f"{certificates}/"
        )
        text = text.replace("access_log off;", f"access_log off; client_body_temp_path {folder}/bodies;")
        (folder / "nginx.conf").write_text(text)
        command = ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
        subprocess.run([*command, "-t"], check=True, capture_output=True)
        self.log = folder / "errors"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, stderr=log, stdout=log)
        time.sleep(0.5)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(20)


def main() -> int:
    if shutil.which("nginx") is None:
        print("Left out: nginx is not installed (Debian: nginx-light).", file=sys.stderr)
        return 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vbdesk-proxy-")))
        folder.chmod(0o755)
        database, store, port = OwnPostgresql(), StoreServer("s3"), free_port()
        stack.callback(database.close)
        stack.callback(store.close)
        public = {"storage_public_endpoint": f"https://localhost:{port}"}
        cluster = Cluster(
            folder / "cluster", database.make_database("proxy"), store.access("proxy"), apis=2, workers=0, **public
        )
        stack.callback(cluster.close)
        cluster.start()
        store_port = int(store.ready["endpoint"].rsplit(":", 1)[1])
        proxy = Proxy(folder, port, [port_of(process.ready["base_url"]) for process in cluster.apis], store_port)
        stack.callback(proxy.stop)
        figures = try_everything(cluster, proxy)
        proxy_log = proxy.log.read_text()
    figures["paths_in_proxy_log"] = proxy_log.count("/v2/groups") + proxy_log.count("X-Amz-Signature")
    print(json.dumps(figures, indent=1))
    return 0 if all(figures[name] == right for name, right in EXPECTED.items()) else 1


EXPECTED: dict[str, Any] = {
    "put_by_signed_address": 200,
    "second_put": 412,
    "read_from_outside": 403,
    "submit_of_upload": 200,
    "submit_of_32_mb": 400,  # no recording; the service must receive all of it to know that
    "submit_of_40_mb": 413,
    "refused_credentials_before_429": REFUSED_PER_MINUTE,
    "other_address_is_not_limited": 401,
    "reads_failed_while_one_process_died": 0,
    "strict_transport_security": True,
    "cookies_are_secure": True,
    "metrics_from_outside": 404,
    "paths_in_proxy_log": 0,
}


def try_everything(cluster: Cluster, proxy: Proxy) -> dict[str, Any]:
    """The result of each check."""
    account = cluster.operate("account", "create", "--name", "Proxy", "--plan", "enterprise", "--credits", "1000000")
    key = cluster.operate("key", "create", "--account", account["account_id"], "--name", "proxy")
    headers = {"X-Account-ID": account["account_id"], "X-API-Key": key["api_key"]}
    base_url, verify = f"https://127.0.0.1:{proxy.port}", str(proxy.certificate)
    context = ssl.create_default_context(cafile=verify)
    figures: dict[str, Any] = {}
    with httpx.Client(base_url=base_url, headers=headers, verify=context, timeout=60, trust_env=False) as client:
        grant = client.post("/v2/audio/uploads", json={"content_type": "audio/flac"}).raise_for_status().json()
        puts = [
            httpx.put(
                grant["upload_url"],
                content=RECORDING,
                headers=grant["required_headers"],
                verify=context,
                trust_env=False,
            )
            for _ in range(2)
        ]
        figures["put_by_signed_address"], figures["second_put"] = (put.status_code for put in puts)
        figures["read_from_outside"] = httpx.get(grant["upload_url"], verify=context, trust_env=False).status_code
        path = "/v2/signs/stress/analyze"
        figures["submit_of_upload"] = client.post(
            path, files={"audio_upload_ref": (None, grant["upload_ref"])}
        ).status_code
        for megabytes, size in ((32, LARGEST), (40, 40 * 1024 * 1024)):
            audio = {"audio": ("take.wav", b"\0" * size, "audio/wav")}
            figures[f"submit_of_{megabytes}_mb"] = client.post(path, files=audio).status_code
        page = client.get("/console/sign-in")
        figures["strict_transport_security"] = "strict-transport-security" in page.headers
        figures["cookies_are_secure"] = all("Secure" in cookie for cookie in page.headers.get_list("set-cookie"))
        figures["metrics_from_outside"] = client.get("/metrics").status_code
        figures["reads_failed_while_one_process_died"] = failed_while_killing(client, cluster)
    figures |= refused_credentials(base_url, context)
    return figures


def failed_while_killing(client: httpx.Client, cluster: Cluster) -> int:
    """Reads go to the other process; the killed one returns."""
    failed = 0
    for number in range(120):
        if number == 20:
            cluster.apis[0].kill()
        try:
            failed += client.get("/v2/groups").status_code != 200
        except httpx.HTTPError:
            failed += 1
    cluster.start()
    return failed


def refused_credentials(base_url: str, context: Any) -> dict[str, Any]:
    """Callers are identified by the address that the proxy reports; their own claims are ignored."""
    wrong = {"X-Account-ID": "nobody", "X-API-Key": "wrong"}
    refused = 0
    with httpx.Client(base_url=base_url, headers=wrong, verify=context, timeout=20, trust_env=False) as client:
        while refused <= REFUSED_PER_MINUTE:
            claimed = {"X-Forwarded-For": f"203.0.113.{refused}"}
            if client.get("/v2/groups", headers=claimed).status_code == 429:
                break
            refused += 1
    elsewhere = httpx.HTTPTransport(local_address="127.0.0.2", verify=context)
    with httpx.Client(base_url=base_url, headers=wrong, transport=elsewhere, timeout=20) as client:
        other = client.get("/v2/groups").status_code
    return {"refused_credentials_before_429": refused, "other_address_is_not_limited": other}


def port_of(origin: str) -> int:
    return int(origin.rsplit(":", 1)[1])


if __name__ == "__main__":
    sys.exit(main())
