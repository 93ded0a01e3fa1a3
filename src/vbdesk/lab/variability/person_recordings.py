"""Recordings of persons in several sessions, scored whole and in halves: what a fit of variability needs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

from vbdesk.contract.audio_formats import AUDIO_SUFFIXES
from vbdesk.contract.catalog import ModelName
from vbdesk.contract.results import signals_of
from vbdesk.language.system_reasons import system_reason
from vbdesk.longitudinal.feature_ranges import FeatureReading
from vbdesk.longitudinal.history import HistoryEntry, SignReading
from vbdesk.signs.analysis import measure_recording, score_recording
from vbdesk.signs.passage import Passage
from vbdesk.signs.reference_data import load_reference_data
from vbdesk.signs.target import ScoringTarget
from vbdesk.voice.decode import decode
from vbdesk.voice.errors import AudioError
from vbdesk.voice.recording import Recording

NO_DATE = datetime(1970, 1, 1, tzinfo=UTC)  # the fit does not use times


@dataclass(frozen=True, slots=True)
class ScoredRecording:
    """One recording, and its halves: too short for a level, and long enough for the spread of many.

    Attributes:
        features: vocal features of the whole recording.
    """

    whole: HistoryEntry
    halves: tuple[HistoryEntry, HistoryEntry]
    features: Mapping[str, FeatureReading]


def find_persons(folder: Path) -> dict[str, list[Path]]:
    """Recordings by person: each sub-folder holds those of one person."""
    found = {}
    for person in sorted(path for path in folder.iterdir() if path.is_dir()):
        if files := sorted(path for path in person.rglob("*") if path.suffix.lower() in AUDIO_SUFFIXES):
            found[person.name] = files
    return found


def score_all(
    paths: Sequence[Path], jobs: int, on_done: Callable[[Path], None]
) -> Mapping[Path, ScoredRecording | str]:
    """Score recordings in `jobs` processes; a reason for those that cannot be scored.

    Raises:
        DataFileError, ModelUnavailable: the installation is damaged.
    """
    outcomes = {}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for path, outcome in zip(paths, pool.map(score_person_recording, paths), strict=True):
            outcomes[path] = outcome
            on_done(path)
    return outcomes


def score_person_recording(path: Path) -> ScoredRecording | str:
    """Score one recording for every sign; the reason if it cannot be."""
    try:
        recording = decode(path)
        whole, passage = _entry(path.name, recording)
        reference = load_reference_data()
        least = reference.calibration.scoring.min_speech_seconds
        if passage.speech_s < least:
            return f"It holds {passage.speech_s:.1f} seconds of speech; {least:g} are needed."
        (first, _), (second, _) = (_entry(path.name, half) for half in _halves(recording))
    except AudioError as error:
        return str(error)
    except OSError as error:
        return f"It cannot be read: {system_reason(error)}."
    features = {
        name: FeatureReading(
            job_id=path.name,
            recorded_at=NO_DATE,
            value=passage.features[name].value,
            unit=norm.unit,
            version=reference.norms.meta.version,
            duration_s=whole.duration_s,
            voice_percentage=whole.voice_percentage,
            audio_clarity=whole.audio_clarity,
        )
        for name, norm in reference.norms.features.items()
    }
    return ScoredRecording(whole, (first, second), features)


def _halves(recording: Recording) -> Iterator[Recording]:
    middle = len(recording.samples) // 2
    for samples in (recording.samples[:middle], recording.samples[middle:]):
        yield replace(
            recording, samples=samples, duration_s=recording.duration_s * len(samples) / len(recording.samples)
        )


def _entry(name: str, recording: Recording) -> tuple[HistoryEntry, Passage]:
    """The recording as an entry of a history, and what was measured in it."""
    measured = measure_recording(recording)
    signs: dict[str, SignReading] = {}
    for model in ModelName:
        for signal in signals_of(score_recording(measured, ScoringTarget.model(model.value))):
            signs[signal.name] = SignReading(signal.score, signal.level, signal.flagged, signal.score_interval)
    quality = measured.quality
    entry = HistoryEntry(
        job_id=name,
        recorded_at=NO_DATE,
        status="done",
        duration_s=recording.duration_s,
        voice_percentage=quality.voice_percentage,
        audio_clarity=quality.audio_clarity,
        issues=(),
        recommended_action=None,
        signs=signs,
    )
    return entry, measured.passages[0]
