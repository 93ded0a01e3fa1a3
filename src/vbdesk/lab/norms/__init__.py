"""Measure norms with our own extractor, from recordings of a reference group."""
