"""A pytest plugin: tasks of the desk wait by chance before their work and before they tell its end.

pytest -p task_delays --delays SEED tests/desk
"""

import random
import time

DELAYS_S = (0, 0, 0.02, 0.1, 0.3)


def pytest_addoption(parser):
    parser.addoption("--delays", type=int, default=1, help="seed of the delays")


def pytest_collection_finish(session):
    """Put the delays in, once the desk can be imported."""
    from vbdesk.desk.flow.tasks import Task

    chance = random.Random(session.config.getoption("--delays"))
    run, report = Task._run, Task.report

    def late_run(task):
        time.sleep(chance.choice(DELAYS_S))
        run(task)

    def late_report(task, signal, *values):
        time.sleep(chance.choice(DELAYS_S))
        report(task, signal, *values)

    Task._run, Task.report = late_run, late_report
