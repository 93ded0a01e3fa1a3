"""What `test_cohort_page` runs inside the rig: Subjects and Cohort of a hundred and twenty subjects, by their names.

python cohort_on_rig.py FOLDER [TEXT]

A service of its own answers beside the window, over HTTP: the list of groups, their histories and one aggregate. The
library holds what an earlier session has read of most of them. TEXT is the system's text size, 1 for 100 %.
"""

import json
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from desktop import Desktop

from vbdesk.cli.paths import desk_paths
from vbdesk.clock import utc_now
from vbdesk.contract.jobs import Job
from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.contract.limits import Plan
from vbdesk.desk.cohort.cohort_cache import STORED_COHORT
from vbdesk.desk.cohort.subject_summary import SignState, SubjectSummary, to_json
from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
from vbdesk.desk.ports import DeskPorts
from vbdesk.desk.subject_data.subject_list import STORED_AS, AtService, StoredList, merged
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata, write_result
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.library.response_cache import ResponseCache
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.subject_notes import SubjectNote, SubjectNotes
from vbdesk.outbox.profiles.profiles import ProfileStore

SUBJECTS, READ_BEFORE, A_PAGE, HERE = 120, 100, 40, 12
ANSWERS = Path(__file__).parents[1] / "desk" / "data"
SIGNS = {
    "mood-disruption": "Mood Disruption",
    "anxiety": "Anxiety",
    "stress": "Stress",
    "fatigue": "Fatigue",
    "dehydration": "Dehydration",
    "elevated-blood-pressure": "Elevated Blood Pressure",
}
NOW = utc_now()


def name_of(number: int) -> str:
    """A group id."""
    return f"ward{number % 9 + 1}-{number:04d}"


def latest_of(number: int) -> datetime:
    """When the subject was recorded last."""
    return NOW - timedelta(minutes=17 * number)


