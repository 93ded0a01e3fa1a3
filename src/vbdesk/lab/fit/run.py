"""The whole fit: labels and measurements in, a sign file and its model card out."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from vbdesk.lab.corpus.measurement import MeasuredFile
from vbdesk.lab.fit.model_card import card_json, card_markdown, make_card
from vbdesk.lab.fit.regression import fit_weights
from vbdesk.lab.fit.rules import fitting_rules
from vbdesk.lab.fit.sign_builder import FitRequest, make_scale, make_sign, sign_text
from vbdesk.lab.fit.study import RecordingLabel, make_study
from vbdesk.lab.fit.transfer import assess_transfer, require_comparable_corpora
from vbdesk.lab.fit.validity import assess_validity
from vbdesk.privacy import set_export_mode
from vbdesk.signs.norms import Norms


@dataclass(frozen=True, slots=True)
class FittedSign:
    """The output of a fit: the texts of its files, and the card as data."""

    name: str
    sign: str
    card: Mapping[str, Any]
    card_for_people: str

    def write(self, folder: Path) -> list[Path]:
        """Write the files into `folder`, the sign last, so that it never lacks its card. Raises OSError."""
        texts = {
            f"{self.name}.card.json": card_json(self.card),
            f"{self.name}.card.md": self.card_for_people,
            f"{self.name}.toml": self.sign,
        }
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
            set_export_mode(folder / name)
        return [folder / name for name in texts]


def fit_sign(
    labels: Mapping[Path, RecordingLabel],
    measured: Mapping[Path, MeasuredFile],
    request: FitRequest,
    norms: Norms,
    fewest_speakers: int | None = None,
) -> FittedSign:
    """Fit the requested sign; the same recordings give the same bits.

    `fewest_speakers` is the required number with each label; None takes that of the rules.

    Raises:
        StudyError: the recordings cannot be fitted.
    """
    rules = fitting_rules()
    fewest = max(fewest_speakers or rules.study.fewest_speakers, rules.study.fewest_speakers_ever)
    study = make_study(labels, measured, norms, rules.study, fewest)
    require_comparable_corpora(study, rules)
    with threadpool_limits(1):  # the same order of summation on every computer
        fitted = fit_weights(study, rules.regression)
        scale = make_scale(study, fitted, request.rates, rules.cut_points)
        validity = assess_validity(study, fitted, scale, rules)
        transfer = assess_transfer(study, rules)
    sign = make_sign(study, fitted, scale, validity, request, rules.cut_points)
    card = make_card(study, fitted, validity, transfer, sign, rules.study)
    names = {name: norm.label for name, norm in norms.features.items()}
    return FittedSign(sign.name, sign_text(sign), card, card_markdown(card, sign, names))
