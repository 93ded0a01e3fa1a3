"""Measure many recordings with the extractor: tables of recordings, parallel processes, a journal."""
