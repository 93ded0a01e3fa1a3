"""The analysis service: HTTP API, object store and the engine that runs jobs."""
