"""The key-encryption key: sources, refused values, and no output of the key."""

import io
import sys

import pytest

from vbdesk.service.encryption.keys import (
    EncryptionKey,
    KeyUnusable,
    create_key_file,
    find_keys,
    new_key,
    read_stdin,
    replace_key_file,
)
from vbdesk.service.kernel.settings import SettingsInvalid, load_settings

ONE, TWO = "ab" * 32, "CD" * 32


@pytest.fixture
def apart(tmp_path):
    """A folder outside the data folder."""
    folder = tmp_path / "apart"
    folder.mkdir()
    return folder


def test_keys_are_read_from_a_stream_one_per_line(tmp_path):
    assert read_stdin(io.StringIO(f"{ONE}\n")) == (EncryptionKey(bytes.fromhex(ONE)),)
    keys = read_stdin(io.StringIO(f"  {ONE}\r\n\n{TWO}\n{TWO.lower()}"))
    assert [key.secret.hex() for key in keys] == [ONE, TWO.lower()]


@pytest.mark.parametrize(
    "text", ["", "\n\n", ONE[:-1], f"{ONE}0", f"{ONE}\nnonsense", "x" * 64, "١" * 64, f"{ONE}\n" * 40, "a" * 10**6]
)
def test_an_invalid_key_is_refused_without_showing_it(text):
    with pytest.raises(KeyUnusable, match="64 hexadecimal digits") as refused:
        read_stdin(io.StringIO(text))
    assert ONE[:8] not in str(refused.value)
    assert "nonsense" not in str(refused.value)


def test_a_key_shows_its_name_only():
    key = new_key()
    assert key.secret.hex() not in repr(key) + str(key) + key.name + repr((key,))
    assert len(key.name) == 12
    assert new_key() != key


def test_a_key_file_is_created_once_and_only_its_owner_may_read_it(tmp_path, apart):
    path = apart / "key"
    key = create_key_file(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert find_keys(load_settings(tmp_path / "data", key_file=path)) == (key,)
    with pytest.raises(FileExistsError):
        create_key_file(path)
    replace_key_file(path, (new_key(), key))
    assert find_keys(load_settings(tmp_path / "data", key_file=path))[1] == key
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in apart.iterdir()] == ["key"]


def test_a_key_file_that_others_may_read_is_logged(tmp_path, apart, caplog):
    path = apart / "key"
    create_key_file(path)
    path.chmod(0o644)
    find_keys(load_settings(tmp_path / "data", key_file=path))
    assert "chmod 600" in caplog.text


def test_a_missing_or_empty_key_file_is_reported_in_one_sentence(tmp_path, apart):
    settings = load_settings(tmp_path / "data", key_file=apart / "key")
    with pytest.raises(KeyUnusable, match="cannot be read"):
        find_keys(settings)
    (apart / "key").write_bytes(b"\xff\xfe")
    with pytest.raises(KeyUnusable, match="64 hexadecimal digits"):
        find_keys(settings)


@pytest.mark.parametrize("inside", ["key", "sub/key", "../data/key"])
def test_a_key_file_in_the_data_folder_is_refused(tmp_path, inside):
    (tmp_path / "data").mkdir()
    with pytest.raises(SettingsInvalid, match="key_file must be outside of data_dir"):
        load_settings(tmp_path / "data", key_file=tmp_path / "data" / inside)


def test_a_link_into_the_data_folder_is_refused(tmp_path, apart):
    (tmp_path / "data").mkdir()
    (apart / "link").symlink_to(tmp_path / "data")
    with pytest.raises(SettingsInvalid, match="key_file must be outside of data_dir"):
        load_settings(tmp_path / "data", key_file=apart / "link" / "key")


def test_a_command_prints_the_keys(tmp_path):
    settings = load_settings(tmp_path, key_command=(sys.executable, "-c", f"print('{ONE}')"))
    assert [key.secret.hex() for key in find_keys(settings)] == [ONE]


def test_a_command_in_the_settings_file_is_a_list(tmp_path):
    (tmp_path / "vbdesk.toml").write_text('key_command = ["vault", "read", "key"]\n')
    assert load_settings(tmp_path).key_command == ("vault", "read", "key")
    (tmp_path / "vbdesk.toml").write_text("key_command = []\n")
    with pytest.raises(SettingsInvalid, match="must be a list of the words"):
        load_settings(tmp_path)
    (tmp_path / "vbdesk.toml").write_text('key_command = "vault read key"\n')
    with pytest.raises(SettingsInvalid, match="must be a list of the words"):
        load_settings(tmp_path)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("/nowhere/vault",), "cannot be run"),
        ((sys.executable, "-c", f"import sys; print('{ONE}'); sys.exit('{TWO}')"), "failed with status 1"),
        ((sys.executable, "-c", "pass"), "64 hexadecimal digits"),
    ],
)
def test_a_failed_command_is_reported_without_its_output(tmp_path, command, sentence):
    with pytest.raises(KeyUnusable, match=sentence) as refused:
        find_keys(load_settings(tmp_path, key_command=command))
    assert ONE not in str(refused.value)
    assert TWO not in str(refused.value)


def test_several_key_sources_are_refused(tmp_path, apart):
    create_key_file(apart / "key")
    with pytest.raises(SettingsInvalid, match="not both"):
        load_settings(tmp_path / "data", key_file=apart / "key", key_command=("vault",))
    with pytest.raises(KeyUnusable, match="in one way only"):
        find_keys(load_settings(tmp_path / "data", key_file=apart / "key"), (new_key(),))


def test_without_a_key_source_there_is_no_key(tmp_path):
    assert find_keys(load_settings(tmp_path)) == ()
