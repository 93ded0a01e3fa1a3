"""The client: the whole interface behind one object."""

import os
from collections.abc import Mapping
from datetime import datetime
from types import TracebackType
from typing import Self

import httpx

from vbdesk.client.analyze import AnalysisTarget, Webhook, submit
from vbdesk.client.audio import AudioSource
from vbdesk.client.credentials import Credentials
from vbdesk.client.environment import account_in
from vbdesk.client.groups import Groups
from vbdesk.client.jobs import Jobs
from vbdesk.client.refusals import OF_MODEL, OF_SIGN, OF_WEBHOOK
from vbdesk.client.request_budget import RequestBudget
from vbdesk.client.retry_policy import RetryRule
from vbdesk.client.transport import TIMEOUT, Call, Transport
from vbdesk.client.uploads import Uploads
from vbdesk.client.url_paths import path
from vbdesk.clock import CancelFlag, Clock, SystemClock
from vbdesk.contract.accounts import Credits, WebhookConfigured
from vbdesk.contract.catalog import Model, ModelList, Sign, SignDetail, SignList
from vbdesk.contract.jobs import Job
from vbdesk.contract.limits import Plan
from vbdesk.contract.spoken_language import UNKNOWN_LANGUAGE, SpokenLanguage
from vbdesk.language import message

# an environment's proxy cannot reach a service on this computer
_DIRECT: Mapping[str, None] = {"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None}


class Client:
    """A synchronous client of one account; thread-safe.

    Attributes:
        models: named bundles of signs.
        signs: single signs.
        account: credits and webhook.
        jobs: reading and awaiting jobs.
        groups: subjects and cohorts.
        uploads: audio to the storage.
    """

    def __init__(
        self,
        base_url: str,
        credentials: Credentials,
        *,
        plan: Plan | None = None,
        budget: RequestBudget | None = None,
        retries: RetryRule | None = None,
        clock: Clock | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Prepare a client; nothing is sent yet.

            Args:
                base_url: address of the service, http or https.
                credentials: account and key.
        plan: keep requests within this plan's rate limits; without it only refusals slow the client down.
        budget: keep within this budget, shared with others that use the account; replaces `plan`.
        retries: when to retry; by default as the interface recommends.
        clock: the system's if None.
        transport: replaces the network in tests.

            Raises:
                ValueError: the address is not one.
        """
        self._base_url = _checked(base_url)
        self._account_id = credentials.account_id
        self._http = httpx.Client(
            timeout=TIMEOUT, transport=transport, mounts=None if transport else dict(_DIRECT), follow_redirects=False
        )
        self._transport = Transport(
            self._base_url,
            credentials,
            http=self._http,
            clock=clock or SystemClock(),
            retries=retries or RetryRule(),
            budget=RequestBudget.of_plan(plan) if budget is None and plan is not None else budget,
        )
        self.models = Models(self._transport)
        self.signs = Signs(self._transport)
        self.account = AccountResource(self._transport)
        self.jobs = Jobs(self._transport)
        self.groups = Groups(self._transport)
        self.uploads = Uploads(self._transport)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """A client of the account in the environment, within its plan; see `vbdesk.client.environment`.

            Raises:
        ValueError: a variable is missing or invalid.
        """
        account = account_in(environ)
        return cls(account.base_url, account.credentials, plan=account.plan)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._base_url!r})"

    @property
    def account_id(self) -> str:
        """Public id of the account."""
        return self._account_id

    @property
    def server_time(self) -> datetime | None:
        """The time of day in the service's last answer, to compare with this computer's; None before the first."""
        return self._transport.server_time

    @property
    def reads_client_ref(self) -> bool | None:
        """Whether the service reads the reference of a submission, by its last answer; None before the first."""
        return self._transport.reads_client_ref

    @property
    def reads_language(self) -> bool | None:
        """Whether the service reads the fields of the language, by its last answer; None before the first."""
        return self._transport.reads_language

    def analyze(
        self,
        target: AnalysisTarget,
        recording: AudioSource | str,
        *,
        group_id: str | None = None,
        longitudinal: bool = False,
        recorded_at: datetime | None = None,
        diarize: bool = False,
        webhook: Webhook | None = None,
        client_ref: str | None = None,
        after_faults: bool = True,
        cancel: CancelFlag | None = None,
        spoken: SpokenLanguage = UNKNOWN_LANGUAGE,
    ) -> Job:
        """Submit a recording for analysis; see `vbdesk.client.analyze.submit`."""
        return submit(
            self._transport,
            target,
            recording,
            group_id=group_id,
            longitudinal=longitudinal,
            recorded_at=recorded_at,
            diarize=diarize,
            webhook=webhook,
            client_ref=client_ref,
            after_faults=after_faults,
            cancel=cancel,
            spoken=spoken,
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


def _checked(base_url: str) -> str:
    try:
        url = httpx.URL(base_url.strip())
        url.host.encode("idna")  # else an invalid name fails later, with another error
    except (httpx.InvalidURL, UnicodeError):
        url = httpx.URL()
    if url.scheme not in {"http", "https"} or not url.host or url.userinfo:
        raise ValueError(
            message("Give the service's address with http:// or https:// in front, for example https://host:8000.")
        )
    return str(url).rstrip("/")


class AccountResource:
    """The account of the credentials."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def credits(self) -> int:
        """Remaining tokens."""
        call = Call("GET", path("account", "credits"), repeatable=True)
        return self._transport.read(call, Credits.model_validate_json).credits

    def set_webhook(self, url: str, secret_key: str) -> WebhookConfigured:
        """Report every finished job to `url`, signed with `secret_key`."""
        body = {"url": url, "secret_key": secret_key}
        call = Call("POST", path("account", "webhook"), repeatable=True, json=body, refusals=OF_WEBHOOK)
        return self._transport.read(call, WebhookConfigured.model_validate_json)


class Models:
    """Named bundles of signs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> list[Model]:
        """All models."""
        call = Call("GET", path("models"), repeatable=True)
        return self._transport.read(call, ModelList.model_validate_json).models

    def get(self, name: str) -> Model:
        """One model."""
        call = Call("GET", path("models", name), repeatable=True, refusals=OF_MODEL)
        return self._transport.read(call, Model.model_validate_json)


class Signs:
    """Signs that can be requested individually."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> list[Sign]:
        """All standalone signs."""
        return self._transport.read(Call("GET", path("signs"), repeatable=True), SignList.model_validate_json).signs

    def get(self, name: str) -> SignDetail:
        """One sign with its condition."""
        call = Call("GET", path("signs", name), repeatable=True, refusals=OF_SIGN)
        return self._transport.read(call, SignDetail.model_validate_json)
