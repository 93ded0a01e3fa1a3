"""A typed client of the service's interface; usable alone, see docs/client.md."""

from vbdesk.client.analyze import Target, Webhook
from vbdesk.client.audio import AudioSource
from vbdesk.client.client import Client
from vbdesk.client.clock import CancelFlag, SkippingTimekeeper, SystemTimekeeper, Timekeeper
from vbdesk.client.credentials import Credentials
from vbdesk.client.errors import CaptivePortal, Cause, ClientError, ConnectionFailed, Kind
from vbdesk.client.folder_lock import InUse
from vbdesk.client.request_budget import RequestBudget, RequestJournal
from vbdesk.client.result_folder import WrongFolder
from vbdesk.client.result_sync import SyncReport, sync
from vbdesk.client.retry_policy import RetryRule
from vbdesk.client.submission import FileToSubmit, Submitted, recorded_at_in_name, submit_files
from vbdesk.client.webhook import read_delivery
from vbdesk.json_lines import JsonLinesDamaged

__all__ = [
    "AudioSource",
    "CancelFlag",
    "CaptivePortal",
    "Cause",
    "Client",
    "ClientError",
    "ConnectionFailed",
    "Credentials",
    "FileToSubmit",
    "InUse",
    "JsonLinesDamaged",
    "Kind",
    "RequestBudget",
    "RequestJournal",
    "RetryRule",
    "SkippingTimekeeper",
    "Submitted",
    "SyncReport",
    "SystemTimekeeper",
    "Target",
    "Timekeeper",
    "Webhook",
    "WrongFolder",
    "read_delivery",
    "recorded_at_in_name",
    "submit_files",
    "sync",
]
