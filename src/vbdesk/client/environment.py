"""An account from environment variables, so that a program need not store a secret."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from vbdesk.client.credentials import Credentials
from vbdesk.contract.limits import Plan
from vbdesk.language import message

ADDRESS, ACCOUNT, KEY, PLAN = "VBDESK_BASE_URL", "VBDESK_ACCOUNT_ID", "VBDESK_API_KEY", "VBDESK_PLAN"


@dataclass(frozen=True, slots=True)
class EnvironmentAccount:
    """Address of a service, credentials and plan."""

    base_url: str
    credentials: Credentials
    plan: Plan


def account_in(environ: Mapping[str, str] = os.environ) -> EnvironmentAccount:
    """The account in `VBDESK_BASE_URL`, `VBDESK_ACCOUNT_ID`, `VBDESK_API_KEY` and optionally `VBDESK_PLAN`.

    Raises:
    ValueError: one is missing, or the plan is unknown; the message names it without its value.
    """
    missing = [name for name in (ADDRESS, ACCOUNT, KEY) if not environ.get(name)]
    if missing:
        raise ValueError(message("Set also: {names}.", names=", ".join(missing)))
    plan = environ.get(PLAN) or Plan.STANDARD
    if plan not in set(Plan):
        raise ValueError(message("{variable} is one of: {values}.", variable=PLAN, values=", ".join(Plan)))
    return EnvironmentAccount(environ[ADDRESS], Credentials(environ[ACCOUNT].strip(), environ[KEY].strip()), Plan(plan))


def is_named_in(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment names an account, completely or in part."""
    return any(environ.get(name) for name in (ADDRESS, ACCOUNT, KEY))
