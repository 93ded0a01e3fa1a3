"""A typed client of the service's interface."""

from vbdesk.client.analyze import Target, Webhook
from vbdesk.client.audio import AudioSource
from vbdesk.client.budget import RequestBudget, RequestJournal
from vbdesk.client.client import Client
from vbdesk.client.credentials import Credentials
from vbdesk.client.errors import CaptivePortal, Cause, ClientError, ConnectionFailed, Kind
from vbdesk.client.retry import RetryRule
from vbdesk.client.timekeeper import CancelFlag, SkippingTimekeeper, SystemTimekeeper, Timekeeper
from vbdesk.client.webhook import read_delivery

__all__ = [
    "AudioSource",
    "CancelFlag",
    "CaptivePortal",
    "Cause",
    "Client",
    "ClientError",
    "ConnectionFailed",
    "Credentials",
    "Kind",
    "RequestBudget",
    "RequestJournal",
    "RetryRule",
    "SkippingTimekeeper",
    "SystemTimekeeper",
    "Target",
    "Timekeeper",
    "Webhook",
    "read_delivery",
]
