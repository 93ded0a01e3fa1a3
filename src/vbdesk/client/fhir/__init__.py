"""Send FHIR transactions to a server: https only, no redirect followed, credentials bound to one address."""

from vbdesk.client.fhir.addresses import fhir_address, host_in_log, host_of
from vbdesk.client.fhir.credentials import BackendService, BasicLogin, BearerToken, FhirCredentials, StoredLogin
from vbdesk.client.fhir.server import FhirServer, TransactionCounts

__all__ = [
    "BackendService",
    "BasicLogin",
    "BearerToken",
    "FhirCredentials",
    "FhirServer",
    "StoredLogin",
    "TransactionCounts",
    "fhir_address",
    "host_in_log",
    "host_of",
]
