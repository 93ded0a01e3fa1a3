"""JSON-lines files survive a crash, and damaged lines are reported or skipped."""

from pathlib import Path

import pytest

from vbdesk.json_lines import JsonLinesDamaged, JsonLinesFile, parse_json_lines, read_valid_json_lines

DEEP = b"[" * 100_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lines.jsonl"


def test_appended_objects_are_read_in_order(path: Path) -> None:
    file = JsonLinesFile(path)
    assert list(file.read()) == []
    for number in range(3):
        file.append({"number": number, "text": "ä\n"})
    assert [line["number"] for line in file.read()] == [0, 1, 2]
    assert list(read_valid_json_lines(path)) == list(file.read())


def test_an_incomplete_last_line_is_removed(path: Path) -> None:
    file = JsonLinesFile(path)
    file.append({"number": 0})
    with path.open("ab") as raw:
        raw.write(b'{"number": 1')
    assert list(file.read()) == [{"number": 0}]
    file.append({"number": 2})
    assert list(file.read()) == [{"number": 0}, {"number": 2}]


@pytest.mark.parametrize("line", [b"{", b"[1]", b"\xff", DEEP])
def test_a_damaged_line_is_reported_and_the_file_left_unchanged(path: Path, line: bytes) -> None:
    content = b'{"number": 0}\n' + line + b"\n"
    path.write_bytes(content)
    with pytest.raises(JsonLinesDamaged, match="Line 2 of "):
        list(JsonLinesFile(path).read())
    assert path.read_bytes() == content


def test_damaged_lines_are_skipped(path: Path) -> None:
    assert list(read_valid_json_lines(path)) == []
    path.write_bytes(b"1\n{\n\xff\n" + DEEP + b'\n[2]\n"3')
    assert list(read_valid_json_lines(path)) == [1, [2]]


@pytest.mark.parametrize("line", [b"{", DEEP])
def test_parsing_stops_at_a_line_that_is_not_json(line: bytes) -> None:
    with pytest.raises(ValueError):
        list(parse_json_lines([b"1", line]))
