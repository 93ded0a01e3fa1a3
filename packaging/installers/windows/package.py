"""Both MSI packages, with sums, bill of materials and licences."""

from pathlib import Path

from installers import artefacts, environment, licences, native, pins, sbom
from installers.windows import application, msi


def make(out: Path) -> None:
    """Assemble the application folder, sign if a certificate is named, and pack."""
    (wheel,) = (out / "wheel").glob("*.whl")
    place = application.assemble(out, wheel)
    application.sign(sorted(place.glob("vbdesk*.exe")))
    target, version = artefacts.folder(out), environment.version()
    packages = [msi.make(place, version, scope, target) for scope in (msi.MACHINE, msi.USER)]
    application.sign(packages)
    parts = application.contents(place / application.PACKAGES)
    python = pins.load()["windows"]["embeddable"].split("/")[-2]
    licence = (place / "LICENSE.txt").read_text(encoding="utf-8", errors="replace")
    page = licences.page(parts, [(f"CPython {python}", "PSF-2.0", licence)], native.libraries(place))
    (target / f"vbdesk-{version}-windows-licences.html").write_text(page, encoding="utf-8")
    bill = sbom.document(parts, [sbom.interpreter(python)], place, version, environment.source_date())
    (target / f"vbdesk-{version}-windows-sbom.cdx.json").write_text(bill, encoding="utf-8")
    artefacts.write_sums(target)
    for package in packages:
        print(f"{package.name}: {package.stat().st_size / 1e6:.1f} MB")
    print(f"installed: {artefacts.size(place) / 1e6:.1f} MB")
