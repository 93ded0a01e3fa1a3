"""The pinned build tools, and downloads checked by their hash."""

import hashlib
import re
import subprocess
import tempfile
import tomllib
import urllib.request
from pathlib import Path
from typing import Any

PINS = Path(__file__).with_name("pins.toml")
LOCK = PINS.parents[1] / "locks" / "run.txt"
_REQUIREMENTS = re.compile(r'(?s)(requirements = """\n).*(""")')


class PinBroken(Exception):
    """A file is not the one that is pinned."""


def load() -> dict[str, Any]:
    """The content of pins.toml."""
    return tomllib.loads(PINS.read_text(encoding="utf-8"))


def fetch(address: str, sha256: str, folder: Path) -> Path:
    """The file at `address`, downloaded into `folder` unless it is there.

    Raises:
        PinBroken: the file has another SHA-256; it is not kept.
    """
    target = folder / address.rpartition("/")[2]
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(address, timeout=120) as answer:
            target.write_bytes(answer.read())
    found = hashlib.sha256(target.read_bytes()).hexdigest()
    if found != sha256:
        target.unlink()
        raise PinBroken(f"{address} has the SHA-256 {found}, but {sha256} is pinned. It was deleted.")
    return target


def resolve() -> None:
    """Resolve [build].wanted for all systems, with hashes, into pins.toml; it is installed beside `LOCK`."""
    wanted = load()["build"]["wanted"]
    options = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-header", "--no-annotate", "-q"]
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "build.in"
        source.write_text("\n".join(wanted), encoding="utf-8")
        done = subprocess.run(
            ["uv", "pip", "compile", *options, "--no-emit-index-url", "--constraints", str(LOCK), str(source)],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
    resolved = done.stdout.replace("\\", "\\\\")
    text = _REQUIREMENTS.sub(lambda found: found[1] + resolved + found[2], PINS.read_text(encoding="utf-8"))
    PINS.write_text(text, encoding="utf-8")
