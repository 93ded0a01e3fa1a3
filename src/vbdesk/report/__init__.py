"""Exports of a `SubjectRecord`: tidy CSV, FHIR, PDF, BIDS folders, JSON and charts."""
