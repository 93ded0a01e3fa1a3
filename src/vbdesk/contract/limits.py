"""Limits of the interface."""

from enum import StrEnum

MAX_AUDIO_BYTES = 32 * 1024 * 1024
MIN_DURATION_S = 15.0
MAX_DURATION_S = 1200.0

MAX_GROUP_ID_LENGTH = 512
MAX_JOBS_PER_ADD = 100
MAX_WEBHOOK_URL_LENGTH = 2083
PAGE_SIZE = 50

HISTORY_DAYS = 270
HISTORY_JOBS = 1000

RATE_WINDOW_S = 60.0
POLL_INTERVAL_S = (2.0, 5.0)
FIRST_RETRY_DELAY_S = 1.0
MAX_RETRIES = 5


class Plan(StrEnum):
    """Rate plan of an account."""

    STANDARD = "standard"
    ENTERPRISE = "enterprise"


class Bucket(StrEnum):
    """The three counters of the rate limit."""

    GENERAL = "general"
    ANALYZE = "analyze"
    POLLING = "polling"


REQUESTS_PER_WINDOW: dict[Plan, dict[Bucket, int]] = {
    Plan.STANDARD: {Bucket.GENERAL: 10, Bucket.ANALYZE: 5, Bucket.POLLING: 30},
    Plan.ENTERPRISE: {Bucket.GENERAL: 1000, Bucket.ANALYZE: 500, Bucket.POLLING: 1000},
}
