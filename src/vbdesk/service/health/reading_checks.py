"""Checks of readings: how many were made by an earlier calibration although their recordings are kept."""

from vbdesk.language import N_, message
from vbdesk.service.engine.outdated_readings import MOST_AT_ONCE, MOST_TRIES, search
from vbdesk.service.health.findings import Finding, note, ok
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.encrypted_text import KeyMissing
from vbdesk.service.kernel.settings import Settings

TOPIC = N_("earlier readings")


def check_readings(database: Database, settings: Settings) -> list[Finding]:
    """Count the readings that can be made again, and those that failed too often."""
    from vbdesk.signs.reference_data import load_reference_data

    version = load_reference_data(norms_file=settings.norms_file).calibration.meta.version
    try:
        found = search(database, version)
    except KeyMissing:
        return [note(TOPIC, message("The readings are encrypted, and no key was given."))]
    findings = []
    if found.due:
        if len(found.due) >= MOST_AT_ONCE:
            counted = message(
                "Readings of an earlier calibration than {version} whose recording is kept: {count} or more.",
                version=version,
                count=len(found.due),
            )
        else:
            counted = message(
                "Readings of an earlier calibration than {version} whose recording is kept: {count}.",
                version=version,
                count=len(found.due),
            )
        if settings.recompute_after_upgrade:
            then = message("The service makes them again while no job waits.")
        else:
            then = message("Run vbdesk admin group recompute, or turn on recompute_after_upgrade.")
        findings.append(note(TOPIC, counted, then))
    if found.given_up:
        findings.append(
            note(
                TOPIC,
                message(
                    "Readings that could not be made again in {tries} attempts: {count}. Trajectories mark them, and "
                    "the log names the jobs. To try once more, run vbdesk admin group recompute.",
                    tries=MOST_TRIES,
                    count=found.given_up,
                ),
            )
        )
    return findings or [ok(TOPIC, message("Every reading whose recording is kept is of the current calibration."))]
