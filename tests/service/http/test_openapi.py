"""The API keeps to its own description, whatever is sent: generated requests to every operation.

Left out of what schemathesis checks: that every request which fits the description is accepted, for a description
cannot say what a recording is, which addresses are public, or which groups there are; and, where there is no body, that
every request which does not fit is refused, for unknown query parameters are ignored.
"""

from functools import cache

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from vbdesk.service.composition.app import described_app

EXAMPLES = 6  # of each mode and operation

load_all_checks()


def checks_of(operation):
    left_out = {"positive_data_acceptance"} | (set() if operation.body else {"negative_data_rejection"})
    return [CHECKS.get_one(name) for name in CHECKS.get_all_names() if name not in left_out]


@cache
def operations():
    schema = schemathesis.openapi.from_dict(described_app().openapi())
    return {result.ok().label: result.ok() for result in schema.get_all_operations()}


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("label", operations())
def test_an_operation_answers_as_described(service, label, mode):
    operation = operations()[label]
    account = service.add_account(credits=10**9)
    headers = account.v1_headers if "/api/v1/" in label else account.headers

    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def answers_as_described(case):
        service.clock.advance(61)  # among the checks are requests without credentials, which are soon told to wait
        case.call_and_validate(base_url=service.base_url, headers=headers, checks=checks_of(operation))

    answers_as_described()


def test_every_operation_is_described_once():
    assert len(operations()) >= 30
