"""Lookup of use cases and conditions by name."""

from vbdesk.contract.catalog import CONDITION_SIGNS, USE_CASE_MODELS, V1_USE_CASES
from vbdesk.contract.errors import ErrorDetail
from vbdesk.contract.jobs import JobType
from vbdesk.service.http.multipart import Form
from vbdesk.service.jobs.target import JobTarget
from vbdesk.service.kernel.errors import InvalidRequest, InvalidUseCase, NotFound, ValidationFailed

_KNOWN_USE_CASES = f"Known are {', '.join(USE_CASE_MODELS)}."
_KNOWN_CONDITIONS = f"Known are {', '.join(CONDITION_SIGNS)}."


def use_case_in_path(name: str) -> JobTarget:
    """Return the use case named in a path. Raises NotFound."""
    if name not in USE_CASE_MODELS:
        raise NotFound(f"There is no use case with this name. {_KNOWN_USE_CASES}")
    return JobTarget.of(JobType.USE_CASE, name)


def condition_in_path(name: str) -> JobTarget:
    """Return the condition named in a path. Raises NotFound."""
    if name not in CONDITION_SIGNS:
        raise NotFound(f"There is no condition with this name. {_KNOWN_CONDITIONS}")
    return JobTarget.of(JobType.CONDITION, name)


def v1_condition_in_path(name: str) -> JobTarget:
    """Return the use case for a v1 condition. Raises NotFound."""
    if name not in V1_USE_CASES:
        raise NotFound(f"There is no condition with this name. Known are {', '.join(V1_USE_CASES)}.")
    return JobTarget.of(JobType.USE_CASE, V1_USE_CASES[name])


def use_case_in_form(form: Form) -> JobTarget:
    """Return the use case named in a form.

    Raises:
        ValidationFailed: the field is missing or empty.
        InvalidUseCase: there is no such use case.
    """
    name = _required(form, "use_case")
    if name not in USE_CASE_MODELS:
        raise InvalidUseCase(f"The use case is not known. {_KNOWN_USE_CASES}")
    return JobTarget.of(JobType.USE_CASE, name)


def condition_in_form(form: Form) -> JobTarget:
    """Return the condition named in a form.

    Raises:
        ValidationFailed: the field is missing or empty.
        InvalidRequest: there is no such condition.
    """
    name = _required(form, "condition")
    if name not in CONDITION_SIGNS:
        raise InvalidRequest(f"The condition is not known. {_KNOWN_CONDITIONS}")
    return JobTarget.of(JobType.CONDITION, name)


def _required(form: Form, field: str) -> str:
    name = form.fields.get(field, "").strip()
    if not name:
        raise ValidationFailed([ErrorDetail(loc=["body", field], msg="Send this field.", type="missing")])
    return name
