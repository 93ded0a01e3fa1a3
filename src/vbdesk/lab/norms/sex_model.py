"""Logistic regression of the speakers' sex, for the internal position of a voice."""

import numpy as np
from numpy.typing import NDArray

PENALTY = 1.0  # on squared weights of standardised columns; keeps the weights of separable groups finite
STEPS = 50

Floats = NDArray[np.float64]


def fit_logistic(columns: Floats, female: NDArray[np.bool_]) -> Floats:
    """Intercept and weight of each column, shape (n, k), by Newton's method; each sex weighs as half of the group."""
    middle, scale = columns.mean(axis=0), columns.std(axis=0)
    design = np.concatenate([np.ones((len(columns), 1)), (columns - middle) / scale], axis=1)
    weights = np.where(female, 0.5 / female.sum(), 0.5 / (~female).sum()) * len(female)
    ridge = PENALTY * np.diag([0.0] + [1.0] * columns.shape[1])
    found = np.zeros(design.shape[1])
    for _ in range(STEPS):
        share = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
        gradient = design.T @ (weights * (female - share)) - ridge @ found
        curvature = (design * (weights * share * (1 - share))[:, None]).T @ design + ridge
        found = found + np.linalg.solve(curvature, gradient)
    slopes = found[1:] / scale
    return np.concatenate([[found[0] - slopes @ middle], slopes])