class Service(BaseHTTPRequestHandler):
    """Answers what the two pages ask for."""

    trajectory = json.loads((ANSWERS / "trajectory_changes.json").read_text())
    aggregate = json.loads((ANSWERS / "aggregate_study.json").read_text())

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        parts = path.strip("/").split("/")
        if parts[-1] == "credits":
            self._answer({"credits": 412})
        elif parts[-1] == "longitudinal":
            self._answer(self.trajectory | {"group_id": parts[-2]})
        elif parts[-1] == "aggregate":
            self._answer(self.aggregate | {"group_id": parts[-2]})
        elif parts[-1] == "groups":
            page = int(query.partition("page=")[2] or 0)
            numbers = range(A_PAGE * page, min(A_PAGE * (page + 1), SUBJECTS))
            body = {"groups": [group(number) for number in numbers], "page": page, "total_pages": SUBJECTS // A_PAGE}
            self._answer(body)
        else:
            self._answer({"code": "NOT_FOUND", "message": "There is no such thing.", "status": 404}, 404)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""

    def _answer(self, body: object, status: int = 200) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def served() -> Iterator[str]:
    """The service, while the block runs; its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def group(number: int) -> dict[str, object]:
    """A group as the service lists it."""
    moment = latest_of(number).isoformat()
    times = dict.fromkeys(("earliest_recorded_at", "latest_recorded_at", "created_at", "updated_at"), moment)
    return {"group_id": name_of(number), "job_count": 9, "done_job_count": 9, **times}


def summary(number: int, dice: random.Random) -> SubjectSummary:
    """A subject as it was read before: most of them well."""
    ill, silent = dice.random() < 0.06, dice.random() < 0.02
    signs = {}
    for name in SIGNS:
        level = dice.choices(LEVEL_ORDER, (12, 4, 3, 2, 0.4) if ill else (20, 2, 0.2, 0.02, 0))[0]
        level = Level.INCONCLUSIVE if silent else level
        z = None if dice.random() < 0.1 else dice.gauss(0.0, 0.7)
        unusual = "none" if z is None or abs(z) < 2.1 else dice.choice(("acute", "sustained"))
        held = dice.randint(1, 4) if level.flagged else 0
        score = None if silent else round(0.1 + 0.7 * dice.random(), 4)
        signs[name] = SignState(
            level, score, Level.NONE, held, False, 0.3, 0.05, z, unusual, "stable", 1 if z is None else 9
        )
    issues = ("insufficient_speech",) if silent else ()
    moment = latest_of(number)
    return SubjectSummary(
        name_of(number), moment, f"job-{number}", None, 9, issues, signs, NOW - timedelta(hours=3), True
    )


def fill(
    address: str,
    ports: DeskPorts | None = None,
    *,
    clinic: str = "St. Anne clinic",
    note: str = "Hoarse since May.",
    tags: tuple[str, str] = ("ENT", "follow-up"),
) -> None:
    """What an earlier session has left: lists as they were read, some recordings, a few notes and tags.

    `clinic` names the profile; every third subject with a recording has the note and one or both tags.
    """
    if ports is None:
        place = desk_paths(None)
        ports = DeskPorts(data_dir=place.data, config_dir=place.config)
    made = Setup(ports).make_service(ServiceAddress(address, "acc-1", "a-key"), "keyring")
    profile = replace(made, name=clinic, plan=Plan.ENTERPRISE)
    ProfileStore(ports.config_dir).save(profile)
    library = LockedLibrary(profile, ports.library_dir(profile.profile_id), ports.keyring)
    notes, dice = SubjectNotes(library.store), random.Random(7)
    job = Job.model_validate_json((ANSWERS / "job_pulse_moderate.json").read_bytes())
    assert job.result is not None
    result = write_result(job.result)
    with library.store.changing():
        for number in range(HERE):
            moment = latest_of(number) + timedelta(minutes=1)
            take_id, facts = (
                f"take-{number:04d}",
                TakeMetadata(name_of(number), moment, RecordingTarget("model", "pulse")),
            )
            library.store.insert(take_id, facts, 21.0, imported=False)
            for state in ("waiting", "uploading", "submitted", "done"):
                library.store.move(take_id, OutboxState(state))
            library.store.store_result(take_id, result, moment)
            library.store.update(take_id, {"audio_gone_at": NOW.isoformat()})
    for number in range(0, HERE, 3):
        notes.store(name_of(number), SubjectNote(note, tags[: 1 + number % 2]))
    groups = {name_of(number): AtService(latest_of(number), 9, 9) for number in range(SUBJECTS)}
    levels: dict[str, Level] = {}
    rows = merged(library.list(), groups, notes.all(), notes.unread(), levels, {}, NOW)
    reads = ResponseCache(library.store)
    reads.store(STORED_AS, StoredList(rows, groups, levels, NOW - timedelta(hours=3)).to_json(), 0)
    reads.store(STORED_COHORT, to_json((summary(number, dice) for number in range(HERE, READ_BEFORE)), SIGNS), 0)
    library.close()


def subjects(desk: Desktop) -> None:
    """Choose whom to see, and write a note."""
    desk.go("Subjects")
    desk.wait("table cell", f"Subject: {name_of(0)}, ENT")
    desk.look("subjects")
    desk.write("combo box", "Everyone", "With unread results")
    desk.wait("label", f"{HERE} of {SUBJECTS} subjects")
    desk.keys("table", "Subjects", "Down", "ctrl+Return")
    desk.write("text", "Note", "Speaks fast.")
    desk.look("subjects-note")
    desk.press("push button", "Save")
    desk.wait("table cell", "Speaks fast")


def cohort(desk: Desktop) -> None:
    """View all subjects, read the rest, choose a tag, read one group, open the first subject to review."""
    desk.go("Cohort")
    desk.wait("label", f"{READ_BEFORE} subjects and ")
    desk.look("cohort")
    desk.press("push button", "Read them")
    desk.wait("label", f"{SUBJECTS} subjects and ")
    desk.write("combo box", "Any tag", "ENT")
    desk.wait("label", f"{HERE // 3} subjects and ")
    desk.look("cohort-tag")
    desk.press("check box", "One group")
    desk.write("text", "Group to read as a cohort", "study-1")
    desk.press("push button", "Read")
    desk.wait("label", "38 recordings of the last 270 days")
    desk.look("cohort-group")
    desk.press("check box", "Subjects")
    desk.keys("table", "To look at first", "Home", "Return")
    desk.wait("push button", "Export")
    desk.look("cohort-to-subject")


def main(folder: Path, text: float) -> None:
    """Fill the library, go through both pages."""
    desk = Desktop(folder)
    with served() as address:
        fill(address)
        desk.start_watched(folder / "watch.json", text)
        desk.wait("text", "Subject")
        desk.count_stalls(folder / "watch.json")
        subjects(desk)
        cohort(desk)
        assert desk.stop() == 0


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1.0)
