"""Composition of the service: the app, `vbdesk serve` and `vbdesk worker`."""
