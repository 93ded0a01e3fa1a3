"""Sources of settings, file modes, and storage of times."""

import os
import stat
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone

import pytest
import sqlalchemy as sa

from vbdesk.contract.limits import Bucket, Plan
from vbdesk.language import language_of, reading_in, translated
from vbdesk.resource_files import resource
from vbdesk.service.kernel.db.engine import create_engine
from vbdesk.service.kernel.db.metadata import UtcDateTime
from vbdesk.service.kernel.db.session import Database, open_database
from vbdesk.service.kernel.settings import SettingsInvalid, load_settings
from vbdesk.service.storage.opening import open_store


def test_flags_precede_environment_precedes_file(tmp_path, monkeypatch):
    (tmp_path / "vbdesk.toml").write_text("page_size = 1\njob_timeout_s = 1.5\nupload_valid_s = 7\n")
    monkeypatch.setenv("VBDESK_PAGE_SIZE", "2")
    monkeypatch.setenv("VBDESK_JOB_TIMEOUT_S", "2.5")
    settings = load_settings(tmp_path, page_size=3, workers=None)
    assert (settings.page_size, settings.job_timeout_s, settings.upload_valid_s) == (3, 2.5, 7)


def test_the_contract_gives_the_defaults(tmp_path):
    settings = load_settings(tmp_path)
    assert settings.rate_limits[Plan.STANDARD] == {Bucket.GENERAL: 10, Bucket.ANALYZE: 5, Bucket.POLLING: 30}
    assert settings.token_costs.of(6, diarize=False) == 60
    assert settings.token_costs.of(1, diarize=True) == 60
    assert settings.resolved_database_url == f"sqlite:///{tmp_path}/vbdesk.db"


def test_missing_settings_keep_their_defaults(tmp_path):
    (tmp_path / "vbdesk.toml").write_text("[token_costs]\nsign = 3\n[rate_limits.standard]\npolling = 4\n")
    settings = load_settings(tmp_path)
    assert (settings.token_costs.sign, settings.token_costs.diarize) == (3, 50)
    assert settings.rate_limits[Plan.STANDARD][Bucket.POLLING] == 4
    assert settings.rate_limits[Plan.STANDARD][Bucket.GENERAL] == 10
    assert settings.rate_limits[Plan.ENTERPRISE][Bucket.GENERAL] == 1000


@pytest.mark.parametrize(
    "text", ["page_size = 0", "page_sise = 3", "rate_limits = 3", "[rate_limits.gold]\ngeneral = 1", "page_size = "]
)
def test_an_invalid_file_is_refused_in_one_line(tmp_path, text: str):
    (tmp_path / "vbdesk.toml").write_text(text)
    with pytest.raises(SettingsInvalid) as refused:
        load_settings(tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("port", "abc", "port must be a whole number."),
        ("port", "70000", "port must be at most 65535."),
        ("workers", "-3", "workers must be at least 0."),
        ("job_timeout_s", "soon", "job_timeout_s must be a number."),
        ("job_timeout_s", "0", "job_timeout_s must be more than 0."),
        ("log_format", "xml", "log_format must be one of: text, json."),
        ("allow_pickled_signs", "perhaps", "allow_pickled_signs must be true or false."),
        (
            "cors_origins",
            "here",
            """cors_origins must be JSON in the environment, as in VBDESK_TRUSTED_PROXIES='["10.0.0.0/24"]'.""",
        ),
    ],
)
def test_a_refusal_says_in_a_sentence_what_is_allowed(tmp_path, monkeypatch, name, value, told):
    monkeypatch.setenv(f"VBDESK_{name.upper()}", value)
    with pytest.raises(SettingsInvalid) as refused:
        load_settings(tmp_path)
    assert str(refused.value) == told


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"storage_url": "hunter2"}, "storage_url muss eine Adresse wie https://storage.example.org sein."),
        ({"otlp_endpoint": "hunter2"}, "otlp_endpoint muss eine Adresse wie https://storage.example.org sein."),
        (
            {"object_store": "s3"},
            "object_store muss fehlen oder die Art des Speichers sein, die storage_url nennt: local.",
        ),
        (
            {"key_command": "vault"},
            'key_command muss eine Liste der Wörter des Befehls sein, wie ["vault", "read", "key"].',
        ),
        ({"trusted_proxies": ["hunter2"]}, "trusted_proxies.0 muss eine Adresse oder ein Netz wie 10.0.0.0/24 sein."),
        ({"rate_limits": 3}, "rate_limits muss eine Tabelle von Einstellungen sein."),
        ({"cors_origins": 3}, "cors_origins muss eine Liste sein."),
        ({"storage_region": 3}, "storage_region muss ein Text sein."),
    ],
)
def test_a_refusal_is_in_the_language_of_its_reader(tmp_path, given, told):
    with pytest.raises(SettingsInvalid) as refused:
        load_settings(tmp_path, **given)
    with reading_in(language_of("de")):
        assert translated(refused.value) == told


def test_a_setting_that_does_not_exist_is_named(tmp_path):
    (tmp_path / "vbdesk.toml").write_text("page_sise = 3\nworkers = -1\n")
    with pytest.raises(SettingsInvalid) as refused:
        load_settings(tmp_path)
    assert set(str(refused.value).split(". ")) == {"workers must be at least 0", "There is no setting page_sise."}


