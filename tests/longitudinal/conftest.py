"""Small histories for the tests of the longitudinal method."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from vbdesk.longitudinal.history import HistoryEntry, SignReading

START = datetime(2025, 6, 15, 15, tzinfo=UTC)
MODEL_SIGNS = ("mood-disruption", "anxiety", "stress", "fatigue", "dehydration", "elevated-blood-pressure")


class Histories:
    """Builds histories; days count from `start`."""

    start = START

    def entry(
        self,
        number: int,
        day: float | datetime,
        scores: Mapping[str, float | None],
        *,
        level: str = "low",
        status: str = "done",
        duration_s: float | None = 60.0,
        voice_percentage: float | None = 65.0,
        audio_clarity: float | None = 80.0,
        issues: tuple[str, ...] = (),
        action: str | None = "monitor",
    ) -> HistoryEntry:
        """One recording, `day` days after `START`."""
        recorded_at = day if isinstance(day, datetime) else START + timedelta(days=day)
        flagged = level in {"consider", "moderate", "elevated"}
        signs = {sign: SignReading(score, level, flagged) for sign, score in scores.items()}
        return HistoryEntry(
            f"job-{number:04d}", recorded_at, status, duration_s, voice_percentage, audio_clarity, issues, action, signs
        )

    def series(self, days: Iterable[float], scores: Iterable[float], sign: str = "stress") -> list[HistoryEntry]:
        """Recordings of one sign."""
        return [
            self.entry(k, float(day), {sign: float(score)})
            for k, (day, score) in enumerate(zip(days, scores, strict=True))
        ]

    def random(self, n: int, seed: int = 3, signs: tuple[str, ...] = MODEL_SIGNS) -> list[HistoryEntry]:
        """`n` recordings over 269 days, each of all `signs`."""
        generator = np.random.default_rng(seed)
        days = generator.uniform(0, 269, n)
        scores = 1.0 / (1.0 + np.exp(1.0 - 0.7 * generator.normal(size=(n, len(signs)))))
        return [self.entry(k, days[k], dict(zip(signs, scores[k].tolist(), strict=True))) for k in range(n)]


@pytest.fixture(scope="session")
def histories() -> Histories:
    """Builder of histories."""
    return Histories()
