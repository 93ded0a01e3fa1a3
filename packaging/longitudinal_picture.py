"""Draw the picture of docs/method-longitudinal.md, and the trajectory behind it that the charts' tests use.

    .venv/bin/python packaging/longitudinal_picture.py

Made-up scores, so that everything a chart can show is there: a drift, two lasting changes, one day far out, and two
signs that stay as they are.
"""

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication

from vbdesk.contract.catalog import MODEL_SIGNS, ModelName, SignName
from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.charts.chart_picture import chart_png
from vbdesk.desk.charts.trajectory_data import chart_of
from vbdesk.desk.ui.theme import Theme, app_theme
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.longitudinal import HistoryEntry, SignReading, trajectory
from vbdesk.report.shipped_signs import shipped_signs

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "desk" / "data" / "trajectory_changes.json"
PICTURE = ROOT / "docs" / "screenshots" / "trajectory-light.png"
START = datetime(2025, 9, 1, 9, tzinfo=UTC)
DAYS = range(0, 150, 4)
NOISY_DAY = 60
CUTS = {name: reference.score_cuts for name, reference in shipped_signs().items()}


def scores_of_day(day: int, generator: np.random.Generator) -> dict[SignName, float]:
    """What every sign of the model pulse reads on a day."""
    noise = dict(zip(MODEL_SIGNS[ModelName.PULSE], generator.normal(size=6), strict=True))
    return {
        SignName.MOOD_DISRUPTION: 0.25 + 0.0022 * day + 0.04 * noise[SignName.MOOD_DISRUPTION],
        SignName.ANXIETY: 0.30 + 0.38 * (day >= 100) + 0.05 * noise[SignName.ANXIETY],
        SignName.STRESS: 0.28 + 0.58 * (day == 88) + 0.05 * noise[SignName.STRESS],
        SignName.FATIGUE: 0.35 + 0.06 * noise[SignName.FATIGUE],
        SignName.DEHYDRATION: 0.30 + 0.05 * noise[SignName.DEHYDRATION],
        SignName.ELEVATED_BLOOD_PRESSURE: 0.28 + 0.34 * (day >= 88) + 0.03 * noise[SignName.ELEVATED_BLOOD_PRESSURE],
    }


def reading(sign: SignName, score: float) -> SignReading:
    """A score with the level that the sign's cuts give it."""
    reached = [level for level in LEVEL_ORDER if level in CUTS[sign] and score >= CUTS[sign][level]]
    level = reached[-1] if reached else Level.NONE
    return SignReading(score, level.value, level.flagged)


def made_up() -> TrajectoryRead:
    """The trajectory of a made-up subject."""
    generator = np.random.default_rng(5)
    history = [
        HistoryEntry(
            job_id=f"job-{day:03d}",
            recorded_at=START + timedelta(days=day),
            status="done",
            duration_s=60.0,
            voice_percentage=65.0,
            audio_clarity=80.0,
            issues=("high_background_noise",) if day == NOISY_DAY else (),
            recommended_action="monitor",
            signs={sign: reading(sign, score) for sign, score in scores_of_day(day, generator).items()},
        )
        for day in DAYS
    ]
    return trajectory("ward4-0007", history, START + timedelta(days=151), labels={})


if __name__ == "__main__":
    application = QApplication(sys.argv)
    Theme(Scheme.LIGHT, 1.0).install()
    read = made_up()
    DATA.write_text(read.model_dump_json())
    PICTURE.write_bytes(chart_png(app_theme(), chart_of(read, CUTS)))
