"""Settings of the service, by precedence: flags, environment (`VBDESK_*`), `DIR/vbdesk.toml`."""

import re
import tomllib
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import sqlalchemy as sa
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    IPvAnyNetwork,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from vbdesk.contract.limits import MAX_AUDIO_BYTES, PAGE_SIZE, REQUESTS_PER_WINDOW, Bucket, Plan
from vbdesk.data_files import read_toml
from vbdesk.language import N_, Message, joined, message, message_of
from vbdesk.resource_files import resource
from vbdesk.service.kernel.store_location import Location, is_cloud, read_location
from vbdesk.signs.plugins.source import PluginSource

SETTINGS_FILE = "vbdesk.toml"
MIB = 1024**2

UPLOAD_QUOTA_MB = {Plan.STANDARD: 512, Plan.ENTERPRISE: 16_384}
"""16 and 512 recordings of the maximum size."""

_JSON_EXAMPLE = """VBDESK_TRUSTED_PROXIES='["10.0.0.0/24"]'"""
_DATABASE_URL = N_("database_url must be an address such as postgresql+psycopg://user:password@host/name.")
_COMMAND = N_('key_command must be a list of the words of the command, such as ["vault", "read", "key"].')
_FIELD = re.compile(r'field "(\w+)"')
"""The setting, in an error of pydantic."""
_WEB_ORIGIN = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(:(?P<port>[1-9][0-9]{0,4}))?"
)


