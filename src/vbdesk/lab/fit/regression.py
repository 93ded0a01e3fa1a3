"""L2-regularised logistic regression, with cross-validation by speaker."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedGroupKFold

from vbdesk.lab.fit.rules import RegressionRules
from vbdesk.lab.fit.study import Floats, Ints, Study, StudyError
from vbdesk.language import message

MAX_ITERATIONS = 200
TOLERANCE = 1e-8
DECIMALS = 6  # of a weight as written

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FittedWeights:
    """The weights of a sign, and its cross-validated output.

    Attributes:
        weights: one per feature, absolute values summing to 1; fitted on all recordings.
        inverse_penalty: of that fit.
        raw: shape (n,), weighted sum of each recording by the model of the other folds.
        folds: shape (n,), the fold in which each recording was tested.
    """

    weights: Floats
    inverse_penalty: float
    raw: Floats
    folds: Ints


def fit_weights(study: Study, rules: RegressionRules) -> FittedWeights:
    """Fit the weights, and cross-validate; the penalty is chosen within each training part.

    Raises:
        StudyError: the recordings cannot be split into folds, or every weight is 0.
    """
    z = study.filled
    raw = np.zeros(study.labels.size)
    folds = np.full(study.labels.size, -1, dtype=np.int64)
    for number, (train, test) in enumerate(speaker_folds(study, np.arange(study.labels.size), rules.folds)):
        weights, _ = fit_rows(study, z, train, rules)
        raw[test] = z[test] @ weights
        folds[test] = number
    weights, inverse_penalty = fit_rows(study, z, np.arange(study.labels.size), rules)
    return FittedWeights(np.round(weights, DECIMALS), inverse_penalty, raw, folds)


def speaker_folds(study: Study, rows: Rows, count: int) -> Iterator[tuple[Rows, Rows]]:
    """Split `rows` into training and test rows, `count` times: no speaker in both, labels balanced.

    Raises:
        StudyError: a part would lack a label.
    """
    splitter = StratifiedGroupKFold(count)
    labels, speakers = study.labels[rows], study.speakers[rows]
    for train, test in splitter.split(rows, labels, speakers):
        if set(speakers[train]) & set(speakers[test]):
            raise StudyError(
                message("A speaker fell into both parts of a fold. The labels cannot be trusted to this fit.")
            )
        if np.unique(labels[train]).size < 2 or test.size == 0:
            raise StudyError(
                message(
                    "The recordings cannot be split into {count} folds with both labels. Add speakers.", count=count
                )
            )
        yield rows[train], rows[test]


def fit_rows(study: Study, z: Floats, rows: Rows, rules: RegressionRules) -> tuple[Floats, float]:
    """Fit weights on `rows`, absolute values summing to 1; return them with the chosen penalty.

    Raises:
        StudyError: the rows cannot be split into folds, or every weight is 0.
    """
    inner = list(speaker_folds(study, rows, rules.inner_folds))
    inverse_penalty = _choose(study, z, inner, rules.inverse_penalties)
    weights = _regression(study, z, rows, inverse_penalty).coef_[0]
    total = np.abs(weights).sum()
    if not total > 0:
        raise StudyError(message("No feature differs between the labels at all. There is nothing to fit."))
    return np.asarray(weights / total), inverse_penalty


def _choose(study: Study, z: Floats, inner: Sequence[tuple[Rows, Rows]], candidates: Sequence[float]) -> float:
    """The penalty with the smallest mean log loss in the inner folds; the strongest of equals."""
    losses = []
    for inverse_penalty in sorted(candidates):
        fold_losses = []
        for train, test in inner:
            shares = _regression(study, z, train, inverse_penalty).predict_proba(z[test])[:, 1]
            weights = study.weights[test]
            fold_losses.append(log_loss(study.labels[test], shares, sample_weight=weights, labels=[0, 1]))
        losses.append(np.mean(fold_losses))
    return sorted(candidates)[int(np.argmin(losses))]


def _regression(study: Study, z: Floats, rows: Rows, inverse_penalty: float) -> LogisticRegression:
    regression = LogisticRegression(C=inverse_penalty, solver="newton-cholesky", tol=TOLERANCE, max_iter=MAX_ITERATIONS)
    return regression.fit(z[rows], study.labels[rows], sample_weight=study.weights[rows])
