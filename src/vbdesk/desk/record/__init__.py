"""Record: set up, record, check and import."""
