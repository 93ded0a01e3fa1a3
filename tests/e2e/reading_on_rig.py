"""What `test_reading_pages` runs inside the rig: from the list of subjects to a change, its reason and its recording.

python reading_on_rig.py FOLDER SPEECH.flac SCHEME PERCENT

A service beside the window answers over HTTP with golden reads. Two recordings of the subject are on this computer, as
an earlier session would have left them. SCHEME is light or dark, PERCENT the text size, both as Account keeps them.
"""

import json
import sys
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import ThreadingHTTPServer
from pathlib import Path

from cohort_on_rig import ANSWERS, Service
from desktop import Desktop

from vbdesk.cli.paths import desk_paths
from vbdesk.contract.jobs import Job
from vbdesk.contract.limits import Plan
from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
from vbdesk.desk.ports import DeskPorts
from vbdesk.desk.preferences import PreferenceStore
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata, write_result
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.profiles.profiles import ProfileStore

SUBJECT, OTHERS = "ward4-0007", 5
NEWEST = datetime(2026, 1, 27, 9, 0, tzinfo=UTC)  # of the golden read
HERE = {"job-148": NEWEST, "job-144": NEWEST - timedelta(days=4)}
SIGNS = ("Mood Disruption", "Anxiety", "Stress", "Fatigue", "Dehydration", "Elevated Blood Pressure")
SCORE = "0.64"  # of the result's first signal
TO_DONE = (OutboxState.WAITING, OutboxState.UPLOADING, OutboxState.SUBMITTED, OutboxState.DONE)


class SmallService(Service):
    """Knows one subject with a change and a few who are steady."""

    steady = json.loads((ANSWERS / "trajectory_pulse.json").read_text())
    job = json.loads((ANSWERS / "job_pulse_moderate.json").read_text())

    def do_GET(self) -> None:
        parts = self.path.partition("?")[0].strip("/").split("/")
        if parts[-1] == "groups":
            groups = [_group(SUBJECT, NEWEST)]
            groups += [_group(f"ward5-{number:04d}", NEWEST - timedelta(days=number + 1)) for number in range(OTHERS)]
            self._answer({"groups": groups, "page": 0, "total_pages": 1})
        elif parts[-1] == "longitudinal" and parts[-2] != SUBJECT:
            self._answer(self.steady | {"group_id": parts[-2]})
        elif parts[-2] == "jobs":
            self._answer(self.job | {"job_id": parts[-1]})
        else:
            super().do_GET()


def _group(name: str, latest: datetime) -> dict[str, object]:
    moment = latest.isoformat()
    times = dict.fromkeys(("earliest_recorded_at", "latest_recorded_at", "created_at", "updated_at"), moment)
    return {"group_id": name, "job_count": 9, "done_job_count": 9, **times}


def fill(address: str, speech: Path, scheme: Scheme, percent: int) -> None:
    """What an earlier session has left: the choices for the desk, and two recordings with their sound and result."""
    place = desk_paths(None)
    PreferenceStore(place.config).change(scheme=scheme, text_size=percent)
    ports = DeskPorts(data_dir=place.data, config_dir=place.config)
    made = Setup(ports).make_service(ServiceAddress(address, "acc-1", "a-key"), "keyring")
    profile = replace(made, plan=Plan.ENTERPRISE)
    ProfileStore(ports.config_dir).save(profile)
    library = LockedLibrary(profile, ports.library_dir(profile.profile_id), ports.keyring)
    job = Job.model_validate_json((ANSWERS / "job_pulse_moderate.json").read_bytes())
    assert job.result is not None
    for job_id, moment in HERE.items():
        take_id = library.import_file(speech, TakeMetadata(SUBJECT, moment, RecordingTarget("model", "pulse")))
        with library.store.changing():
            for state in TO_DONE:
                library.store.move(take_id, state)
            library.store.store_result(take_id, write_result(job.result), moment)
            library.store.update(take_id, {"job_id": job_id})
    library.close()


class Visit:
    """Goes from page to page; notes when each was gone to, for stalls, and has cut words looked for there."""

    def __init__(self, desk: Desktop, report: Path) -> None:
        self.desk = desk
        self._report = report
        self._pages: list[tuple[str, float]] = []

    def enter(self, page: str) -> None:
        """From now on stalls are of `page`."""
        self._pages.append((page, time.perf_counter()))

    def look(self, page: str) -> None:
        """Search for words that are cut off."""
        self.desk.look_for_cut_words(self._report, page)

    def close(self) -> None:
        """Close the window and leave the notes."""
        assert self.desk.stop() == 0
        self._report.with_name("pages.json").write_text(json.dumps(self._pages))


