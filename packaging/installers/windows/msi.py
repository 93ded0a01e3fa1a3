"""The MSI packages: for all users of a computer, and for one user without administrator rights.

They are neutral: one package for all languages, with its own few texts in English. wixl makes no language transforms.
"""

import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from installers import environment

POLICIES = {
    "SERVICEURL": "ServiceUrl",
    "PROFILENAME": "ProfileName",
    "LANGUAGE": "Language",
    "CONSENTPOLICY": "ConsentPolicy",
}
"""Properties of the command line, and the values that they set below `Software\\Policies\\vbdesk`.

Only the package for all users takes them: ordinary users may not write there.
"""

POLICY_KEY = r"Software\Policies\vbdesk"
_SPACE = uuid.UUID("5b0b3f0e-6a0e-4d5b-8b53-3f0d0f7a5c11")
_PERMANENT = 16  # of the policies: an upgrade removes the earlier version first, and must not lose them
_NEWER = "A newer vbdesk is installed. Remove it before you install this version."
_NOT_FOR_ONE_USER = "Policies are set for all users. Use the package for all users, as an administrator."


@dataclass(frozen=True, slots=True)
class Scope:
    """The users that a package installs for: all, or one.

    Attributes:
        inside: a folder between `folder` and the program's own; recordings are in `%LOCALAPPDATA%\\vbdesk`.
    """

    name: str
    folder: str
    root: str
    of_wix: str
    inside: str = ""


MACHINE = Scope("machine", "ProgramFiles64Folder", "HKLM", "perMachine")
USER = Scope("user", "LocalAppDataFolder", "HKCU", "perUser", "Programs")


def make(application: Path, version: str, scope: Scope, target: Path) -> Path:
    """Write the package of an application folder; returns its path.

    Args:
        application: the folder; it has `vbdesk-desk.exe` and `vbdesk.ico`.
        version: three numbers.
        scope: the users that it installs for.
        target: folder of the package.
    """
    package = target / f"vbdesk-{version}-{scope.name}.msi"
    source = application.parent / f"vbdesk-{scope.name}.wxs"
    source.write_text(document(application, version, scope), encoding="utf-8")
    package.unlink(missing_ok=True)
    subprocess.run(["wixl", "-a", "x64", "-o", str(package.resolve()), source.name], check=True, cwd=application.parent)
    for query in edits(scope):
        subprocess.run(["msibuild", str(package), "-q", query], check=True)
    return package


def document(application: Path, version: str, scope: Scope) -> str:
    """The package as WiX describes it."""
    components: list[str] = []
    folders = "".join(_folder(application, application, scope, components))
    extra = "".join(_entries(scope, components))
    between = (f'<Directory Id="INSIDE" Name="{scope.inside}">', "</Directory>") if scope.inside else ("", "")
    product = _guid(f"{scope.name}/{version}")
    references = "".join(f"<ComponentRef Id={quoteattr(name)}/>" for name in components)
    return f"""<?xml version="1.0" encoding="utf-8"?>
<Wix xmlns="http://schemas.microsoft.com/wix/2006/wi">
<Product Id="{product}" Name="vbdesk" Language="0" Version={quoteattr(version)} Manufacturer="{environment.AUTHORS}"
 UpgradeCode="{_guid(f"upgrade/{scope.name}")}">
<Package InstallerVersion="500" Compressed="yes" InstallScope="{scope.of_wix}" Manufacturer="{environment.AUTHORS}"/>
<MajorUpgrade DowngradeErrorMessage={quoteattr(_NEWER)}/>
<Media Id="1" Cabinet="vbdesk.cab" EmbedCab="yes"/>
<Icon Id="vbdesk.ico" SourceFile={quoteattr(f"{application.name}/vbdesk.ico")}/>
<Property Id="ARPPRODUCTICON" Value="vbdesk.ico"/>
<Directory Id="TARGETDIR" Name="SourceDir">
<Directory Id="{scope.folder}">{between[0]}<Directory Id="INSTALLDIR" Name="vbdesk">
{folders}{extra}</Directory>{between[1]}</Directory>
<Directory Id="ProgramMenuFolder"/>
</Directory>
<Feature Id="Complete" Level="1">{references}</Feature>
</Product>
</Wix>
"""


