"""The model card of a fitted sign, as JSON and as Markdown: its data, validity and limits.

The card holds counts and figures only, no path and no speaker name.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from vbdesk.lab.fit.bootstrap import IntervalEstimate
from vbdesk.lab.fit.regression import FittedWeights
from vbdesk.lab.fit.rules import StudyRules
from vbdesk.lab.fit.sign_builder import versions
from vbdesk.lab.fit.study import Study
from vbdesk.lab.fit.transfer import CorpusTransfer
from vbdesk.lab.fit.validity import Validity
from vbdesk.signs.plugins.sign_file import SignFile

DIGITS = 6
HALF = 0.5
WIDE_ICC = 0.5

UNTESTED = {
    "one label here": "it has one label only",
    "too few speakers elsewhere": "the other corpora have too few speakers with each label",
}

NO_SIGNAL = (
    "No signal was found: in speakers outside the training data, the labels are separated no better than by chance. "
    "Do not use this sign; its level is held at `low`."
)
SIGNAL = "In speakers outside the training data, the two labels are separated better than by chance."
ONE_STUDY = (
    "The folds keep speakers apart, but all come from one study: another microphone, language, task or group of people "
    "may sound different. Only recordings made elsewhere can show that the sign holds there."
)
SEVERAL_CORPORA = (
    "What holds in these corpora may not hold with yet another microphone, language, task or group of people."
)
LIMITS = (
    "A biomarker signal, not a diagnosis. A share on this card is that of this study, not a person's probability.",
)


def make_card(
    study: Study,
    fitted: FittedWeights,
    validity: Validity,
    transfer: Sequence[CorpusTransfer],
    sign: SignFile,
    rules: StudyRules,
) -> dict[str, Any]:
    """Build the card as plain data, rounded so that it is the same on every computer."""
    shares = [dict(zip(("index", "share"), pair, strict=True)) for pair in validity.calibration.shares]
    card = {
        "sign": sign.name,
        "version": sign.version,
        "has_signal": validity.has_signal,
        "warnings": _few_speakers(study, rules) + warnings_of(validity) + warnings_of_transfer(transfer),
        "study": _counts(study),
        "auc": _estimate(validity.auc),
        "other_corpora": [asdict(part) for part in transfer],
        "levels": {
            level.value: {
                "cut": sign.cuts[level],
                "stated_rate": getattr(sign.expected_rate, level.value),
                "measured_rate_without_label": rates.without_label,
                "measured_rate_with_label": rates.with_label,
            }
            for level, rates in validity.rates.items()
        },
        "max_level": sign.max_level.value,
        "calibration": {**asdict(validity.calibration), "shares": shares},
        "test_retest": _retest(validity),
        "drift": {
            "per_30_days": _estimate(validity.drift.per_30_days),
            "per_10_clarity": _estimate(validity.drift.per_10_clarity),
            "by_sample_rate": [
                {"hz": rate, "recordings": n, "mean_index": mean} for rate, n, mean in validity.drift.by_sample_rate
            ],
        },
        "give_aways": {name: _estimate(area) for name, area in validity.leakage.items()},
        "weights": dict(sorted(sign.weights.items(), key=lambda item: (-abs(item[1]), item[0]))),
        "features_left_out": list(study.left_out),
        "inverse_penalty": fitted.inverse_penalty,
        "study_sha256": study.digest,
        "versions": versions(),
    }
    rounded: dict[str, Any] = _rounded(card)
    return rounded


def _few_speakers(study: Study, rules: StudyRules) -> list[str]:
    fewest = min(study.speakers_with(0), study.speakers_with(1))
    if fewest >= rules.fewest_speakers:
        return []
    return [f"Speakers with the rarer label: only {fewest}; every figure here is a trial, and may be chance."]


def warnings_of(validity: Validity) -> list[str]:
    """Sentences with the evidence against the sign."""
    found = [] if validity.has_signal else [NO_SIGNAL]
    for name, area in validity.leakage.items():
        if area.excludes(HALF):
            found.append(
                f"The {name} alone separates the labels (AUC {area.value:.2f}): the sign may have learnt how people "
                "were recorded, and not how they sound."
            )
    drift = {"date of the recording": validity.drift.per_30_days, "clarity of the sound": validity.drift.per_10_clarity}
    for name, moved in drift.items():
        if moved is not None and moved.excludes(0.0):
            found.append(f"The index moves with the {name} though the label stays.")
    if validity.retest is None:
        found.append("Test-retest is unknown: too few speakers have two recordings with the same label.")
    elif validity.retest.icc.value < WIDE_ICC:
        found.append("Repeats of one speaker agree poorly: a single reading says little.")
    return found


def warnings_of_transfer(transfer: Sequence[CorpusTransfer]) -> list[str]:
    """Sentences on the corpora where a fit on the others failed, or could not be tested."""
    failed = [
        part.corpus for part in transfer if part.auc is not None and (part.auc.low is None or part.auc.low <= HALF)
    ]
    found = []
    if failed:
        names = ", ".join(failed)
        found.append(f"A fit on the other corpora separates the labels no better than by chance in: {names}.")
    untested = [part.corpus for part in transfer if part.untested is not None]
    if untested:
        found.append(f"Whether the sign holds there is unknown, because it could not be tested: {', '.join(untested)}.")
    return found


def card_json(card: Mapping[str, Any]) -> str:
    """Write the card as JSON."""
    return json.dumps(card, indent=1, allow_nan=False) + "\n"


def card_markdown(card: Mapping[str, Any], sign: SignFile, labels: Mapping[str, str]) -> str:
    """Write the card as Markdown; `labels` names the features."""
    study, calibration = card["study"], card["calibration"]
    parts = [
        f"# {sign.label} (`{sign.name}`, version {sign.version})",
        f"{SIGNAL if card['has_signal'] else NO_SIGNAL}",
        f"Meant to measure: {sign.meaning}. Evidence grade {sign.evidence_grade}, highest level `{sign.max_level}`.",
        _listed(["**Mind:** " + sentence for sentence in card["warnings"]]),
        "## Recordings",
        _table(
            ("Label", "Recordings", "Speakers"),
            [(label, study[f"recordings_{label}"], study[f"speakers_{label}"]) for label in ("1", "0")],
        ),
        f"{study['recordings']} recordings of {study['speakers']} speakers, {study['speech_minutes']:.0f} minutes of "
        f"speech. {study['speakers_with_both']} speakers have both labels.",
        _joined_sentence(study),
        "## Separation of the labels",
        f"AUC {_shown(card['auc'])}. Every recording was scored by a model trained without its speaker.",
        _table(
            ("Level", "From index", "Stated rate without the label", "Measured without", "Measured with"),
            [
                (
                    level,
                    f"{row['cut']:.3f}",
                    _percent(row["stated_rate"]),
                    _percent(row["measured_rate_without_label"]),
                    _percent(row["measured_rate_with_label"]),
                )
                for level, row in card["levels"].items()
            ],
        ),
        *_other_corpora(card["other_corpora"]),
        "## Calibration",
        f"By {calibration['method']}, fold by fold: Brier score {calibration['brier']:.4f} (of the prevalence alone: "
        f"{calibration['brier_of_prevalence']:.4f}), expected calibration error {calibration['expected_error']:.4f}.",
        _table(
            ("Recordings", "Predicted share", "Share found", "95 % interval"),
            [
                (
                    part["n"],
                    f"{part['predicted']:.3f}",
                    f"{part['observed']:.3f}",
                    f"{part['low']:.3f} to {part['high']:.3f}",
                )
                for part in calibration["curve"]
            ],
        ),
        "Share of this study's recordings with the label, by index: "
        + ", ".join(f"{row['index']:+.0f}: {row['share']:.2f}" for row in calibration["shares"])
        + ".",
        "## Test-retest",
        _retest_sentence(card["test_retest"]),
        "## Drift",
        "In reference SD of the index, after subtracting the mean of the label.",
        _listed(
            [
                f"Over 30 days: {_shown(card['drift']['per_30_days'])}.",
                f"Over 10 points of audio clarity: {_shown(card['drift']['per_10_clarity'])}.",
                *(
                    f"Recorded at {row['hz']} Hz, {row['recordings']} in number: {row['mean_index']:+.2f}."
                    for row in card["drift"]["by_sample_rate"]
                ),
            ]
        ),
        "## Leakage by the recording",
        "AUC of properties of the recording; 0.5 is the wanted value.",
        _listed([f"{name}: {_shown(area)}" for name, area in card["give_aways"].items()]),
        "## Weights",
        _table(
            ("Weight", "Feature"),
            [(f"{weight:+.4f}", labels.get(name, name)) for name, weight in card["weights"].items()],
        ),
        "Left out, since too few recordings gave them: "
        + (", ".join(labels.get(name, name) for name in card["features_left_out"]) or "none")
        + ".",
        "## What this card does not show",
        _listed([SEVERAL_CORPORA if card["other_corpora"] else ONE_STUDY, *LIMITS]),
        "## Made with",
        _listed([f"{name} {number}" for name, number in card["versions"].items()])
        + f"\n- study {card['study_sha256']}\n- inverse penalty {card['inverse_penalty']:g}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _counts(study: Study) -> dict[str, int | float]:
    with_one, with_zero = study.speakers_with(1), study.speakers_with(0)
    everybody = int(study.speakers.max()) + 1
    return {
        "recordings": int(study.labels.size),
        "speakers": everybody,
        "recordings_1": int(study.labels.sum()),
        "recordings_0": int((1 - study.labels).sum()),
        "speakers_1": with_one,
        "speakers_0": with_zero,
        "speakers_with_both": with_one + with_zero - everybody,
        "speech_minutes": float(study.speech_s.sum() / 60),
        "joined_recordings": 0 if study.clips is None else int(np.count_nonzero(study.clips > 1)),
        "joined_clips": 0 if study.clips is None else int(study.clips[study.clips > 1].sum()),
    }


def _joined_sentence(study: Mapping[str, Any]) -> str:
    if not study["joined_recordings"]:
        return ""
    return (
        f"{study['joined_recordings']} of the recordings are {study['joined_clips']} short clips, joined by speaker, "
        "label and session, without the silence around them. Features of pauses and phrases were left out for all "
        "recordings."
    )


def _other_corpora(transfer: Sequence[Mapping[str, Any]]) -> list[str]:
    """The section on leave-corpus-out validation, empty without corpora."""
    if not transfer:
        return []
    rows = [
        (
            part["corpus"],
            part["recordings"],
            part["speakers"],
            part["with_label"],
            _shown(part["auc"]) if part["untested"] is None else f"not tested: {UNTESTED[part['untested']]}",
            _shown(part["correlation"]) if part["untested"] is None else "",
        )
        for part in transfer
    ]
    return [
        "## Other corpora",
        "Each corpus was scored by a model that was trained on the other corpora, without its speakers. r is the "
        "correlation of the model's output with the label. The written weights are those of all corpora together.",
        _table(("Corpus", "Recordings", "Speakers", "With label 1", "AUC", "r"), rows),
    ]


def _retest(validity: Validity) -> dict[str, Any] | None:
    retest = validity.retest
    if retest is None:
        return None
    return {
        "speakers": retest.speakers,
        "recordings": retest.recordings,
        "icc": _estimate(retest.icc),
        "icc_between_sessions": _estimate(retest.between_sessions),
    }


def _retest_sentence(retest: Mapping[str, Any] | None) -> str:
    if retest is None:
        return "Unknown: too few speakers have two recordings with the same label."
    counted = f"{retest['speakers']} speakers with {retest['recordings']} recordings"
    between = retest["icc_between_sessions"]
    sessions = "" if between is None else f" Between sessions: {_shown(between)}."
    return f"ICC(1) of repeats with the same label: {_shown(retest['icc'])}, {counted}.{sessions}"


def _estimate(estimate: IntervalEstimate | None) -> dict[str, float | None] | None:
    return None if estimate is None else asdict(estimate)


def _shown(estimate: Mapping[str, float | None] | None) -> str:
    if estimate is None:
        return "unknown"
    value, low, high = (estimate[key] for key in ("value", "low", "high"))
    interval = "interval unknown" if low is None or high is None else f"95 % interval {low:.2f} to {high:.2f}"
    return f"{value:.2f} ({interval})"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return value