def subjects(visit: Visit) -> None:
    """Find a subject by typing."""
    desk = visit.desk
    visit.enter("subjects")
    desk.go("Subjects")
    desk.wait("table cell", f"Subject: {SUBJECT}")
    visit.look("subjects")
    desk.write("text", "Search subjects", "0007")
    desk.wait("label", f"1 of {OTHERS + 1} subjects")
    desk.keys("text", "Search subjects", "Return")


def subject(visit: Visit) -> None:
    """The change in a sentence, the cursor by keys, the table; open a recording from it."""
    desk = visit.desk
    visit.enter("subject")
    desk.wait("label", "Mood Disruption is above this person's own baseline at the last 15 recordings")
    visit.look("subject")
    desk.wait("label", "38 recordings")
    desk.press("push button", "Show what is unusual in the charts")
    desk.wait("label", "Quality good.")  # beside the cursor
    desk.hit("Left", "Down", "Right", "Home", "End")
    desk.press("check box", "Table")
    desk.wait("table cell", "Recorded: 27 Jan")
    visit.look("subject-table")
    visit.enter("result")
    desk.keys("table", "Recordings of this subject", "Home", "Return")


def result(visit: Visit) -> None:
    """Levels as words; scores for researchers alone."""
    desk = visit.desk
    desk.wait("label", "For care staff, not a diagnosis")
    desk.wait("push button", "Play")
    visit.look("result")
    shown = desk.tree()
    assert "overall level" in shown
    assert all(sign in shown for sign in SIGNS)
    assert SCORE not in shown
    desk.press("check box", "Researcher")
    desk.wait("label", SCORE)
    visit.look("result-researcher")
    desk.press("check box", "Clinical")


def compare(visit: Visit) -> None:
    """Beside the recording before."""
    desk = visit.desk
    visit.enter("compare")
    desk.hit("c")
    desk.wait("push button", "Play, left")
    visit.look("compare")
    desk.wait("label", "23 January")
    desk.wait("label", "27 January")
    desk.wait("push button", "Play, right")


def three_clicks(visit: Visit) -> None:
    """From the list to the reason of a change and to its recording."""
    desk = visit.desk
    visit.enter("subjects again")
    desk.go("Subjects")
    visit.enter("three clicks")
    desk.click("table cell", f"Subject: {SUBJECT}")
    desk.click("push button", "Show what is unusual in the charts")
    desk.wait("label", "Quality good.")
    visit.look("reason")
    desk.hit("Return")
    desk.wait("label", "For care staff, not a diagnosis")
    desk.wait("push button", "Play")


def cohort(visit: Visit) -> None:
    """Everybody; whom to look at first, and open."""
    desk = visit.desk
    visit.enter("cohort")
    desk.go("Cohort")
    desk.press("push button", "Read them")
    desk.wait("table cell", "Review. Mood Disruption: Moderate")
    visit.look("cohort")
    visit.enter("subject from cohort")
    desk.keys("table", "To look at first", "Home", "Return")
    desk.wait("push button", "Show what is unusual in the charts")


def account(visit: Visit) -> None:
    """Limits and the choices for the desk."""
    desk = visit.desk
    visit.enter("account")
    desk.go("Account")
    desk.wait("combo box", "Text size")
    visit.look("account")
    desk.wait("label", "Enterprise plan")
    desk.wait("label", "Uploads and analyses")


def main(folder: Path, speech: Path, scheme: Scheme, percent: int) -> None:
    """Go through every page on which voices are read, then through Account."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), SmallService)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    fill(f"http://127.0.0.1:{server.server_port}", speech, scheme, percent)
    desk, report = Desktop(folder), folder / "watch.json"
    desk.start_watched(report, colours=())
    desk.wait("text", "Subject")
    desk.count_stalls(report)
    heard = desk.hear()
    visit = Visit(desk, report)
    for part in (subjects, subject, result, compare, three_clicks, cohort, account):
        part(visit)
    visit.close()
    heard.terminate()
    (folder / "heard.txt").write_text(heard.communicate()[0])
    server.shutdown()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    try:
        main(folder, Path(sys.argv[2]), Scheme(sys.argv[3]), int(sys.argv[4]))
    except BaseException:
        Desktop(folder).look("failed")
        print(Desktop(folder).tree()[:60000], file=sys.stderr)
        raise
