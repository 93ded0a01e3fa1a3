"""Exports of a `SubjectRecord`: CSV, FHIR, PDF, BIDS, JSON and charts."""
