"""A subject as a FHIR R4 Bundle."""

from vbdesk.report.fhir.bundle import fhir_bundle, fhir_transactions

__all__ = ["fhir_bundle", "fhir_transactions"]
