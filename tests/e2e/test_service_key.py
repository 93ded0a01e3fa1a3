"""The key of this computer in the real window: offered, lost, recovered; a sound removed here and at the service."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
SPEECH = HERE.parent / "data" / "speech_male_20s.flac"

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    ("scenario", "options", "pictures"),
    [
        ("with_keyring", (), ("recovery-offer", "removal-question", "keyring-lost")),
        ("without_keyring", ("--keyring", "none", "--mic", "off"), ("passphrase-first", "unlock-dark")),
    ],
)
def test_the_key_is_offered_lost_and_recovered(desk_session, tmp_path, scenario, options, pictures):
    done = desk_session(("--size", "1280x840", *options), HERE / "service_key_on_rig.py", scenario, tmp_path, SPEECH)
    log = tmp_path / "desk.log"
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:] + (log.read_text()[:4000] if log.exists() else "")
    for name in pictures:
        assert (tmp_path / f"{name}.png").stat().st_size > 20_000
