"""Where signs of a lab's own are found: a folder of calibration files, and the entry points of installed packages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from vbdesk.data_files import DataFileError, read_data
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
from vbdesk.signs.reference import load_reference


@dataclass(frozen=True, slots=True)
class PluginSign:
    """A sign of a lab's own, ready to be read; `path` is where its file is."""

    path: Path
    file: SignFile
    scorer: Scorer

    def index(self, z: Mapping[str, float]) -> float:
        """The index in reference SD: 0 is the mean of people without the sign. Raises PluginError."""
        try:
            raw = score(self.scorer, z)
        except PluginError as error:
            raise PluginError(f"The sign {self.file.name} cannot be read: {error}") from error
        return (raw - self.file.reference.mean) / self.file.reference.sd


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A sign that is not offered: where it was found, and the reason, which names file and field."""

    name: str
    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class PluginSigns:
    """What was found."""

    available: Mapping[str, PluginSign]
    unavailable: Sequence[Unavailable]


@cache
def load_plugins(source: PluginSource) -> PluginSigns:
    """Load every sign of a lab's own once; one that is broken is reported and takes nothing else down."""
    points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    files = {path.stem: path for path in sorted(source.folder.glob("*.toml"))} if source.folder is not None else {}
    available: dict[str, PluginSign] = {}
    unavailable: list[Unavailable] = []
    for name in sorted(files.keys() | points.keys()):
        point = points.get(name)
        try:
            path = files[name] if name in files else _file_beside(point)
            available[name] = _load(path, point, source)
        except (PluginError, DataFileError) as error:
            unavailable.append(Unavailable(name, str(files.get(name, f"entry point {name}")), str(error)))
    return PluginSigns(available, tuple(unavailable))


def _file_beside(point: EntryPoint | None) -> Path:
    """The calibration file in the package of an entry point."""
    if point is None:
        raise ValueError("a sign has a file or an entry point")
    try:
        spec = find_spec(point.module)  # imports the packages above it
    except (Exception, SystemExit) as error:  # other people's code
        raise PluginError(f"{point.module} cannot be imported: {type(error).__name__}: {error}") from error
    path = Path(spec.origin).with_name(f"{point.name}.toml") if spec and spec.origin else None
    if path is None or not path.is_file():
        raise PluginError(f"there is no {point.name}.toml beside the module {point.module}, nor in the folder of signs")
    return path


def _load(path: Path, point: EntryPoint | None, source: PluginSource) -> PluginSign:
    known = {"features": frozenset(load_reference().norms.features), "file_name": path.stem}
    file = read_data(path, SignFile, known)
    sign = PluginSign(path, file, _scorer(file, path, point, source))
    try:
        score(sign.scorer, dict.fromkeys(file.features, 0.0))
    except PluginError as error:
        raise PluginError(f"{path.name}: tried on the reference mean, {error}") from error
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
        raise PluginError(f"{path.name}: model: {error}") from error


def _imported(name: str, point: EntryPoint | None) -> object:
    if point is None:
        raise PluginError(f"no installed package has an entry point {name} in the group {ENTRY_POINTS}.")
    try:
        return point.load()
    except (Exception, SystemExit) as error:  # other people's code
        raise PluginError(f"{point.value} cannot be imported: {type(error).__name__}: {error}") from error
