"""An account in the environment: how a program learns in whose name to speak without holding a secret itself."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from vbdesk.client.credentials import Credentials
from vbdesk.contract.limits import Plan

ADDRESS, ACCOUNT, KEY, PLAN = "VBDESK_BASE_URL", "VBDESK_ACCOUNT_ID", "VBDESK_API_KEY", "VBDESK_PLAN"


@dataclass(frozen=True, slots=True)
class EnvironmentAccount:
    """Where a service is, and who speaks to it."""

    base_url: str
    credentials: Credentials
    plan: Plan


def account_in(environ: Mapping[str, str] = os.environ) -> EnvironmentAccount:
    """The account that `VBDESK_BASE_URL`, `VBDESK_ACCOUNT_ID`, `VBDESK_API_KEY` and perhaps `VBDESK_PLAN` name.

    Raises:
        ValueError: one is missing, or there is no such plan; the message says which, and shows none.
    """
    missing = [name for name in (ADDRESS, ACCOUNT, KEY) if not environ.get(name)]
    if missing:
        raise ValueError(f"Set {' and '.join(missing)} too.")
    plan = environ.get(PLAN) or Plan.STANDARD
    if plan not in set(Plan):
        raise ValueError(f"{PLAN} is one of: {', '.join(Plan)}.")
    return EnvironmentAccount(environ[ADDRESS], Credentials(environ[ACCOUNT].strip(), environ[KEY].strip()), Plan(plan))


def is_named_in(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment names an account, or begins to."""
    return any(environ.get(name) for name in (ADDRESS, ACCOUNT, KEY))
