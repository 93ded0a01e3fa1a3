"""Measure one recording of a corpus, in the same way as an analysis."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vbdesk.voice
from vbdesk.language.system_reasons import system_reason
from vbdesk.resource_files import resource
from vbdesk.signs.analysis import measurement_options
from vbdesk.signs.reference_data import load_reference_data
from vbdesk.voice.activity import detect_speech
from vbdesk.voice.decode import decode
from vbdesk.voice.errors import AudioError, RecordingTooShort
from vbdesk.voice.features import analyse_frames
from vbdesk.voice.quality import assess_quality
from vbdesk.voice.recording import Recording


@dataclass(frozen=True, slots=True)
class MeasuredFile:
    """The measurements of one recording.

    Attributes:
        features: the measurable features, in the units of the norms.
        sample_rate: of the file, in Hz.
        audio_clarity: None without enough speech.
    """

    features: Mapping[str, float]
    duration_s: float
    speech_s: float
    sample_rate: int
    voice_percentage: float
    audio_clarity: float | None
    issues: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unmeasurable:
    """A recording that cannot be measured, with the reason; not `lasting` if a retry might succeed.

    Attributes:
        too_short: it is a clip that could be joined to others.
    """

    reason: str
    lasting: bool = True
    too_short: bool = False


MeasurementOutcome = MeasuredFile | Unmeasurable


def measure_file(path: Path) -> MeasurementOutcome:
    """Measure the recording at `path`; an error of the recording becomes the reason."""
    try:
        return measure_recording(decode(path))
    except AudioError as error:
        return Unmeasurable(str(error), too_short=isinstance(error, RecordingTooShort))
    except OSError as error:
        return Unmeasurable(f"It cannot be read: {system_reason(error)}.")


def measure_recording(recording: Recording) -> MeasuredFile:
    """Measure a decoded recording. Raises AudioError."""
    activity = detect_speech(recording)
    quality = assess_quality(recording, activity)
    frames = analyse_frames(recording.samples)
    features = measurement_options(quality, load_reference_data()).measure(frames, None)
    return MeasuredFile(
        features={name: found.value for name, found in features.items() if found.value is not None},
        duration_s=recording.duration_s,
        speech_s=activity.speech_s,
        sample_rate=recording.sample_rate,
        voice_percentage=quality.voice_percentage,
        audio_clarity=quality.audio_clarity,
        issues=tuple(quality.issues),
    )


def too_little_speech(measured: MeasuredFile) -> str | None:
    """Explain why a recording has too little speech for every sign; None if it has enough."""
    rules = load_reference_data().calibration.scoring
    if measured.speech_s < rules.min_speech_seconds:
        return f"It holds {measured.speech_s:.1f} seconds of speech; {rules.min_speech_seconds:g} are needed."
    if measured.voice_percentage < rules.min_voice_percentage:
        return f"Only {measured.voice_percentage:.0f} % of it is speech; {rules.min_voice_percentage:g} % are needed."
    return None


@cache
def extractor_fingerprint() -> str:
    """Fingerprint of the extractor; measurements of different extractors must not be mixed."""
    sources = sorted(Path(next(iter(vbdesk.voice.__path__))).glob("*.py"))
    data = [resource("quality.toml"), resource("rhythm.toml"), *sorted(resource("models").glob("*.toml"))]
    digest = hashlib.sha256()
    for package in ("vbdesk", "numpy", "scipy", "onnxruntime"):
        digest.update(f"{package} {version(package)}\n".encode())
    for path in [*sources, Path(__file__), *data]:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def file_digest(path: Path) -> str:
    """SHA-256 of the file. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
