"""Send requests: credentials, errors, retries, budget."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, BinaryIO, Literal, TypeVar

import httpx
from pydantic import ValidationError

from vbdesk.client.audio import AudioSource
from vbdesk.client.credentials import Credentials
from vbdesk.client.error_responses import error_of, is_of_portal, unreadable
from vbdesk.client.errors import Cancelled, ClientError, ConnectionFailed, RateLimited, Unauthorized, UnexpectedAnswer
from vbdesk.client.network_errors import cause_of
from vbdesk.client.refusals import Refusals
from vbdesk.client.request_budget import RequestBudget
from vbdesk.client.retry_policy import RetryRule
from vbdesk.clock import CancelFlag, Clock
from vbdesk.contract.accounts import ACCOUNT_HEADER, API_KEY_HEADER
from vbdesk.contract.idempotency import CLIENT_REF_FIELD
from vbdesk.contract.limits import RATE_WINDOW_S, Bucket
from vbdesk.contract.spoken_language import ANNOUNCEMENT_HEADER, LANGUAGE_FIELD, SECOND_LANGUAGE_FIELD
from vbdesk.contract.timestamps import is_plausible_now

T = TypeVar("T")

Part = tuple[str, tuple[None, str] | tuple[str, BinaryIO, str]]
Method = Literal["GET", "POST", "DELETE"]
TIMEOUT = httpx.Timeout(60.0, connect=10.0)
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)

# httpx logs full addresses at INFO: signed upload addresses and group ids must not be logged
logging.getLogger("httpx").setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class Call:
    """One request.

    Attributes:
    method: HTTP method.
    path: below the base address, with names already quoted.
    bucket: the rate limit that it counts against.
    repeatable: whether doing it twice is harmless.
        params: query.
        json: JSON body.
        form: fields of a multipart form.
        audio: file of the form.
        headers: further headers.
        after_faults: whether to retry when the service reports an internal failure.
        refusals: what a person reads of codes that mean something special for this request.
    """

    method: Method
    path: str
    bucket: Bucket = Bucket.GENERAL
    repeatable: bool = False
    params: Mapping[str, str | int | list[str]] | None = None
    json: Any = None
    form: Mapping[str, str] | None = None
    audio: AudioSource | None = None
    headers: Mapping[str, str] | None = None
    after_faults: bool = True
    refusals: Refusals | None = None


class Transport:
    """Sends calls with the account's credentials; thread-safe.

    The httpx client has no credentials of its own, so that it can also upload to a foreign storage.

    Attributes:
        server_time: the time of day in the service's last answer. None before the first answer, and if the last one had
            no time or an impossible one, such as 1970. Refusals do not count: anybody on the network could forge one.
        reads_language: whether the service reads the fields of the language, by its last answer; None before the first.
        reads_client_ref: whether it reads the reference of a submission, likewise.
    """

    def __init__(
        self,
        base_url: str,
        credentials: Credentials,
        *,
        http: httpx.Client,
        clock: Clock,
        retries: RetryRule,
        budget: RequestBudget | None,
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._credentials = credentials
        self._budget = budget
        self.http = http
        self.clock = clock
        self.retries = retries
        self.server_time: datetime | None = None
        self.reads_language: bool | None = None
        self.reads_client_ref: bool | None = None

    def read(self, call: Call, decode: Callable[[bytes], T], cancel: CancelFlag | None = None) -> T:
        """Send a call and decode its answer.

        Raises:
            ClientError: see `vbdesk.client.errors`.
        """
        response = self.send(call, cancel)
        try:
            return decode(response.content)
        except ValidationError:
            # the validation error quotes the answer, which may contain health data
            raise unreadable(response) from None

    def send(self, call: Call, cancel: CancelFlag | None = None) -> httpx.Response:
        """Send a call until it succeeds, cannot succeed, or `cancel` is set."""
        rule = self.retries if call.after_faults else replace(self.retries, after_faults=False)
        return self.persist(lambda: self._attempt(call, cancel), repeatable=call.repeatable, cancel=cancel, rule=rule)

    def persist(
        self, attempt: Callable[[], T], *, repeatable: bool, cancel: CancelFlag | None, rule: RetryRule | None = None
    ) -> T:
        """Repeat `attempt` as the retry rule allows; this transport's rule if None."""
        rule = rule or self.retries
        retries = 0
        while True:
            _stop_if_asked(cancel)
            try:
                return attempt()
            except ClientError as error:
                delay = rule.delay_s(error, retries, repeatable=repeatable)
                if delay is None:
                    raise
            retries += 1
            self.clock.sleep(delay, cancel)

    def exchange(self, request: Callable[[], httpx.Response], *, with_storage: bool = False) -> httpx.Response:
        """Do one httpx request; converts its failures to our errors."""
        try:
            return request()
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.DecodingError, UnicodeError):
            # httpx errors hold the request with its credentials, so do not chain them
            raise UnexpectedAnswer from None
        except httpx.TransportError as error:
            delivered = not isinstance(error, _NOT_SENT)
            raise ConnectionFailed(cause_of(error), maybe_delivered=delivered, at_storage=with_storage) from None

    def _attempt(self, call: Call, cancel: CancelFlag | None) -> httpx.Response:
        self.server_time = None
        with self._counted(call.bucket, cancel), ExitStack() as opened:
            parts = None if call.form is None else _parts(call.form, call.audio, opened)
            response = self.exchange(
                lambda: self.http.request(
                    call.method,
                    self._base_url + call.path,
                    params=call.params,
                    json=call.json,
                    files=parts,
                    headers=self._headers(call),
                )
            )
        if not response.is_success:
            error = error_of(response, call.refusals)
            self._slow_down(call.bucket, error)
            raise error
        if not is_of_portal(response) and "Age" not in response.headers:  # a cached answer has an old time
            self._read_clock(response)
            self._read_announcement(response)
        return response

    @contextmanager
    def _counted(self, bucket: Bucket, cancel: CancelFlag | None) -> Iterator[None]:
        """Keep a request within the budget: wait for a slot, and count it until it is answered or abandoned."""
        if self._budget is None:
            yield
            return
        now = self.clock.monotonic()
        wait_s = self._budget.reserve(bucket, now)
        if wait_s > 0:
            self.clock.sleep(wait_s, cancel)
            _stop_if_asked(cancel)
        try:
            yield
        finally:
            self._budget.answered(bucket, now + wait_s, self.clock.monotonic())

    def _read_clock(self, response: httpx.Response) -> None:
        with suppress(KeyError, ValueError, OverflowError):
            moment = parsedate_to_datetime(response.headers["Date"])  # naive at a "-0000", which is UTC, too
            moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
            self.server_time = moment if is_plausible_now(moment) else None

    def _read_announcement(self, response: httpx.Response) -> None:
        """Read what the service adds; it says so in every answer to authenticated requests."""
        announced = {name.strip() for name in response.headers.get(ANNOUNCEMENT_HEADER, "").split(",")}
        self.reads_language = announced >= {LANGUAGE_FIELD, SECOND_LANGUAGE_FIELD}
        self.reads_client_ref = CLIENT_REF_FIELD in announced

    def _slow_down(self, bucket: Bucket, error: ClientError) -> None:
        """Close the shared budget when the service asks for a pause."""
        if self._budget is not None and isinstance(error, RateLimited):
            pause_s = RATE_WINDOW_S if error.retry_after_s is None else error.retry_after_s
            self._budget.close(bucket, self.clock.monotonic() + pause_s)

    def _headers(self, call: Call) -> dict[str, str]:
        account_id, api_key = self._credentials.account_id, self._credentials.api_key
        if not all(text.isascii() and text.isprintable() for text in (account_id, api_key)):
            raise Unauthorized  # a header cannot hold them, and an httpx error would show them
        return {ACCOUNT_HEADER: account_id, API_KEY_HEADER: api_key, **(call.headers or {})}


def _parts(form: Mapping[str, str], audio: AudioSource | None, opened: ExitStack) -> list[Part]:
    """The parts of a multipart form; a part without a file name is a field."""
    parts: list[Part] = [(name, (None, value)) for name, value in form.items()]
    if audio is not None:
        parts.append(("audio", (audio.filename, opened.enter_context(audio.open()), audio.content_type)))
    return parts


def _stop_if_asked(cancel: CancelFlag | None) -> None:
    if cancel is not None and cancel.is_set():
        raise Cancelled
