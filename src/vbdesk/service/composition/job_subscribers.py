"""Subscribers to job events."""

from vbdesk.clock import Clock
from vbdesk.longitudinal.parameters import Parameters
from vbdesk.service.credits.service import CreditsService
from vbdesk.service.groups.waiting_jobs import GroupHistories
from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.kernel.address_guard import AddressGuard
from vbdesk.service.kernel.secret_box import SecretBox
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.ports.job_events import JobEvents
from vbdesk.service.webhooks.service import WebhookService


def subscribe(
    job_events: JobEvents,
    *,
    settings: Settings,
    clock: Clock,
    secrets: SecretBox,
    guard: AddressGuard,
    parameters: Parameters,
) -> GroupHistories:
    """Subscribe credits, webhooks and groups to job events, in this order; also groups' histories."""
    histories = GroupHistories(JobLifecycle(clock, job_events), settings.narrative_language, parameters)
    for subscriber in (CreditsService(clock), WebhookService(secrets, clock, guard), histories):
        job_events.subscribe(subscriber)
    return histories
