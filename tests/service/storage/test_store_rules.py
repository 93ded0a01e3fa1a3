"""The shipped bucket rules: which objects a bucket expires, and which it must keep."""

import json
from pathlib import Path

from vbdesk.clock import utc_now
from vbdesk.service.storage.addresses import ANY_AUDIO

DEPLOY = Path(__file__).parents[3] / "packaging" / "deploy" / "object-storage"


def expired_prefixes(kind: str) -> dict[str, int]:
    """Return the days after which a bucket expires current objects, by prefix."""
    rules = json.loads((DEPLOY / f"{kind}-lifecycle.json").read_text())
    if kind == "s3":
        ends = [(rule["Filter"]["Prefix"], rule.get("Expiration", {}).get("Days")) for rule in rules["Rules"]]
        return {prefix: days for prefix, days in ends if days}
    return {
        prefix: rule["condition"]["age"]
        for rule in rules["rule"]
        if rule["action"]["type"] == "Delete" and "age" in rule["condition"]
        for prefix in rule["condition"]["matchesPrefix"]
    }


def test_no_bucket_rule_expires_recordings_of_jobs_or_usable_uploads():
    for kind in ("s3", "gcs"):
        assert expired_prefixes(kind) == {"desk/uploads/": 2, "desk/probes/": 1}


def test_cors_allows_every_header_that_an_address_requires(cloud, addresses):
    required = addresses.mint("uploads/one", "audio/wav", ANY_AUDIO, utc_now(), 900).required_headers
    rules = json.loads((DEPLOY / f"{cloud.kind}-cors.json").read_text())
    allowed = rules["CORSRules"][0]["AllowedHeaders"] if cloud.kind == "s3" else rules[0]["responseHeader"]
    assert {name.lower() for name in required} == set(allowed)
