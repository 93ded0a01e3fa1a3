"""Parameters with fitted priors: how a fit becomes a parameters file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from vbdesk.lab.checked_file import write_checked
from vbdesk.lab.norms.spread import significant
from vbdesk.lab.variability.fit import ClassVariability, Variability
from vbdesk.longitudinal.parameters import Parameters, SignClass, read_parameters

DIGITS = 3
_HEADER = """\
# Numbers of the trait-shift-state method, as vbdesk norms variability writes them. docs/method-longitudinal.md lists
# every number with its reason. Variances are in squared started-logit units, lengths in days.
"""


def with_variability(
    parameters: Parameters, fitted: Variability, version: str, record: Mapping[str, Any]
) -> Parameters:
    """Parameters with the fitted priors; rules, limits and lengths stay as they are.

    State, shift and reading share the variance within a person as fitted; the shift keeps its ratio to it.

    Args:
        parameters: those to start from.
        fitted: the fit.
        version: name of the new parameters.
        record: what was fitted on, for readers.
    """
    classes = {
        name: _with_prior(sign_class, fitted.classes[name], fitted.state_share)
        if name in fitted.classes
        else sign_class
        for name, sign_class in parameters.classes.items()
    }
    intervals = {sign: significant(variance, DIGITS) for sign, variance in fitted.interval_variance.items()}
    update = {
        "version": version,
        "fit": dict(record),
        "classes": classes,
        "signs": parameters.signs.model_copy(update={"interval_variance": intervals}),
    }
    return parameters.model_copy(update=update)


def write_parameters(parameters: Parameters, path: Path) -> None:
    """Write a parameters file atomically, after checking that it can be read.

    Raises:
        DataFileError: the file is not valid, which is a bug.
        OSError: it cannot be written.
    """
    text = tomli_w.dumps(parameters.model_dump(mode="json", exclude_none=True))
    write_checked(path, f"{_HEADER}\n{text}", read_parameters)


def _with_prior(sign_class: SignClass, fitted: ClassVariability, state_share: float | None) -> SignClass:
    within = sign_class.with_within_variance(fitted.prior.median)
    share = within.state_variance / within.within_variance if state_share is None else state_share
    return within.model_copy(
        update={
            "trait_mean": round(fitted.trait_mean, 2),
            "trait_variance": significant(fitted.trait_variance, DIGITS),
            "state_variance": significant(fitted.prior.median * share, DIGITS),
            "shift_variance": significant(within.shift_variance, DIGITS),
            "reading_variance": significant(fitted.prior.median * (1.0 - share), DIGITS),
            "interval_variance": significant(fitted.interval_variance, DIGITS),
        }
    )
