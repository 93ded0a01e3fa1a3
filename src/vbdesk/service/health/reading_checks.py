"""Checks of readings: how many were made by an earlier calibration although their recordings are kept."""

from vbdesk.service.engine.outdated_readings import MOST_AT_ONCE, MOST_TRIES, search
from vbdesk.service.health.findings import Finding, note, ok
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.encrypted_text import KeyMissing
from vbdesk.service.kernel.settings import Settings

TOPIC = "earlier readings"


def look_at_readings(database: Database, settings: Settings) -> list[Finding]:
    """Count the readings that can be made again, and those that failed too often."""
    from vbdesk.signs.reference_data import load_reference_data

    version = load_reference_data(norms_file=settings.norms_file).calibration.meta.version
    try:
        found = search(database, version)
    except KeyMissing:
        return [note(TOPIC, "They are encrypted, and no key was given.")]
    findings = []
    if found.due:
        more = "at least " if len(found.due) >= MOST_AT_ONCE else ""
        words = f"{more}{len(found.due)} of groups are not of calibration {version}, and their recordings are kept"
        if settings.recompute_after_upgrade:
            findings.append(note(TOPIC, f"{words}. They are made again while no job waits."))
        else:
            findings.append(
                note(TOPIC, f"{words}. Run vbdesk admin group recompute, or turn on recompute_after_upgrade.")
            )
    if found.given_up:
        findings.append(
            note(
                TOPIC,
                f"{found.given_up} could not be made again in {MOST_TRIES} attempts, and trajectories mark them. The "
                "log names the jobs; vbdesk admin group recompute tries them once more.",
            )
        )
    return findings or [ok(TOPIC, "None whose recording is kept.")]
