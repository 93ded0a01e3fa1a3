"""How long the line will take: an estimate from what limits it, by playing it through in thought. Pure."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, median

from vbdesk.client.request_budget import MARGIN_S
from vbdesk.contract.limits import POLL_INTERVAL_S, RATE_WINDOW_S
from vbdesk.contract.timestamps import bounded

REMEMBERED = 30  # measurements of each kind; a busy service's results are found several at a time
USUAL_ANALYSIS_S = 8.0  # until one was seen
USUAL_UPLOAD_BYTES_PER_S = 1_000_000.0
USUAL_BYTES_PER_S_OF_SOUND = 55_000.0  # FLAC of 48 kHz speech
USUAL_REQUEST_S = 0.1
POLL_S = sum(POLL_INTERVAL_S) / 2
WINDOW_S = RATE_WINDOW_S + MARGIN_S


@dataclass(frozen=True, slots=True)
class InLine:
    """A recording on its way.

    Attributes:
        duration_s: length of the sound.
        uploaded: its bytes are at the storage.
        since_s: seconds since the service took it; None before.
    """

    take_id: str
    duration_s: float
    uploaded: bool = False
    since_s: float | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """When the line should be done; seconds are None where nobody can know: offline, on hold, paused.

    Attributes:
        recordings: how many are on their way.
        whole_s: seconds until all of them are done.
        done_in_s: seconds until each of them is, by take id.
    """

    recordings: int
    whole_s: float | None
    done_in_s: Mapping[str, float] = field(default_factory=dict)

    def seconds_to(self, take_id: str) -> float | None:
        """Seconds until this recording should be done; None where nobody can know."""
        return self.done_in_s.get(take_id)

    @property
    def sentence(self) -> str:
        """As on the Outbox page: "12 recordings, about 6 minutes"."""
        them = "1 recording" if self.recordings == 1 else f"{self.recordings} recordings"
        return them if self.whole_s is None else f"{them}, {about(self.whole_s)}"


class Measured:
    """What uploads and analyses have taken lately."""

    def __init__(self) -> None:
        self._uploads: deque[tuple[float, int, float]] = deque(maxlen=REMEMBERED)  # seconds of sound, bytes, seconds
        self._requests: deque[float] = deque(maxlen=REMEMBERED)
        self._analyses: deque[float] = deque(maxlen=REMEMBERED)
        self._gaps: deque[float] = deque(maxlen=REMEMBERED)
        self._last_done = float("-inf")

    def upload(self, sound_s: float, size_bytes: int, took_s: float) -> None:
        """An upload, encoding included, took so long."""
        self._uploads.append((sound_s, size_bytes, took_s))

    def request(self, took_s: float) -> None:
        """A request took so long."""
        self._requests.append(took_s)

    def analysis(self, taken_at: float, done_at: float) -> None:
        """A job was taken by the service and found done, in seconds of one clock."""
        if taken_at < self._last_done:  # it was at the service together with another, so the service's speed shows
            self._gaps.append(done_at - self._last_done)
        self._analyses.append(done_at - max(taken_at, self._last_done))
        self._last_done = done_at

    @property
    def upload_s_per_s(self) -> float:
        """Seconds of upload for a second of sound."""
        sound_s = sum(upload[0] for upload in self._uploads)
        if not sound_s:
            return USUAL_BYTES_PER_S_OF_SOUND / USUAL_UPLOAD_BYTES_PER_S
        return sum(upload[2] for upload in self._uploads) / sound_s

    @property
    def request_s(self) -> float:
        """A usual request."""
        return median(self._requests) if self._requests else USUAL_REQUEST_S

    @property
    def analysis_s(self) -> float:
        """A usual analysis, from when the service can begin with it until it is seen to be done."""
        return median(self._analyses) if self._analyses else USUAL_ANALYSIS_S

    @property
    def done_every_s(self) -> float:
        """The time between two results of a busy service."""
        return mean(self._gaps) if self._gaps else 0.0


def forecast(line: Sequence[InLine], opens_in_s: Sequence[float], measured: Measured) -> Forecast:
    """Play the line through, in the order it is sent.

    Args:
        line: recordings on their way.
        opens_in_s: for each request of the analyse bucket's limit, in how many seconds it may leave, ascending.
        measured: how fast things went lately.
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
        now += measured.request_s * measured.analysis_s / POLL_S  # the polls of one job, in the same line of requests
        last_done = max(now + measured.analysis_s, last_done + measured.done_every_s)
        done_in_s[each.take_id] = last_done
    return Forecast(len(line), max(done_in_s.values(), default=0.0), done_in_s)


def about(seconds: float) -> str:
    """A stretch of time in words, no finer than anybody can know it."""
    seconds = bounded(seconds)
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    if minutes == 1:
        return "about a minute"
    if minutes < 90:
        return f"about {minutes} minutes"
    hours = round(seconds / 3600)
    return f"about {hours} hours"
