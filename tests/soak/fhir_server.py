"""Send subjects to a FHIR server of its own kind: Medplum's router and R4 validator, from npm; needs Node.js 20.

Checks that everything is created, that a repeat creates nothing, that a withdrawn consent is updated, and that the
server refuses what is not R4.
"""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import httpx

sys.path.append(str(Path(__file__).parents[1] / "report"))

from report_cases import AS_OF, golden

from vbdesk.client.errors import ClientError
from vbdesk.client.fhir import FhirServer, TransactionCounts
from vbdesk.report.fhir import fhir_transactions
from vbdesk.report.sign_off import SignOff
from vbdesk.report.subject_consent import ConsentGrant
from vbdesk.report.subject_record import SubjectRecord

SERVER = Path(__file__).parent / "fhir_server"
OLDEST_NODE = 20
SUBJECTS = ("first recording", "inconclusive only", "diarized", "one sign")
GIVEN = (
    ConsentGrant("e1", "clinical", AS_OF - timedelta(days=9), "2.0", "de"),
    ConsentGrant("e1", "research", AS_OF - timedelta(days=9), "2.0", "de", expires=AS_OF + timedelta(days=9)),
    ConsentGrant("e2", "not_stated", AS_OF, expires=AS_OF + timedelta(days=1)),
)
WITHDRAWN = (GIVEN[0], replace(GIVEN[1], ended_at=AS_OF), *GIVEN[2:])
KINDS = ("Consent", "Device", "DiagnosticReport", "Observation", "Provenance")


def send(server: FhirServer, records: list[SubjectRecord]) -> TransactionCounts:
    """Send all subjects; returns what the server did."""
    counts = TransactionCounts()
    for record in records:
        for part in fhir_transactions(record, scores=True, sign_off=SignOff("Dr. A", AS_OF)):
            counts += server.send(part)
    return counts


def stored(address: str) -> dict[str, int]:
    """How many resources of each kind the server has."""
    return {
        kind: httpx.get(f"{address}/{kind}?_count=0&_total=accurate", timeout=60, trust_env=False).json()["total"]
        for kind in KINDS
    }


def check(address: str) -> None:
    """Send, repeat, withdraw, and send what is wrong."""
    records = [replace(golden()[name], consents=GIVEN) for name in SUBJECTS]
    with FhirServer(address) as server:
        first = send(server, records)
        there = stored(address)
        print(f"created {first.created}, of these {there}", flush=True)
        assert first.created == sum(there.values())
        again = send(server, records)
        print(f"a repeat created {again.created} and found {again.kept}", flush=True)
        assert again.created == 0
        assert stored(address) == there
        send(server, [replace(record, consents=WITHDRAWN, recordings=()) for record in records])
        consents = httpx.get(f"{address}/Consent?_count=100", timeout=60, trust_env=False).json()["entry"]
        ended = sum(entry["resource"]["status"] == "inactive" for entry in consents)
        print(f"{ended} of {len(consents)} consents are inactive after a withdrawal", flush=True)
        assert (ended, len(consents)) == (len(SUBJECTS), len(SUBJECTS) * len(GIVEN))
        wrong = json.loads(next(fhir_transactions(replace(records[0], recordings=()))))
        wrong["entry"][0]["resource"]["status"] = "no such status"
        del wrong["entry"][0]["resource"]["scope"]
        wrong["entry"][0]["request"]["ifNoneExist"] += "0"
        try:
            server.send(json.dumps(wrong).encode())
        except ClientError as error:
            print(f"what is not R4 is refused: {error.sentence}", flush=True)
        else:
            raise AssertionError("The server takes anything.")


def main() -> int:
    """Install the server and check; 0 if all holds, or if there is no npm."""
    npm, node = shutil.which("npm"), shutil.which("node")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout if node else "v0"
    if npm is None or node is None or int(version.removeprefix("v").partition(".")[0]) < OLDEST_NODE:
        print(f"There is no npm with Node.js {OLDEST_NODE} here, so no FHIR server: skipped.")
        return 0
    subprocess.run(
        [npm, "ci", "--prefix", SERVER, "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], check=True
    )
    with subprocess.Popen(
        [node, SERVER / "server.mjs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            check(process.stdout.readline().strip())
        finally:
            process.stdin.close()
    print("the FHIR server takes everything, once")
    return 0


if __name__ == "__main__":
    sys.exit(main())
