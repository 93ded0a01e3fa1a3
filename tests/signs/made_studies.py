"""Simulated studies for tests of `vbdesk signs fit`."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from vbdesk.cli.main import app
from vbdesk.lab.corpus.measurement import MeasuredFile
from vbdesk.lab.fit.sign_builder import FitRequest
from vbdesk.lab.fit.study import RecordingLabel

SHIFTED = {"speech_rate": -1.0, "pause_ratio": 0.8}
SEPARATION = float(np.hypot(*SHIFTED.values()))
STABLE = 0.6  # share of variance that a speaker keeps from recording to recording
RATES = {"low": 0.1, "consider": 0.05, "moderate": 0.015, "elevated": 0.005}


def request_of(**changes):
    fields = {
        "sign": "slow-speech",
        "grade": "C",
        "rates": RATES,
        "max_level": None,
        "meaning": "how slow the speech is",
        "timescale": "fast",
        "confounders": ["reading aloud"],
    }
    return FitRequest.model_validate({**fields, **changes})


def made_data(norms, speakers=120, recordings=2, shifts=SHIFTED, seed=3, drift=0.0, clarity_by_label=0.0):
    """Labels and measurements of simulated speakers, half with the label; z values are standard normal."""
    random = np.random.default_rng(seed)
    labels, measured = {}, {}
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for speaker in range(speakers):
        label = speaker % 2
        trait = {name: random.standard_normal() for name in norms.features}
        for number in range(recordings):
            path = Path(f"/made/{speaker:03}_{number}.wav")
            day = float(random.uniform(0, 300))
            features = {}
            for name, norm in norms.features.items():
                z = np.sqrt(STABLE) * trait[name] + np.sqrt(1 - STABLE) * random.standard_normal()
                z += shifts.get(name, 0.0) * label + (drift * day / 30 if name == "speech_rate" else 0.0)
                if name in ("pitch_mean", "formant_3_mean"):
                    z = 0.0
                transformed = norm.male.t_mean + norm.male.t_sd * norm.sd_inflation_free_speech * z
                features[name] = float(np.exp(transformed)) if norm.scale == "log" else float(transformed)
            clarity = float(70 + 5 * random.standard_normal() + clarity_by_label * label)
            measured[path] = MeasuredFile(features, 30.0, 25.0, 16_000, 80.0, clarity, ())
            labels[path] = RecordingLabel(f"s{speaker}", label, f"visit {number}", start + timedelta(days=day))
    return labels, measured


def run(*arguments):
    return CliRunner().invoke(app, ["signs", "fit", *map(str, arguments)])
