"""The pitch of a take, as the analysis measures it."""

import numpy as np
from numpy.typing import NDArray

from vbdesk.capture.encrypted_take import Frames
from vbdesk.voice.decode import from_samples
from vbdesk.voice.f0 import track_f0

Pitch = tuple[NDArray[np.float64], NDArray[np.float64]]


def pitch_track(samples: Frames, sample_rate: int) -> Pitch:
    """Voiced moments of `samples`, shape (n,), int16, in seconds, and their pitch in Hz; both empty without a voice."""
    recording = from_samples(samples.astype(np.float32) / 32768, sample_rate)
    track = track_f0(recording.samples)
    if track is None:
        return np.zeros(0), np.zeros(0)
    voiced = track.frequency > 0
    return track.times[voiced], track.frequency[voiced]
