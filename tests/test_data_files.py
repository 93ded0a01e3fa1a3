"""TOML data files are read and validated, and errors name the file and the field."""

from pathlib import Path

import pytest

from vbdesk.data_files import DataFileError, DataModel, StrictDataModel, read_data, read_toml


class Limits(StrictDataModel):
    low: float
    high: float


class Notes(DataModel):
    low: float


def write(folder: Path, content: bytes) -> Path:
    path = folder / "limits.toml"
    path.write_bytes(content)
    return path


def test_a_valid_file_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, b"low = 1\nhigh = 2.5\n")
    with_mark = tmp_path / "with_mark.toml"
    with_mark.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_toml(with_mark) == read_toml(path)
    assert read_toml(path) == {"low": 1, "high": 2.5}
    assert read_data(path, Limits) == Limits(low=1, high=2.5)
    assert read_data(path, Notes) == Notes(low=1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"low = \xff", "limits.toml is not text in UTF-8."),
        (b"low = 1\nhigh = x", "limits.toml is not valid TOML: line 2, column 8."),
        (b"low = 1\nhigh = ", "limits.toml is not valid TOML: line 2, column 8."),
        (b"low = " + b"[" * 100_000, "limits.toml is nested too deeply."),
        (b"low = 1", "limits.toml: high: Field required."),
        (b"low = 1\nhigh = 2\nhihg = 3", "limits.toml: hihg: Extra inputs are not permitted."),
        (b"low = 'x'\nhigh = 'y'", " (and 1 more)."),
    ],
)
def test_an_error_names_the_file_and_the_field(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(DataFileError) as failure:
        read_data(write(tmp_path, content), Limits)
    assert message in str(failure.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r"^absent\.toml cannot be read: "):
        read_toml(tmp_path / "absent.toml")
