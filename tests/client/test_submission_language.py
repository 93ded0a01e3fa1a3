"""The language of a recording goes only to a service that announces that it reads it, and is repeated as it was."""

from datetime import UTC, datetime, timedelta

import pytest

from vbdesk.client import FileToSubmit, Target, submit_files
from vbdesk.contract.spoken_language import SpokenLanguage

MOMENT = datetime(2026, 3, 1, 8, 30, 0, 123456, tzinfo=UTC)
SPOKEN = SpokenLanguage("de", second_language=True)


@pytest.fixture
def send(desk, speech_file, tmp_path):
    def run():
        file = FileToSubmit(speech_file, "ward4-0172", MOMENT, Target("sign", "stress"), spoken=SPOKEN)
        with desk.client() as client:
            return list(submit_files(client, [file], tmp_path / "journal.jsonl", clock=desk.clock))

    return run


def kept_by(desk):
    [job_id] = [job.job_id for job in desk.jobs()]
    with desk.service.context.database.reading() as connection:
        return connection.exec_driver_sql("SELECT spoken FROM jobs WHERE job_id = ?", (job_id,)).scalar_one()


@pytest.mark.parametrize("reads", [True, False])
def test_another_service_is_never_sent_unknown_fields(desk, send, reads):
    desk.reads_language = reads
    [done] = send()
    assert done.job_id is not None
    assert desk.asked_language == [reads]
    assert SpokenLanguage.of_json(kept_by(desk)) == (SPOKEN if reads else SpokenLanguage())


@pytest.mark.parametrize("reads_at_first", [True, False])
def test_a_service_that_changed_meanwhile_is_asked_the_same_again(desk, send, reads_at_first):
    """Else the same key would stand for another request, and a person would have to decide."""
    desk.reads_refs, desk.reads_language = True, reads_at_first
    desk.faults = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        send()
    desk.reads_language = True
    desk.service.clock.moment += timedelta(hours=1)
    [done] = send()
    assert (done.unproven, done.refusal) == (False, None)
    assert desk.asked_language == [reads_at_first] * 2
    assert len(desk.jobs()) == 1


def test_a_client_says_it_directly_once_an_answer_announced_it(desk, speech_file):
    from vbdesk.client import AudioSource

    with desk.client() as client:
        assert client.reads_language is None
        client.account.credits()
        assert client.reads_language
        client.analyze(Target("sign", "stress"), AudioSource.from_path(speech_file), spoken=SPOKEN)
    assert SpokenLanguage.of_json(kept_by(desk)) == SPOKEN
