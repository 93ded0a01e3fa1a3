"""The parts of the service put together: the app, `vbdesk serve`, `vbdesk worker`."""
