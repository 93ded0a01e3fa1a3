"""The list of signs that a service offers, with the service away too."""

import pytest

from vbdesk.contract.catalog import STANDALONE_SIGNS, Sign
from vbdesk.outbox.imports.offered_signs import FILE_NAME, OfferedSigns

OWN = Sign(name="slow-speech", label="Slow Speech")
STRESS = Sign(name="stress", label="Stress")


class Service:
    """Answers, or does not."""

    def __init__(self, *signs: Sign, up: bool = True) -> None:
        self._signs, self._up = signs, up

    def list(self) -> list[Sign]:
        if not self._up:
            raise ConnectionError
        return [*self._signs]


def test_before_the_first_answer_the_signs_of_the_interface_are_known(tmp_path):
    assert [sign.name for sign in OfferedSigns(tmp_path).known()] == list(STANDALONE_SIGNS)


def test_the_last_answer_is_known_while_the_service_is_away(tmp_path):
    assert OfferedSigns(tmp_path / "p1").ask(Service(STRESS, OWN)) == (STRESS, OWN)
    later = OfferedSigns(tmp_path / "p1")
    with pytest.raises(ConnectionError):
        later.ask(Service(up=False))
    assert later.known() == (STRESS, OWN)
    assert later.ask(Service(STRESS)) == later.known() == (STRESS,)


def test_each_profile_has_its_own_list(tmp_path):
    OfferedSigns(tmp_path / "p1").ask(Service(STRESS, OWN))
    assert OWN not in OfferedSigns(tmp_path / "p2").known()


@pytest.mark.parametrize("content", [b"", b"{", b'{"signs": 3}', b"\xff"])
def test_a_damaged_list_is_as_none(tmp_path, content):
    (tmp_path / FILE_NAME).write_bytes(content)
    assert len(OfferedSigns(tmp_path).known()) == len(STANDALONE_SIGNS)
