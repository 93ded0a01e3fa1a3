"""The courier of one library and nothing else, until it is killed; its facts come on standard input as JSON."""

import json
import logging
import sys
import threading
from pathlib import Path

from vbdesk.client import Client, Credentials, RetryRule
from vbdesk.contract.limits import Plan
from vbdesk.outbox.courier import Courier
from vbdesk.outbox.library import Library


def main() -> None:
    logging.basicConfig(format="%(levelname)s %(message)s")
    facts = json.load(sys.stdin)
    library = Library(Path(facts["library"]), bytes.fromhex(facts["library_key"]))
    credentials = Credentials(facts["account_id"], facts["api_key"])

    def connect() -> Client:
        return Client(facts["base_url"], credentials, retries=RetryRule.NEVER)

    Courier(library, connect, plan=Plan.ENTERPRISE).run(threading.Event())


main()