class TokenCosts(BaseModel):
    """Prices in tokens: one sign, and the flat surcharge for diarization."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sign: NonNegativeInt
    diarize: NonNegativeInt

    def of(self, sign_count: int, *, diarize: bool) -> int:
        """Return the tokens for one recording analysed for `sign_count` signs."""
        return self.sign * sign_count + (self.diarize if diarize else 0)


def _shipped_costs() -> TokenCosts:
    return TokenCosts.model_validate(read_toml(resource("service", "costs.toml")))


def _shipped_rate_limits() -> dict[Plan, dict[Bucket, PositiveInt]]:
    return {plan: dict(buckets) for plan, buckets in REQUESTS_PER_WINDOW.items()}


def _shipped_quotas() -> dict[Plan, PositiveInt]:
    return dict(UPLOAD_QUOTA_MB)


class Settings(BaseSettings):
    """All settings of an operator.

    Attributes:
        data_dir: Folder of the database, the audio and the service's own keys.
        host: Address both ports listen on.
        port: Port of the API; 0 picks a free one.
        trusted_proxies: Addresses or networks of proxies whose forwarded headers (caller's address, scheme) are
            trusted; those of this computer by default.
        cors_origins: Origins of web pages that may use the API and the embedded object store; none by default.
        storage_port: Port of the embedded object store; 0 picks a free one.
        storage_url: Bucket of the audio, `s3://bucket/prefix` or `gs://bucket/prefix`. Any other URL is the public
            origin of the embedded store behind a proxy; audio is then in files under `data_dir`.
        storage_endpoint: Address of an S3- or GCS-compatible store that is not Amazon's or Google's own.
        storage_public_endpoint: Address at which callers reach that store, if it is another.
        storage_region: Region of the bucket, where the store has regions.
        workers: Number of concurrent analyses; 0 runs the API alone.
        database_url: SQLAlchemy URL; empty means SQLite under `data_dir`.
        object_store: Kind of store, `local`, `s3` or `gcs`; follows from `storage_url`, and must not contradict it.
        secrets_file: File of the service's own keys; `secrets` under `data_dir` by default. Every process of one
            database uses the same keys.
        key_file: Key-encryption keys, one a line, outside `data_dir`; recordings and results are then encrypted.
        key_command: Command that prints these keys instead, such as that of a vault, as a list of its words.
        ops_host: Address of the operations port (metrics and health).
        ops_port: Operations port; 0 picks a free one, None opens none.
        drain_s: Seconds that running jobs may take to finish after the order to stop; None is 5 s for `serve`, the job
            timeout for `worker`.
        queue_limit: Number of waiting jobs above which accounts with more than their share get 429.
        log_format: `text` for people, `json` for machines.
        otlp_endpoint: Address of an OpenTelemetry collector for traces; None turns tracing off.
        job_timeout_s: Running time after which a job is `timed-out`.
        upload_valid_s: Lifetime of an upload address, in seconds.
        page_size: Entries on one page of a list.
        allow_private_addresses: Lets webhooks and audio addresses point into private networks.
        rate_limits: Requests in 60 s, per plan and bucket.
        token_costs: Prices of analyses.
        signs_dir: Folder of the laboratory's own signs; `signs` under `data_dir` by default.
        allow_pickled_signs: Lets such a sign be a pickle, which runs code when it is loaded.
        norms_file: The site's own norms instead of the shipped ones; results name their version.
        longitudinal_method: Version of the longitudinal method; every trajectory names it.
        recompute_after_upgrade: Analyses kept recordings of groups again, while no job waits, where an earlier
            calibration made the reading.
        narrative_language: Language of the summaries, as a BCP 47 tag.
        audio_retention_days: Days that raw audio is kept; results stay.
        disk_reserve_mb: Free disk space, in MiB, below which no new recordings are accepted; 0 turns the reserve off.
        upload_quota_mb: MiB that an account's unused uploads may take, per plan.
    """

    model_config = SettingsConfigDict(env_prefix="VBDESK_", frozen=True, extra="forbid", hide_input_in_errors=True)

    data_dir: Path
    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    trusted_proxies: tuple[IPvAnyNetwork, ...] = (IPv4Network("127.0.0.1"), IPv6Network("::1"))
    cors_origins: tuple[str, ...] = ()
    storage_port: int = Field(default=8081, ge=0, le=65535)
    storage_url: str | None = None
    storage_endpoint: str | None = None
    storage_public_endpoint: str | None = None
    storage_region: str | None = None
    secrets_file: Path | None = None
    key_file: Path | None = None
    key_command: tuple[str, ...] | None = None
    ops_host: str = "127.0.0.1"
    ops_port: int | None = Field(default=None, ge=0, le=65535)
    drain_s: PositiveFloat | None = None
    queue_limit: PositiveInt = 10_000
    log_format: Literal["text", "json"] = "text"
    otlp_endpoint: str | None = None
    workers: NonNegativeInt = 1
    database_url: str = ""
    object_store: Literal["local", "s3", "gcs"] | None = None
    job_timeout_s: PositiveFloat = 120.0
    upload_valid_s: PositiveFloat = 900.0
    page_size: PositiveInt = PAGE_SIZE
    allow_private_addresses: bool = False
    rate_limits: dict[Plan, dict[Bucket, PositiveInt]] = Field(default_factory=_shipped_rate_limits)
    token_costs: TokenCosts = Field(default_factory=_shipped_costs)
    signs_dir: Path | None = None
    allow_pickled_signs: bool = False
    norms_file: Path | None = None
    longitudinal_method: Literal["tss-1", "tss-2"] = "tss-2"
    recompute_after_upgrade: bool = True
    narrative_language: str = "en"
    audio_retention_days: PositiveFloat = 30.0
    disk_reserve_mb: NonNegativeInt = 512
    upload_quota_mb: dict[Plan, PositiveInt] = Field(default_factory=_shipped_quotas)

    @field_validator("database_url", mode="after")
    @classmethod
    def _require_known_database(cls, given: str) -> str:
        if not given:
            return given
        if not given.startswith(("sqlite:///", "postgresql+psycopg://")):
            raise ValueError(_DATABASE_URL)
        try:
            url = sa.make_url(given)
        except (ValueError, sa.exc.ArgumentError):  # its text may contain part of the password
            raise ValueError(
                message(
                    "database_url must be an address such as postgresql+psycopg://user:password@host/name, in which a "
                    "port is a number, and an @ in the password is written as %40."
                )
            ) from None
        if not (url.database or given.startswith("sqlite")):
            raise ValueError(_DATABASE_URL)
        return given

    @field_validator("storage_url", mode="after")
    @classmethod
    def _require_place(cls, given: str | None) -> str | None:
        if given is None:
            return None
        if not is_cloud(given):
            return _server_address(given, "storage_url")
        try:
            read_location(given)
        except ValueError:
            raise ValueError(
                message(
                    "storage_url must be a bucket such as s3://bucket/prefix or gs://bucket/prefix, of letters without "
                    "accents, digits, dots, hyphens and underscores."
                )
            ) from None
        return given.rstrip("/")

    @field_validator("storage_endpoint", "storage_public_endpoint", "otlp_endpoint", mode="after")
    @classmethod
    def _require_endpoint(cls, given: str | None, field: ValidationInfo) -> str | None:
        return None if given is None else _server_address(given, str(field.field_name))

    @field_validator("cors_origins", mode="after")
    @classmethod
    def _require_web_origins(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_web_origin(origin) for origin in given))

    @model_validator(mode="after")
    def _require_one_store(self) -> Self:
        location = self.storage_location
        kind = "local" if location is None else location.kind
        if self.object_store not in {None, kind}:
            raise ValueError(
                message(
                    "object_store must be left out, or be the kind of store that storage_url names: {kind}.",
                    kind=kind,
                )
            )
        if location is None and (self.storage_endpoint or self.storage_public_endpoint or self.storage_region):
            raise ValueError(
                message(
                    "storage_endpoint, storage_public_endpoint and storage_region are allowed only if storage_url "
                    "names a bucket."
                )
            )
        if self.storage_region and kind != "s3":
            raise ValueError(message("storage_region is allowed only if storage_url names an S3 bucket."))
        return self

    @field_validator("key_command", mode="before")
    @classmethod
    def _require_words_of_command(cls, given: Any) -> Any:
        if isinstance(given, str):
            raise ValueError(_COMMAND)
        return given

    @field_validator("key_file", mode="after")
    @classmethod
    def _require_absolute(cls, given: Path | None) -> Path | None:
        return None if given is None else given.expanduser().absolute()

    @model_validator(mode="after")
    def _require_keys_apart(self) -> Self:
        if self.key_file is not None and self.key_command is not None:
            raise ValueError(message("Give key_file or key_command, not both."))
        if self.key_command is not None and not self.key_command:
            raise ValueError(_COMMAND)
        if self.key_file is not None:
            path = self.key_file.resolve()
            if path.is_relative_to(self.data_dir.expanduser().resolve()):
                raise ValueError(message("key_file must be outside of data_dir, because it protects the data there."))
        return self

    @field_validator("narrative_language", mode="after")
    @classmethod
    def _require_words(cls, given: str) -> str:
        from vbdesk.contract.narrative_texts import UnknownLanguage, find_language, languages

        try:
            return find_language(given)
        except UnknownLanguage:
            raise ValueError(_one_of("narrative_language", languages())) from None

    @field_validator("norms_file", mode="after")
    @classmethod
    def _require_norms(cls, given: Path | None) -> Path | None:
        if given is None:
            return None
        from vbdesk.data_files import DataFileError
        from vbdesk.signs.reference_data import load_reference_data

        path = given.expanduser().absolute()
        try:
            load_reference_data(norms_file=path)
        except DataFileError as error:
            raise ValueError(joined(message("norms_file must be a file of norms."), error)) from None
        return path

    @field_validator("rate_limits", mode="after")
    @classmethod
    def _fill_rate_limits(cls, given: dict[Plan, dict[Bucket, int]]) -> dict[Plan, dict[Bucket, int]]:
        """Fill in the default of each limit that the operator does not set."""
        return {plan: {**buckets, **given.get(plan, {})} for plan, buckets in REQUESTS_PER_WINDOW.items()}

    @field_validator("upload_quota_mb", mode="after")
    @classmethod
    def _fill_quotas(cls, given: dict[Plan, int]) -> dict[Plan, int]:
        """Fill in the default of each plan that the operator does not set. Raises ValueError."""
        if any(quota * MIB < MAX_AUDIO_BYTES for quota in given.values()):
            raise ValueError(message("upload_quota_mb must be at least 32, the size of one recording."))
        return {**UPLOAD_QUOTA_MB, **given}

    @field_validator("token_costs", mode="before")
    @classmethod
    def _fill_token_costs(cls, given: Any) -> Any:
        return {**_shipped_costs().model_dump(), **given} if isinstance(given, dict) else given

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources; the settings file is the one in `data_dir`."""
        data_dir = init_settings().get("data_dir")
        if data_dir is None:
            return init_settings, env_settings
        file = TomlConfigSettingsSource(settings_cls, toml_file=Path(data_dir) / SETTINGS_FILE)
        return init_settings, env_settings, file

    @property
    def storage_location(self) -> Location | None:
        """The bucket of the audio; None where audio is in files under `data_dir`."""
        if self.storage_url is None or not is_cloud(self.storage_url):
            return None
        return read_location(self.storage_url)

    @property
    def resolved_database_url(self) -> str:
        """The database's URL, or that of the embedded database."""
        return self.database_url or f"sqlite:///{self.database_file.as_posix()}"

    @property
    def database_file(self) -> Path:
        """Path of the embedded database."""
        return self.data_dir / "vbdesk.db"

    def quota_bytes(self, plan: Plan) -> int:
        """Bytes that an account's unused uploads may take."""
        return self.upload_quota_mb[plan] * MIB

    @property
    def written_folders(self) -> list[Path]:
        """Folders that the service writes to; they may be on different disks."""
        database = sa.make_url(self.database_url).database if self.database_url.startswith("sqlite") else None
        return [self.data_dir] if database is None else [self.data_dir, Path(database).absolute().parent]

    @property
    def plugin_source(self) -> PluginSource:
        """Where the laboratory's own signs are loaded from."""
        folder = self.data_dir / "signs" if self.signs_dir is None else self.signs_dir.expanduser().absolute()
        return PluginSource(folder, self.allow_pickled_signs)


def _server_address(given: str, parameter: str) -> str:
    """Normalize a plain server address; refuse others: a password in it would appear in signed addresses."""
    parts = urlsplit(given)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError(
            message("{parameter} must be an address such as https://storage.example.org.", parameter=parameter)
        )
    return given.rstrip("/")


def _web_origin(given: str) -> str:
    """Normalize an origin as browsers send it; refuse `null`, which any page may send, and `*`."""
    found = _WEB_ORIGIN.fullmatch(given.lower())
    if found is None or int(found["port"] or 0) > 65535:
        raise ValueError(
            message(
                "cors_origins must be a list of addresses such as https://app.example.org, without a path or *, in "
                "which a host with non-ASCII letters is written as xn--."
            )
        )
    own_port = {"http": "80", "https": "443"}[found["scheme"]]
    port = "" if found["port"] in (None, own_port) else f":{found['port']}"
    return f"{found['scheme']}://{found['host']}{port}"


class SettingsInvalid(ValueError):
    """A setting is not valid; one sentence that names it and does not show its value."""


def load_settings(data_dir: Path, **flags: Any) -> Settings:
    """Load the settings for `data_dir`; a flag that is None was not given.

    Raises:
        SettingsInvalid: a value is not valid, or the file is not TOML.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        return Settings(data_dir=data_dir.expanduser().absolute(), **given)
    except ValidationError as error:
        raise SettingsInvalid(joined(*map(_refusal, error.errors()))) from None
    except tomllib.TOMLDecodeError as error:
        file = data_dir / SETTINGS_FILE
        raise SettingsInvalid(message("{file} is not valid TOML: {fault}.", file=file, fault=str(error))) from None
    except SettingsError as error:
        named = _FIELD.search(str(error))
        raise SettingsInvalid(
            message(
                "{parameter} must be JSON in the environment, as in {example}.",
                parameter=str(error) if named is None else named[1],
                example=_JSON_EXAMPLE,
            )
        ) from None


def _refusal(fault: ErrorDetails) -> Message:
    """One sentence with the setting's name and what is allowed."""
    name, limits = ".".join(map(str, fault["loc"])), fault.get("ctx", {})
    match fault["type"]:
        case "int_parsing" | "int_type" | "int_from_float":
            return message("{parameter} must be a whole number.", parameter=name)
        case "float_parsing" | "float_type":
            return message("{parameter} must be a number.", parameter=name)
        case "greater_than_equal":
            return message("{parameter} must be at least {limit}.", parameter=name, limit=f"{limits['ge']:g}")
        case "greater_than":
            return message("{parameter} must be more than {limit}.", parameter=name, limit=f"{limits['gt']:g}")
        case "less_than_equal":
            return message("{parameter} must be at most {limit}.", parameter=name, limit=f"{limits['le']:g}")
        case "literal_error" | "enum":
            return _one_of(name, re.findall(r"'([^']*)'", limits["expected"]))
        case "bool_parsing" | "bool_type":
            return message("{parameter} must be true or false.", parameter=name)
        case "extra_forbidden":
            return message("There is no setting {name}.", name=name)
        case "string_type" | "path_type":
            return message("{parameter} must be a text.", parameter=name)
        case "tuple_type" | "list_type":
            return message("{parameter} must be a list.", parameter=name)
        case "dict_type" | "model_type":
            return message("{parameter} must be a table of settings.", parameter=name)
        case "ip_any_network":
            return message("{parameter} must be an address or a network such as 10.0.0.0/24.", parameter=name)
        case "value_error":  # of a validator above
            return message_of(limits["error"])
    return message("{parameter} is not valid. The reason, in English: {reason}", parameter=name, reason=fault["msg"])


def _one_of(parameter: str, choices: Iterable[str]) -> Message:
    return message("{parameter} must be one of: {choices}.", parameter=parameter, choices=", ".join(choices))
