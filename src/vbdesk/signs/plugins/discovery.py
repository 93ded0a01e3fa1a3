"""Discovery of plug-in signs: a folder of calibration files, and the entry points of installed packages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from vbdesk.data_files import DataFileError, read_data
from vbdesk.language import message
from vbdesk.signs.plugins.scorers import (
    PluginError,
    Scorer,
    callable_scorer,
    linear_scorer,
    onnx_scorer,
    pickled_scorer,
    score,
)
from vbdesk.signs.plugins.sign_file import CallableModel, LinearModel, OnnxModel, SignFile
from vbdesk.signs.plugins.source import ENTRY_POINTS, PluginSource
from vbdesk.signs.reference_data import load_reference_data


@dataclass(frozen=True, slots=True)
class PluginSign:
    """A plug-in sign, ready to be scored; `path` is its calibration file."""

    path: Path
    file: SignFile
    scorer: Scorer

    def index(self, z: Mapping[str, float]) -> float:
        """Compute the index in reference SD; 0 is the mean of people without the sign. Raises PluginError."""
        try:
            raw = score(self.scorer, z)
        except PluginError as error:
            raise PluginError(
                message("The sign {name} cannot be read: {error}", name=self.file.name, error=error)
            ) from error
        return (raw - self.file.reference.mean) / self.file.reference.sd


@dataclass(frozen=True, slots=True)
class UnavailableSign:
    """A plug-in sign that cannot be used; the reason names file and field."""

    name: str
    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class PluginSigns:
    """The discovered plug-in signs."""

    available: Mapping[str, PluginSign]
    unavailable: Sequence[UnavailableSign]


@cache
def load_plugins(source: PluginSource) -> PluginSigns:
    """Load every plug-in sign once per process; a broken one is reported and does not affect the others."""
    points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    files = {path.stem: path for path in sorted(source.folder.glob("*.toml"))} if source.folder is not None else {}
    available: dict[str, PluginSign] = {}
    unavailable: list[UnavailableSign] = []
    for name in sorted(files.keys() | points.keys()):
        point = points.get(name)
        try:
            path = files[name] if name in files else _file_beside(point)
            available[name] = _load(path, point, source)
        except (PluginError, DataFileError) as error:
            unavailable.append(UnavailableSign(name, str(files.get(name, f"entry point {name}")), str(error)))
    return PluginSigns(available, tuple(unavailable))


def _file_beside(point: EntryPoint | None) -> Path:
    """The calibration file in the package of an entry point."""
    if point is None:
        raise ValueError("a sign has a file or an entry point")
    try:
        spec = find_spec(point.module)  # imports the packages above it
    except (Exception, SystemExit) as error:  # other people's code
        raise PluginError(
            message(
                "{module} cannot be imported: {name}: {error}",
                module=point.module,
                name=type(error).__name__,
                error=error,
            )
        ) from error
    path = Path(spec.origin).with_name(f"{point.name}.toml") if spec and spec.origin else None
    if path is None or not path.is_file():
        raise PluginError(
            message(
                "there is no {name}.toml next to the module {module}, nor in the folder of signs",
                name=point.name,
                module=point.module,
            )
        )
    return path


def _load(path: Path, point: EntryPoint | None, source: PluginSource) -> PluginSign:
    known = {"features": frozenset(load_reference_data().norms.features), "file_name": path.stem}
    file = read_data(path, SignFile, known)
    sign = PluginSign(path, file, _scorer(file, path, point, source))
    try:
        score(sign.scorer, dict.fromkeys(file.features, 0.0))
    except PluginError as error:
        raise PluginError(
            message("{file}: tried on the reference mean, {error}", file=path.name, error=error)
        ) from error
    return sign


def _scorer(file: SignFile, path: Path, point: EntryPoint | None, source: PluginSource) -> Scorer:
    try:
        match file.model:
            case LinearModel() as model:
                return linear_scorer(model)
            case OnnxModel() as model:
                return onnx_scorer(model, path.parent)
            case CallableModel() as model:
                return callable_scorer(model, _imported(file.name, point))
            case model:
                return pickled_scorer(model, path.parent, allowed=source.allow_pickles)
    except PluginError as error:
        raise PluginError(message("{file}: model: {error}", file=path.name, error=error)) from error


def _imported(name: str, point: EntryPoint | None) -> object:
    if point is None:
        raise PluginError(
            message(
                "no installed package has an entry point {name} in the group {entry_points}.",
                name=name,
                entry_points=ENTRY_POINTS,
            )
        )
    try:
        return point.load()
    except (Exception, SystemExit) as error:  # other people's code
        raise PluginError(
            message(
                "{value} cannot be imported: {name}: {error}", value=point.value, name=type(error).__name__, error=error
            )
        ) from error