def test_a_refusal_does_not_show_the_value(tmp_path, monkeypatch):
    monkeypatch.setenv("VBDESK_DATABASE_URL", "postgresql://desk:hunter2@db/vbdesk")
    monkeypatch.setenv("VBDESK_PAGE_SIZE", "hunter2")
    with pytest.raises(SettingsInvalid) as refused:
        load_settings(tmp_path)
    assert "page_size" in str(refused.value)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("database_url", "nonsense"),
        ("database_url", "mysql://desk:hunter2@db/vbdesk"),
        ("database_url", "postgresql://desk:hunter2@db/vbdesk"),
        ("database_url", "postgresql+psycopg://desk:x@hunter2:hunter2@db/vbdesk"),
        ("database_url", "postgresql+psycopg://desk:hunter2@db"),
        ("storage_url", "hunter2"),
        ("storage_url", "https://"),
        ("storage_url", "https://store.example.org/?token=hunter2"),
    ],
)
def test_an_invalid_address_is_refused_with_a_valid_example(tmp_path, name, value):
    with pytest.raises(SettingsInvalid, match=rf"{name} must be an? .*://") as refused:
        load_settings(tmp_path, **{name: value})
    assert "hunter2" not in str(refused.value)
    assert "Value error" not in str(refused.value)


def test_a_storage_address_may_end_with_a_slash(tmp_path):
    assert load_settings(tmp_path, storage_url="https://store.example.org/").storage_url == "https://store.example.org"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_stored_files_are_readable_by_their_owner_only(tmp_path):
    tmp_path.chmod(0o755)
    settings = load_settings(tmp_path)
    open_store(settings)
    with closing(open_database(settings)) as database, database.writing():
        files = [tmp_path / name for name in ("vbdesk.db", "vbdesk.db-wal", "objects")]
        assert [stat.S_IMODE(file.stat().st_mode) & 0o077 for file in files] == [0, 0, 0]


@pytest.fixture
def moments(tmp_path):
    table = sa.Table("moments", sa.MetaData(), sa.Column("moment", UtcDateTime))
    database = Database(create_engine(f"sqlite:///{tmp_path}/time.db"))
    table.metadata.create_all(database.engine)
    yield database, table
    database.close()


def test_times_come_back_aware_and_in_utc(moments):
    database, table = moments
    zurich = timezone(timedelta(hours=1))
    with database.writing() as connection:
        connection.execute(sa.insert(table).values(moment=datetime(2026, 3, 1, 10, tzinfo=zurich)))
    with database.reading() as connection:
        assert connection.execute(sa.select(table.c.moment)).scalar_one() == datetime(2026, 3, 1, 9, tzinfo=UTC)


def test_a_naive_time_is_refused(moments):
    database, table = moments
    with pytest.raises(sa.exc.StatementError, match="naive"), database.writing() as connection:
        connection.execute(sa.insert(table).values(moment=datetime(2026, 3, 1)))


def test_sqlite_is_set_up_to_survive_a_power_cut(moments):
    database, _ = moments
    with database.reading() as connection:
        pragmas = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        values = [connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in pragmas]
    assert values == ["wal", 2, 1, 30_000]


def test_a_reader_does_not_wait_for_a_writer(moments):
    database, table = moments
    with database.writing() as writer:
        writer.execute(sa.insert(table).values(moment=None))
        with database.reading() as reader:
            assert reader.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() == 0


def test_a_block_that_raises_changes_nothing(moments):
    database, table = moments
    with pytest.raises(RuntimeError), database.writing() as connection:
        connection.execute(sa.insert(table).values(moment=None))
        raise RuntimeError
    with database.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() == 0


def test_the_sites_own_norms_are_checked_at_the_start(tmp_path):
    shipped = resource("norms", "norms.toml").read_text(encoding="utf-8")
    own = tmp_path / "site.toml"
    own.write_text(shipped.replace('version = "2.0.0"', 'version = "2.0+site"', 1), encoding="utf-8")
    assert load_settings(tmp_path).norms_file is None
    assert load_settings(tmp_path, norms_file=str(own)).norms_file == own
    (tmp_path / "broken.toml").write_text("[meta]", encoding="utf-8")
    with pytest.raises(SettingsInvalid, match=r"norms_file must be a file of norms\. .*broken\.toml: meta\.version"):
        load_settings(tmp_path, norms_file=str(tmp_path / "broken.toml"))
    with pytest.raises(SettingsInvalid, match=r"gone\.toml cannot be read"):
        load_settings(tmp_path, norms_file=str(tmp_path / "gone.toml"))


def test_a_language_is_found_by_its_tag_and_one_without_texts_is_refused(tmp_path):
    assert load_settings(tmp_path).narrative_language == "en"
    assert load_settings(tmp_path, narrative_language="de-AT").narrative_language == "de"
    with pytest.raises(SettingsInvalid, match=r"narrative_language must be one of: en, ar, de, es, fr, pt-BR\."):
        load_settings(tmp_path, narrative_language="tlh")
