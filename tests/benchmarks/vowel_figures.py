"""Held vowels of patients and healthy speakers: how much of them counts as speech, and their HNR beside Praat's.

The steady part of a vowel is where it has a pitch. Praat's harmonicity is that by cross-correlation, with the pitch
floor of the voice: with the usual floor of 75 Hz a voice of 69 Hz would read 5 dB too low.
"""

from collections.abc import Iterator

import numpy as np
from figures import AUDIO, Row, judged, show, skipped

from vbdesk.voice.decode import decode
from vbdesk.voice.f0 import track_f0
from vbdesk.voice.features import analyse_frames, summarise_features
from vbdesk.voice.recording import ANALYSIS_RATE

TOPIC = "Held vowels"
PRAAT_SILENCE_DB = -100.0  # Praat gives -200 where there is nothing


def rows() -> Iterator[Row]:
    """Every figure of held vowels."""
    folder = AUDIO / "clinical" / "vowels"
    if not folder.is_dir():
        yield skipped(TOPIC, "all figures", "", "the shared recordings are not here")
        return
    import parselmouth  # missing: analysis_figures.py says so

    kept, differences = {}, {}
    for path in sorted(path for path in folder.glob("*_[aiA]*") if path.suffix != ".csv"):
        samples = decode(path, check_duration=False).samples
        track, frames = track_f0(samples), analyse_frames(samples)
        assert track is not None
        assert frames is not None
        kept[path.stem] = frames.voicing.values.sum() / np.count_nonzero(track.frequency)
        sound = parselmouth.Sound(samples.astype(np.float64), ANALYSIS_RATE)
        praat = sound.to_harmonicity_cc(0.01, track.floor).values[0]
        ours = summarise_features(frames)["harmonics_to_noise"].value
        differences[path.stem] = ours - praat[praat > PRAAT_SILENCE_DB].mean()
    least = min(kept, key=kept.__getitem__)
    yield judged(
        TOPIC,
        f"steady part that counts as speech, least of {len(kept)} vowels",
        "90 %",
        f"{100 * kept[least]:.0f} % ({least})",
        kept[least] >= 0.9,
    )
    furthest = max(differences, key=lambda name: abs(differences[name]))
    near = sum(abs(difference) <= 2 for difference in differences.values())
    yield judged(
        TOPIC,
        f"harmonics-to-noise ratio beside Praat's, {len(differences)} vowels",
        "all within 2 dB",
        f"{near} of {len(differences)}, furthest {differences[furthest]:+.1f} dB ({furthest})",
        near == len(differences),
    )


if __name__ == "__main__":
    show(rows())
