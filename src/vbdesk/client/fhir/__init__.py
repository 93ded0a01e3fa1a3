"""Send FHIR transactions to a server: https only, no redirect followed, credentials bound to one address."""

from vbdesk.client.fhir.addresses import OF_TOKENS, fhir_address, host_in_log, host_of
from vbdesk.client.fhir.credentials import BackendService, BasicLogin, BearerToken, FhirCredentials, StoredLogin
from vbdesk.client.fhir.server import FhirServer, TransactionCounts

__all__ = [
    "OF_TOKENS",
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
