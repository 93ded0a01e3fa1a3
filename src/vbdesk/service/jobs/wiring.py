"""The jobs' services over a context."""

from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.ports.context import Context
from vbdesk.service.webhooks.service import WebhookService


def webhooks_of(context: Context) -> WebhookService:
    """The webhooks' rules."""
    return WebhookService(context.secrets, context.clock, context.guard)


def lifecycle_of(context: Context) -> JobLifecycle:
    """The jobs' state machine."""
    return JobLifecycle(context.clock, webhooks_of(context), context.settings.narrative_language, context.parameters)
