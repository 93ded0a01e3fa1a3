"""The software bill of materials of an artefact, as CycloneDX 1.6."""

import hashlib
import json
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from installers import models_and_fonts, native
from installers.distributions import normal
from installers.licences import licence_of


def document(
    distributions: Iterable[Distribution], others: Iterable[dict[str, Any]], tree: Path, version: str, source_date: int
) -> str:
    """The document as JSON; the same input gives the same bytes.

    Args:
        distributions: Python packages in the artefact.
        others: further components, such as the interpreter.
        tree: the artefact's files; each native program and library is listed with its SHA-256.
        version: of vbdesk.
        source_date: seconds since 1970.
    """
    packages = [_package(found) for found in distributions]
    files = list(native.files(tree))
    components = [
        *others,
        *(package for package in packages if package["name"] != "vbdesk"),
        *map(_library, native.libraries(tree, files)),
        *models_and_fonts.components(),
        *(_file(path, tree) for path in files),
    ]
    subject = {"type": "application", "bom-ref": "vbdesk", "name": "vbdesk", "version": version}
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": datetime.fromtimestamp(source_date, UTC).isoformat(), "component": subject},
        "components": components,
        "dependencies": [{"ref": "vbdesk", "dependsOn": [component["bom-ref"] for component in components]}],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return json.dumps({"serialNumber": f"urn:uuid:{serial}", **content}, indent=1) + "\n"


def interpreter(version: str) -> dict[str, Any]:
    """CPython as a component."""
    return {
        "type": "library",
        "bom-ref": "cpython",
        "name": "cpython",
        "version": version,
        "purl": f"pkg:generic/cpython@{version}",
        "licenses": [{"license": {"id": "PSF-2.0"}}],
    }


def _package(distribution: Distribution) -> dict[str, Any]:
    name = normal(distribution.metadata["Name"])
    purl = f"pkg:pypi/{name}@{distribution.version}"
    package: dict[str, Any] = {
        "type": "library", "bom-ref": purl, "name": name, "version": distribution.version, "purl": purl,
    }  # fmt: skip
    expression = distribution.metadata.get("License-Expression")
    licence = licence_of(distribution)
    if expression:
        package["licenses"] = [{"expression": expression}]
    elif licence:
        package["licenses"] = [{"license": {"name": licence}}]
    return package


def _library(library: native.Library) -> dict[str, Any]:
    """A project whose native libraries a wheel or the interpreter brings; its version only if a file says it."""
    component: dict[str, Any] = {"type": "library", "bom-ref": f"native:{library.name}", "name": library.name}
    if library.version:
        component["version"] = library.version
    component["licenses"] = [{"expression": library.licence}]
    if library.source:
        component["externalReferences"] = [{"type": "website", "url": library.source}]
    component["properties"] = [{"name": "vbdesk:file", "value": file} for file in library.files]
    return component


def _file(path: Path, tree: Path) -> dict[str, Any]:
    """A native program or library, with its hash: scanners find what wheels carry inside."""
    name = path.relative_to(tree).as_posix()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"type": "file", "bom-ref": f"file:{name}", "name": name, "hashes": [{"alg": "SHA-256", "content": digest}]}
