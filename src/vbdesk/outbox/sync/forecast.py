"""Estimate when the upload queue is done, by simulating it. Pure functions."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, median

from vbdesk.client.request_budget import MARGIN_S
from vbdesk.contract.limits import POLL_INTERVAL_S, RATE_WINDOW_S
from vbdesk.contract.timestamps import bounded
from vbdesk.language import message, plural_message

REMEMBERED = 30  # measurements of each kind; results of a busy service arrive in batches
USUAL_ANALYSIS_S = 8.0  # before the first measurement
USUAL_UPLOAD_BYTES_PER_S = 1_000_000.0
USUAL_BYTES_PER_S_OF_SOUND = 55_000.0  # FLAC of 48 kHz speech
USUAL_REQUEST_S = 0.1
POLL_S = sum(POLL_INTERVAL_S) / 2
WINDOW_S = RATE_WINDOW_S + MARGIN_S


@dataclass(frozen=True, slots=True)
class QueuedRecording:
    """A recording on its way.

    Attributes:
        duration_s: length of the sound.
        uploaded: whether its bytes are at the storage.
        since_s: seconds since the service accepted it; None before.
    """

    take_id: str
    duration_s: float
    uploaded: bool = False
    since_s: float | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """When the queue should be done; seconds are None while that is unknown: offline, on hold, paused.

    Attributes:
        recordings: how many are on their way.
        whole_s: seconds until all of them are done.
        done_in_s: seconds until each of them is done, by take id.
    """

    recordings: int
    whole_s: float | None
    done_in_s: Mapping[str, float] = field(default_factory=dict)

    def seconds_to(self, take_id: str) -> float | None:
        """Seconds until this recording should be done; None if unknown."""
        return self.done_in_s.get(take_id)

    @property
    def sentence(self) -> str:
        """As on the Outbox page: "12 recordings, about 6 minutes"."""
        if self.whole_s is None:
            return plural_message("{count:,} recording", "{count:,} recordings", self.recordings)
        return plural_message(
            "{count:,} recording, {time}",
            "{count:,} recordings, {time}",
            self.recordings,
            time=approximate_duration(self.whole_s),
        )


class MeasuredDurations:
    """Durations of recent uploads, requests and analyses."""

    def __init__(self) -> None:
        self._uploads: deque[tuple[float, int, float]] = deque(maxlen=REMEMBERED)  # seconds of sound, bytes, seconds
        self._requests: deque[float] = deque(maxlen=REMEMBERED)
        self._analyses: deque[float] = deque(maxlen=REMEMBERED)
        self._gaps: deque[float] = deque(maxlen=REMEMBERED)
        self._last_done = float("-inf")

    def upload(self, sound_s: float, size_bytes: int, took_s: float) -> None:
        """Record the duration of an upload, encoding included."""
        self._uploads.append((sound_s, size_bytes, took_s))

    def request(self, took_s: float) -> None:
        """Record the duration of a request."""
        self._requests.append(took_s)

    def analysis(self, taken_at: float, done_at: float) -> None:
        """Record when a job was accepted and found done, in seconds of one clock."""
        if taken_at < self._last_done:  # two jobs overlapped, so the gap shows the service's throughput
            self._gaps.append(done_at - self._last_done)
        self._analyses.append(done_at - max(taken_at, self._last_done))
        self._last_done = done_at

    @property
    def upload_s_per_s(self) -> float:
        """Seconds of upload per second of sound."""
        sound_s = sum(upload[0] for upload in self._uploads)
        if not sound_s:
            return USUAL_BYTES_PER_S_OF_SOUND / USUAL_UPLOAD_BYTES_PER_S
        return sum(upload[2] for upload in self._uploads) / sound_s

    @property
    def request_s(self) -> float:
        """Median duration of a request."""
        return median(self._requests) if self._requests else USUAL_REQUEST_S

    @property
    def analysis_s(self) -> float:
        """Median duration of an analysis, from acceptance until it is found done."""
        return median(self._analyses) if self._analyses else USUAL_ANALYSIS_S

    @property
    def done_every_s(self) -> float:
        """Mean time between two results of a busy service."""
        return mean(self._gaps) if self._gaps else 0.0


def forecast(line: Sequence[QueuedRecording], opens_in_s: Sequence[float], measured: MeasuredDurations) -> Forecast:
    """Simulate the queue in sending order.

    Args:
        line: recordings on their way.
        opens_in_s: for each request of the analyse bucket's limit, in how many seconds it may leave, ascending.
        measured: recent durations.
    """
    leaves, now, last_done = list(opens_in_s), 0.0, 0.0
    done_in_s: dict[str, float] = {}
    at_service = [(max(0.0, measured.analysis_s - each.since_s), each) for each in line if each.since_s is not None]
    for left_s, each in sorted(at_service, key=lambda entry: entry[0]):
        last_done = done_in_s[each.take_id] = max(left_s, last_done + measured.done_every_s)
    for each in line:
        if each.since_s is not None:
            continue
        for _ in range(1 if each.uploaded else 2):
            turn = leaves.pop(0)
            now = max(now, turn) + measured.request_s
            leaves.append(now + WINDOW_S)
        now += 0.0 if each.uploaded else each.duration_s * measured.upload_s_per_s
        now += measured.request_s * measured.analysis_s / POLL_S  # the polls of one job take their share
        last_done = max(now + measured.analysis_s, last_done + measured.done_every_s)
        done_in_s[each.take_id] = last_done
    return Forecast(len(line), max(done_in_s.values(), default=0.0), done_in_s)


def approximate_duration(seconds: float) -> str:
    """A duration in words, rounded to what an estimate supports."""
    seconds = bounded(seconds)
    minutes = round(seconds / 60)
    if minutes < 1:
        return message("less than a minute")
    if minutes == 1:
        return message("about a minute")
    if minutes < 90:
        return plural_message("about {count} minute", "about {count} minutes", minutes)
    hours = round(seconds / 3600)
    return plural_message("about {count} hour", "about {count} hours", hours)
