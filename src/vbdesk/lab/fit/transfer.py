"""Leave-corpus-out validation: what a fit on the other corpora says of a corpus that it has not seen."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from vbdesk.lab.fit.bootstrap import IntervalEstimate, auc, bootstrap_interval, correlation
from vbdesk.lab.fit.regression import Rows, fit_rows
from vbdesk.lab.fit.rules import FittingRules
from vbdesk.lab.fit.study import Study, StudyError
from vbdesk.language import message

Untested = Literal["one label here", "too few speakers elsewhere"]


@dataclass(frozen=True, slots=True)
class CorpusTransfer:
    """How a fit on all other corpora separates the labels in one corpus.

    Attributes:
        with_label: recordings with label 1.
        auc: with its interval by drawing speakers; None if the corpus could not be tested.
        correlation: of the model's output with the label, likewise.
        untested: why the corpus could not be tested.
    """

    corpus: str
    recordings: int
    speakers: int
    with_label: int
    auc: IntervalEstimate | None = None
    correlation: IntervalEstimate | None = None
    untested: Untested | None = None


def require_comparable_corpora(study: Study, rules: FittingRules) -> None:
    """Check that leave-corpus-out validation can say something, if the table names corpora.

    Raises:
        StudyError: there is one corpus only, or none can be tested.
    """
    if study.corpora is None:
        return
    names = study.corpus_names
    if len(names) == 1:
        raise StudyError(
            message(
                "All recordings are of one corpus, {names}. Leave out --corpus-column, or add recordings of another"
                " corpus.",
                names=names[0],
            )
        )
    reasons = [_why_untested(study, *_split(study, number), rules) for number in range(len(names))]
    if None in reasons:
        return
    if set(reasons) == {"one label here"}:
        raise StudyError(
            message(
                "Every corpus ({names}) has one label only, so that labels and corpora cannot be separated. Add"
                " recordings with the other label to at least one corpus.",
                names=", ".join(names),
            )
        )
    raise StudyError(
        message(
            "No corpus can be left out: the others would have too few speakers with each label. Add speakers, or"
            " leave out --corpus-column."
        )
    )


def assess_transfer(study: Study, rules: FittingRules) -> tuple[CorpusTransfer, ...]:
    """Test every corpus on a fit on the others; empty if the table names no corpus.

    A speaker of the tested corpus is left out of the training, also with recordings in other corpora.
    """
    return tuple(_tested(study, number, rules) for number in range(len(study.corpus_names)))


def _tested(study: Study, number: int, rules: FittingRules) -> CorpusTransfer:
    own, train = _split(study, number)
    labels = study.labels[own]
    speakers = np.unique(study.speakers[own], return_inverse=True)[1]
    counts = (study.corpus_names[number], own.size, int(speakers.max()) + 1, int(labels.sum()))
    untested = _why_untested(study, own, train, rules)
    if untested is not None:
        return CorpusTransfer(*counts, untested=untested)
    weights, _ = fit_rows(study, study.filled, train, rules.regression)
    raw = study.filled[own] @ weights
    return CorpusTransfer(
        *counts,
        auc=bootstrap_interval(lambda drawn: auc(raw, labels, drawn), speakers, rules.bootstrap),
        correlation=bootstrap_interval(lambda drawn: correlation(raw, labels, drawn), speakers, rules.bootstrap),
    )


def _split(study: Study, number: int) -> tuple[Rows, Rows]:
    """Rows of a corpus, and of everybody who has no recording in it."""
    own = np.flatnonzero(study.corpora == number)
    return own, np.flatnonzero(~np.isin(study.speakers, study.speakers[own]))


def _why_untested(study: Study, own: Rows, train: Rows, rules: FittingRules) -> Untested | None:
    if np.unique(study.labels[own]).size < 2:
        return "one label here"
    elsewhere = [np.unique(study.speakers[train][study.labels[train] == label]).size for label in (0, 1)]
    return "too few speakers elsewhere" if min(elsewhere) < rules.regression.inner_folds else None
