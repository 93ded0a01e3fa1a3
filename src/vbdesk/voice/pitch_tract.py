"""Linear model of the norms file for the usual pitch of a vocal tract with given resonances."""

from functools import cache
from typing import Self

import numpy as np
from pydantic import BaseModel, ConfigDict, FiniteFloat

from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource
from vbdesk.voice.short_term import Floats


class PitchTractModel(BaseModel):
    """Intercept and weights of ln(mean formant in Hz), for F0 in semitones re 100 Hz."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    intercept: FiniteFloat
    ln_formant_1: FiniteFloat
    ln_formant_2: FiniteFloat
    ln_formant_3: FiniteFloat

    @classmethod
    @cache
    def load(cls) -> Self:
        """Read the model of the shipped norms.

        Raises:
            pydantic.ValidationError: the norms file has no valid model.
        """
        return cls.model_validate(read_toml(resource("norms", "norms.toml")).get("pitch_tract_model"))

    def expected_pitch(self, formants: Floats) -> float:
        """Expected F0 in semitones re 100 Hz for mean F1, F2 and F3 in Hz, shape (3,)."""
        weights = (self.ln_formant_1, self.ln_formant_2, self.ln_formant_3)
        return self.intercept + float(np.dot(weights, np.log(formants)))
