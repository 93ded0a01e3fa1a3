"""The models and fonts that ship with vbdesk, as components of a bill of materials."""

import hashlib
import re
import struct
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from installers.environment import ROOT

_VERSION = 5
"""Number of the version in a font's table of names."""


def components(resources: Path = ROOT / "resources") -> list[dict[str, Any]]:
    """Models as models.toml pins them, then fonts with the version that each file says, as CycloneDX components."""
    return [*_models(resources / "models"), *_fonts(resources / "fonts")]


def _models(folder: Path) -> Iterator[dict[str, Any]]:
    for name, entry in tomllib.loads((folder / "models.toml").read_text(encoding="utf-8")).items():
        component = _component("machine-learning-model", name, entry["version"], entry["licence"], entry["sha256"])
        yield {**component, "description": entry["what"]}


def _fonts(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.[ot]tf")):
        content = path.read_bytes()
        licence = "Bitstream-Vera" if path.name.startswith("DejaVu") else "OFL-1.1"
        version = re.match(r"Version ([\d.]+)", _name(content, _VERSION))
        digest = hashlib.sha256(content).hexdigest()
        yield _component("data", path.stem, version[1] if version else "", licence, digest)


def _component(kind: str, name: str, version: str, licence: str, digest: str) -> dict[str, Any]:
    return {
        "type": kind,
        "bom-ref": f"{kind}:{name}",
        "name": name,
        **({"version": version} if version else {}),
        "licenses": [{"license": {"id": licence}}],
        "hashes": [{"alg": "SHA-256", "content": digest}],
    }


def _name(font: bytes, wanted: int) -> str:
    """An entry of the table of names of an OpenType font, in the encoding of Windows; empty if it has none."""
    (tables,) = struct.unpack_from(">H", font, 4)
    for number in range(tables):
        tag, _sum, at, _length = struct.unpack_from(">4s3I", font, 12 + 16 * number)
        if tag != b"name":
            continue
        _format, entries, texts = struct.unpack_from(">3H", font, at)
        for entry in range(entries):
            platform, _kind, _language, name, length, offset = struct.unpack_from(">6H", font, at + 6 + 12 * entry)
            if (platform, name) == (3, wanted):
                start = at + texts + offset
                return font[start : start + length].decode("utf-16-be")
    return ""
