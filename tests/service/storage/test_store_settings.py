"""Settings of a bucket, and the error texts of settings that cannot work."""

import subprocess
import sys

import pytest

from vbdesk.service.kernel.settings import SettingsInvalid, load_settings
from vbdesk.service.kernel.store_location import Location
from vbdesk.service.storage.opening import open_addresses, open_store
from vbdesk.service.storage.store import StoreUnusable


@pytest.mark.parametrize(
    ("address", "location"),
    [
        ("s3://recordings", Location("s3", "recordings", "")),
        ("s3://recordings/", Location("s3", "recordings", "")),
        ("gs://re-cordings.example.org/desk/one/", Location("gcs", "re-cordings.example.org", "desk/one")),
        ("https://storage.example.org", None),
        (None, None),
    ],
)
def test_an_address_names_a_bucket_or_the_embedded_stores_origin(tmp_path, address, location):
    assert load_settings(tmp_path, storage_url=address).storage_location == location


@pytest.mark.parametrize(
    "address",
    [
        "s3://",
        "s3:///desk",
        "s3://No_Bucket",
        "gs://bucket/../x",
        "gs://bucket/a//b",
        "s3://bucket?x=1",
        "s3://k:s@bucket",
    ],
)
def test_an_address_without_a_bucket_is_refused(tmp_path, address):
    with pytest.raises(SettingsInvalid, match="storage_url must be a bucket such as "):
        load_settings(tmp_path, storage_url=address)


@pytest.mark.parametrize(
    "given",
    [
        {"object_store": "s3"},
        {"object_store": "gcs", "storage_url": "s3://bucket"},
        {"object_store": "local", "storage_url": "gs://bucket"},
        {"storage_endpoint": "https://minio.internal"},
        {"storage_region": "eu-central-1", "storage_url": "gs://bucket"},
        {"storage_url": "s3://bucket", "storage_endpoint": "minio.internal:9000"},
        {"storage_url": "s3://bucket", "storage_endpoint": "https://key:hunter2@minio.internal"},
        {"storage_url": "s3://bucket", "storage_public_endpoint": "https://audio.example.org/?x=hunter2"},
    ],
)
def test_contradicting_store_settings_are_refused(tmp_path, given):
    with pytest.raises(SettingsInvalid) as refused:
        load_settings(tmp_path, **given)
    assert "storage" in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_a_matching_kind_may_be_given(tmp_path):
    assert load_settings(tmp_path, storage_url="gs://bucket", object_store="gcs").storage_location is not None


def test_missing_credentials_are_reported_before_the_first_address(tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with pytest.raises(StoreUnusable, match="AWS_ACCESS_KEY_ID"):
        open_store(load_settings(tmp_path, storage_url="s3://bucket", storage_region="eu-central-1"))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(StoreUnusable, match="GOOGLE_APPLICATION_CREDENTIALS"):
        open_store(load_settings(tmp_path, storage_url="gs://bucket"))


def test_an_amazon_bucket_needs_a_region(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(StoreUnusable, match="storage_region") as refused:
        open_addresses(load_settings(tmp_path, storage_url="s3://bucket"), lambda: (b"unused",), "")
    assert "hunter2" not in str(refused.value)


def test_provider_libraries_are_loaded_only_if_used_and_reported_if_missing(tmp_path):
    script = f"""
import sys
from pathlib import Path
import vbdesk.service.composition.serve, vbdesk.cli.admin
from vbdesk.service.kernel.settings import load_settings
from vbdesk.service.storage.opening import open_store
from vbdesk.service.storage.store import StoreUnusable
open_store(load_settings(Path({str(tmp_path)!r})))
assert not {{"boto3", "botocore", "google.cloud", "google.auth"}} & set(sys.modules)
sys.modules["botocore"] = sys.modules["google.auth"] = None
for address in ("s3://bucket", "gs://bucket"):
    try:
        open_store(load_settings(Path({str(tmp_path)!r}), storage_url=address))
    except StoreUnusable as error:
        print(error)
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert [line.split(":")[-1] for line in told.stdout.splitlines()] == [" install vbdesk[cloud]."] * 2