def edits(scope: Scope) -> Iterator[str]:
    """Changes of the finished package for which wixl has no words: conditions, and properties that are passed on."""
    secure = ";".join([*POLICIES, "WIX_UPGRADE_DETECTED", "WIX_DOWNGRADE_DETECTED"])
    yield f"UPDATE `Property` SET `Value` = '{secure}' WHERE `Property` = 'SecureCustomProperties'"
    if scope is USER:
        condition = " AND ".join(f"NOT {name}" for name in POLICIES)
        yield (
            "INSERT INTO `LaunchCondition` (`Condition`, `Description`) "
            f"VALUES ('Installed OR ({condition})', '{_NOT_FOR_ONE_USER}')"
        )
        return
    for name, value in POLICIES.items():
        yield f"UPDATE `Component` SET `Condition` = '{name}' WHERE `Component` = 'Policy{value}'"
        yield f"UPDATE `Component` SET `Attributes` = {256 + 4 + _PERMANENT} WHERE `Component` = 'Policy{value}'"


def _folder(folder: Path, root: Path, scope: Scope, components: list[str]) -> Iterator[str]:
    """Files of a folder, one component each, and its folders."""
    for path in sorted(folder.iterdir(), key=lambda path: path.name.lower()):
        place = path.relative_to(root).as_posix()
        name = _identifier(place)
        if path.is_dir():
            inside = "".join(_folder(path, root, scope, components))
            yield f"<Directory Id={quoteattr(f'd{name}')} Name={quoteattr(path.name)}>\n{inside}</Directory>\n"
            continue
        components.append(f"c{name}")
        source = quoteattr(f"{root.name}/{place}")
        yield (
            f'<Component Id="c{name}" Guid="{_guid(f"{scope.name}/{place}")}" Win64="yes">'
            f'<File Id="f{name}" Name={quoteattr(path.name)} Source={source} KeyPath="yes"/></Component>\n'
        )


def _entries(scope: Scope, components: list[str]) -> Iterator[str]:
    """Start menu, file type, and policies."""
    classes = r"Software\Classes"
    values = [
        (rf"{classes}\.vbundle", "", "vbdesk.bundle"),
        (rf"{classes}\vbdesk.bundle", "", "vbdesk transfer bundle"),
        (rf"{classes}\vbdesk.bundle\DefaultIcon", "", "[INSTALLDIR]vbdesk.ico"),
        (rf"{classes}\vbdesk.bundle\shell\open\command", "", '"[INSTALLDIR]vbdesk-desk.exe" "%1"'),
    ]
    components.append("FileType")
    yield f'<Component Id="FileType" Guid="{_guid(f"{scope.name}/file-type")}" Win64="yes">\n'
    for number, (key, name, value) in enumerate(values):
        named = f" Name={quoteattr(name)}" if name else ""
        path = ' KeyPath="yes"' if number == 0 else ""
        yield (
            f'<RegistryValue Root="{scope.root}" Key={quoteattr(key)}{named} Type="string" '
            f"Value={quoteattr(value)}{path}/>\n"
        )
    yield "</Component>\n"
    components.append("StartMenu")
    yield (
        f'<Component Id="StartMenu" Guid="{_guid(f"{scope.name}/start-menu")}" Win64="yes">'
        '<Shortcut Id="StartMenuShortcut" Directory="ProgramMenuFolder" Name="vbdesk" '
        'Target="[INSTALLDIR]vbdesk-desk.exe" WorkingDirectory="INSTALLDIR" Icon="vbdesk.ico" '
        'Description="Record a voice, check it, send it for analysis"/>'
        f'<RegistryValue Root="{scope.root}" Key="Software\\vbdesk" Name="StartMenu" Type="integer" Value="1" '
        'KeyPath="yes"/></Component>\n'
    )
    if scope is USER:
        return
    for name, value in POLICIES.items():
        components.append(f"Policy{value}")
        yield (
            f'<Component Id="Policy{value}" Guid="{_guid(f"policy/{value}")}" Win64="yes">'
            f'<RegistryValue Root="HKLM" Key={quoteattr(POLICY_KEY)} Name="{value}" Type="string" Value="[{name}]" '
            'KeyPath="yes"/></Component>\n'
        )


def _guid(name: str) -> str:
    """The same name has the same GUID in every version, as Windows Installer needs it."""
    return str(uuid.uuid5(_SPACE, name)).upper()


def _identifier(place: str) -> str:
    """An identifier of the database: letters and digits, not longer than 72 characters."""
    return uuid.uuid5(_SPACE, place).hex
