"""Norms measured with our own extractor, from recordings of a reference group."""
